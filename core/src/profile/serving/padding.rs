//! Padding of graphs: the size that a graph was captured for, compared with the actual batch.

use std::sync::Arc;

use super::ServingStep;
use super::replays::graphs;
use crate::base::sort::Arrange;
use crate::profile::Profile;
use crate::profile::estimate::Source;
use crate::trace::{Category, Dims, EventId, TrackId};

/// What the rows of a graph are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rows {
    /// Requests with one or more tokens each.
    Requests,
    /// Tokens.
    Tokens,
}

impl Rows {
    pub(crate) fn label(self) -> &'static str {
        match self {
            Rows::Requests => "requests",
            Rows::Tokens => "tokens",
        }
    }
}

/// A step that replays a graph, with the size the graph was captured for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Padded {
    /// An index into the steps.
    pub(crate) step: usize,
    pub(crate) rows: Rows,
    pub(crate) real: u64,
    /// At least `real`.
    pub(crate) captured: u64,
    pub(crate) source: Source,
}

impl Padded {
    /// The share of padding in its rows, in percent.
    pub(crate) fn percent(&self) -> f64 {
        let empty = self.captured.saturating_sub(self.real);
        empty as f64 / self.captured.max(1) as f64 * 100.0
    }
}

/// The steps that replay graphs and have a known batch, with the captured size of their graphs: from the annotation,
/// from the capture of their kernels, or from the next operator, which takes the rows of the graph. Computed once per
/// profile.
pub(crate) fn padded(profile: &Profile) -> Arc<Vec<Padded>> {
    profile.once(|| find(profile))
}

fn find(profile: &Profile) -> Vec<Padded> {
    let Some(serving) = profile.serving() else {
        return Vec::new();
    };
    let events = &profile.trace.events;
    let all = graphs(profile);
    let calls = all.iter().flat_map(|graph| &graph.replays);
    let mut calls: Vec<(TrackId, i64, EventId)> = calls
        .map(|replay| {
            (
                events.track(replay.call),
                events.ts_ns(replay.call),
                replay.call,
            )
        })
        .collect();
    calls.arrange();
    if calls.is_empty() {
        return Vec::new();
    }
    let sizes = profile
        .coverage
        .as_ref()
        .map(|coverage| &coverage.sizes[..]);
    let sizes = sizes.unwrap_or_default();
    let beside = Beside::of(profile);
    let of_step = |(at, step): (usize, &ServingStep)| {
        let batch = step.batch?;
        let until = |ns| calls.partition_point(|(track, ts, _)| (*track, *ts) < (step.track, ns));
        let own = calls.get(until(step.on_host.start_ns)..until(step.on_host.end_ns))?;
        let (_, launched_ns, _) = own.first()?;
        let padded = |rows, real, captured, source| Padded {
            step: at,
            rows,
            real,
            captured,
            source,
        };
        if let (Some(real), Some(captured)) = (batch.requests(), batch.padded_to) {
            return Some(padded(Rows::Requests, real, captured, Source::Recorded));
        }
        let real = batch.tokens().filter(|n| *n > 0)?;
        let of_capture = own
            .iter()
            .filter_map(|(.., call)| sizes.iter().find(|(launch, _)| launch == call));
        let of_capture = of_capture.map(|(_, size)| *size).max();
        let known = of_capture.map(|size| (size, Source::Captured));
        let known = known.or_else(|| {
            // Between the pieces of a graph, unrelated operators may run.
            let rows = match own {
                [_] => beside.after(step, *launched_ns, real),
                _ => None,
            };
            rows.map(|rows| (rows, Source::Neighbors))
        });
        let known = known.filter(|(size, _)| *size >= real);
        let (captured, source) = known.unwrap_or((real, Source::Recorded));
        Some(padded(Rows::Tokens, real, captured, source))
    };
    serving
        .steps
        .iter()
        .enumerate()
        .filter_map(of_step)
        .collect()
}

/// The number of rows of the first tensor of recorded operators, by thread and start.
struct Beside(Vec<(TrackId, i64, u64)>);

impl Beside {
    fn of(profile: &Profile) -> Beside {
        /// Narrower tensors are not hidden states.
        const LEAST_WIDTH: i64 = 256;
        let (trace, events) = (&profile.trace, &profile.trace.events);
        let ops = events.of_category(|of| of == Category::CpuOp);
        let ops = ops.filter(|event| !trace.captured.has(*event));
        let rows = ops.filter_map(|event| {
            let args = trace.args.get(events.op_args(event)?)?;
            let Dims::One(shape) = args.dims.as_deref()?.first()? else {
                return None;
            };
            let rows = match trace.args.shape(*shape) {
                [rows, width] if *width >= LEAST_WIDTH => u64::try_from(*rows).ok()?,
                _ => 0,
            };
            Some((events.track(event), events.ts_ns(event), rows))
        });
        let mut rows: Vec<_> = rows.collect();
        rows.arrange();
        Beside(rows)
    }

    /// The number of rows that the first operator after a graph takes as input. It is the output of the graph if it is
    /// a matrix with at most twice as many rows as the step has tokens.
    fn after(&self, step: &ServingStep, launched_ns: i64, tokens: u64) -> Option<u64> {
        let from = (step.track, launched_ns);
        let at = self
            .0
            .partition_point(|(track, ns, _)| (*track, *ns) < from);
        let (track, ns, rows) = self.0.get(at)?;
        let is_of_it = *track == step.track && *ns < step.on_host.end_ns;
        (is_of_it && (tokens..=tokens.saturating_mul(2)).contains(rows)).then_some(*rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Timetable;

    /// A step with a graph of one kernel, and the first operator after it.
    fn captured(annotation: &str, after: &str) -> Option<(u64, u64, &'static str)> {
        let mut table = Timetable::new()
            .annotation(annotation, 0..400)
            .runtime("cudaGraphLaunch", 1, 10..20)
            .kernel(1, "gemm", 1_000..1_100);
        if !after.is_empty() {
            table = table.op("aten::index", 30..40).args(after);
        }
        let all = padded(&table.profile());
        all.first()
            .map(|one| (one.real, one.captured, one.source.label()))
    }

    #[test]
    fn annotations_and_operators_behind_a_graph_tell_its_size() {
        const STEP: &str =
            "execute_33_context_0(sq0sk0sqsq0sqsk0)_generation_33(sq33sk99sqsq33sqsk99)";
        for (annotation, after, expected) in [
            (
                "decode[bs=117/128 tok=117 d=117]",
                "",
                Some((117, 128, "recorded")),
            ),
            (
                STEP,
                "40x2880, 33:long int",
                Some((33, 40, "from neighbors")),
            ),
            (
                STEP,
                "33x2880, 33:long int",
                Some((33, 33, "from neighbors")),
            ),
            // No operator, far more rows, fewer rows, or not hidden states.
            (STEP, "", Some((33, 33, "recorded"))),
            (STEP, "8192x2880", Some((33, 33, "recorded"))),
            (STEP, "1x2880", Some((33, 33, "recorded"))),
            (STEP, "40x2", Some((33, 33, "recorded"))),
            ("a run", "40x2880", None),
        ] {
            assert_eq!(
                captured(annotation, after),
                expected,
                "{annotation} {after}"
            );
        }
    }
}
