//! One row of a lane.

use crate::base::interval::{Interval, running_sums};
use crate::base::sort::first_not;
use crate::trace::{EventId, Trace};

/// Spans in time order that do not overlap.
///
/// 12 bytes per span; 40 more for spans that are not events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    events: Vec<EventId>,
    /// Total nanoseconds of all spans before each position, with one more entry for all of them.
    before_ns: Vec<i64>,
    /// Spans that are not events, each with its name and stored with its first event; empty for a row of events.
    parts: Vec<(Interval, String)>,
}

impl Row {
    /// A row of events in time order.
    pub(super) fn new(trace: &Trace, events: Vec<EventId>) -> Row {
        let lengths = events.iter().map(|event| trace.events.dur_ns(*event));
        let before_ns = running_sums(lengths.map(Option::unwrap_or_default));
        Row {
            events,
            before_ns,
            parts: Vec::new(),
        }
    }

    /// A row of named spans in time order, each with its first event. A span that starts before the previous one ends
    /// is clipped to start there.
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

    /// True for a row of named spans, which start with an event but are not events.
    pub fn is_of_parts(&self) -> bool {
        !self.parts.is_empty()
    }

    /// The event at a position.
    pub fn event(&self, position: usize) -> Option<EventId> {
        self.events.get(position).copied()
    }

    /// The span at a position.
    pub fn span(&self, trace: &Trace, position: usize) -> Option<Interval> {
        match self.parts.get(position) {
            Some((span, _)) => Some(*span),
            None => self.event(position).map(|event| trace.events.span(event)),
        }
    }

    /// The named span that starts with an event, if the row has named spans.
    pub fn part(&self, event: EventId) -> Option<(Interval, &str)> {
        if self.parts.is_empty() {
            return None;
        }
        let at = self.events.iter().position(|one| *one == event)?;
        self.parts
            .get(at)
            .map(|(span, name)| (*span, name.as_str()))
    }

    /// The first position in `from..to` where `holds` is false.
    fn first_not(&self, from: usize, to: usize, holds: impl Fn(usize) -> bool) -> usize {
        first_not(from.min(self.len())..to.min(self.len()), holds)
    }

    pub(super) fn first_ending_after(&self, trace: &Trace, ns: i64) -> usize {
        let ends_before = |at: usize| self.span(trace, at).is_some_and(|span| span.end_ns <= ns);
        self.first_not(0, self.len(), ends_before)
    }

    /// The first position at or after `from` whose span starts at or after `ns`. Searches near `from` first, because
    /// drawing proceeds from left to right.
    pub(super) fn first_starting_at(&self, trace: &Trace, from: usize, ns: i64) -> usize {
        let starts_before = |at: usize| self.span(trace, at).is_some_and(|span| span.start_ns < ns);
        let (mut low, mut step) = (from, 1);
        while starts_before(low + step) {
            low += step;
            step *= 2;
        }
        self.first_not(low, low + step, starts_before)
    }

    /// Total nanoseconds of the spans in `from..to`.
    pub(super) fn busy_ns(&self, from: usize, to: usize) -> i64 {
        let before = |position: usize| self.before_ns.get(position).copied().unwrap_or(0);
        before(to) - before(from)
    }

    /// The span at a point in time, otherwise the nearest one within a distance.
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

    /// The position of an event in this row; `None` in a row of named spans.
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
