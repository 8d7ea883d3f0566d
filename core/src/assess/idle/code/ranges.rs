//! User-defined ranges, and the profiler's overhead, by nesting.

use std::cmp::Reverse;

use crate::base::interval::Interval;
use crate::base::map::Map;
use crate::base::sort::Arrange;
use crate::profile::cpu::activity::overhead;
use crate::trace::annotations::step_number;
use crate::trace::{Category, EventId, Trace, TrackId};

/// Spans sorted by start, each with the enclosing one.
#[derive(Debug, Default)]
pub(super) struct Ranges {
    spans: Vec<(Interval, EventId)>,
    outer: Vec<Option<usize>>,
}

impl Ranges {
    fn new(mut spans: Vec<(Interval, EventId)>) -> Ranges {
        spans.arrange_by_key(|(span, event)| (span.start_ns, Reverse(span.end_ns), *event));
        let mut open: Vec<usize> = Vec::new();
        let mut outer = Vec::with_capacity(spans.len());
        for (at, (span, _)) in spans.iter().enumerate() {
            let is_over = |open: &usize| {
                spans
                    .get(*open)
                    .is_none_or(|(around, _)| around.end_ns <= span.start_ns)
            };
            while open.last().is_some_and(is_over) {
                open.pop();
            }
            outer.push(open.last().copied());
            open.push(at);
        }
        Ranges { spans, outer }
    }

    /// The ranges of each thread, except steps, which do not identify the code in them.
    pub(super) fn of_annotations(trace: &Trace) -> Map<TrackId, Ranges> {
        let events = &trace.events;
        let mut ranges: Map<TrackId, Vec<(Interval, EventId)>> = Map::default();
        for event in events.in_category(Category::UserAnnotation) {
            if step_number(trace.name(event)).is_none() {
                let of_thread = ranges.entry(events.track(event)).or_default();
                of_thread.push((events.span(event), event));
            }
        }
        let ranges = ranges.into_iter();
        ranges
            .map(|(track, spans)| (track, Ranges::new(spans)))
            .collect()
    }

    pub(super) fn of_overhead(trace: &Trace) -> Ranges {
        let spans = overhead(trace).map(|(_, event)| (trace.events.span(event), event));
        Ranges::new(spans.collect())
    }

    /// Spans that start within a time, and those that are open at its start.
    pub(super) fn around(&self, time: Interval) -> impl Iterator<Item = EventId> + '_ {
        let end = self
            .spans
            .partition_point(|(span, _)| span.start_ns < time.end_ns);
        let start = self
            .spans
            .partition_point(|(span, _)| span.start_ns < time.start_ns);
        let open = std::iter::successors(start.checked_sub(1), |at| {
            self.outer.get(*at).copied().flatten()
        });
        (start..end)
            .chain(open)
            .filter_map(|at| self.spans.get(at).map(|(_, event)| *event))
    }
}
