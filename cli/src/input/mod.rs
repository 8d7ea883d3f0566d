//! Reads a trace from a file or from standard input, in chunks: never the whole text at once.

#[cfg(feature = "parquet")]
pub(crate) mod hashed;
mod locate;
mod threads;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use dormer_core::import::{ImportError, Imported, Importer, Inflater};
use dormer_core::{Profile, output::redact};
use indicatif::{HumanCount, ProgressBar};

use crate::args::RedactArgs;
use crate::{Failure, progress};
use locate::{Location, locate, read_member};

pub(crate) use locate::each_member;

/// Large enough that the read costs nothing compared with inflating, small enough for the CPU cache.
const CHUNK_BYTES: usize = 256 << 10;

/// Reads and imports the trace at a path; `-` is standard input.
pub(crate) fn import(trace: &Path) -> Result<Imported, Failure> {
    let name = name(trace);
    let failure = |reason: &dyn std::fmt::Display| Failure::Sentence(format!("{name}: {reason}"));
    read(trace)?.map_err(|error| failure(&error))
}

/// The same, but invalid content is reported separately from a file that cannot be read.
pub(crate) fn read(trace: &Path) -> Result<Result<Imported, ImportError>, Failure> {
    read_with_bar(trace, progress_bar)
}

/// The same without a progress bar, for one of several files read concurrently.
pub(crate) fn read_quietly(trace: &Path) -> Result<Result<Imported, ImportError>, Failure> {
    read_with_bar(trace, |_| ProgressBar::hidden())
}

/// The file that contains exactly the recorded trace; `None` if it came through a pipe or from an archive.
pub(crate) fn recorded(trace: &Path) -> Result<Option<PathBuf>, Failure> {
    if is_stdin(trace) {
        return Ok(None);
    }
    Ok(match locate(trace)? {
        Location::File(file) => file.is_file().then_some(file),
        Location::Member(..) => None,
    })
}

fn read_with_bar(
    trace: &Path,
    bar: impl FnOnce(Option<u64>) -> ProgressBar,
) -> Result<Result<Imported, ImportError>, Failure> {
    let name = name(trace);
    let unreadable = |error: io::Error| Failure::of_file(&name, &error);
    let file = match is_stdin(trace) {
        true => Location::File(trace.to_owned()),
        false => locate(trace)?,
    };
    let read = match file {
        Location::File(file) => {
            let (source, total_bytes) = open(&file).map_err(unreadable)?;
            read_source(source, bar(total_bytes)).map_err(unreadable)?
        }
        Location::Member(archive, member) => {
            let bar = bar(None);
            let read = read_member(&archive, &member, |n_bytes, n| update_bar(&bar, n_bytes, n));
            bar.finish_and_clear();
            let missing = || {
                let archive = archive.display();
                Failure::Usage(format!("{archive}: there is no file {member} in it"))
            };
            read.map_err(unreadable)?.ok_or_else(missing)?
        }
    };
    Ok(read.map_err(|error| error.of_file(&name)))
}

/// Updates the progress bar.
fn update_bar(bar: &ProgressBar, bytes_read: u64, events: u64) {
    bar.set_position(bytes_read);
    bar.set_message(format!("{} events", HumanCount(events)));
}

/// Reads a source.
fn read_source(
    mut source: Box<dyn Read + Send>,
    bar: ProgressBar,
) -> io::Result<Result<Imported, ImportError>> {
    let on_progress = |bytes_read: u64, events: u64| update_bar(&bar, bytes_read, events);
    let mut chunk = vec![0; CHUNK_BYTES];
    let n_head = next(&mut *source, &mut chunk)?;
    let head = chunk.get(..n_head).unwrap_or_default();
    let imported = match Inflater::of(head) {
        Some(inflater) => threads::read(source, inflater, head, on_progress),
        None => alone(source, &mut chunk, n_head, on_progress),
    };
    bar.finish_and_clear();
    imported
}

/// Reads an archive whose first bytes were already read.
fn alone(
    mut source: Box<dyn Read + Send>,
    chunk: &mut [u8],
    mut n_bytes: usize,
    on_progress: impl Fn(u64, u64),
) -> io::Result<Result<Imported, ImportError>> {
    let mut importer = Importer::new();
    while n_bytes > 0 {
        if let Err(error) = importer.push(chunk.get(..n_bytes).unwrap_or_default()) {
            return Ok(Err(error));
        }
        let progress = importer.progress();
        on_progress(progress.bytes_read, progress.events);
        n_bytes = next(&mut *source, chunk)?;
    }
    Ok(importer.finish())
}

/// The next bytes of a source; 0 at its end.
fn next(source: &mut dyn Read, chunk: &mut [u8]) -> io::Result<usize> {
    loop {
        match source.read(chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

/// The profile itself, or, if requested, with its names replaced.
pub(crate) fn redacted(plain: Profile, args: &RedactArgs) -> Profile {
    if !args.redact {
        return plain;
    }
    let redacted = redact::redact(&plain);
    // Never freed: that would take longer than exiting.
    std::mem::forget(plain);
    redacted
}

/// The name of the trace in messages.
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

/// The bytes, and their number if known.
fn open(trace: &Path) -> io::Result<(Box<dyn Read + Send>, Option<u64>)> {
    if is_stdin(trace) {
        return Ok((Box::new(io::stdin()), None));
    }
    let file = File::open(trace)?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(io::Error::other("is a folder; give one trace file"));
    }
    Ok((Box::new(file), metadata.is_file().then_some(metadata.len())))
}

/// A progress bar in bytes.
fn progress_bar(total_bytes: Option<u64>) -> ProgressBar {
    let template = match total_bytes {
        Some(_) => "reading {bar:30} {decimal_bytes} of {decimal_total_bytes}, {msg}",
        None => "reading {spinner} {decimal_bytes}, {msg}",
    };
    progress::bar(total_bytes, template)
}
