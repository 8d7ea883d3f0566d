//! Possible savings for matched operations, as time of the target's run. That is less than kernel time if kernels run
//! concurrently.

use super::Saving;
use crate::base::interval::sum;
use crate::compare::comparison::Comparison;
use crate::compare::ops::{MatchLevel, MatchedOp, UnmatchedOp};
use crate::compare::pair::{Pair, Which};
use crate::findings::engine::run_time;
use crate::names::{Family, family_of_kernel};

/// Operations that take less than this times as long as on the reference count as fast as there.
pub(crate) const AS_FAST: f64 = 1.1;

/// The part of the run that corresponds to this kernel time, capped at the total.
fn of_run(op: &MatchedOp, kernel_ns: f64) -> i64 {
    let target = &op.sides.target;
    let kernel_ns = (kernel_ns.max(0.0).round() as i64).min(target.time_ns);
    run_time::part(kernel_ns, target.run_ns, target.time_ns)
}

/// The predicted ratio, if the target is slower than that.
fn expected_of_slower(op: &MatchedOp) -> Option<f64> {
    let judgment = &op.judgment;
    let expected = judgment.expected?;
    judgment
        .verdict
        .is_slower_than_expected()
        .then_some(expected)
}

/// Its time on the target if it takes as long as predicted, or as long as on the reference if there is no prediction.
pub(crate) fn goal_ns(op: &MatchedOp) -> f64 {
    op.scaled_ns() * op.judgment.expected.unwrap_or(1.0)
}

/// The part of the run taken by helper kernels that only the target has.
pub(crate) fn of_helpers(op: &MatchedOp) -> i64 {
    let helpers = op.own_helpers(Which::Target);
    of_run(op, helpers.map(|helper| helper.ns as f64).sum())
}

/// The saving if it takes that long, limited by its own roofline. Helper kernels of the target alone have their own
/// finding. `None` if one of the traces has no time for it.
fn as_predicted(op: &MatchedOp) -> Option<Saving> {
    op.judgment.actual?;
    let target = &op.sides.target;
    let until = |left_ns: f64| {
        let left_ns = left_ns.clamp(0.0, target.time_ns as f64).round() as i64;
        of_run(op, target.time_ns.saturating_sub(left_ns) as f64)
    };
    let rest_of = |saved_ns: i64| saved_ns.saturating_sub(of_helpers(op)).max(0);
    let roofline_ns = op.floor_ns().map(|floor_ns| rest_of(until(floor_ns)));
    let matching_ns = rest_of(until(goal_ns(op)));
    Some(Saving {
        matching_ns: roofline_ns.map_or(matching_ns, |roofline_ns| matching_ns.min(roofline_ns)),
        roofline_ns,
        is_predicted: op.judgment.expected.is_some(),
    })
}

/// The sum of savings if each takes that long; `None` unless the times of all are known.
pub(crate) fn all_as_predicted(ops: &[&MatchedOp]) -> Option<Saving> {
    let savings: Option<Vec<Saving>> = ops.iter().map(|op| as_predicted(op)).collect();
    savings.map(|savings| Saving {
        matching_ns: sum(savings.iter().map(|saving| saving.matching_ns)),
        roofline_ns: savings
            .iter()
            .map(|saving| saving.roofline_ns)
            .try_fold(0_i64, |all, ns| Some(all.saturating_add(ns?))),
        is_predicted: savings.iter().all(|saving| saving.is_predicted),
    })
}

/// The saving without the extra calls. The time of a call beyond its prediction belongs to another finding, and more
/// calls on smaller sizes do no more work.
pub(crate) fn of_extra_calls(comparison: &Comparison, op: &MatchedOp) -> i64 {
    let calls = op.calls();
    let size = match op.judgment.sizes_ratio {
        Some(ratio) => ratio.clamp(f64::MIN_POSITIVE, 1.0),
        // Sizes differ by an unknown factor.
        None if op.level == MatchLevel::Operator => return 0,
        None => 1.0,
    };
    let as_many = calls.reference as f64 * comparison.amount.ratio / size;
    let extra = calls.target as f64 - as_many;
    let target = &op.sides.target;
    if extra <= 0.0 || calls.reference == 0 || !target.is_computation() {
        return 0;
    }
    let per_call = expected_of_slower(op).map_or(target.ns_per_call(), |expected| {
        op.sides.reference.ns_per_call() * expected
    });
    of_run(op, extra * per_call.min(target.ns_per_call()))
}

/// Whether a fused kernel may do what an operation does beside others.
pub(crate) fn is_fusible(family: Family) -> bool {
    use Family::{Elementwise, MemoryCopy, Normalization, Reduction};
    matches!(family, Elementwise | MemoryCopy | Normalization | Reduction)
}

/// The time of extra calls of operations that a fused kernel may do beside others.
pub(crate) fn of_extra_fusible(comparison: &Comparison) -> i64 {
    let matched = comparison.operations.matched.iter();
    let extra = matched.filter(|op| is_fusible(op.family));
    sum(extra.map(|op| of_extra_calls(comparison, op)))
}

/// The time of the operations of each trace alone that a fused kernel may do, for as many steps, as far as a condition
/// holds.
fn fusible_alone(comparison: &Comparison, holds: fn(&UnmatchedOp) -> bool) -> Pair<i64> {
    // Generated kernels may be a kind of their own.
    let may_be = |op: &&UnmatchedOp| {
        use Family::{Attention, Convolution, Gemm, Moe};
        !matches!(op.family, Attention | Convolution | Gemm | Moe) && holds(op)
    };
    let times = Pair::of(|which| {
        let only = comparison.operations.unmatched.get(which).iter();
        sum(only.filter(may_be).map(|op| op.side.exclusive_ns))
    });
    Pair {
        reference: comparison.amount.scaled(times.reference),
        ..times
    }
}

/// Whether most of what only the reference does and a fused kernel may do runs in generated kernels, and most of what
/// only the target does runs in others.
pub(crate) fn has_lost_fusion(comparison: &Comparison) -> bool {
    let is_generated = |op: &UnmatchedOp| {
        let longest = op.side.kernels.first();
        longest.is_some_and(|kernel| family_of_kernel(&kernel.name) == Family::Triton)
    };
    let all = fusible_alone(comparison, |_| true);
    let generated = fusible_alone(comparison, is_generated);
    all.target > 0
        && generated.reference > all.reference.saturating_sub(generated.reference)
        && generated.target < all.target.saturating_sub(generated.target)
}

/// The part of the time of extra calls of fusible operations that is left after the time of what only the reference
/// does: a fused kernel of the reference may do what these calls do, beside what only the target does.
pub(crate) fn part_not_fused(comparison: &Comparison) -> f64 {
    let extra_ns = of_extra_fusible(comparison);
    let alone = fusible_alone(comparison, |_| true);
    let fused_ns = alone.reference.saturating_sub(alone.target).max(0);
    match extra_ns > 0 {
        true => (extra_ns.saturating_sub(fused_ns).max(0)) as f64 / extra_ns as f64,
        false => 1.0,
    }
}

/// The time of the calls of an operation that the target does without, for the same amount of work; 0 if the relative
/// amount of work is not certain.
pub(crate) fn of_fewer_calls(comparison: &Comparison, op: &MatchedOp) -> i64 {
    let calls = op.calls();
    let fewer = calls.reference as f64 * comparison.amount.ratio - calls.target as f64;
    let is_known = comparison.amount.is_certain && op.judgment.sizes_ratio == Some(1.0);
    match is_known && fewer > 0.0 {
        true => (fewer * op.sides.reference.ns_per_call()).round() as i64,
        false => 0,
    }
}

/// The saving if no call takes far longer than the median, as far as the reference has no such calls. None if its calls
/// are slower than predicted as a rule, which is a finding of its own.
pub(crate) fn of_stray_calls(comparison: &Comparison, op: &MatchedOp) -> i64 {
    let strays = op.sides.as_ref().map(|side| side.stray.ns);
    // Where all calls are slower by a factor, so are the long ones.
    let medians = op.sides.as_ref().map(|side| side.call_ns);
    let slower = medians.both().map_or(1.0, |medians| {
        medians.target.0 as f64 / medians.reference.0.max(1) as f64
    });
    let reference_ns = comparison.amount.scaled(strays.reference) as f64 * slower.max(1.0);
    let stray_ns = strays.target.saturating_sub(reference_ns.round() as i64);
    let is_found_otherwise =
        op.judgment.verdict.is_slower_than_expected() && !is_slow_in_single_calls(op);
    match op.sides.target.is_computation() && !is_found_otherwise {
        true => of_run(op, stray_ns as f64),
        false => 0,
    }
}

/// Whether few calls are nearly all of what an operation takes beyond its prediction, and the typical call is as fast
/// as predicted.
pub(crate) fn is_slow_in_single_calls(op: &MatchedOp) -> bool {
    /// At most one in so many calls.
    const FEW: u64 = 4;
    const NEARLY_ALL: f64 = 0.8;
    let target = &op.sides.target;
    let medians = op.sides.as_ref().map(|side| side.call_ns).both();
    let expected = op.judgment.expected.unwrap_or(1.0);
    let is_typical_as_fast = medians.is_some_and(|medians| {
        medians.target.0 as f64 <= AS_FAST * expected * medians.reference.0 as f64
    });
    let beyond_ns = target.timed.ns as f64 - goal_ns(op);
    is_typical_as_fast
        && beyond_ns > 0.0
        && target.stray.count.saturating_mul(FEW) <= target.calls
        && target.stray.ns as f64 >= NEARLY_ALL * beyond_ns
}

/// The saving if it takes as long as with the reference's narrower type. If it is slower than predicted on another GPU,
/// only the part of the prediction due to the type counts.
pub(crate) fn of_wider_type(op: &MatchedOp) -> i64 {
    let target = &op.sides.target;
    if !target.is_computation() {
        return 0;
    }
    let scaled_ns = op.scaled_ns();
    let of_type = |expected: f64| scaled_ns * expected * (1.0 - 1.0 / op.judgment.work_ratio);
    let more_ns = target.timed.ns as f64 - scaled_ns;
    let expected = expected_of_slower(op).filter(|_| !op.is_slower_by_type());
    of_run(op, expected.map_or(more_ns, of_type))
}
