//! Padding of graphs: the size that a graph was captured for, compared with the actual batch.

use std::sync::Arc;

use super::ServingStep;
use super::replays::{Replay, graphs};
use crate::base::labels::labeled;
use crate::base::sort::Arranged;
use crate::names::layer::Step;
use crate::profile::Profile;
use crate::profile::launch::launch_size;
use crate::profile::operations::estimate::Source;
use crate::profile::serving::input_rows::InputRows;
use crate::trace::{ByName, EventId, Trace};

labeled! {
    /// What the rows of a graph are.
    pub(crate) enum Rows {
        /// Requests with one or more tokens each.
        Requests => "requests",
        /// Tokens.
        Tokens => "tokens",
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
    /// Whether the launch grids of its kernels have the captured size.
    pub(crate) is_in_grids: bool,
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
    let calls = calls
        .map(|replay| (events.track(replay.call), events.ts_ns(replay.call), replay))
        .arranged_by_key(|(track, ts_ns, replay)| (*track, *ts_ns, replay.call));
    if calls.is_empty() {
        return Vec::new();
    }
    let sizes = profile
        .coverage
        .as_ref()
        .map(|coverage| &coverage.sizes[..]);
    let sizes = sizes.unwrap_or_default();
    let op_rows = hidden_state_rows(profile);
    let mut grids = RowGrids::new();
    let of_step = |(at, step): (usize, &ServingStep)| {
        let batch = step.batch?;
        let until = |ns| calls.partition_point(|(track, ts, _)| (*track, *ts) < (step.track, ns));
        let own = calls.get(until(step.on_host.start_ns)..until(step.on_host.end_ns))?;
        let (_, launched_ns, _) = own.first()?;
        let mut is_in_grids = |rows| match own {
            [(.., replay)] => grids.confirm(profile, replay, rows),
            _ => false,
        };
        let mut padded = |rows, real, captured, source| Padded {
            step: at,
            rows,
            real,
            captured,
            source,
            is_in_grids: captured > real && is_in_grids(captured),
        };
        if let (Some(real), Some(captured)) = (batch.requests(), batch.padded_to) {
            return Some(padded(Rows::Requests, real, captured, Source::Recorded));
        }
        let real = batch.tokens().filter(|n| *n > 0)?;
        let launched = own.iter().map(|(.., replay)| replay.call);
        // Between the pieces of a graph, unrelated operators may run.
        let is_one = own.len() == 1;
        let behind = || op_rows.first_in(step.track, *launched_ns, step.on_host.end_ns);
        let known = captured_for(sizes, launched).map(|size| (size, Source::Captured));
        let known = known.or_else(|| {
            // The output of the graph if it is a matrix with at least as many rows as the step has tokens.
            let rows = is_one.then(behind).flatten().filter(|rows| *rows >= real);
            rows.map(|rows| (rows, Source::Neighbors))
        });
        let known = known.filter(|(size, _)| *size >= real);
        let (captured, source) = known.unwrap_or((real, Source::Recorded));
        let known = padded(Rows::Tokens, real, captured, source);
        // The operator after a graph takes far more rows than the step has tokens: it may be unrelated to the graph.
        let is_sure = captured <= real.saturating_mul(MOST_TIMES) || known.is_in_grids;
        Some(match is_sure || source != Source::Neighbors {
            true => known,
            false => padded(Rows::Tokens, real, real, Source::Recorded),
        })
    };
    serving
        .steps
        .iter()
        .enumerate()
        .filter_map(of_step)
        .collect()
}

/// The largest size that one of the graphs of these launches was captured for.
fn captured_for(sizes: &[(EventId, u64)], launches: impl Iterator<Item = EventId>) -> Option<u64> {
    let known = launches.filter_map(|call| sizes.iter().find(|(launch, _)| *launch == call));
    known.map(|(_, size)| *size).max()
}

/// With more rows than this times the tokens, what an operator after a graph takes has to be confirmed.
const MOST_TIMES: u64 = 2;

/// The launch grids of kernels that run a workgroup for each row: norms, rotary embeddings, stores to the KV cache,
/// activations.
pub(crate) struct RowGrids(ByName<Step>);

impl RowGrids {
    pub(crate) fn new() -> RowGrids {
        RowGrids(ByName::new(Step::of))
    }

    /// The step of such a kernel, and its workgroups along the first dimension.
    pub(crate) fn of(&mut self, trace: &Trace, kernel: EventId) -> Option<(Step, u64)> {
        let step = match self.0.of(trace, kernel) {
            Step::Norm { .. } => Step::Norm { adds: false },
            step @ (Step::Rope | Step::Store | Step::Activation) => step,
            _ => return None,
        };
        let ([workgroups, ..], _) = launch_size(trace, kernel)?;
        Some((step, workgroups))
    }

    /// Whether a replay runs this number of rows: most of these kernels say so, of more than one kind.
    fn confirm(&mut self, profile: &Profile, replay: &Replay, rows: u64) -> bool {
        let work = profile.gpu.each(&replay.work);
        let grids = work.filter_map(|work| self.of(&profile.trace, work.event));
        let (mut n, mut n_equal, mut first, mut are_several) = (0_usize, 0_usize, None, false);
        for (step, workgroups) in grids {
            n += 1;
            if workgroups == rows {
                n_equal += 1;
                are_several |= *first.get_or_insert(step) != step;
            }
        }
        are_several && n_equal > n / 2
    }
}

/// The number of rows of recorded operators; 0 for those that do not take hidden states.
fn hidden_state_rows(profile: &Profile) -> InputRows {
    /// Narrower tensors are not hidden states.
    const LEAST_WIDTH: i64 = 256;
    InputRows::new(profile, |shape| match shape {
        [rows, width] if *width >= LEAST_WIDTH => u64::try_from(*rows).ok(),
        _ => Some(0),
    })
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

    /// Far more rows than tokens count only if the kernels of the graph have them, too.
    #[test]
    fn launch_grids_confirm_graphs_for_far_more_tokens() {
        const STEP: &str =
            "execute_17_context_0(sq0sk0sqsq0sqsk0)_generation_17(sq17sk99sqsq17sqsk99)";
        const NORM: &str = "void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>";
        const ROPE: &str = "void vllm::rotary_embedding_kernel<c10::BFloat16, true>";
        let captured = |kernels: [(&str, u64); 3]| {
            let mut table =
                Timetable::new()
                    .annotation(STEP, 0..400)
                    .runtime("cudaGraphLaunch", 1, 10..20);
            for (at, (kernel, rows)) in (0_u32..).zip(kernels) {
                let start = 1_000 + at * 100;
                let grid = format!(r#""grid": [{rows}, 1, 1], "block": [512, 1, 1]"#);
                table = table.kernel(1, kernel, start..start + 100).args(&grid);
            }
            let table = table
                .op("aten::index", 30..40)
                .args("512x4096, 17:long int");
            let all = padded(&table.profile());
            all.first().map(|one| (one.captured, one.is_in_grids))
        };
        let confirmed = Some((512, true));
        let unconfirmed = Some((17, false));
        assert_eq!(captured([(NORM, 512), (ROPE, 512), (NORM, 512)]), confirmed);
        // Norms of single heads have more workgroups.
        assert_eq!(
            captured([(NORM, 512), (ROPE, 512), (NORM, 16_384)]),
            confirmed
        );
        // Other sizes, a single kind, or kernels that run no workgroup for each row.
        assert_eq!(captured([(NORM, 17), (ROPE, 17), (NORM, 17)]), unconfirmed);
        assert_eq!(
            captured([(NORM, 512), (NORM, 512), (NORM, 512)]),
            unconfirmed
        );
        assert_eq!(
            captured([("gemm", 512), ("gemm", 512), ("copy", 512)]),
            unconfirmed
        );
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
