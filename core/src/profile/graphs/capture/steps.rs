//! The steps that replays belong to, from annotations.

use crate::base::map::Map;
use crate::base::sort::Arranged;
use crate::names::batch;
use crate::trace::{Category, EventId, Trace};

/// What is known of the step that a launch belongs to.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Step {
    /// Identifies the step.
    pub(super) number: usize,
    pub(super) tokens: Option<u64>,
    /// The position of the launch among those of the step, and their number.
    pub(super) nth: usize,
    pub(super) n_launches: usize,
}

pub(super) struct Steps {
    of_replay: Vec<Step>,
}

impl Steps {
    pub(super) fn new(trace: &Trace, launches: &[EventId]) -> Steps {
        let events = &trace.events;
        let annotations = events.in_category(Category::UserAnnotation);
        let annotated = annotations.filter_map(|event| {
            let tokens = tokens(trace.name(event))?;
            Some((events.span(event), events.track(event), tokens))
        });
        let annotated = annotated.arranged_by_key(|(span, ..)| (span.start_ns, span.end_ns));
        let mut of_replay: Vec<Step> = Vec::with_capacity(launches.len());
        let mut n_of_step: Map<usize, usize> = Map::default();
        for launch in launches {
            let start_ns = events.ts_ns(*launch);
            let next = annotated.partition_point(|(span, ..)| span.start_ns <= start_ns);
            // The innermost open annotation among the last ones to start, preferably on the same thread.
            let before = annotated
                .get(next.saturating_sub(8)..next)
                .unwrap_or_default();
            let track = events.track(*launch);
            let open = |is_own: bool| {
                before
                    .iter()
                    .rposition(|(span, of, _)| start_ns < span.end_ns && (!is_own || *of == track))
            };
            let around = open(true).or_else(|| open(false));
            let row = around.map(|at| next.saturating_sub(8) + at);
            let number = row.map_or(0, |row| row + 1);
            let n_launches = n_of_step.entry(number).or_default();
            of_replay.push(Step {
                number,
                tokens: row
                    .and_then(|row| annotated.get(row))
                    .map(|(.., tokens)| *tokens),
                nth: *n_launches,
                n_launches: 0,
            });
            *n_launches += 1;
        }
        for step in &mut of_replay {
            step.n_launches = n_of_step.get(&step.number).copied().unwrap_or(0);
        }
        Steps { of_replay }
    }

    pub(super) fn of(&self, replay: usize) -> Step {
        self.of_replay.get(replay).copied().unwrap_or_default()
    }
}

/// The number of tokens in a step, from its annotation.
fn tokens(annotation: &str) -> Option<u64> {
    batch::parse(annotation)?.tokens()
}
