//! Operations in `comparison.json`, with what was expected of each.

use crate::base::value::rounded;
use crate::compare::comparison::Comparison;
use crate::compare::expected::{Judgment as Judged, RooflineTime as Limit, Verdict};
use crate::compare::ops::{Helper, KernelUse, MatchedOp, OpSide, UnmatchedOp};
use crate::compare::words::bound;
use crate::output::json::{list, ms, record, round};

record! {
    /// Operations.
    Operations(comparison: &Comparison) {
        matched: "Of both traces." = list(&comparison.operations.matched, Matched::of),
        only_reference: "Of the reference alone." = list(&comparison.operations.unmatched.reference, Unmatched::of),
        only_target: "Of the target alone." = list(&comparison.operations.unmatched.target, Unmatched::of),
    }

    /// An operation of both traces.
    Matched(op: &MatchedOp) {
        name: "Its name on the target." = op.name,
        reference_name: "Its name on the reference; null: the same." = op.reference_name,
        shapes: "Its shapes on the target." = op.shapes,
        reference_shapes: "Its shapes on the reference; null: the same." = op.reference_shapes,
        level: "What is the same: arguments, shapes, counterpart, gemm, name, operator, kernels, meaning, place." = op.level.key(),
        family: "Its category." = op.family.label(),
        is_recompute: "It runs while activations are computed again." = op.is_recompute,
        reference: "On the reference." = OperationSide::of(&op.sides.reference),
        target: "On the target." = OperationSide::of(&op.sides.target),
        difference_ms: "Target minus reference." = ms(op.times().difference()),
        change_percent: "Target ÷ reference − 1, in percent." = round(op.times().change_percent(), 4),
        judgment: "What was expected of it." = Judgment::of(&op.judgment),
    }

    /// An operation of one trace alone.
    Unmatched(op: &UnmatchedOp) {
        name: "Its name." = op.name,
        shapes: "Its shapes." = op.shapes,
        family: "Its category." = op.family.label(),
        is_recompute: "It runs while activations are computed again." = op.is_recompute,
        side: "What is known of it." = OperationSide::of(&op.side),
    }

    /// An operation on one side.
    OperationSide(side: &OpSide) {
        uid: "Position of its first call in the events of the trace." = side.uid,
        calls: "How often it is called." = side.calls,
        timed_calls: "Calls whose whole time is known." = side.timed.count,
        time_ms: "Its time in kernels." = ms(side.time_ns),
        exclusive_ms: "Its part of the time, where kernels that overlap share it." = ms(side.exclusive_ns),
        percent_of_compute: "Share of the sum of kernel times." = round(side.percent_of_compute, 4),
        kernels: "Its longest kernels." = list(&side.kernels, Kernel::of),
        n_kernels: "How many kernels it has." = side.n_kernels,
        helpers: "Helper kernels, by what they are for." = list(&side.helpers, HelperKernel::of),
        outdated: "What the name of its longest kernel says against it on the GPU; null: nothing." = side.outdated,
    }

    /// Helper kernels of one kind: those besides the kernel that does the work.
    HelperKernel(helper: &Helper) {
        kind: "layout_change, split_k_reduction, fill, cast, quantization, copy or elementwise." = helper.kind.key(),
        name: "The longest of them." = helper.name,
        count: "How often they ran." = helper.count,
        time_ms: "Their time." = ms(helper.ns),
    }

    /// A kernel of an operation.
    Kernel(kernel: &KernelUse) {
        name: "Its name." = kernel.name,
        count: "How often it ran." = kernel.count,
        time_ms: "Its time." = ms(kernel.ns),
    }

    /// What was expected of a call. Ratios are target over reference.
    Judgment(judged: &Judged) {
        actual: "The measured ratio." = round(judged.actual, 4),
        expected: "The ratio that the hardware predicts, on one basis: peaks where an achievable figure is known for one GPU alone." = round(judged.expected, 4),
        excess: "Actual over expected." = round(judged.excess, 4),
        peak_expected: "The prediction by peaks." = round(judged.by_peaks.expected, 4),
        peak_excess: "Actual over that." = round(judged.by_peaks.excess, 4),
        achievable_expected: "The prediction by achievable figures, wherever they are known." = round(judged.by_achievable.expected, 4),
        achievable_excess: "Actual over that." = round(judged.by_achievable.excess, 4),
        depends_on_basis: "Peaks give another verdict than achievable figures." = judged.depends_on_basis(),
        verdict: "The verdict." = judged.verdict.key(),
        peak_verdict: "The verdict by peaks." = judged.by_peaks.verdict.key(),
        achievable_verdict: "The verdict by achievable figures." = judged.by_achievable.verdict.key(),
        why: "Why it is not judged; null where it is." = match judged.verdict {
            Verdict::NotJudged(why) => Some(why.label()),
            _ => None,
        },
        is_more_than_twice: "The target takes more than twice as long." = judged.is_more_than_twice,
        is_implausible: "It takes less than its own roofline allows." = judged.is_implausible,
        work_differs: "Both do different amounts of work." = judged.work_differs,
        roofs: "The rooflines of a call." = judged.rooflines.map(|roofline| roofline.map(Roofline::of)),
    }

    /// The roofline of a call.
    Roofline(limit: Limit) {
        us_per_call: "The least time of a call." = rounded(limit.us_per_call, 4),
        bound: "What bounds it: compute or memory." = bound(limit.bound),
        basis: "Whether that is by a peak or an achievable figure." = limit.basis.label(),
    }
}
