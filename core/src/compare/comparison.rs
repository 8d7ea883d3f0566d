//! The whole comparison.

use super::amount::{Amount, AmountBy};
use super::collectives::CollectiveDelta;
use super::expected::Verdict;
use super::explained::Explained;
use super::gap::{Gaps, Waste};
use super::hardware::HardwareRatio;
use super::matched_rows::Named;
use super::memory::MemoryPair;
use super::op_side::OpSide;
use super::ops::{MatchedOp, Operations};
use super::pair::{Pair, Which};
use super::properties::TraceProperties;
use super::steps::StepPair;
use super::time_parts::Parts;
use super::work_ratio::WorkRatio;
use crate::assess::Thresholds;
use crate::base::interval::percent_or_zero;
use crate::base::tally::Tally;
use crate::hardware::Basis;
use crate::names::Family;
use crate::profile::gpu::timeline::GpuTimeline;
use crate::report::ModuleTime;

/// If matched operations have less than this share of the kernel time, the comparison leaves more open than it
/// explains.
pub(crate) const FEW_PARTNERS_PERCENT: f64 = 50.0;

/// The comparison of two traces. It owns all its data.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The traces.
    pub sides: Pair<TraceProperties>,
    /// Both ran on the same hardware, so the same call is expected to take the same time.
    pub is_same_gpu: bool,
    /// The basis of the figures used, if they are known.
    pub basis: Basis,
    /// The thresholds used.
    pub thresholds: Thresholds,
    /// How much of the same work the target does, relative to the reference.
    pub amount: Amount,
    /// How much work it does in as many steps; `None` if as much, or if it is unknown.
    pub work: Option<WorkRatio>,
    /// The time of both traces in parts that add up to it; no parts if one of them has no GPU activity.
    pub parts: Parts,
    /// Steps of serving engines by phase and batch size; empty if one trace is not from a serving engine.
    pub steps: Vec<StepPair>,
    /// Memory of both; `None` if one of them has no memory events.
    pub memory: Option<MemoryPair>,
    /// Kernel time of all computation, which shares of compute refer to.
    pub compute_ns: Pair<i64>,
    /// Operations by arguments, with what was expected of them.
    pub operations: Operations,
    /// How much of their difference the hardware explains.
    pub explained: Explained,
    /// The GPU figures behind the predictions; empty if a GPU is unknown.
    pub hardware: Vec<HardwareRatio>,
    /// Where the target falls behind, largest saving first.
    pub gaps: Gaps,
    /// What both traces waste in the same way, largest saving on the target first.
    pub waste: Vec<Waste>,
    /// Kinds of work, each with the time in which it runs. Kinds that run concurrently both count.
    pub categories: Vec<Named<Family, Tally>>,
    /// Module classes and the GPU time they launched; empty without Python frames.
    pub modules: Vec<Named<String, ModuleTime>>,
    /// Kernels, copies and fills by full name, with their durations.
    pub kernels: Vec<Named<String, Tally>>,
    /// Collectives by kind, size and group.
    pub collectives: Vec<CollectiveDelta>,
    /// Operators by name, with their CPU self time.
    pub cpu_ops: Vec<Named<String, Tally>>,
}

impl Comparison {
    /// The GPU time of both traces.
    pub(crate) fn timelines(&self) -> Pair<Option<GpuTimeline>> {
        self.sides.as_ref().map(|side| side.timeline)
    }

    /// Whether GPU times can be compared: both traces have GPU activity.
    pub fn has_gpu_times(&self) -> bool {
        self.timelines().both().is_some()
    }

    /// Whether the traces are equal: no part of the time, no operation and no kernel differs.
    pub fn is_same(&self) -> bool {
        let parts = &self.parts;
        let unmatched = &self.operations.unmatched;
        let has_gpu = self.sides.as_ref().map(|side| side.timeline.is_some());
        parts.total.difference() == 0
            && parts.parts.iter().all(|part| part.times.difference() == 0)
            && has_gpu.reference == has_gpu.target
            && unmatched.reference.is_empty()
            && unmatched.target.is_empty()
            && self.operations.matched.iter().all(MatchedOp::is_same)
            && self.kernels.iter().all(Named::is_same)
            && self.cpu_ops.iter().all(Named::is_same)
    }

    /// Whether the traces take the same time for as many steps, within what is measured: no part of it differs by a
    /// notable share, and there is no finding.
    pub fn is_about_same(&self) -> bool {
        const LEAST_PERCENT: f64 = 0.5;
        let (parts, rest) = self.parts.for_as_many_steps();
        let times = parts.iter().map(|part| part.times).chain([rest]);
        let is_small = |times: Pair<i64>| {
            let ns = times.difference().saturating_abs();
            percent_or_zero(ns, self.parts.total.target) < LEAST_PERCENT
        };
        let all = times.clone().fold(Pair::default(), Pair::plus);
        self.has_gpu_times()
            && self.gaps.ranked.is_empty()
            && self.work.is_none()
            && is_small(all)
            && times.into_iter().all(is_small)
    }

    /// The number of steps of both traces and the time of a step, if they hold different numbers of steps. What was
    /// launched before the recording is the end of an earlier step.
    pub fn per_step(&self) -> Option<(Pair<u64>, Pair<i64>)> {
        let AmountBy::Steps(steps) = self.amount.by else {
            return None;
        };
        let differ = steps.reference != steps.target && self.has_gpu_times();
        let before = self.sides.as_ref().map(|side| side.before_recording_ns);
        let times = self.parts.total.zip(before);
        let times = times.map(|(ns, before_ns)| ns.saturating_sub(before_ns));
        let times = times.zip(steps);
        let step = times.map(|(ns, n)| ns / n.max(1) as i64);
        differ.then_some((steps, step))
    }

    /// How many times as much the target does by its calls, if it is not the same, and the times of both for as much:
    /// that of the reference is scaled.
    pub fn for_as_many_calls(&self) -> Option<(f64, Pair<i64>)> {
        let amount = &self.amount;
        let is_told = amount.by == AmountBy::Calls && amount.is_certain && !amount.is_same();
        let Pair { reference, target } = self.parts.total;
        let reference = amount.scaled(reference);
        (is_told && self.has_gpu_times()).then_some((amount.ratio, Pair { reference, target }))
    }

    /// The share of the target's kernel time with a prediction, or in operations too short to matter.
    pub(crate) fn judged_percent(&self) -> f64 {
        let judged = |op: &MatchedOp| !matches!(op.judgment.verdict, Verdict::NotJudged(_));
        self.matched_percent(Which::Target, judged).unwrap_or(100.0)
    }

    /// The share of a trace's kernel time in matched operations, in percent; `None` without kernel time.
    pub fn partners_percent(&self, which: Which) -> Option<f64> {
        self.matched_percent(which, |_| true)
    }

    /// The share of a trace's kernel time in matched operations that satisfy a condition. Copies over a link are not
    /// counted: their time is that of another device.
    fn matched_percent(&self, which: Which, of: impl Fn(&MatchedOp) -> bool) -> Option<f64> {
        let time = |side: &OpSide| match side.is_over_link() {
            true => 0.0,
            false => side.time_ns as f64,
        };
        let matched = |of: &dyn Fn(&MatchedOp) -> bool| -> f64 {
            let ops = self.operations.matched.iter().filter(|op| of(op));
            ops.map(|op| time(op.sides.get(which))).sum()
        };
        let unmatched = self.operations.unmatched.get(which).iter();
        let unmatched: f64 = unmatched.map(|op| time(&op.side)).sum();
        let all = matched(&|_| true) + unmatched;
        (all > 0.0).then(|| matched(&of) / all * 100.0)
    }

    /// Whether most of the target's computation is in operations that the reference does not have.
    pub(crate) fn has_few_partners(&self) -> bool {
        let percent = self.partners_percent(Which::Target);
        percent.is_some_and(|percent| percent < FEW_PARTNERS_PERCENT)
    }

    /// A computation time of the reference, scaled to the target's amount of work and to the work of its steps.
    pub(crate) fn scaled_work(&self, reference_ns: i64) -> i64 {
        let work = self.work.as_ref().map_or(1.0, |work| work.ratio);
        (reference_ns as f64 * self.amount.ratio * work).round() as i64
    }

    /// Whether a trace has communication between GPUs; `None` without GPU activity.
    pub(crate) fn communicates(&self, which: Which) -> Option<bool> {
        Some(self.sides.get(which).timeline.as_ref()?.comm_ns > 0)
    }
}
