//! `cargo xtask bench`, `tile` and `screenshots`: build what is measured or shown, and run the programs, which are
//! among the tests.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use xtask::bench_options::BenchOptions;

use crate::page::{self, Effort, at};
use crate::project::{Failure, Project, output, run};
use crate::tools;

/// Measures each trace, natively and in Chromium: the options are in `xtask::bench_options`.
pub(crate) fn bench(project: &Project, args: &[String]) -> Result<(), Failure> {
    let mut options = BenchOptions::parse(args, &here()?).map_err(Failure::Usage)?;
    let mut traces = Vec::new();
    for trace in &options.traces {
        let trace = trace.canonicalize().map_err(at(trace))?;
        for n in &options.tiles {
            traces.push(tiled(project, &trace, *n)?);
        }
    }
    (options.traces, options.tiles) = (traces, vec![1]);
    if options.dist.is_none() {
        page::build(project, Effort::Release)?;
        options.dist = Some(project.dist.clone());
        options.build = commit(project);
    }
    if options.dormer.is_none() && !options.frames_only {
        run(project
            .cargo()
            .args(["build", "--release", "--package", "dormer"]))?;
        let name = format!("dormer{}", env::consts::EXE_SUFFIX);
        options.dormer = Some(project.target.join("release").join(name));
    }
    tools::for_browser(project)?;
    tools::want_brotli(project);
    Ok(run(program(project).arg("bench").args(options.args()))?)
}

/// Takes the screenshots of the guide.
pub(crate) fn screenshots(project: &Project) -> Result<(), String> {
    page::build(project, Effort::Release)?;
    tools::for_browser(project)?;
    run(project
        .cargo()
        .args(["run", "--quiet", "--package", "dormer-tests"])
        .args(["--example", "screenshots"]))
}

/// Writes a trace that repeats another: `tile TRACE N OUT`.
pub(crate) fn tile(project: &Project, args: &[String]) -> Result<(), Failure> {
    let [from, n, out] = args else {
        return Err(Failure::Usage("tile needs TRACE N OUT".to_owned()));
    };
    let n = n.parse().ok().filter(|n| *n > 0).ok_or_else(|| {
        Failure::Usage("how many times the trace is repeated: a number".to_owned())
    })?;
    let here = here()?;
    Ok(write_tiled(project, &here.join(from), n, &here.join(out))?)
}

/// The repeated trace, cached in the target folder: generating 1 GB takes a while.
fn tiled(project: &Project, trace: &Path, n: u32) -> Result<PathBuf, String> {
    if n == 1 {
        return Ok(trace.to_owned());
    }
    let folder = project.target.join("tiled");
    fs::create_dir_all(&folder).map_err(at(&folder))?;
    let name = trace.file_name().unwrap_or_default().to_string_lossy();
    let name = name.trim_end_matches(".json.gz");
    let out = folder.join(format!("{name} x {n}.json.gz"));
    if !out.exists() {
        write_tiled(project, trace, n, &out)?;
    }
    Ok(out)
}

fn write_tiled(project: &Project, trace: &Path, n: u32, out: &Path) -> Result<(), String> {
    println!("Writing {}.", out.display());
    run(program(project)
        .arg("tile")
        .arg(trace)
        .arg(n.to_string())
        .arg(out))
}

/// The benchmark, built like a release of the command line.
fn program(project: &Project) -> Command {
    let mut command = project.cargo();
    command.args(["bench", "--quiet", "--package", "dormer-tests"]);
    command.args(["--bench", "traces", "--"]);
    command
}

/// `commit 6fad8dab`, and whether the working tree differs from it; `None` outside of Git.
fn commit(project: &Project) -> Option<String> {
    let git = |args: &[&str]| output(project.command("git").args(args));
    let commit = git(&["rev-parse", "--short", "HEAD"])?;
    let changes = git(&["status", "--porcelain", "--untracked-files=no"])?;
    Some(match changes.is_empty() {
        true => format!("commit {commit}"),
        false => format!("commit {commit} with changes"),
    })
}

/// Cargo runs this in the user's folder, but the benchmark in the project root.
fn here() -> Result<PathBuf, String> {
    env::current_dir().map_err(|error| error.to_string())
}
