//! What can be saved of operations of both traces: of the time of the run of the target, which is
//! less than their kernel time where kernels run at once.

use super::Saving;
use crate::base::interval::sum;
use crate::compare::comparison::Comparison;
use crate::compare::ops::MatchedOp;
use crate::compare::pair::Which;
use crate::findings::run_time;

/// The part of the run that so much of its kernel time is; not more than there is.
fn of_run(op: &MatchedOp, kernel_ns: f64) -> i64 {
    let target = &op.sides.target;
    let kernel_ns = (kernel_ns.max(0.0).round() as i64).min(target.time_ns);
    run_time::part(kernel_ns, target.run_ns, target.time_ns)
}

/// What is expected of it, where the target is slower than that.
fn expected_of_slower(op: &MatchedOp) -> Option<f64> {
    let judgement = &op.judgement;
    let expected = judgement.expected?;
    judgement
        .verdict
        .is_slower_than_expected()
        .then_some(expected)
}

/// What it takes on the target when it takes as long as predicted; as on the reference, where nothing
/// is predicted.
pub(crate) fn goal_ns(op: &MatchedOp) -> f64 {
    op.held_ns() * op.judgement.expected.unwrap_or(1.0)
}

/// Helper kernels that only the target has: what they take of the run.
pub(crate) fn of_helpers(op: &MatchedOp) -> i64 {
    let helpers = op.own_helpers(Which::Target);
    of_run(op, helpers.map(|helper| helper.ns as f64).sum())
}

/// When it takes that long, and never less than its own roofline allows; helper kernels of the target
/// alone have a finding of their own. `None` where one of the traces has no time.
fn as_predicted(op: &MatchedOp) -> Option<Saving> {
    op.judgement.actual?;
    let target = &op.sides.target;
    let until = |left_ns: f64| {
        let left_ns = left_ns.clamp(0.0, target.time_ns as f64).round() as i64;
        of_run(op, target.time_ns.saturating_sub(left_ns) as f64)
    };
    let rest_of = |saved_ns: i64| saved_ns.saturating_sub(of_helpers(op)).max(0);
    let roof_ns = op.floor_ns().map(|floor_ns| rest_of(until(floor_ns)));
    let matching_ns = rest_of(until(goal_ns(op)));
    Some(Saving {
        matching_ns: roof_ns.map_or(matching_ns, |roof_ns| matching_ns.min(roof_ns)),
        roof_ns,
        is_predicted: op.judgement.expected.is_some(),
    })
}

/// When several take that long; `None` unless the times of each are known.
pub(crate) fn all_as_predicted(ops: &[&MatchedOp]) -> Option<Saving> {
    let savings: Option<Vec<Saving>> = ops.iter().map(|op| as_predicted(op)).collect();
    savings.map(|savings| Saving {
        matching_ns: sum(savings.iter().map(|saving| saving.matching_ns)),
        roof_ns: savings
            .iter()
            .map(|saving| saving.roof_ns)
            .try_fold(0_i64, |all, ns| Some(all.saturating_add(ns?))),
        is_predicted: savings.iter().all(|saving| saving.is_predicted),
    })
}

/// Without the calls that the reference does without. What a call takes beyond the prediction is
/// counted where that is found.
pub(crate) fn of_extra_calls(comparison: &Comparison, op: &MatchedOp) -> i64 {
    let calls = op.calls();
    let extra = calls.target as f64 - calls.reference as f64 * comparison.amount.ratio;
    let target = &op.sides.target;
    if extra <= 0.0 || calls.reference == 0 || !target.is_computation() {
        return 0;
    }
    let per_call = expected_of_slower(op).map_or(target.ns_per_call(), |expected| {
        op.sides.reference.ns_per_call() * expected
    });
    of_run(op, extra * per_call.min(target.ns_per_call()))
}

/// When it takes as long as in the narrower type of the reference. Of what is slower than predicted
/// only the part of the prediction that follows from the type.
pub(crate) fn of_wider_type(op: &MatchedOp) -> i64 {
    let target = &op.sides.target;
    if !target.is_computation() {
        return 0;
    }
    let held_ns = op.held_ns();
    let of_type = |expected: f64| held_ns * expected * (1.0 - 1.0 / op.judgement.work_ratio);
    let more_ns = target.timed.ns as f64 - held_ns;
    of_run(op, expected_of_slower(op).map_or(more_ns, of_type))
}
