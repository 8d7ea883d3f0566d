//! Operations in `comparison.json`, with what was expected of each.

use serde_json::Value as Json;

use super::{Both, four, ms};
use crate::base::value::rounded;
use crate::compare::comparison::Comparison;
use crate::compare::expected::{Judgement as Judged, Roof as Limit, Verdict};
use crate::compare::ops::{KernelUse, LoneOp, MatchedOp, OpSide};
use crate::compare::words::bound;
use crate::output::json::{record, value};

record! {
    /// Operations.
    Operations(comparison: &Comparison) {
        /// Of both traces.
        matched: Vec<Matched> = comparison.operations.matched.iter().map(Matched::new).collect(),
        /// Of the reference alone.
        only_reference: Vec<Lone> = comparison.operations.lone.reference.iter().map(Lone::new).collect(),
        /// Of the target alone.
        only_target: Vec<Lone> = comparison.operations.lone.target.iter().map(Lone::new).collect(),
    }

    /// An operation of both traces.
    Matched(op: &MatchedOp) {
        /// Its name on the target.
        name: String = op.name.clone(),
        /// Its name on the reference; null: the same.
        reference_name: Option<String> = op.reference_name.clone(),
        /// Its shapes on the target.
        shapes: String = op.shapes.clone(),
        /// Its shapes on the reference; null: the same.
        reference_shapes: Option<String> = op.reference_shapes.clone(),
        /// What is the same: arguments, shapes, counterpart, name, operator, kernels.
        level: &'static str = op.level.key(),
        /// Its category.
        family: &'static str = op.family.label(),
        /// It runs while activations are computed again.
        is_recompute: bool = op.is_recompute,
        /// On the reference.
        reference: Used = Used::new(&op.sides.reference),
        /// On the target.
        target: Used = Used::new(&op.sides.target),
        /// Target minus reference.
        difference_ms: f64 = ms(op.times().difference()),
        /// Target ÷ reference − 1, in percent.
        change_percent: Option<f64> = four(op.times().change_percent()),
        /// What was expected of it.
        judgement: Judgement = Judgement::new(&op.judgement),
    }

    /// An operation of one trace alone.
    Lone(op: &LoneOp) {
        /// Its name.
        name: String = op.name.clone(),
        /// Its shapes.
        shapes: String = op.shapes.clone(),
        /// Its category.
        family: &'static str = op.family.label(),
        /// It runs while activations are computed again.
        is_recompute: bool = op.is_recompute,
        /// What is known of it.
        side: Used = Used::new(&op.side),
    }

    /// An operation on one side.
    Used(side: &OpSide) {
        /// Position of its first call in the events of the trace.
        uid: Json = value(side.uid),
        /// How often it is called.
        calls: u64 = side.calls,
        /// Calls whose whole time is known.
        timed_calls: u64 = side.timed.count,
        /// Its time in kernels.
        time_ms: f64 = ms(side.time_ns),
        /// Its part of the time, where kernels that overlap share it.
        exclusive_ms: f64 = ms(side.exclusive_ns),
        /// Share of the sum of kernel times.
        percent_of_compute: Option<f64> = four(side.percent_of_compute),
        /// Its longest kernels.
        kernels: Vec<Kernel> = side.kernels.iter().map(Kernel::new).collect(),
        /// How many kernels it has.
        n_kernels: Json = value(side.n_kernels),
    }

    /// A kernel of an operation.
    Kernel(kernel: &KernelUse) {
        /// Its name.
        name: String = kernel.name.to_string(),
        /// How often it ran.
        count: u64 = kernel.count,
        /// Its time.
        time_ms: f64 = ms(kernel.ns),
    }

    /// What was expected of a call. Ratios are target over reference.
    Judgement(judged: &Judged) {
        /// The measured ratio.
        actual: Option<f64> = four(judged.actual),
        /// The ratio that the hardware predicts.
        expected: Option<f64> = four(judged.expected),
        /// Actual over expected.
        excess: Option<f64> = four(judged.excess),
        /// The prediction by peaks.
        peak_expected: Option<f64> = four(judged.peak_expected),
        /// Actual over that.
        peak_excess: Option<f64> = four(judged.peak_excess),
        /// The verdict.
        verdict: &'static str = judged.verdict.key(),
        /// The verdict by peaks.
        peak_verdict: &'static str = judged.peak_verdict.key(),
        /// Why it is not judged; null where it is.
        why: Option<&'static str> = match judged.verdict {
            Verdict::NotJudged(why) => Some(why.label()),
            _ => None,
        },
        /// The target takes more than twice as long.
        is_more_than_twice: bool = judged.is_more_than_twice,
        /// Both do different amounts of work.
        work_differs: bool = judged.work_differs,
        /// The rooflines of a call.
        roofs: Both<Option<Roof>> = judged.roofs.map(|roof| roof.map(Roof::new)).into(),
    }

    /// The roofline of a call.
    Roof(limit: Limit) {
        /// The least time of a call.
        us_per_call: f64 = rounded(limit.us_per_call, 4),
        /// What bounds it: compute or memory.
        bound: &'static str = bound(limit.bound),
        /// Whether that is by a peak or an achievable figure.
        basis: &'static str = limit.basis.label(),
    }
}
