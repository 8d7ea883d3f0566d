//! One row of a lane.

use crate::base::interval::{Interval, running_sums};
use crate::trace::{EventId, Trace};

/// Spans in order of time, none of which begins before the one before it has ended.
///
/// 12 bytes a span.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    events: Vec<EventId>,
    /// Nanoseconds in all spans before the one at this position; one more for all of them.
    before_ns: Vec<i64>,
}

impl Row {
    /// A row of events in order of time.
    pub(super) fn new(trace: &Trace, events: Vec<EventId>) -> Row {
        let lengths = events.iter().map(|event| trace.events.dur_ns(*event));
        let before_ns = running_sums(lengths.map(Option::unwrap_or_default));
        Row { events, before_ns }
    }

    /// Number of spans.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// True for a row without spans.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// The event at a position.
    pub fn event(&self, position: usize) -> Option<EventId> {
        self.events.get(position).copied()
    }

    /// When the event at a position ran.
    pub fn span(&self, trace: &Trace, position: usize) -> Option<Interval> {
        self.event(position).map(|event| trace.events.span(event))
    }

    pub(super) fn first_ending_after(&self, trace: &Trace, ns: i64) -> usize {
        let events = &trace.events;
        self.events
            .partition_point(|event| events.end_ns(*event) <= ns)
    }

    /// The position of the first span, from one on, that starts at a time or later. Looks near the
    /// first position first: drawing asks from left to right.
    pub(super) fn first_starting_at(&self, trace: &Trace, from: usize, ns: i64) -> usize {
        let starts_before = |event: &EventId| trace.events.ts_ns(*event) < ns;
        let (mut low, mut step) = (from, 1);
        while self.events.get(low + step).is_some_and(starts_before) {
            low += step;
            step *= 2;
        }
        let high = (low + step).min(self.len());
        let near = self.events.get(low..high).unwrap_or_default();
        low + near.partition_point(starts_before)
    }

    /// Nanoseconds in the spans from one position up to another.
    pub(super) fn busy_ns(&self, from: usize, to: usize) -> i64 {
        let before = |position: usize| self.before_ns.get(position).copied().unwrap_or(0);
        before(to) - before(from)
    }

    /// The span under a point in time, else the nearest one within a distance.
    pub fn at(&self, trace: &Trace, ns: i64, within_ns: i64) -> Option<EventId> {
        let after = self.first_ending_after(trace, ns);
        let distance = |position: usize| {
            let span = self.span(trace, position)?;
            Some(
                span.start_ns
                    .saturating_sub(ns)
                    .max(ns.saturating_sub(span.end_ns))
                    .max(0),
            )
        };
        let before = after.checked_sub(1);
        let candidates = [Some(after), before].into_iter().flatten();
        let nearest = candidates
            .filter_map(|position| Some((distance(position)?, position)))
            .filter(|(distance, _)| *distance <= within_ns)
            .min()?;
        self.event(nearest.1)
    }

    /// The position of an event that is drawn in this row.
    pub fn position(&self, trace: &Trace, event: EventId) -> Option<usize> {
        let start_ns = trace.events.ts_ns(event);
        let first = self.first_starting_at(trace, 0, start_ns);
        let same_start = self.events.iter().skip(first);
        let at = same_start
            .take_while(|other| trace.events.ts_ns(**other) == start_ns)
            .position(|other| *other == event)?;
        Some(first + at)
    }
}
