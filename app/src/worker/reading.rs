//! Reads files and identifies their content.

use std::cell::RefCell;

use dormer_core::import::{ExecutionTrace, ImportError, Importer};
use js_sys::Uint8Array;
use wasm_bindgen_futures::JsFuture;
use web_sys::{File, wasm_bindgen::JsValue};

use super::analysis;
use super::chunks::Chunks;
use super::incoming::{Content, Incoming, MOST_ASIDE_BYTES};
use super::inflater::{Inflater, Received};
use super::replies::ProgressReporter;
use crate::protocol::Failure;
use crate::protocol::wire::error_text;

/// The number of bytes that identify an execution trace.
const HEAD_BYTES: f64 = 4096.0;

thread_local! {
    static INFLATER: RefCell<Option<Inflater>> = const { RefCell::new(None) };
}

/// Starts the inflater before it is needed.
pub(super) fn prepare() {
    INFLATER.set(Inflater::start());
}

/// Reads files one after another, as long as they are wanted.
pub(super) async fn read_all(
    files: Vec<File>,
    reporter: &mut ProgressReporter,
    is_wanted: impl Fn() -> bool,
) -> Option<Vec<Incoming>> {
    let mut incoming = Vec::new();
    for file in files {
        let content = match execution_trace(&file).await {
            Some(read) => read,
            None => match read(&file, reporter, &is_wanted).await {
                Ok(content) => Ok(content?),
                Err(failure) => Err(failure),
            },
        };
        reporter.next();
        incoming.push(Incoming {
            name: file.name(),
            content,
        });
    }
    // A new one is started if more files come.
    INFLATER.set(None);
    Some(incoming)
}

/// Reads one of many files, with or without another worker.
pub(super) async fn read_one(
    file: &File,
    reporter: &mut ProgressReporter,
    has_inflater: bool,
) -> Result<Option<Content>, Failure> {
    match has_inflater {
        true => read(file, reporter, &|| true).await,
        false => read_alone(file, reporter, &|| true).await,
    }
}

/// Reads a file to its end; `None` if it is no longer wanted. Large files are inflated by another worker.
async fn read(
    file: &File,
    reporter: &mut ProgressReporter,
    is_wanted: &impl Fn() -> bool,
) -> Result<Option<Content>, Failure> {
    if file.size() > MOST_ASIDE_BYTES
        && let Some(inflater) = INFLATER.take().or_else(Inflater::start)
        && inflater.inflate(file)
    {
        match inflater.next().await {
            Ok(Received::Alone) => INFLATER.set(Some(inflater)),
            Ok(first) => return read_inflated(inflater, first, reporter, is_wanted).await,
            // The inflater is not available: nothing of the file has been read yet.
            Err(_) => {}
        }
    }
    read_alone(file, reporter, is_wanted).await
}

/// Reads what the inflater sends.
async fn read_inflated(
    inflater: Inflater,
    mut received: Received,
    reporter: &mut ProgressReporter,
    is_wanted: &impl Fn() -> bool,
) -> Result<Option<Content>, Failure> {
    let mut importer = Importer::of_inflated();
    let mut buffer = Vec::new();
    let failure = |error: ImportError| analysis::failure(&error);
    loop {
        if !is_wanted() {
            return Ok(None);
        }
        match received {
            Received::Piece {
                text,
                part,
                bytes_read,
            } => {
                if !part.is_some_and(|part| importer.join(&part)) {
                    buffer.resize(text.length() as usize, 0);
                    text.copy_to(&mut buffer);
                    importer.push(&buffer).map_err(failure)?;
                }
                inflater.give_back(&text);
                reporter.has_read(&importer, bytes_read);
            }
            Received::End(inflated) => {
                INFLATER.set(Some(inflater));
                let imported = importer.finish_inflated(&inflated).map_err(failure)?;
                return Ok(Some(Content::Recording(Box::new(imported))));
            }
            Received::Alone => {}
        }
        let next = inflater.next().await;
        received = next.map_err(|reason| unreadable(&reason.into()))?;
    }
}

/// Reads a file to its end, chunk by chunk; `None` if it is no longer wanted.
async fn read_alone(
    file: &File,
    reporter: &mut ProgressReporter,
    is_wanted: &impl Fn() -> bool,
) -> Result<Option<Content>, Failure> {
    let chunks = Chunks::of(file);
    let mut importer = Importer::new();
    // Files that accompany traces are small, and are identified as a whole.
    let mut small = (file.size() <= MOST_ASIDE_BYTES).then(Vec::new);
    let failure = |error: ImportError| analysis::failure(&error.of_file(&file.name()));
    while let Some(bytes) = chunks.next().await.map_err(|error| unreadable(&error))? {
        if !is_wanted() {
            return Ok(None);
        }
        match &mut small {
            Some(small) => small.extend_from_slice(&bytes),
            None => reporter.push(&mut importer, &bytes).map_err(failure)?,
        }
    }
    let small = small.unwrap_or_default();
    if let Some(aside) = Content::aside(&small) {
        return Ok(Some(aside));
    }
    reporter.push(&mut importer, &small).map_err(failure)?;
    let imported = importer.finish().map_err(failure)?;
    Ok(Some(Content::Recording(Box::new(imported))))
}

/// An execution trace; `None` for any other file.
async fn execution_trace(file: &File) -> Option<Result<Content, Failure>> {
    let head = bytes_of(file, HEAD_BYTES).await.ok()?;
    if !ExecutionTrace::is_file(&head) {
        return None;
    }
    let bytes = bytes_of(file, file.size()).await;
    Some(bytes.and_then(|bytes| {
        let read = ExecutionTrace::read(&bytes);
        read.map(Content::Execution).map_err(Failure::new)
    }))
}

pub(super) async fn bytes_of(file: &File, up_to: f64) -> Result<Vec<u8>, Failure> {
    let slice = file.slice_with_f64_and_f64(0.0, up_to);
    let slice = slice.map_err(|error| unreadable(&error))?;
    let buffer = JsFuture::from(slice.array_buffer()).await;
    let buffer = buffer.map_err(|error| unreadable(&error))?;
    Ok(Uint8Array::new(&buffer).to_vec())
}

fn unreadable(error: &JsValue) -> Failure {
    Failure::new(format!(
        "the browser could not read the file ({}); it may have changed or moved",
        error_text(error)
    ))
}
