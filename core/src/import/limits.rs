//! What a trace can hold and be true, whatever its format.

use super::warning::WarningKind;
use crate::trace::Trace;

/// Longest time that an event can take and be true: a day.
const LONGEST_NS: i64 = 86_400_000_000_000;

/// Most events that are kept. At some 60 bytes each they fit the 4 GiB of wasm.
const MAX_EVENTS: usize = 45_000_000;

/// Most text in names and arguments.
const MAX_STRING_BYTES: usize = 1 << 30;

/// Most allocations that are kept. At some 42 bytes each they fit beside the events.
pub(super) const MAX_MEMORY_ROWS: usize = 10_000_000;

/// Whether a trace has room for another event.
#[inline]
pub(super) fn has_room(trace: &Trace) -> bool {
    trace.events.len() < MAX_EVENTS && trace.strings.bytes() <= MAX_STRING_BYTES
}

/// Whether it has room for so many events and so much text more.
pub(super) fn has_room_for(trace: &Trace, n_events: usize, n_text: usize) -> bool {
    trace.events.len() + n_events <= MAX_EVENTS
        && trace.strings.bytes() + n_text <= MAX_STRING_BYTES
}

/// A duration as it was recorded, where it can be true; else what is wrong with it.
#[inline]
pub(super) fn duration(recorded_ns: i64) -> Result<i64, WarningKind> {
    match recorded_ns {
        0..=LONGEST_NS => Ok(recorded_ns),
        ..0 => Err(WarningKind::NegativeDuration),
        _ => Err(WarningKind::ImpossibleDuration),
    }
}
