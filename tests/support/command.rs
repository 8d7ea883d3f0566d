//! `dormer open` as a process, for the tests of the command and of the page that it serves.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// A running `dormer open`; it is killed when this is dropped.
pub(crate) struct OpenCommand {
    pub(crate) process: Child,
    /// The address that it printed.
    pub(crate) url: String,
}

impl OpenCommand {
    /// Starts it in a folder without a browser, with the page of another folder.
    pub(crate) fn start(
        program: impl AsRef<OsStr>,
        folder: &Path,
        page: &Path,
        arguments: &[&str],
    ) -> OpenCommand {
        let mut process = Command::new(program)
            .args(["open", "--no-browser"])
            .args(arguments)
            .current_dir(folder)
            .env("DORMER_PAGE", page)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut out = BufReader::new(process.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        let url = line.trim_end().strip_prefix("Dormer is at ").unwrap();
        OpenCommand {
            process,
            url: url.to_owned(),
        }
    }

    /// Waits until it exits by itself; returns its exit code.
    pub(crate) fn end(&mut self) -> Option<i32> {
        let deadline = Instant::now() + Duration::from_secs(60);
        while Instant::now() < deadline {
            if let Some(ended) = self.process.try_wait().unwrap() {
                return ended.code();
            }
            thread::sleep(Duration::from_millis(50));
        }
        panic!("it goes on");
    }
}

impl Drop for OpenCommand {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
