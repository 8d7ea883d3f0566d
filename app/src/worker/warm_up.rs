//! A worker that opens the sample while the page waits, so that all code is compiled when the first trace comes.

use dormer_core::import::{Cutter, Imported, Importer, Inflater, Part, PartReader, Piece};
use dormer_core::sample;
use js_sys::{Array, Function, Reflect, Uint8Array};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{Blob, File, Response};

use super::incoming::MOST_ASIDE_BYTES;
use super::messages;
use super::reading::bytes_of;
use super::replies::scope;
use super::{Content, Incoming, Traces};
use crate::protocol::wire::{from_js, message, part, to_js};
use crate::protocol::{Choice, Reply, Request, StepsQuery};

pub(super) use crate::protocol::WARM_UP as NAME;

/// The number of times the sample is opened until the worker is warm: less than two seconds of work.
const N_OPENINGS: usize = 72;

/// The number of pieces in which the sample is read.
const N_PIECES: usize = 8;

/// Opens the sample as the page's messages would, which sends it to the page to be drawn once, and then repeatedly, since
/// code that runs often is optimized. The page ends the worker at any point when a trace comes.
pub(super) fn run() {
    spawn_local(async {
        let mut bytes = sample::TRACE.into();
        if let Ok(file) = sample_file().await {
            if let Ok(compressed) = bytes_of(&file, file.size() - MOST_ASIDE_BYTES).await {
                bytes = compressed;
            }
            messages::open_files(vec![file], Choice::default(), false).await;
        }
        messages::take(&message(&[(
            "body",
            to_js(&Request::Ask(StepsQuery.into())),
        )]));
        for _ in 0..N_OPENINGS {
            open(&bytes);
        }
        scope().close();
    });
}

/// The sample as traces usually are: compressed, and so large that another worker inflates it. Zeros may follow what is
/// compressed.
async fn sample_file() -> Result<File, JsValue> {
    let text = Blob::new_with_str_sequence(&Array::of1(&sample::TRACE.into()))?;
    let compressing: Function = part(&js_sys::global(), "CompressionStream").dyn_into()?;
    let compressing = Reflect::construct(&compressing, &Array::of1(&"gzip".into()))?;
    let compressed = text.stream().pipe_through(compressing.unchecked_ref());
    let compressed = Response::new_with_opt_readable_stream(Some(&compressed))?.blob()?;
    let zeros = Uint8Array::new_with_length(MOST_ASIDE_BYTES as u32);
    let parts = Array::of2(&JsFuture::from(compressed).await?, &zeros);
    File::new_with_blob_sequence(&parts, "")
}

/// Opens the sample and makes the first queries of every trace.
fn open(file: &[u8]) {
    let Some(imported) = sample_in_pieces(file) else {
        return;
    };
    let sample = Incoming {
        name: String::new(),
        content: Ok(Content::Recording(Box::new(imported))),
    };
    let opened = Traces::open(vec![sample], &Choice::default(), false, |_| {});
    if let Ok((mut traces, opened)) = opened {
        to_js(&Reply::Opened(Box::new(opened)));
        traces.answer(StepsQuery.into());
    }
}

/// Reads the sample like a large trace: every other piece is parsed separately.
fn sample_in_pieces(file: &[u8]) -> Option<Imported> {
    let mut importer = Importer::of_inflated();
    let mut reader = PartReader::new(0);
    let mut is_apart = false;
    let mut take = |piece: Piece| {
        is_apart = !is_apart && piece.is_of_events;
        let part = match is_apart {
            true => reader.read(&piece.text, piece.offset),
            false => None,
        };
        let part: Option<Part> = part.and_then(|part| from_js(&to_js(&part)).ok());
        match part.is_some_and(|part| importer.join(&part)) {
            true => Some(()),
            false => importer.push(&piece.text).ok(),
        }
    };
    let (mut inflater, mut cutter) = (Inflater::of(file)?, Cutter::new(1));
    for slice in file.chunks(file.len().div_ceil(N_PIECES)) {
        inflater.push(slice, cutter.text());
        if let Some(piece) = cutter.next(Vec::new()) {
            take(piece)?;
        }
    }
    take(cutter.finish())?;
    importer.finish_inflated(&inflater.finish()).ok()
}
