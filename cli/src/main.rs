//! `dormer`: Dormer's analysis on the command line, for scripts and clusters.
//!
//! ```text
//! dormer report TRACE [--gpu NAME|FILE.json] [-o DIR]   where the GPU time went; report files into DIR
//! dormer compare --reference REF TARGET [-o DIR]        two traces: what differs
//! dormer job DIR|FILES… [-o DIR]                        many ranks: which one delays the others
//! dormer open TRACE|DIR…                                the page with these traces, served on this computer
//! dormer fleet PATH… -o STORE                           many traces into a store of Parquet files
//! dormer tables TRACE [--tag K=V]…                      one trace as rows of a few tables, for programs
//! dormer tree TRACE --uid N | --find NAME               calls: what called them, what they called
//! dormer gpus                                           the GPUs that --gpu knows
//! dormer completions SHELL                              completions for a shell
//! ```
//!
//! All analysis is in `dormer-core`; this crate reads bytes, writes files and prints: results to standard output,
//! progress and errors to standard error.
//!
//! | exit code | when |
//! |---|---|
//! | 0 | done |
//! | 1 | the input cannot be read or has nothing to analyze, or the output cannot be written |
//! | 2 | wrong usage |
//! | 3 | done, but data was lost, with `--strict` |
//! | 4 | done, but a finding is as severe as `--fail-on` says |

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test fails by panicking"))]

mod args;
#[cfg(feature = "parquet")]
mod arrow;
mod captures;
mod checks;
mod choices;
mod compare;
mod embedded;
#[cfg(feature = "parquet")]
mod fleet;
mod gpus;
mod input;
mod job;
mod open;
mod output;
mod page;
mod parallel;
#[cfg(feature = "parquet")]
mod parquet;
mod progress;
mod report;
mod stdout;
#[cfg(feature = "parquet")]
mod tables;
mod text;
mod tree;
mod window;

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use args::{Args, Command};
use stdout::Out;

fn main() -> ExitCode {
    let args = Args::parse();
    let stdout = io::stdout().lock();
    let is_terminal = stdout.is_terminal();
    let mut buffer = io::BufWriter::new(stdout);
    let size = is_terminal.then(terminal_size::terminal_size).flatten();
    let width = size.map(|(width, _)| usize::from(width.0));
    let mut out = Out::new(&mut buffer, is_terminal).with_width(width);
    let done = match &args.command {
        Command::Report(args) => report::run(args, &mut out),
        Command::Compare(args) => compare::run(args, &mut out),
        Command::Job(args) => job::run(args, &mut out),
        #[cfg(feature = "parquet")]
        Command::Fleet(args) => fleet::run(args, &mut out),
        #[cfg(feature = "parquet")]
        Command::Tables(args) => tables::run(args, &mut out),
        Command::Open(args) => open::run(args, &mut out),
        Command::Tree(args) => tree::run(args, &mut out),
        Command::Gpus => gpus::run(&mut out),
        Command::Completions { shell } => {
            clap_complete::generate(*shell, &mut Args::command(), "dormer", &mut out);
            Ok(())
        }
    };
    let done = match (done, out.flush().map_err(Failure::from)) {
        (Ok(()) | Err(Failure::ReaderLeft), flushed) => flushed,
        (failed, _) => failed,
    };
    let (sentence, code) = match done {
        Ok(()) | Err(Failure::ReaderLeft) => return ExitCode::SUCCESS,
        Err(Failure::Sentence(sentence)) => (sentence, 1),
        Err(Failure::Usage(sentence)) => (sentence, 2),
        Err(Failure::Lost(sentence)) => (sentence, 3),
        Err(Failure::Found(sentence)) => (sentence, 4),
    };
    stdout::complain(&sentence);
    ExitCode::from(code)
}

/// Why a command failed, or the result of a check; each is one sentence without a full stop.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The input cannot be read or has nothing to analyze, or the output cannot be written.
    Sentence(String),
    /// Something that was requested does not exist.
    Usage(String),
    /// Data was lost, which `--strict` forbids.
    Lost(String),
    /// A finding was reported that `--fail-on` forbids.
    Found(String),
    /// The reader of standard output closed it, as `head` does: not an error of ours.
    ReaderLeft,
}

impl Failure {
    /// A file that cannot be read or written.
    pub(crate) fn of_file(name: &str, error: &io::Error) -> Failure {
        Failure::Sentence(format!("{name}: {}", reason(error)))
    }
}

/// Why something cannot be read or written, without the operating system's error number: "No such file or directory (os
/// error 2)".
pub(crate) fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::InvalidData => "it is not text".to_owned(),
        _ => error
            .to_string()
            .split(" (os error")
            .next()
            .unwrap_or_default()
            .to_owned(),
    }
}

/// Applies the result of a check if printing succeeded or the reader has closed standard output.
pub(crate) fn after(
    printed: Result<(), Failure>,
    verdict: Result<(), Failure>,
) -> Result<(), Failure> {
    match printed {
        Ok(()) | Err(Failure::ReaderLeft) => verdict,
        failed => failed,
    }
}

impl From<io::Error> for Failure {
    /// For errors of writing to standard output; errors of files name their file instead.
    fn from(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::ReaderLeft,
            _ => Failure::of_file("cannot write to standard output", &error),
        }
    }
}
