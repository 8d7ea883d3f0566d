//! A temporary folder in which commands run, and what they say.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::TempDir;

/// The exit code, standard output and standard error of a command.
#[derive(Debug, PartialEq)]
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    /// The standard output, asserting success and no errors.
    #[track_caller]
    pub(crate) fn done(self) -> String {
        assert_eq!((self.code, self.err.as_str()), (0, ""));
        self.out
    }
}

/// A temporary folder in which commands run.
pub(crate) struct Folder(pub(crate) TempDir);

impl Folder {
    /// Creates one with a file.
    pub(crate) fn with(name: &str, bytes: impl AsRef<[u8]>) -> Folder {
        let folder = Folder(tempfile::tempdir().unwrap());
        folder.add(name, bytes);
        folder
    }

    pub(crate) fn add(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.0.path().join(name), bytes).unwrap();
    }

    #[track_caller]
    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.0.path().join(path)).unwrap()
    }

    pub(crate) fn has(&self, path: &str) -> bool {
        self.0.path().join(path).exists()
    }

    /// Runs `dormer` with arguments as in a shell.
    pub(crate) fn run(&self, arguments: &str) -> Said {
        self.run_with(arguments, b"")
    }

    /// The same with standard input.
    pub(crate) fn run_with(&self, arguments: &str, input: &[u8]) -> Said {
        self.run_in(arguments, input, &[])
    }

    /// The same with environment variables.
    pub(crate) fn run_in(
        &self,
        arguments: &str,
        input: &[u8],
        environment: &[(&str, &Path)],
    ) -> Said {
        let output = self.output(arguments, input, environment);
        Said {
            code: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The same for commands whose output is not text.
    pub(crate) fn output(
        &self,
        arguments: &str,
        input: &[u8],
        environment: &[(&str, &Path)],
    ) -> Output {
        let mut process = Command::new(env!("CARGO_BIN_EXE_dormer"))
            .args(arguments.split_whitespace())
            .envs(environment.iter().copied())
            .current_dir(self.0.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A command that does not read its input may have exited already.
        let _ = process.stdin.take().unwrap().write_all(input);
        process.wait_with_output().unwrap()
    }
}

pub(crate) fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}
