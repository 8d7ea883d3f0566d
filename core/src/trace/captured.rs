//! Calls that were recorded while a GPU graph was captured, put below the call that replays it.
//!
//! They are events like all others, behind those of the recording, with the start and the duration of
//! the launch that they stand below: when they ran says nothing of the replay. So what nests in what
//! is kept here, as the depth of each.

use std::ops::Range;

use super::{EventId, Trace};
use crate::base::map::Map;

/// What was put into a trace beside its own events.
#[derive(Debug, Clone, Default)]
pub struct Captured {
    /// The first event that the recording does not have; `None` where nothing was added.
    first: Option<EventId>,
    /// By position behind the first: callers above, below the launch.
    depths: Vec<u16>,
    /// The first number behind those that captured calls take, also those that were left out.
    next_uid: u64,
    /// The calls below each launch, rising.
    replays: Vec<(Range<u32>, EventId)>,
    /// By launch: its row of `replays`.
    of_launch: Map<EventId, u32>,
    /// By call: the operator that was put around it.
    around: Map<EventId, EventId>,
    /// By kernel, copy or fill of a replay: the captured launch that it comes from.
    launched_by: Map<EventId, EventId>,
}

impl Captured {
    /// True where nothing was added.
    pub fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// Whether an event was added, and so has no time of its own.
    #[inline]
    pub fn has(&self, event: EventId) -> bool {
        self.first.is_some_and(|first| event >= first)
    }

    /// Notes an added event, which is the trace's last: how many of the calls put below its launch
    /// are above it.
    pub(crate) fn add(&mut self, event: EventId, depth: u16) {
        self.first.get_or_insert(event);
        self.depths.push(depth);
    }

    /// Says what stands below a launch: events that were added last, each before what it calls.
    pub(crate) fn below(&mut self, launch: EventId, calls: Range<u32>) {
        self.of_launch.insert(launch, self.replays.len() as u32);
        self.replays.push((calls, launch));
    }

    /// Leaves out the numbers before this one for events that are added later.
    pub(crate) fn number_from(&mut self, uid: u64) {
        self.next_uid = self.next_uid.max(uid);
    }

    /// Says which captured launch a kernel comes from.
    pub(crate) fn give(&mut self, kernel: EventId, launch: EventId) {
        self.launched_by.insert(kernel, launch);
    }

    /// The captured launch that a kernel comes from.
    #[inline]
    pub(crate) fn launched_by(&self, kernel: EventId) -> Option<EventId> {
        self.launched_by.get(&kernel).copied()
    }

    /// Says that an added operator stands around a call.
    pub(crate) fn put_around(&mut self, call: EventId, operator: EventId) {
        self.around.insert(call, operator);
    }

    /// The operator that was put around a call.
    #[inline]
    pub(crate) fn around(&self, call: EventId) -> Option<EventId> {
        if self.around.is_empty() {
            return None;
        }
        self.around.get(&call).copied()
    }

    /// Whether calls stand below a launch.
    #[inline]
    pub fn is_below(&self, launch: EventId) -> bool {
        !self.of_launch.is_empty() && self.of_launch.contains_key(&launch)
    }

    /// The calls below a launch, each before what it calls, with how many of them are above it.
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

    /// The launch that a call stands below, which replays what it stands for; `None` for a call of
    /// the recording.
    pub fn launch_of(&self, call: EventId) -> Option<EventId> {
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
    /// Whether it is an operator that was put around a call: no operator of the program.
    #[inline]
    pub fn is_part(&self, event: EventId) -> bool {
        self.has(event) && self.launch_of(event).is_none()
    }
}

impl Trace {
    /// Takes out what was added.
    pub(crate) fn leave_captured(&mut self) {
        if let Some(first) = self.captured.first {
            let added = self.events.ids().skip(first.index());
            self.leave_out(&added.collect::<Vec<_>>());
        }
        self.captured = Captured::default();
    }

    /// The first number that no event has: those of the recording and what was added.
    pub fn next_uid(&self) -> u64 {
        self.n_events_read.max(self.captured.next_uid)
    }

    /// The call of the recording that a call stands below: itself, unless it was added.
    pub fn recorded_call(&self, call: EventId) -> EventId {
        self.captured.launch_of(call).unwrap_or(call)
    }
}
