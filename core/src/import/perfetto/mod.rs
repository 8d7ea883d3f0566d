//! Perfetto traces (`.pftrace`), as PyTorch and rocprofv3 write them.
//!
//! ```text
//! packets ─ reader ─ slice ─ pairs ─→ events of threads      begins and ends are packets of their own
//!              │   └ stage ─────────→ kernels, copies, fills
//!              ├ names, tracks, clocks: what packets refer to
//!              └ annotations: arguments as JSON's
//! ```
//!
//! The meaning is the same as in PyTorch's JSON: the same categories, arguments and order of events. Traces of other
//! programs yield their slices, without GPU activity.

mod annotations;
mod clocks;
mod names;
mod pairs;
mod reader;
mod slice;
mod stage;
mod touching;
mod tracks;

use super::format::{FormatReader, Head, Sniffed};
use super::wire::{self, Value, WireReader};
use reader::Reader;

/// Whether it starts with a packet: with one of the fields that come first in one.
pub(super) fn sniff(head: Head) -> Sniffed {
    wire::sniff(head, |number, value| match (number, value) {
        // Its time, its sequence, and what the sequence resets.
        (8 | 10 | 13, Value::Varint(_)) => Some(true),
        // Clocks, events, names, GPU activity, tracks.
        (6 | 11 | 12 | 53 | 60, Value::Bytes(_)) => Some(true),
        _ => None,
    })
}

/// A new reader for this format.
pub(super) fn reader() -> Box<dyn FormatReader> {
    Box::<WireReader<Reader>>::default()
}
