//! Events of formats that do not write them in their final order.
//!
//! They are kept in file order and sorted at the end: first those with a number, such as PyTorch's, by number, then all
//! others by start time. The JSON of PyTorch's profiler has the same order.

use super::limits;
use super::warning::{WarningKind, Warnings};
use crate::trace::{Column, EventId, NewEvent, Trace, TraceBuilder, TrackId};

/// Collects events in any order.
#[derive(Debug, Default)]
pub(super) struct Unordered {
    pub(super) builder: TraceBuilder,
    pub(super) warnings: Warnings,
    /// The number of each event, or [`NONE`].
    numbers: Column<u32>,
}

const NONE: u32 = u32::MAX;

/// Larger numbers are damage. The limit leaves room for the numbers of the other events.
const MAX_NUMBER: u32 = 1 << 31;

impl Unordered {
    /// Adds an event, which may have a number; its `uid` is set at the end. `None` if the trace is full.
    pub(super) fn add(
        &mut self,
        event: NewEvent,
        number: Option<u64>,
        offset: u64,
    ) -> Option<EventId> {
        if !limits::has_room(&self.builder.trace) {
            self.warn(WarningKind::TooManyEvents, offset);
            return None;
        }
        let recorded = event.dur_ns;
        let id = self.builder.event(NewEvent {
            dur_ns: None,
            ..event
        });
        let number = number.and_then(|number| u32::try_from(number).ok());
        self.numbers
            .push(number.filter(|of| *of < MAX_NUMBER).unwrap_or(NONE));
        if let Some(recorded) = recorded {
            self.set_duration(id, recorded, offset);
        }
        Some(id)
    }

    /// Sets the duration of an event.
    pub(super) fn set_duration(&mut self, event: EventId, recorded_ns: i64, offset: u64) {
        match limits::duration(recorded_ns) {
            Ok(dur_ns) => self.builder.trace.events.set_dur_ns(event, Some(dur_ns)),
            Err(wrong) => {
                self.warn(wrong, offset);
                self.builder.untrue_duration(event, recorded_ns);
            }
        }
    }

    /// Records a warning.
    pub(super) fn warn(&mut self, kind: WarningKind, offset: u64) {
        self.warnings.add(kind, Some(offset));
    }

    /// The trace, with its events in order.
    pub(super) fn finish(mut self) -> (Trace, Warnings) {
        let events = &self.builder.trace.events;
        let number = |id: EventId| self.numbers.get(id.index()).unwrap_or(NONE);
        let mut ids: Vec<EventId> = events.ids().collect();
        ids.sort_by_key(|id| match number(*id) {
            // An operator precedes a runtime call with the same time.
            NONE => (NONE, events.ts_ns(*id), events.category(*id).is_runtime()),
            number => (number, 0, false),
        });
        let mut next = 0;
        let numbered = ids.into_iter().map(|id| {
            let uid = match number(id) {
                NONE => next,
                number => number.max(next),
            };
            next = uid.saturating_add(1);
            (id, uid)
        });
        let order: Vec<(EventId, u32)> = numbered.collect();
        self.builder.trace.arrange(&order);
        (self.builder.finish(), self.warnings)
    }
}

/// The track of a GPU stream, named as in PyTorch's JSON.
pub(super) fn stream_track(builder: &mut TraceBuilder, gpu: u64, stream: &str) -> TrackId {
    let pid = gpu.to_string();
    let track = builder.track(&pid, stream);
    let name = format!("stream {stream}");
    let label = format!("GPU {pid}");
    let [pid, tid, name, label] = [&*pid, stream, &name, &label].map(|text| builder.string(text));
    builder.process_label(pid, label);
    builder.thread_name(pid, tid, name);
    track
}
