//! Trace Event JSON, as PyTorch's profiler (Kineto) writes it.
//!
//! ```text
//! text ─ reader ─ event ─→ rows of the Trace
//!          │        └ keys, number, text
//!          └ Warnings
//! ```

mod event;
mod keys;
mod metadata;
mod number;
mod pairs;
mod part_reader;
mod reader;
mod resync;
mod text;
mod tracks;

use super::format::FormatReader;
pub use part_reader::PartReader;
pub(super) use part_reader::last_event_start;
use reader::Reader;

/// A new reader for this format.
pub(super) fn reader() -> Box<dyn FormatReader> {
    Box::<Reader>::default()
}
