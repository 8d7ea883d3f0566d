//! The options of `cargo xtask bench`. Parsed by the command, and by the program that it calls with them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The options, for the usage message.
pub const USAGE: &str = "TRACE… [--tile N,…] [--ranks N,…] [--runs N] [--frames] [--dist FOLDER] [--dormer PROGRAM] [--save FILE] [--check FILE] [--write FILE]";

/// What to measure, with which builds, and where the results go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BenchOptions {
    /// The trace files.
    pub traces: Vec<PathBuf>,
    /// Each trace is first repeated this many times, for each of these; 1 is the trace itself.
    pub tiles: Vec<u32>,
    /// The numbers of ranks in jobs that are generated from the first trace and measured; empty for no jobs.
    pub ranks: Vec<u32>,
    /// How often each value is measured.
    pub n_runs: u32,
    /// Only measure how smooth the page is.
    pub frames_only: bool,
    /// An existing build of the page; otherwise it is built.
    pub dist: Option<PathBuf>,
    /// An existing command line binary; otherwise it is built.
    pub dormer: Option<PathBuf>,
    /// The source of both builds, in words.
    pub build: Option<String>,
    /// The file for all measured values.
    pub save: Option<PathBuf>,
    /// The saved values of an earlier run, to compare with.
    pub check: Option<PathBuf>,
    /// A document whose tables are updated.
    pub write: Option<PathBuf>,
}

impl Default for BenchOptions {
    fn default() -> BenchOptions {
        BenchOptions {
            traces: Vec::new(),
            tiles: vec![1],
            ranks: Vec::new(),
            n_runs: 5,
            frames_only: false,
            dist: None,
            dormer: None,
            build: None,
            save: None,
            check: None,
            write: None,
        }
    }
}

impl BenchOptions {
    /// Parses the arguments; file paths are relative to `folder`. An error is a sentence for the user.
    pub fn parse(args: &[String], folder: &Path) -> Result<BenchOptions, String> {
        let mut options = BenchOptions::default();
        let mut rest = args.iter();
        while let Some(arg) = rest.next() {
            let mut value = || rest.next().ok_or_else(|| format!("{arg} needs a value"));
            match arg.as_str() {
                "--tile" => options.tiles = numbers(arg, value()?)?,
                "--ranks" => options.ranks = numbers(arg, value()?)?,
                "--runs" => match numbers(arg, value()?)?.as_slice() {
                    [n_runs] => options.n_runs = *n_runs,
                    _ => return Err("--runs needs one number".to_owned()),
                },
                "--frames" => options.frames_only = true,
                "--dist" => options.dist = Some(folder.join(value()?)),
                "--dormer" => options.dormer = Some(folder.join(value()?)),
                "--build" => options.build = Some(value()?.clone()),
                "--save" => options.save = Some(folder.join(value()?)),
                "--check" => options.check = Some(folder.join(value()?)),
                "--write" => options.write = Some(folder.join(value()?)),
                option if option.starts_with('-') => return Err(format!("unknown: {option}")),
                trace => options.traces.push(folder.join(trace)),
            }
        }
        if options.traces.is_empty() {
            return Err("bench needs a trace".to_owned());
        }
        if options.frames_only && options.write.is_some() {
            let why = "--write needs all figures, and --frames takes only some of them";
            return Err(why.to_owned());
        }
        Ok(options)
    }

    /// The arguments that [`parse`](BenchOptions::parse) turns into this.
    pub fn args(&self) -> Vec<OsString> {
        let tiles: Vec<String> = self.tiles.iter().map(u32::to_string).collect();
        let mut args: Vec<OsString> = vec![
            "--tile".into(),
            tiles.join(",").into(),
            "--runs".into(),
            self.n_runs.to_string().into(),
        ];
        if !self.ranks.is_empty() {
            let ranks: Vec<String> = self.ranks.iter().map(u32::to_string).collect();
            args.extend(["--ranks".into(), ranks.join(",").into()]);
        }
        if self.frames_only {
            args.push("--frames".into());
        }
        if let Some(build) = &self.build {
            args.extend(["--build".into(), build.into()]);
        }
        for (option, file) in [
            ("--dist", &self.dist),
            ("--dormer", &self.dormer),
            ("--save", &self.save),
            ("--check", &self.check),
            ("--write", &self.write),
        ] {
            if let Some(file) = file {
                args.extend([option.into(), file.into()]);
            }
        }
        args.extend(self.traces.iter().map(OsString::from));
        args
    }
}

/// `1,5,16`
fn numbers(option: &str, text: &str) -> Result<Vec<u32>, String> {
    let numbers: Result<Vec<u32>, _> = text.split(',').map(str::parse).collect();
    numbers
        .ok()
        .filter(|numbers| !numbers.contains(&0))
        .ok_or_else(|| format!("{option} needs numbers above zero, not `{text}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<BenchOptions, String> {
        let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        BenchOptions::parse(&args, Path::new("/here"))
    }

    #[test]
    fn a_trace_alone_is_measured_five_times() {
        let options = BenchOptions {
            traces: vec!["/here/a.json.gz".into()],
            ..BenchOptions::default()
        };
        assert_eq!(parse("a.json.gz"), Ok(options));
    }

    #[test]
    fn what_is_passed_on_is_read_as_the_same() {
        let line = "a.json b.json --tile 1,5,16 --ranks 8,64 --runs 3 --dist d --dormer p --build x --save s --check c --write w.md";
        let options = parse(line).unwrap();
        assert_eq!(options.tiles, [1, 5, 16]);
        assert_eq!(options.ranks, [8, 64]);
        assert_eq!(options.n_runs, 3);
        assert_eq!(options.check, Some("/here/c".into()));
        let words = options.args().into_iter();
        let words: Vec<String> = words.map(|word| word.into_string().unwrap()).collect();
        assert_eq!(
            BenchOptions::parse(&words, Path::new("/elsewhere")),
            Ok(options)
        );
    }

    #[test]
    fn what_cannot_be_is_said() {
        for (line, why) in [
            ("", "bench needs a trace"),
            ("a --save", "--save needs a value"),
            ("a --tile 1,x", "--tile needs numbers above zero, not `1,x`"),
            ("a --tile 0", "--tile needs numbers above zero, not `0`"),
            ("a --runs 1,2", "--runs needs one number"),
            ("a --fast", "unknown: --fast"),
            (
                "a --frames --write w.md",
                "--write needs all figures, and --frames takes only some of them",
            ),
        ] {
            assert_eq!(parse(line), Err(why.to_owned()), "{line}");
        }
    }
}
