//! Perfetto traces (`.pftrace`), as PyTorch and rocprofv3 write them.
//!
//! ```text
//! packets ─ reader ─ slice ─ pairs ─→ events of threads      begins and ends are packets of their own
//!              │   └ stage ─────────→ kernels, copies, fills
//!              ├ names, tracks, clocks: what packets refer to
//!              └ annotations: arguments as JSON's
//! ```
//!
//! What it means is what PyTorch's JSON says: the same categories, arguments and order of events. Traces
//! of other programs give their slices, without GPU activity.

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

/// Whether it begins with a packet: with one of the fields that stand first in one.
pub(super) fn sniff(head: Head) -> Sniffed {
    wire::sniff(head, |number, value| match (number, value) {
        // Its time, whose sequence it is of, and what the sequence begins anew.
        (8 | 10 | 13, Value::Varint(_)) => Some(true),
        // Clocks, events, names, GPU activity, tracks.
        (6 | 11 | 12 | 53 | 60, Value::Bytes(_)) => Some(true),
        _ => None,
    })
}

/// Begins to read one.
pub(super) fn reader() -> Box<dyn FormatReader> {
    Box::<WireReader<Reader>>::default()
}
