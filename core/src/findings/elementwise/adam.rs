//! Optimizer steps split over several kernels: a fused step reads and writes each parameter and each state once.
//!
//! For Adam both moments are known. For other optimizers as much is assumed, which is the most that common ones keep.

use super::rules::ELEMENTWISE;
use super::{Seen, gate};
use crate::findings::prelude::*;
use crate::names::elementwise::ElementwiseKind;
use crate::names::optimizer::{ADAM_LIST_OPS, STEP_OPS};
use crate::perf::element_bytes;
use crate::profile::optimizer::OptimizerStep;

#[derive(Debug, Clone, Copy)]
pub(super) struct FusedStep {
    roofline_ns: f64,
    percent: f64,
    last: &'static str,
    is_adam: bool,
}

const ADAM: Rule<Seen> = Rule {
    key: "optimizer_in_parts",
    applies: |_, seen| seen.fused.is_some_and(|fused| fused.is_adam),
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
};

pub(super) const RULES: &[Rule<Seen>] = &[
    ADAM,
    Rule {
        applies: |_, seen| seen.fused.is_some(),
        when: "kernels of another optimizer's step, each of which does a part of it, take longer than a fused step would at 75 % of roofline",
        title: "Steps of {optimizer} in separate kernels",
        model: "compile the step (`torch.compile(optimizer.step)`), or use an implementation with fused kernels: {optimizer} reads and writes everything several times.",
        notes: &[
            "Assumed is a step with two states of the size of the parameters: 7 memory accesses per parameter, {fused} at roofline. With fewer or smaller states it saves more.",
        ],
        words: |group| {
            let mut words = (ADAM.words)(group);
            let mut steps = group.first().steps.iter();
            let other = steps.find(|step| !is_adam(step));
            let name = other.map_or("", |step| &step.optimizer);
            words.push(("optimizer", format!("`{name}`")));
            words
        },
        ..ADAM
    },
];

fn is_adam(step: &OptimizerStep) -> bool {
    matches!(&*step.optimizer, "Adam" | "AdamW")
}

/// Marks the parts of such steps: operations on lists, and those on large parameters one by one.
pub(super) fn find_fused_steps(input: &Input, seen: &mut [Seen]) {
    for (is_list, of_adam) in [(true, true), (false, true), (true, false), (false, false)] {
        let is_part = |seen: &Seen| match of_adam {
            true => is_part_of_adam(input, seen, is_list),
            false => is_part_of_other(input, seen, is_list),
        };
        let parts: Vec<&Seen> = seen.iter().filter(|seen| is_part(seen)).collect();
        let fused = match of_adam {
            true => fused_adam(input, &parts, is_list),
            false => fused_other(input, &parts),
        };
        for part in seen.iter_mut().filter(|seen| is_part(seen)) {
            part.fused = fused;
        }
    }
}

fn is_in_step(input: &Input, seen: &Seen, is_meant: fn(&OptimizerStep) -> bool) -> bool {
    let mut steps = seen.steps.iter().filter(|step| is_meant(step));
    steps.any(|step| step.holds(input.profile, seen.operation))
}

/// Decided by the ranges around steps; without ranges, by operations that only Adam combines.
fn is_part_of_adam(input: &Input, seen: &Seen, is_list: bool) -> bool {
    if is_list != (seen.kind == ElementwiseKind::Optimizer) {
        return false;
    }
    let of_adam = |is: bool| is && is_in_step(input, seen, is_adam);
    match (is_list, seen.steps.is_empty()) {
        (true, true) => ADAM_LIST_OPS.contains(&seen.name),
        (true, false) => of_adam(seen.name.starts_with("aten::_foreach_")),
        (false, true) => false,
        (false, false) => {
            of_adam(!seen.is_copy() && !seen.is_short && STEP_OPS.contains(&seen.name))
        }
    }
}

/// Any element-wise operation in the step of another optimizer that is not fused.
fn is_part_of_other(input: &Input, seen: &Seen, is_list: bool) -> bool {
    let is_kind = is_list == (seen.kind == ElementwiseKind::Optimizer);
    let is_fused = seen.name.contains("_fused_");
    let is_large = is_list || !seen.is_short;
    is_kind && is_large && !is_fused && is_in_step(input, seen, |step| !is_adam(step))
}

/// In percent of roofline; above this, fusing saves little.
const MOST_PERCENT: f64 = 75.0;

/// Passes over all parameters in a fused step.
const FUSED_PASSES: f64 = 7.0;

fn fused_adam(input: &Input, parts: &[&Seen], is_list: bool) -> Option<FusedStep> {
    /// Passes over all parameters in its last part.
    const LAST_PASSES: f64 = 4.0;
    let last = match is_list {
        true => "aten::_foreach_addcdiv_",
        false => "aten::addcdiv_",
    };
    let is_known = parts.first().is_some_and(|seen| !seen.steps.is_empty())
        || parts.iter().any(|seen| seen.name == "aten::_foreach_lerp_");
    // For the last part, the models give the total size of all parameters.
    let bytes = parts.iter().filter(|seen| seen.name == last).map(|seen| {
        let work = input.judged(seen.row.operation).work?;
        Some(work.bytes? * seen.row.n_calls as f64)
    });
    let bytes: Option<f64> = bytes.sum();
    let fused = fused_step(input, parts, bytes? / LAST_PASSES)?;
    is_known.then_some(FusedStep { last, ..fused })
}

/// Every parameter takes every operator, some of them several times: the parameters are at most what the operator passes
/// over that passes over least.
fn fused_other(input: &Input, parts: &[&Seen]) -> Option<FusedStep> {
    /// Several kernels for each parameter; two or three are a common step of gradient descent.
    const LEAST_OPERATORS: usize = 4;
    /// Of the time of the step. Others may belong to a few parameters.
    const LEAST_SHARE: f64 = 0.05;
    let of_operators = parts.iter().map(|seen| {
        let bytes = result_bytes(input, seen) * seen.row.n_calls as f64;
        (seen.name, (bytes, seen.row.time_ns))
    });
    let of_operators = grouped(of_operators, |all: &mut (f64, i64), (bytes, ns)| {
        *all = (all.0 + bytes, all.1.saturating_add(ns));
    });
    let all_ns = sum(parts.iter().map(|seen| seen.row.time_ns));
    let large = of_operators
        .iter()
        .map(|(_, (bytes, ns))| (*bytes, *ns as f64))
        .filter(|(bytes, ns)| *bytes > 0.0 && *ns >= all_ns as f64 * LEAST_SHARE);
    let least = large.map(|(bytes, _)| bytes).reduce(f64::min)?;
    let fused = fused_step(input, parts, least)?;
    (of_operators.len() >= LEAST_OPERATORS).then_some(FusedStep {
        is_adam: false,
        ..fused
    })
}

/// The size of the result of an element-wise operation: one operation for each element. For lists, whose types are not
/// recorded, half of what is read and written.
fn result_bytes(input: &Input, seen: &Seen) -> f64 {
    let Some(work) = input.judged(seen.row.operation).work else {
        return 0.0;
    };
    let tensors = seen.operation.tensors(input.profile).into_iter();
    let sizes = tensors.filter_map(|tensor| element_bytes(tensor.dtype));
    match sizes.reduce(f64::max) {
        Some(size) if work.flops > 0.0 => work.flops * size,
        _ => work.bytes.unwrap_or(0.0) / 2.0,
    }
}

/// A fused step over parameters of this size.
fn fused_step(input: &Input, parts: &[&Seen], bytes: f64) -> Option<FusedStep> {
    let rows: Vec<&Row> = parts.iter().map(|seen| seen.row).collect();
    let roofline_ns = bytes * FUSED_PASSES / input.gpu()?.mem_bw_gbps;
    let percent = roofline_ns / time_ns(&rows).max(1) as f64 * 100.0;
    let is_worth_it = percent <= MOST_PERCENT && are_large(input, &rows, &gate(input));
    (bytes > 0.0 && is_worth_it).then_some(FusedStep {
        roofline_ns,
        percent,
        last: "",
        is_adam: true,
    })
}
