//! Calls recorded while a GPU graph was captured, placed below the call that replays it.
//!
//! They are events like all others, placed after those of the recording. Their start and duration are those of the
//! launch that they are placed below, because when they ran says nothing about the replay. Nesting therefore cannot be
//! derived from times, and is kept here as the depth of each.

use std::ops::Range;

use super::{EventId, Trace};
use crate::base::map::Map;

/// The calls added to a trace in addition to its own events.
#[derive(Debug, Clone, Default)]
pub struct Captured {
    /// The first added event; `None` if none was added.
    first: Option<EventId>,
    /// Number of callers between each added call and the launch, by position after `first`.
    depths: Vec<u16>,
    /// The first uid after those that captured calls take, including calls that were left out.
    next_uid: u64,
    /// The calls below each launch, in ascending order.
    replays: Vec<(Range<u32>, EventId)>,
    /// By launch: its row of `replays`.
    of_launch: Map<EventId, u32>,
    /// By call: the operator that was added around it.
    around: Map<EventId, EventId>,
    /// By kernel, copy or fill of a replay: the captured launch that issued it.
    launched_by: Map<EventId, EventId>,
}

impl Captured {
    /// True if nothing was added.
    pub fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// Whether an event was added, and so has no time of its own.
    #[inline]
    pub fn has(&self, event: EventId) -> bool {
        self.first.is_some_and(|first| event >= first)
    }

    /// Notes an added event, which is the last of the trace. `depth` is the number of its callers below the launch.
    pub(crate) fn add(&mut self, event: EventId, depth: u16) {
        self.first.get_or_insert(event);
        self.depths.push(depth);
    }

    /// Sets the calls below a launch: the events added last, callers before callees.
    pub(crate) fn below(&mut self, launch: EventId, calls: Range<u32>) {
        self.of_launch.insert(launch, self.replays.len() as u32);
        self.replays.push((calls, launch));
    }

    /// Reserves all uids below this one: events added later get higher ones.
    pub(crate) fn number_from(&mut self, uid: u64) {
        self.next_uid = self.next_uid.max(uid);
    }

    /// Sets the captured launch that a kernel comes from.
    pub(crate) fn give(&mut self, kernel: EventId, launch: EventId) {
        self.launched_by.insert(kernel, launch);
    }

    /// The captured launch that a kernel comes from.
    #[inline]
    pub(crate) fn launched_by(&self, kernel: EventId) -> Option<EventId> {
        self.launched_by.get(&kernel).copied()
    }

    /// Sets the operator that was added around a call.
    pub(crate) fn put_around(&mut self, call: EventId, operator: EventId) {
        self.around.insert(call, operator);
    }

    /// The operator that was added around a call.
    #[inline]
    pub(crate) fn around(&self, call: EventId) -> Option<EventId> {
        if self.around.is_empty() {
            return None;
        }
        self.around.get(&call).copied()
    }

    /// Whether captured calls were placed below a launch.
    #[inline]
    pub fn is_below(&self, launch: EventId) -> bool {
        !self.of_launch.is_empty() && self.of_launch.contains_key(&launch)
    }

    /// The calls below a launch, callers before callees, with the depth of each.
    pub(crate) fn of_launch(&self, launch: EventId) -> impl Iterator<Item = (EventId, u16)> + '_ {
        let row = self.of_launch.get(&launch);
        let calls = row.and_then(|row| self.replays.get(*row as usize));
        let calls = calls.map_or(0..0, |(calls, _)| calls.clone());
        let first = self.first.map_or(0, |first| first.0);
        calls.map(move |row| {
            let depth = self.depths.get((row - first) as usize);
            (EventId(row), depth.copied().unwrap_or(0))
        })
    }

    /// The launch that an added call was placed below, which replays it; `None` for a call of the recording.
    fn launch_of(&self, call: EventId) -> Option<EventId> {
        if !self.has(call) {
            return None;
        }
        let next = self
            .replays
            .partition_point(|(calls, _)| calls.start <= call.0);
        let (calls, launch) = self.replays.get(next.checked_sub(1)?)?;
        calls.contains(&call.0).then_some(*launch)
    }
}

impl Captured {
    /// Whether it is an operator that was added around a call, not one of the program.
    #[inline]
    pub fn is_part(&self, event: EventId) -> bool {
        self.has(event) && self.launch_of(event).is_none()
    }
}

impl Trace {
    /// Removes the added events.
    pub(crate) fn leave_captured(&mut self) {
        if let Some(first) = self.captured.first {
            let added = self.events.ids().skip(first.index());
            self.leave_out(&added.collect::<Vec<_>>());
        }
        self.captured = Captured::default();
    }

    /// The first uid that no event has, recorded or added.
    pub(crate) fn next_uid(&self) -> u64 {
        self.n_events_read.max(self.captured.next_uid)
    }

    /// For an added call the recorded launch above it; for a recorded call the call itself.
    pub(crate) fn recorded_call(&self, call: EventId) -> EventId {
        self.captured.launch_of(call).unwrap_or(call)
    }
}
