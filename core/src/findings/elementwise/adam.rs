//! Adam steps split over several kernels: a fused step reads and writes each parameter and each moment once.

use super::rules::ELEMENTWISE;
use super::{Seen, gate};
use crate::findings::prelude::*;
use crate::names::elementwise::ElementwiseKind;
use crate::names::optimizer::{ADAM_LIST_OPS, STEP_OPS};

#[derive(Debug, Clone, Copy)]
pub(super) struct FusedStep {
    roofline_ns: f64,
    percent: f64,
    last: &'static str,
}

pub(super) const RULES: &[Rule<Seen>] = &[Rule {
    key: "optimizer_in_parts",
    when: "kernels of an Adam step, each of which does a part of it, take longer than a fused step would at 75 % of roofline",
    title: "Adam steps in separate kernels",
    model: "construct the optimizer with `fused=True`: one kernel then does the whole step, and reads and writes everything once.",
    kernel: "nothing to tune: the number of passes is the cost.",
    notes: &[
        "A fused step reads parameters, gradients and both moments, and writes all but the gradients: 7 memory accesses per parameter, where `{last}` alone makes 4; {fused} at roofline.",
    ],
    words: |group| {
        let fused = group.first().fused;
        let ns = fused.map_or(0, |fused| fused.roofline_ns.round() as i64);
        vec![
            ("last", fused.map_or("", |fused| fused.last).to_owned()),
            ("fused", format::time_ns(ns)),
        ]
    },
    saves: Saves::Each(|_, seen| {
        let percent = seen.fused?.percent;
        Some(Impact::of_efficiency(seen.row.time_ns, percent))
    }),
    effect: Effect::FewerLaunches,
    has_reproducer: false,
    ..ELEMENTWISE
}];

/// Marks the parts of such steps: operations on lists, and those on large parameters one by one.
pub(super) fn find_fused_steps(input: &Input, seen: &mut [Seen]) {
    for is_list in [true, false] {
        let parts = seen.iter().filter(|seen| is_part(input, seen, is_list));
        let fused = fused_step(input, &parts.collect::<Vec<_>>(), is_list);
        let parts = seen.iter_mut();
        for part in parts.filter(|seen| is_part(input, seen, is_list)) {
            part.fused = fused;
        }
    }
}

/// Decided by the ranges around steps; without ranges, by operations that only Adam combines.
fn is_part(input: &Input, seen: &Seen, is_list: bool) -> bool {
    if is_list != (seen.kind == ElementwiseKind::Optimizer) {
        return false;
    }
    let of_adam = |is: bool| {
        let mut steps = seen.steps.iter();
        is && steps.any(|step| {
            matches!(&*step.optimizer, "Adam" | "AdamW")
                && step.holds(input.profile, seen.operation)
        })
    };
    match (is_list, seen.steps.is_empty()) {
        (true, true) => ADAM_LIST_OPS.contains(&seen.name),
        (true, false) => of_adam(seen.name.starts_with("aten::_foreach_")),
        (false, true) => false,
        (false, false) => {
            of_adam(!seen.is_copy() && !seen.is_short && STEP_OPS.contains(&seen.name))
        }
    }
}

fn fused_step(input: &Input, parts: &[&Seen], is_list: bool) -> Option<FusedStep> {
    /// In percent of roofline; above this, fusing saves little.
    const MOST_PERCENT: f64 = 75.0;
    /// Passes over all parameters in a fused step, and in its last part.
    const FUSED_PASSES: f64 = 7.0;
    const LAST_PASSES: f64 = 4.0;
    let last = match is_list {
        true => "aten::_foreach_addcdiv_",
        false => "aten::addcdiv_",
    };
    let rows: Vec<&Row> = parts.iter().map(|seen| seen.row).collect();
    let is_known = parts.first().is_some_and(|seen| !seen.steps.is_empty())
        || parts.iter().any(|seen| seen.name == "aten::_foreach_lerp_");
    // For the last part, the models give the total size of all parameters.
    let bytes = parts.iter().filter(|seen| seen.name == last).map(|seen| {
        let work = input.judged(seen.row.operation).work?;
        Some(work.bytes? * seen.row.n_calls as f64)
    });
    let bytes: Option<f64> = bytes.sum();
    let bytes = bytes.filter(|bytes| *bytes > 0.0)?;
    let roofline_ns = bytes / LAST_PASSES * FUSED_PASSES / input.gpu()?.mem_bw_gbps;
    let percent = roofline_ns / time_ns(&rows).max(1) as f64 * 100.0;
    let is_worth_it = percent <= MOST_PERCENT && are_large(input, &rows, &gate(input));
    (is_known && is_worth_it).then_some(FusedStep {
        roofline_ns,
        percent,
        last,
    })
}
