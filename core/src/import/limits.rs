//! Plausibility and size limits for traces of any format.

use super::warning::WarningKind;
use crate::trace::Trace;

/// Longest plausible duration of an event: one day.
const LONGEST_NS: i64 = 86_400_000_000_000;

/// Maximum number of events. At about 60 bytes each they fit in the 4 GiB of wasm.
const MAX_EVENTS: usize = 45_000_000;

/// Maximum total size of names and arguments.
const MAX_STRING_BYTES: usize = 1 << 30;

/// Maximum number of allocations. At about 42 bytes each they fit next to the events.
pub(super) const MAX_MEMORY_ROWS: usize = 10_000_000;

/// Whether a trace has room for another event.
#[inline]
pub(super) fn has_room(trace: &Trace) -> bool {
    trace.events.len() < MAX_EVENTS && trace.strings.bytes() <= MAX_STRING_BYTES
}

/// Whether it has room for this many more events and this much more text.
pub(super) fn has_room_for(trace: &Trace, n_events: usize, n_text: usize) -> bool {
    trace.events.len() + n_events <= MAX_EVENTS
        && trace.strings.bytes() + n_text <= MAX_STRING_BYTES
}

/// A recorded duration if it is plausible, otherwise what is wrong with it.
#[inline]
pub(super) fn duration(recorded_ns: i64) -> Result<i64, WarningKind> {
    match recorded_ns {
        0..=LONGEST_NS => Ok(recorded_ns),
        ..0 => Err(WarningKind::NegativeDuration),
        _ => Err(WarningKind::ImpossibleDuration),
    }
}
