//! Parts of the run that the program named.

use crate::interval::Interval;
use crate::sort::Arrange;
use crate::trace::{Category, EventId, Trace};

/// A named part of the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// As the program named it: `ProfilerStep#12`.
    pub name: String,
    /// Its annotation.
    pub event: EventId,
    /// When it ran, on the host.
    pub span: Interval,
}

/// The named ranges of the host that lie in no other one of their thread, by start.
pub fn steps(trace: &Trace) -> Vec<Step> {
    let events = &trace.events;
    let mut named: Vec<EventId> = events
        .ids()
        .filter(|event| events.category(*event) == Category::UserAnnotation)
        .collect();
    named.arrange_by_key(|event| {
        let start_ns = events.ts_ns(*event);
        (
            events.track(*event),
            start_ns,
            std::cmp::Reverse(events.end_ns(*event)),
        )
    });
    let mut outer = None;
    let mut steps: Vec<Step> = Vec::new();
    for event in named {
        let track = events.track(event);
        let span = Interval::new(events.ts_ns(event), events.end_ns(event));
        if outer.is_some_and(|(of, until_ns)| of == track && span.end_ns <= until_ns) {
            continue;
        }
        outer = Some((track, span.end_ns));
        steps.push(Step {
            name: trace.strings.get(events.name(event)).to_owned(),
            event,
            span,
        });
    }
    steps.arrange_by_key(|step| (step.span.start_ns, step.event));
    steps
}
