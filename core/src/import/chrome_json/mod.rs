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

use super::format::FormatReader;
use reader::Reader;

/// Begins to read one.
pub(super) fn reader() -> Box<dyn FormatReader> {
    Box::<Reader>::default()
}
