//! `dormer`: Dormer's analysis on the command line, for scripts and clusters.
//!
//! ```text
//! dormer report TRACE [--gpu NAME|FILE.json] [-o DIR]   where the GPU time went; report files into DIR
//! dormer compare --reference REF TARGET [-o DIR]        two traces: what differs
//! dormer tree TRACE --uid N                             one event: what called it, what it called
//! dormer gpus                                           the GPUs that --gpu knows
//! ```
//!
//! All analysis is `dormer-core`; this crate reads bytes, writes files and prints. It ends with 0
//! when done, 1 when the input cannot be analyzed or the output not be written, 2 for wrong usage.

mod args;
mod choices;
mod compare;
mod gpus;
mod input;
mod output;
mod report;
mod table;
mod tree;
mod window;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command};

fn main() -> ExitCode {
    let args = Args::parse();
    let mut stdout = io::BufWriter::new(io::stdout().lock());
    let done = match &args.command {
        Command::Report(args) => report::run(args, &mut stdout),
        Command::Compare(args) => compare::run(args, &mut stdout),
        Command::Tree(args) => tree::run(args, &mut stdout),
        Command::Gpus => gpus::run(&mut stdout),
    };
    let done = done.and_then(|()| Ok(stdout.flush()?));
    let (sentence, code) = match done {
        Ok(()) | Err(Failure::ReaderLeft) => return ExitCode::SUCCESS,
        Err(Failure::Sentence(sentence)) => (sentence, 1),
        Err(Failure::Usage(sentence)) => (sentence, 2),
    };
    // Nothing is left to do when standard error cannot be written either.
    let _ = writeln!(io::stderr(), "dormer: {sentence}");
    ExitCode::from(code)
}

/// Why a command could not do its work.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The input cannot be read, or the output not be written; one sentence without a full stop.
    Sentence(String),
    /// What was asked for does not exist; one sentence without a full stop.
    Usage(String),
    /// Whoever read standard output closed it, as `head` does: no failure of ours.
    ReaderLeft,
}

impl From<io::Error> for Failure {
    /// From writing to standard output; errors of files name their file instead.
    fn from(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::ReaderLeft,
            _ => Failure::Sentence(format!("cannot write to standard output: {error}")),
        }
    }
}
