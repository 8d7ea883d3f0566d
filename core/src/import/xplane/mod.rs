//! XPlane traces (`.xplane.pb`), as XLA's profiler writes them for JAX and PyTorch/XLA.
//!
//! ```text
//! XSpace ─ plane ─┬ /device:GPU:N    streams: kernels, copies, fills
//!                 ├ /host:CPU        threads: calls, Python frames, allocations
//!                 └ /host:metadata   the programs that ran (HLO)
//!                      └ hlo: an instruction, its operands and their shapes ─→ operators
//! ```
//!
//! A kernel names its HLO instruction. The instruction becomes an operator around the call that launched the kernel,
//! with the shapes of its operands as arguments.

mod event;
mod hlo;
mod line;
mod memory;
mod operators;
mod plane;
mod reader;
mod rows;

use super::format::{FormatReader, Head, Sniffed};
use super::wire::{self, Value, WireReader};
use reader::Reader;

/// Whether it starts with a plane: its second field is its name.
pub(super) fn sniff(head: Head) -> Sniffed {
    wire::sniff(head, |number, value| match (number, value) {
        (1, Value::Varint(_)) => None,
        (2, Value::Bytes(name)) => Some(name.starts_with(b"/") || name == b"Task Environment"),
        _ => Some(false),
    })
}

/// A new reader for this format.
pub(super) fn reader() -> Box<dyn FormatReader> {
    Box::<WireReader<Reader>>::default()
}
