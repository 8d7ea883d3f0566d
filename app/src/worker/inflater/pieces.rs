//! The inflater's side: splits a file into pieces of text, and parses some of them.

use dormer_core::import::{Cutter, Inflated, Inflater, PartReader, Piece};
use js_sys::{Array, ArrayBuffer, Promise, Uint8Array};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{File, MessageChannel};

use super::super::chunks::Chunks;
use super::{Inbox, post};
use crate::protocol::wire::{message, to_js};

/// Compressed bytes that are inflated at a time: about 600 KB of text.
const SLICE: usize = 64 * 1024;
/// Approximate bytes of a piece: a few milliseconds of work.
const PIECE: usize = 1 << 20;
/// The most pieces in flight. If inflating is faster than reading, pieces do not pile up: they are parsed here.
const MOST_PIECES: usize = 4;

/// The text of a file on its way to the first worker.
pub(super) struct Pieces {
    spares: Inbox,
    buffers: Vec<ArrayBuffer>,
    /// Pieces whose buffers have not come back.
    n_out: usize,
    reader: PartReader,
    /// Buffer for the text.
    rest: Vec<u8>,
}

impl Pieces {
    pub(super) fn new(spares: Inbox) -> Pieces {
        Pieces {
            spares,
            buffers: Vec::new(),
            n_out: 0,
            reader: PartReader::new(0),
            rest: Vec::new(),
        }
    }

    /// Inflates a file to its end; `None` for an archive.
    pub(super) async fn of(mut self, file: &File) -> Result<Option<Inflated>, JsValue> {
        let chunks = Chunks::of(file);
        let mut inflater = None;
        let mut cutter = Cutter::new(PIECE);
        let mut read = 0.0;
        while let Some(bytes) = chunks.next().await? {
            let inflater = match &mut inflater {
                Some(inflater) => inflater,
                None => match Inflater::of(&bytes) {
                    Some(first) => inflater.insert(first),
                    None => return Ok(None),
                },
            };
            for slice in bytes.chunks(SLICE) {
                read += slice.len() as f64;
                inflater.push(slice, cutter.text());
                if let Some(piece) = cutter.next(std::mem::take(&mut self.rest)) {
                    self.send(piece, read).await?;
                }
            }
        }
        self.send(cutter.finish(), read).await?;
        Ok(Some(inflater.unwrap_or_default().finish()))
    }

    async fn send(&mut self, piece: Piece, read: f64) -> Result<(), JsValue> {
        if self.n_out >= MOST_PIECES {
            turn().await?;
            while let Some(spare) = self.spares.take_now() {
                self.take_back(spare);
            }
        }
        let read_here = match self.n_out >= MOST_PIECES && piece.is_of_events {
            true => self.reader.read(&piece.text, piece.offset),
            false => None,
        };
        while self.n_out >= MOST_PIECES {
            let spare = self.spares.take().await;
            self.take_back(spare);
        }
        let n_bytes = piece.text.len() as u32;
        let buffer = self
            .buffers
            .pop()
            .filter(|buffer| buffer.byte_length() >= n_bytes);
        let buffer = buffer.unwrap_or_else(|| ArrayBuffer::new(n_bytes));
        let text = Uint8Array::new_with_byte_offset_and_length(&buffer, 0, n_bytes);
        text.copy_from(&piece.text);
        let transfer = Array::of1(&buffer);
        let mut parts = vec![("text", text.into()), ("read", read.into())];
        if let Some(read_here) = read_here {
            let bytes: Uint8Array = to_js(&read_here).unchecked_into();
            transfer.push(&bytes.buffer());
            parts.push(("part", bytes.into()));
        }
        post(&message(&parts), &transfer);
        self.n_out += 1;
        self.rest = piece.text;
        Ok(())
    }

    fn take_back(&mut self, spare: JsValue) {
        self.n_out = self.n_out.saturating_sub(1);
        self.buffers.extend(spare.dyn_into::<ArrayBuffer>());
    }
}

/// Lets pending messages arrive: a worker receives none while it is busy.
async fn turn() -> Result<(), JsValue> {
    let channel = MessageChannel::new()?;
    let reply = Promise::new(&mut |resolve, _| channel.port1().set_onmessage(Some(&resolve)));
    channel.port2().post_message(&JsValue::NULL)?;
    JsFuture::from(reply).await?;
    channel.port1().close();
    Ok(())
}
