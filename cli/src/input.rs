//! A trace from a file or from standard input, in chunks: never the whole text at once.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::Path;

use dormer_core::import::{ImportError, Imported, Importer};
use dormer_core::{Profile, output::redact};
use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::Failure;
use crate::args::RedactArgs;

/// Large enough that a read costs nothing beside inflating what it brought, small enough for the
/// processor's cache.
const CHUNK_BYTES: usize = 256 << 10;

/// Reads and imports the trace at a path; `-` is standard input.
pub(crate) fn import(trace: &Path) -> Result<Imported, Failure> {
    let name = name(trace);
    let failure = |reason: &dyn std::fmt::Display| Failure::Sentence(format!("{name}: {reason}"));
    read(trace)?.map_err(|error| failure(&error))
}

/// The same, where what is wrong with its content is told apart from a file that cannot be read.
pub(crate) fn read(trace: &Path) -> Result<Result<Imported, ImportError>, Failure> {
    let name = name(trace);
    let unreadable = |error: io::Error| Failure::of_file(&name, &error);
    let (mut source, total_bytes) = open(trace).map_err(unreadable)?;
    let bar = progress_bar(total_bytes);

    let mut importer = Importer::new();
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let n_bytes = match source.read(&mut chunk) {
            Ok(0) => break,
            Ok(n_bytes) => n_bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(unreadable(error)),
        };
        let bytes = chunk.get(..n_bytes).unwrap_or_default();
        if let Err(error) = importer.push(bytes) {
            return Ok(Err(error));
        }
        let progress = importer.progress();
        bar.set_position(progress.bytes_read);
        bar.set_message(format!("{} events", HumanCount(progress.events)));
    }
    let imported = importer.finish();
    bar.finish_and_clear();
    Ok(imported)
}

/// The profile as it is, or without its own names where that is asked for.
pub(crate) fn redacted(plain: Profile, args: &RedactArgs) -> Profile {
    if !args.redact {
        return plain;
    }
    let redacted = redact::redact(&plain);
    // As at the end of a command: freeing takes longer than the exit.
    std::mem::forget(plain);
    redacted
}

/// What to call the trace in messages.
pub(crate) fn name(trace: &Path) -> String {
    if is_stdin(trace) {
        "standard input".to_owned()
    } else {
        trace.display().to_string()
    }
}

/// True for `-`.
pub(crate) fn is_stdin(trace: &Path) -> bool {
    trace.as_os_str() == "-"
}

/// The bytes, and how many there are where that can be told.
fn open(trace: &Path) -> io::Result<(Box<dyn Read>, Option<u64>)> {
    if is_stdin(trace) {
        return Ok((Box::new(io::stdin().lock()), None));
    }
    let file = File::open(trace)?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(io::Error::other("is a folder; give one trace file"));
    }
    Ok((Box::new(file), metadata.is_file().then_some(metadata.len())))
}

/// A bar where the length is known, a spinner otherwise; nothing unless a person is watching.
fn progress_bar(total_bytes: Option<u64>) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let (bar, template) = match total_bytes {
        Some(bytes) => (
            ProgressBar::new(bytes),
            "reading {bar:30} {decimal_bytes} of {decimal_total_bytes}, {msg}",
        ),
        None => (
            ProgressBar::new_spinner(),
            "reading {spinner} {decimal_bytes}, {msg}",
        ),
    };
    bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}
