//! One row of a lane.

use crate::base::interval::{Interval, running_sums};
use crate::trace::{EventId, Trace};

/// Spans in order of time, none of which begins before the one before it has ended.
///
/// 12 bytes a span; of parts of the time, which no event is, 40 more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    events: Vec<EventId>,
    /// Nanoseconds in all spans before the one at this position; one more for all of them.
    before_ns: Vec<i64>,
    /// Parts of the time, each beside its first event; empty where the events are what is drawn.
    parts: Vec<(Interval, String)>,
}

impl Row {
    /// A row of events in order of time.
    pub(super) fn new(trace: &Trace, events: Vec<EventId>) -> Row {
        let lengths = events.iter().map(|event| trace.events.dur_ns(*event));
        let before_ns = running_sums(lengths.map(Option::unwrap_or_default));
        Row {
            events,
            before_ns,
            parts: Vec::new(),
        }
    }

    /// A row of parts of the time in order, each with its first event and its name. What begins before
    /// the one before it has ended begins then.
    pub(super) fn of_parts(parts: impl IntoIterator<Item = (EventId, Interval, String)>) -> Row {
        let mut until_ns = i64::MIN;
        let (mut events, mut own) = (Vec::new(), Vec::new());
        for (event, span, name) in parts {
            let start_ns = span.start_ns.max(until_ns);
            if start_ns < span.end_ns {
                until_ns = span.end_ns;
                events.push(event);
                own.push((Interval::new(start_ns, span.end_ns), name));
            }
        }
        Row {
            before_ns: running_sums(own.iter().map(|(span, _)| span.length())),
            events,
            parts: own,
        }
    }

    /// Number of spans.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// True for a row without spans.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// True for a row of parts of the time, each of which begins with an event but is none.
    pub fn is_of_parts(&self) -> bool {
        !self.parts.is_empty()
    }

    /// The event at a position.
    pub fn event(&self, position: usize) -> Option<EventId> {
        self.events.get(position).copied()
    }

    /// When what stands at a position ran.
    pub fn span(&self, trace: &Trace, position: usize) -> Option<Interval> {
        match self.parts.get(position) {
            Some((span, _)) => Some(*span),
            None => self.event(position).map(|event| trace.events.span(event)),
        }
    }

    /// The part of the time that begins with an event, where the row is of such.
    pub fn part(&self, event: EventId) -> Option<(Interval, &str)> {
        if self.parts.is_empty() {
            return None;
        }
        let at = self.events.iter().position(|one| *one == event)?;
        self.parts
            .get(at)
            .map(|(span, name)| (*span, name.as_str()))
    }

    /// The first position from one up to another of which something does not hold, where it holds for
    /// all before.
    fn first_not(&self, from: usize, to: usize, holds: impl Fn(usize) -> bool) -> usize {
        let (mut low, mut high) = (from.min(self.len()), to.min(self.len()));
        while low < high {
            let middle = low + (high - low) / 2;
            match holds(middle) {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low
    }

    pub(super) fn first_ending_after(&self, trace: &Trace, ns: i64) -> usize {
        let ends_before = |at: usize| self.span(trace, at).is_some_and(|span| span.end_ns <= ns);
        self.first_not(0, self.len(), ends_before)
    }

    /// The position of the first span, from one on, that starts at a time or later. Looks near the
    /// first position first: drawing asks from left to right.
    pub(super) fn first_starting_at(&self, trace: &Trace, from: usize, ns: i64) -> usize {
        let starts_before = |at: usize| self.span(trace, at).is_some_and(|span| span.start_ns < ns);
        let (mut low, mut step) = (from, 1);
        while starts_before(low + step) {
            low += step;
            step *= 2;
        }
        self.first_not(low, low + step, starts_before)
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

    /// The position of an event that is drawn in this row; of parts of the time none is.
    pub fn position(&self, trace: &Trace, event: EventId) -> Option<usize> {
        if !self.parts.is_empty() {
            return None;
        }
        let start_ns = trace.events.ts_ns(event);
        let first = self.first_starting_at(trace, 0, start_ns);
        let same_start = self.events.iter().skip(first);
        let at = same_start
            .take_while(|other| trace.events.ts_ns(**other) == start_ns)
            .position(|other| *other == event)?;
        Some(first + at)
    }
}
