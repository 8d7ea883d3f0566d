//! A trace from a file or from standard input, in chunks: never the whole text at once.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::Path;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;

use dormer_core::import::{ImportError, Imported, Importer, Inflated, Inflater};
use dormer_core::{Profile, output::redact};
use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::Failure;
use crate::args::RedactArgs;

/// Large enough that a read costs nothing beside inflating what it brought, small enough for the
/// processor's cache.
const CHUNK_BYTES: usize = 256 << 10;

/// Compressed bytes whose text is handed from thread to thread: some 600 KB of text.
const SLICE_BYTES: usize = 64 << 10;

/// So much text may wait to be read.
const N_PIECES: usize = 8;

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

    let told = |bytes_read: u64, importer: &Importer| {
        bar.set_position(bytes_read);
        let events = importer.progress().events;
        bar.set_message(format!("{} events", HumanCount(events)));
    };
    let mut chunk = vec![0; CHUNK_BYTES];
    let n_head = next(&mut *source, &mut chunk).map_err(unreadable)?;
    let head = chunk.get(..n_head).unwrap_or_default();
    let imported = match Inflater::of(head) {
        Some(inflater) => inflated(source, inflater, head, told),
        None => plain(source, &mut chunk, n_head, told),
    };
    bar.finish_and_clear();
    imported.map_err(unreadable)
}

/// Reads what is no gzip, whose first bytes were read.
fn plain(
    mut source: Box<dyn Read + Send>,
    chunk: &mut [u8],
    mut n_bytes: usize,
    told: impl Fn(u64, &Importer),
) -> io::Result<Result<Imported, ImportError>> {
    let mut importer = Importer::new();
    while n_bytes > 0 {
        if let Err(error) = importer.push(chunk.get(..n_bytes).unwrap_or_default()) {
            return Ok(Err(error));
        }
        told(importer.progress().bytes_read, &importer);
        n_bytes = next(&mut *source, chunk)?;
    }
    Ok(importer.finish())
}

/// Text from the thread that inflates, and how many bytes of the file it is of so far.
struct Piece {
    text: Vec<u8>,
    bytes_read: u64,
}

/// Reads a gzip file whose first bytes were read: another thread inflates what this one reads.
fn inflated(
    source: Box<dyn Read + Send>,
    inflater: Inflater,
    head: &[u8],
    told: impl Fn(u64, &Importer),
) -> io::Result<Result<Imported, ImportError>> {
    thread::scope(|scope| {
        let (sender, pieces) = mpsc::sync_channel(N_PIECES);
        let (used, spare) = mpsc::channel();
        let inflating = scope.spawn(|| inflate(source, inflater, head, sender, spare));
        let mut importer = Importer::of_inflated();
        let pushed = pieces.iter().try_for_each(|piece: Piece| {
            importer.push(&piece.text)?;
            told(piece.bytes_read, &importer);
            // Nobody takes it once all is inflated.
            let _ = used.send(piece.text);
            Ok(())
        });
        // What inflates ends where nobody takes its text.
        drop(pieces);
        let ended = inflating.join();
        let ended = ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok(pushed.and_then(|()| importer.finish_inflated(&ended)))
    })
}

/// Inflates to the end of the source, or until nobody takes the text.
fn inflate(
    mut source: Box<dyn Read + Send>,
    mut inflater: Inflater,
    head: &[u8],
    sender: SyncSender<Piece>,
    spare: Receiver<Vec<u8>>,
) -> io::Result<Inflated> {
    let mut chunk = head.to_vec();
    let mut n_bytes = head.len();
    chunk.resize(CHUNK_BYTES, 0);
    let mut bytes_read = 0;
    while n_bytes > 0 {
        for bytes in chunk.get(..n_bytes).unwrap_or_default().chunks(SLICE_BYTES) {
            bytes_read += bytes.len() as u64;
            let mut text = spare.try_recv().unwrap_or_default();
            text.clear();
            inflater.push(bytes, |inflated| text.extend_from_slice(inflated));
            if sender.send(Piece { text, bytes_read }).is_err() {
                return Ok(Inflated::default());
            }
        }
        n_bytes = next(&mut *source, &mut chunk)?;
    }
    Ok(inflater.finish())
}

/// The next bytes of a source; none at its end.
fn next(source: &mut dyn Read, chunk: &mut [u8]) -> io::Result<usize> {
    loop {
        match source.read(chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
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
