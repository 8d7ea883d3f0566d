//! Decompressing and parsing on separate threads or workers.
//!
//! ```text
//! bytes ─Inflater─ text ─Cutter─ pieces ─┬──────────────────────→ Importer ─→ Trace
//!            │                           └─PartReader─ Parts ─join──↑
//!            └──── Inflated ────────────────────────────────────────↑ at the end
//! ```
//!
//! The resulting trace is the same as from an [`Importer`] alone. The caller passes the text between the stages;
//! nothing here starts a thread.

use super::chrome_json::last_event_start;
use super::container::{Container, Gunzip};
use super::error::ImportError;
use super::part::Part;
use super::payload::Payload;
use super::text_buffer::TextBuffer;
use super::warning::Warnings;
use super::{Imported, Importer};

/// Decompresses a trace if it is gzipped.
#[derive(Debug, Default)]
pub struct Inflater {
    gunzip: Option<Gunzip>,
}

/// What the [`Importer`] of the text needs at its end: the warnings of the gzip layer.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Inflated {
    warnings: Warnings,
}

impl Inflater {
    /// An inflater for a file that starts with these bytes; `None` for an archive, or if there are too few bytes to
    /// decide. An [`Importer`] reads those alone.
    pub fn of(head: &[u8]) -> Option<Inflater> {
        let gunzip = Container::is_gzip(head).then(Gunzip::default);
        let is_text = gunzip.is_some() || Container::is_text(head);
        is_text.then_some(Inflater { gunzip })
    }

    /// Inflates a chunk and appends its text.
    pub fn push(&mut self, bytes: &[u8], text: &mut TextBuffer) {
        match &mut self.gunzip {
            Some(gunzip) => gunzip.push_to(bytes, text),
            None => text.push(bytes),
        }
    }

    /// The warnings, once all bytes are pushed.
    pub fn finish(self) -> Inflated {
        Inflated {
            warnings: self.gunzip.map(Gunzip::finish).unwrap_or_default(),
        }
    }
}

/// Cuts text into pieces, between two events where possible.
#[derive(Debug)]
pub struct Cutter {
    piece_bytes: usize,
    text: TextBuffer,
    offset: u64,
    is_at_event: bool,
}

/// A piece of text.
#[derive(Debug, Default)]
pub struct Piece {
    /// The text.
    pub text: Vec<u8>,
    /// Its offset in the whole text.
    pub offset: u64,
    /// Whether it seems to span whole events, so that a [`PartReader`](super::PartReader) may read it.
    pub is_of_events: bool,
}

impl Cutter {
    /// A cutter whose pieces have about this many bytes.
    pub fn new(piece_bytes: usize) -> Cutter {
        Cutter {
            piece_bytes,
            text: TextBuffer::default(),
            offset: 0,
            is_at_event: false,
        }
    }

    /// What was not cut off yet: text is appended to it.
    pub fn text(&mut self) -> &mut TextBuffer {
        &mut self.text
    }

    /// A piece, once there is enough text for one. `memory` is reused for what follows; its content is ignored.
    pub fn next(&mut self, memory: Vec<u8>) -> Option<Piece> {
        let text = self.text.bytes();
        if text.len() < self.piece_bytes {
            return None;
        }
        let cut = last_event_start(text).filter(|at| *at > 0);
        let at = cut.unwrap_or(text.len());
        let mut rest = TextBuffer::of(memory);
        rest.push(text.get(at..).unwrap_or_default());
        let mut text = std::mem::replace(&mut self.text, rest).into_text();
        text.truncate(at);
        let piece = Piece {
            offset: self.offset,
            is_of_events: self.is_at_event && cut.is_some(),
            text,
        };
        self.offset += at as u64;
        self.is_at_event = cut.is_some();
        Some(piece)
    }

    /// The last piece.
    pub fn finish(self) -> Piece {
        Piece {
            text: self.text.into_text(),
            offset: self.offset,
            is_of_events: false,
        }
    }
}

impl Importer {
    /// An importer that receives the text of an [`Inflater`].
    pub fn of_inflated() -> Importer {
        Importer {
            container: Container::in_gzip(),
            reader: Payload::default(),
            bytes_read: 0,
        }
    }

    /// Appends a part as if its text were pushed. Returns false if it does not follow what was read; then its text has
    /// to be pushed.
    pub fn join(&mut self, part: &Part) -> bool {
        let is_joined = self.container.is_plain() && self.reader.join(part);
        if is_joined {
            self.bytes_read += part.n_bytes();
        }
        is_joined
    }

    /// The trace, once all text is pushed.
    pub fn finish_inflated(self, inflated: &Inflated) -> Result<Imported, ImportError> {
        self.finish_with(inflated.warnings.clone())
    }
}
