//! Steps of serving engines, side by side: by phase of their requests, and by batch size.
//!
//! Steps of one batch size are compared with steps of the same size. The remaining steps of a phase are compared by
//! time per computed token if both traces count tokens, otherwise by their median.

use super::pair::{Pair, Which};
use super::side::Side;
use crate::base::format;
use crate::base::interval::sum;
use crate::base::sort::Arrange;
use crate::base::stats::median_ns;
use crate::names::batch::Phase;
use crate::profile::serving::{Serving, StageKind};
use crate::report::steps::{BatchFigures, by_batch, phase_label, step_figures};

/// What the times of a row refer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepsBy {
    /// The median step of one batch size: its requests and tokens.
    Batch(Option<u64>, Option<u64>),
    /// A computed token, on average.
    Token,
    /// The median step.
    Step,
    /// The median denoising step of a diffusion pipeline.
    Denoising,
}

impl StepsBy {
    /// The key in files.
    pub fn key(self) -> &'static str {
        match self {
            StepsBy::Batch(..) => "batch",
            StepsBy::Token => "token",
            StepsBy::Step => "step",
            StepsBy::Denoising => "denoising step",
        }
    }
}

/// Steps of both traces that can be compared.
#[derive(Debug, Clone, PartialEq)]
pub struct StepPair {
    /// The phase of their requests.
    pub phase: Option<Phase>,
    /// What the times refer to.
    pub by: StepsBy,
    /// The number of steps.
    pub n_steps: Pair<usize>,
    /// Median number of tokens that a step attends to.
    pub kv_tokens: Pair<Option<u64>>,
    /// The times, in nanoseconds.
    pub ns: Pair<f64>,
}

impl StepPair {
    /// "decode, 32 requests", "prefill, for each token".
    pub fn label(&self) -> String {
        let what = match self.by {
            StepsBy::Batch(requests, tokens) => {
                let counted = |n: Option<u64>, noun| n.map(|n| format::counted(n, noun));
                // In decode steps, each request computes one token.
                let tokens = tokens.filter(|tokens| requests != Some(*tokens));
                let parts = [counted(requests, "request"), counted(tokens, "token")];
                format::joined(parts.into_iter().flatten(), ", ")
            }
            StepsBy::Token => "for each token".to_owned(),
            StepsBy::Step => "median step".to_owned(),
            StepsBy::Denoising => return "denoising step".to_owned(),
        };
        format!("{}, {what}", phase_label(self.phase))
    }

    /// Target over reference.
    pub fn ratio(&self) -> Option<f64> {
        let Pair { reference, target } = self.ns;
        (reference > 0.0).then(|| target / reference)
    }

    /// The time of a trace, as text.
    pub fn time(&self, which: Which) -> String {
        format::time_us(self.ns.get(which) / 1e3)
    }

    /// The number of steps behind the less reliable of the two times.
    pub(crate) fn weight(&self) -> usize {
        self.n_steps.reference.min(self.n_steps.target)
    }
}

/// Maximum rows per phase.
const MOST_SIZES: usize = 8;

/// Steps of both traces by phase; empty if one trace is not from a serving engine.
pub(super) fn steps(sides: Pair<Side>) -> Vec<StepPair> {
    let serving = sides.map(|side| side.profile.serving());
    let Some(serving) = serving.both() else {
        return Vec::new();
    };
    let all = sides
        .zip(serving)
        .map(|(side, serving)| by_batch(&step_figures(serving, &side.report.options.thresholds)));
    let phases = all.reference.iter().filter(|row| row.size.is_none());
    let mut pairs: Vec<StepPair> = denoising(serving).into_iter().collect();
    for phase in phases.map(|row| row.phase) {
        let has_target = all.target.iter().any(|row| row.phase == phase);
        if has_target && phase != Some(Phase::Idle) {
            pairs.extend(of_phase(phase, all.as_ref()));
        }
    }
    pairs
}

fn of_phase(phase: Option<Phase>, all: Pair<&Vec<BatchFigures>>) -> Vec<StepPair> {
    let own = all.map(|rows| {
        let own = rows.iter().filter(|row| row.phase == phase);
        own.collect::<Vec<&BatchFigures>>()
    });
    let sized = |rows: &[&BatchFigures]| -> Vec<(Option<u64>, Option<u64>)> {
        rows.iter().filter_map(|row| row.size).collect()
    };
    let in_target = sized(&own.target);
    let mut matched: Vec<StepPair> = sized(&own.reference)
        .into_iter()
        .filter(|size| in_target.contains(size))
        .filter_map(|size| {
            let rows = own
                .as_ref()
                .map(|rows| rows.iter().find(|row| row.size == Some(size)));
            let rows = rows.both()?;
            Some(StepPair {
                phase,
                by: StepsBy::Batch(size.0, size.1),
                n_steps: rows.map(|row| row.n_steps),
                kv_tokens: rows.map(|row| row.kv_tokens),
                ns: rows.map(|row| row.median_ns() as f64),
            })
        })
        .collect();
    let is_matched = |row: &BatchFigures| {
        let by = row
            .size
            .map(|(requests, tokens)| StepsBy::Batch(requests, tokens));
        matched.iter().any(|pair| Some(pair.by) == by)
    };
    let rest = own.map(|rows| {
        let sized = rows.iter().filter(|row| row.size.is_some());
        let rest: Vec<&BatchFigures> = sized.filter(|row| !is_matched(row)).copied().collect();
        match rows.iter().any(|row| row.size.is_some()) {
            true => rest,
            // Their batches are unknown.
            false => rows,
        }
    });
    let rest = rest_of(phase, rest);
    matched.arrange_by_largest(|pair| pair.weight());
    matched.truncate(MOST_SIZES);
    matched.extend(rest);
    matched
}

/// Steps with batches that the other trace does not have.
fn rest_of(phase: Option<Phase>, rows: Pair<Vec<&BatchFigures>>) -> Option<StepPair> {
    if rows.reference.is_empty() || rows.target.is_empty() {
        return None;
    }
    let lengths = rows.as_ref().map(|rows| -> Vec<i64> {
        rows.iter()
            .flat_map(|row| row.lengths_ns.iter().copied())
            .collect()
    });
    let tokens = rows.as_ref().map(|rows| {
        let tokens: Option<Vec<u64>> = rows.iter().map(|row| row.n_tokens).collect();
        tokens.map(|all| all.iter().sum::<u64>()).filter(|n| *n > 0)
    });
    let per_token = tokens.both().map(|tokens| {
        let times = lengths.as_ref().map(|all| sum(all.iter().copied()) as f64);
        times.zip(tokens).map(|(ns, tokens)| ns / tokens as f64)
    });
    let n_steps = lengths.as_ref().map(Vec::len);
    let median = || Some(lengths.map(median_ns).both()?.map(|ns| ns as f64));
    let (by, ns) = match per_token {
        Some(ns) => (StepsBy::Token, ns),
        None => (StepsBy::Step, median()?),
    };
    Some(StepPair {
        phase,
        by,
        n_steps,
        kv_tokens: Pair::default(),
        ns,
    })
}

/// The repeated steps of a diffusion pipeline, if both process the same number of pixels.
fn denoising(serving: Pair<&Serving>) -> Option<StepPair> {
    let images = serving.map(|all| all.steps.iter().find_map(|step| step.batch?.images));
    if images.reference != images.target {
        return None;
    }
    let stages = serving.map(|all| {
        let is_diffusion = all.of(Some(Phase::Diffusion)).next().is_some();
        let mut stages = all.stages.iter().filter(|_| is_diffusion);
        stages.find(|stage| stage.kind == StageKind::Steps && stage.parts.len() > 1)
    });
    let stages = stages.both()?;
    Some(StepPair {
        phase: Some(Phase::Diffusion),
        by: StepsBy::Denoising,
        n_steps: stages.map(|stage| stage.parts.len()),
        kv_tokens: Pair::default(),
        ns: stages
            .map(|stage| stage.median_ns())
            .both()?
            .map(|ns| ns as f64),
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::compared;
    use crate::testing::Timetable;

    /// Consecutive steps: the annotation, and the GPU time in microseconds.
    fn steps(steps: &[(&str, u32)]) -> Timetable {
        let (mut host, mut gpu) = (0, 10_000);
        steps.iter().fold(Timetable::new(), |trace, (name, us)| {
            let (start, work) = (host, gpu..gpu + us);
            (host, gpu) = (host + 20, gpu + us);
            trace
                .annotation(name, start..start + 18)
                .op("aten::mm", start + 1..start + 17)
                .launched("gemm", start + 2..start + 4, work)
        })
    }

    /// Label, number of steps and microseconds, the latter two for both traces.
    fn rows(
        reference: &[(&str, u32)],
        target: &[(&str, u32)],
    ) -> Vec<(String, [usize; 2], [f64; 2])> {
        let comparison = compared(&steps(reference), &steps(target), None);
        let rows = comparison.steps.iter().map(|row| {
            let (n, ns) = (row.n_steps, row.ns);
            let us = [ns.reference, ns.target].map(|ns| (ns / 10.0).round() / 100.0);
            (row.label(), [n.reference, n.target], us)
        });
        rows.collect()
    }

    #[test]
    fn the_same_batch_next_to_the_same_batch_and_the_rest_by_token() {
        let small = "step[DECODE bs=8 toks=8]";
        let (large, other) = ("step[DECODE bs=16 toks=16]", "step[DECODE bs=32 toks=32]");
        let prefill = ["step[EXTEND bs=1 toks=100]", "step[EXTEND bs=1 toks=200]"];
        let reference = [
            (small, 100),
            (small, 110),
            (small, 120),
            (large, 160),
            (prefill[0], 1000),
        ];
        let target = [(small, 200), (small, 220), (other, 320), (prefill[1], 1000)];
        let expected = [
            ("prefill, for each token", [1, 1], [10.0, 5.0]),
            ("decode, 8 requests", [3, 2], [110.0, 200.0]),
            ("decode, for each token", [1, 1], [10.0, 10.0]),
        ];
        let expected = expected.map(|(label, n, us)| (label.to_owned(), n, us));
        assert_eq!(rows(&reference, &target), expected);
    }

    #[test]
    fn without_tokens_the_median_of_the_steps() {
        let [one, two] = ["execute_new_0_cached_4", "execute_new_0_cached_5"];
        let rows = rows(&[(one, 100), (one, 100)], &[(two, 150), (two, 150)]);
        assert_eq!(
            rows,
            [("decode, median step".to_owned(), [2, 2], [100.0, 150.0])]
        );
        // No steps in one of them.
        let none = compared(
            &steps(&[(one, 100)]),
            &Timetable::new().work("aten::mm", "gemm", 0..9),
            None,
        );
        assert!(none.steps.is_empty());
    }
}
