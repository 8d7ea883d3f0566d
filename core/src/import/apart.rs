//! Unpacking and reading apart, in threads or workers of their own.
//!
//! ```text
//! bytes ─Inflater─ text ─Cutter─ pieces ─┬──────────────────────→ Importer ─→ Trace
//!            │                           └─PartReader─ Parts ─join──↑
//!            └──── Inflated ────────────────────────────────────────↑ at the end
//! ```
//!
//! The same trace comes out as of an [`Importer`] alone. Who calls them hands the text on; nothing
//! here starts a thread.

use super::chrome_json::last_event_start;
use super::container::{Container, Gunzip};
use super::error::ImportError;
use super::part::Part;
use super::payload::Payload;
use super::warning::Warnings;
use super::{Imported, Importer};

/// Takes the gzip off a trace, where there is one.
#[derive(Debug, Default)]
pub struct Inflater {
    gunzip: Option<Gunzip>,
}

/// What the [`Importer`] of the text must know at its end: what was wrong with the gzip.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Inflated {
    warnings: Warnings,
}

impl Inflater {
    /// An inflater of a file that begins with these bytes; `None` for an archive, or where they are too
    /// few to tell, which an [`Importer`] reads alone.
    pub fn of(head: &[u8]) -> Option<Inflater> {
        let gunzip = Container::is_gzip(head).then(Gunzip::default);
        let is_text = gunzip.is_some() || Container::is_text(head);
        is_text.then_some(Inflater { gunzip })
    }

    /// Inflates a chunk and hands the text to `sink`, in pieces.
    pub fn push(&mut self, bytes: &[u8], mut sink: impl FnMut(&[u8])) {
        let Some(gunzip) = &mut self.gunzip else {
            return sink(bytes);
        };
        let handed_on = gunzip.push(bytes, |text| {
            sink(text);
            Ok(())
        });
        // Only the sink can fail.
        debug_assert!(handed_on.is_ok());
    }

    /// What was wrong, once all bytes are pushed.
    pub fn finish(self) -> Inflated {
        Inflated {
            warnings: self.gunzip.map(Gunzip::finish).unwrap_or_default(),
        }
    }
}

/// Cuts text into pieces, between two events where it can.
#[derive(Debug)]
pub struct Cutter {
    piece_bytes: usize,
    text: Vec<u8>,
    offset: u64,
    is_at_event: bool,
}

/// A piece of text.
#[derive(Debug, Default)]
pub struct Piece {
    /// The text.
    pub text: Vec<u8>,
    /// Where in the whole text it begins.
    pub offset: u64,
    /// It seems to go from one event to another, so that a [`PartReader`](super::PartReader) may read it.
    pub is_of_events: bool,
}

impl Cutter {
    /// A cutter whose pieces have about so many bytes.
    pub fn new(piece_bytes: usize) -> Cutter {
        Cutter {
            piece_bytes,
            text: Vec::new(),
            offset: 0,
            is_at_event: false,
        }
    }

    /// Takes text.
    pub fn push(&mut self, text: &[u8]) {
        self.text.extend_from_slice(text);
    }

    /// A piece, once there is enough for one; `rest` is memory for what is left, whatever it holds.
    pub fn next(&mut self, rest: Vec<u8>) -> Option<Piece> {
        if self.text.len() < self.piece_bytes {
            return None;
        }
        let cut = last_event_start(&self.text).filter(|at| *at > 0);
        Some(self.cut(cut.unwrap_or(self.text.len()), cut.is_some(), rest))
    }

    /// The last piece.
    pub fn finish(mut self) -> Piece {
        self.cut(self.text.len(), false, Vec::new())
    }

    fn cut(&mut self, at: usize, is_at_event: bool, mut rest: Vec<u8>) -> Piece {
        rest.clear();
        rest.extend_from_slice(self.text.get(at..).unwrap_or(&[]));
        let mut text = std::mem::replace(&mut self.text, rest);
        text.truncate(at);
        let piece = Piece {
            offset: self.offset,
            is_of_events: self.is_at_event && is_at_event,
            text,
        };
        self.offset += at as u64;
        self.is_at_event = is_at_event;
        piece
    }
}

impl Importer {
    /// An importer that is pushed the text of an [`Inflater`].
    pub fn of_inflated() -> Importer {
        Importer {
            container: Container::in_gzip(),
            reader: Payload::default(),
            bytes_read: 0,
        }
    }

    /// Puts a part behind what was read, as if its text were pushed. False where it does not follow: then
    /// its text has to be pushed.
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
