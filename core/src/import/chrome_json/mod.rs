//! Trace Event JSON, as PyTorch's profiler (Kineto) writes it.
//!
//! ```text
//! text ─ reader ─ event ─→ rows of the Trace
//!          │        └ keys, scan, number, text
//!          └ Warnings
//! ```

mod categories;
mod event;
mod keys;
mod metadata;
mod number;
mod pairs;
mod reader;
mod resync;
mod scan;
mod text;
mod tracks;

use super::error::ImportError;
use super::format::FormatReader;
use super::warning::Warnings;
use crate::trace::Trace;
use reader::Reader;

/// Begins to read one.
pub(super) fn reader() -> Box<dyn FormatReader> {
    Box::<Reader>::default()
}

impl FormatReader for Reader {
    fn push(&mut self, bytes: &[u8]) -> Result<(), ImportError> {
        Reader::push(self, bytes)
    }

    fn n_bytes(&self) -> u64 {
        Reader::n_bytes(self)
    }

    fn n_events(&self) -> u32 {
        self.n_elements()
    }

    fn end(&mut self) -> Result<(), ImportError> {
        Reader::end(self)
    }

    fn into_trace(self: Box<Self>) -> (Trace, Warnings) {
        let events = self.into_events();
        (events.builder.finish(), events.warnings)
    }
}
