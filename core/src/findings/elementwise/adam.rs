//! Optimizer steps split over several kernels: a fused step reads and writes each parameter and each state once.
//!
//! For Adam both moments are known. For other optimizers as much is assumed, which is the most that common ones keep.

use super::base::ELEMENTWISE;
use super::{Observed, gate};
use crate::findings::prelude::*;
use crate::names::elementwise::ElementwiseKind;
use crate::names::optimizer::{ADAM_LIST_OPS, STEP_OPS, list_passes};
use crate::perf::element_bytes;
use crate::profile::operations::kinds::optimizer::OptimizerStep;

#[derive(Debug, Clone, Copy)]
pub(super) struct FusedStep {
    roofline_ns: f64,
    percent: f64,
    last: &'static str,
    is_adam: bool,
    /// Passes over the parameters that the kernels make, if their number is all that is known.
    passes: Option<f64>,
}

const ADAM: Rule<Observed> = Rule {
    key: "optimizer_in_parts",
    applies: |_, observed| observed.fused.is_some_and(|fused| fused.is_adam),
    when: "kernels of an Adam step, each of which does a part of it, take longer than a fused step would at 75 % of roofline",
    title: "Adam steps in separate kernels",
    model: "construct the optimizer with `fused=True`: one kernel then does the whole step, and reads and writes everything once.",
    kernel: "nothing to tune: the number of passes is the cost.",
    notes: &[
        "A fused step reads parameters, gradients and both moments, and writes all but the gradients: 7 memory accesses per parameter, where {passes?these kernels make {passes}: {fused} at their bandwidth (the sizes of so many tensors are not recorded)|`{last}` alone makes 4; {fused} at roofline}.",
    ],
    words: |group| {
        let fused = group.first().fused;
        let ns = fused.map_or(0, |fused| fused.roofline_ns.round() as i64);
        let passes = fused.and_then(|fused| fused.passes);
        vec![
            ("last", fused.map_or("", |fused| fused.last).to_owned()),
            ("fused", format::time_ns(ns)),
            (
                "passes",
                passes.map_or(String::new(), |n| format!("{n:.0}")),
            ),
        ]
    },
    saves: Saves::Each(|_, observed| {
        let percent = observed.fused?.percent;
        Some(Impact::of_efficiency(observed.row.time_ns, percent))
    }),
    effect: Effect::FewerLaunches,
    has_reproducer: false,
    ..ELEMENTWISE
};

pub(super) const RULES: &[Rule<Observed>] = &[
    ADAM,
    Rule {
        applies: |_, observed| observed.fused.is_some(),
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
pub(super) fn find_fused_steps(input: &Input, observed: &mut [Observed]) {
    for (is_list, of_adam) in [(true, true), (false, true), (true, false), (false, false)] {
        let is_part = |observed: &Observed| match of_adam {
            true => is_part_of_adam(input, observed, is_list),
            false => is_part_of_other(input, observed, is_list),
        };
        let parts: Vec<&Observed> = observed
            .iter()
            .filter(|observed| is_part(observed))
            .collect();
        // Parameters that are mostly small cost launches rather than passes.
        let short = parts.iter().filter(|part| part.is_short);
        let short_ns = sum(short.map(|part| part.row.time_ns));
        let all_ns = sum(parts.iter().map(|part| part.row.time_ns));
        if !is_list && short_ns > all_ns / 2 {
            continue;
        }
        let fused = match of_adam {
            true => fused_adam(input, &parts, is_list),
            false => fused_other(input, &parts),
        };
        for part in observed.iter_mut().filter(|observed| is_part(observed)) {
            part.fused = fused;
        }
    }
}

fn is_in_step(input: &Input, observed: &Observed, is_meant: fn(&OptimizerStep) -> bool) -> bool {
    let step = OptimizerStep::of(observed.steps, input.profile, observed.operation);
    step.is_some_and(is_meant)
}

/// Decided by the ranges around steps; without ranges, by operations that only Adam combines.
fn is_part_of_adam(input: &Input, observed: &Observed, is_list: bool) -> bool {
    if is_list != (observed.kind == ElementwiseKind::Optimizer) {
        return false;
    }
    let of_adam = |is: bool| is && is_in_step(input, observed, is_adam);
    match (is_list, observed.steps.is_empty()) {
        (true, true) => ADAM_LIST_OPS.contains(&observed.name),
        (true, false) => of_adam(observed.name.starts_with("aten::_foreach_")),
        (false, true) => false,
        (false, false) => of_adam(!observed.is_copy() && STEP_OPS.contains(&observed.name)),
    }
}

/// Any element-wise operation in the step of another optimizer that is not fused.
fn is_part_of_other(input: &Input, observed: &Observed, is_list: bool) -> bool {
    let is_kind = is_list == (observed.kind == ElementwiseKind::Optimizer);
    let is_fused = observed.name.contains("_fused_");
    is_kind && !is_fused && is_in_step(input, observed, |step| !is_adam(step))
}

/// In percent of roofline; above this, fusing saves little.
const MOST_PERCENT: f64 = 75.0;

/// Passes over all parameters in a fused step.
const FUSED_PASSES: f64 = 7.0;

fn fused_adam(input: &Input, parts: &[&Observed], is_list: bool) -> Option<FusedStep> {
    /// Passes over all parameters in its last part.
    const LAST_PASSES: f64 = 4.0;
    let last = match is_list {
        true => "aten::_foreach_addcdiv_",
        false => "aten::addcdiv_",
    };
    let is_known = parts
        .first()
        .is_some_and(|observed| !observed.steps.is_empty())
        || parts
            .iter()
            .any(|observed| observed.name == "aten::_foreach_lerp_");
    // For the last part, the models give the total size of all parameters.
    let bytes = parts
        .iter()
        .filter(|observed| observed.name == last)
        .map(|observed| {
            let work = input.evaluation(observed.row.operation).work?;
            Some(work.bytes? * observed.row.n_calls as f64)
        });
    let bytes: Option<f64> = bytes.sum();
    let fused = match bytes.filter(|bytes| *bytes > 0.0) {
        Some(bytes) => fused_step(input, parts, bytes / LAST_PASSES)?,
        None => fused_by_passes(input, parts, last)?,
    };
    is_known.then_some(FusedStep { last, ..fused })
}

/// Profilers leave out the sizes of lists of more than 30 tensors. At one bandwidth, times are as the passes over the
/// parameters that each kernel makes.
fn fused_by_passes(input: &Input, parts: &[&Observed], last: &str) -> Option<FusedStep> {
    let calls = |observed: &&&Observed| observed.row.n_calls as f64;
    let lasts = parts.iter().filter(|part| part.name == last);
    let n_steps: f64 = lasts.map(|part| calls(&part)).sum();
    let passes = parts.iter();
    let passes = passes.map(|part| Some(list_passes(part.name)? * calls(&part)));
    let passes = passes.sum::<Option<f64>>()? / n_steps;
    let rows: Vec<&Row> = parts.iter().map(|part| part.row).collect();
    let percent = FUSED_PASSES / passes * 100.0;
    let is_worth_it = percent <= MOST_PERCENT && are_large(input, &rows, &gate(input));
    is_worth_it.then_some(FusedStep {
        roofline_ns: time_ns(&rows) as f64 * percent / 100.0,
        percent,
        last: "",
        is_adam: true,
        passes: Some(passes),
    })
}

/// Every parameter takes every operator, some of them several times: the parameters are at most what the operator passes
/// over that passes over least.
fn fused_other(input: &Input, parts: &[&Observed]) -> Option<FusedStep> {
    /// Several kernels for each parameter; two or three are a common step of gradient descent.
    const LEAST_OPERATORS: usize = 4;
    /// Of the time of the step. Others may belong to a few parameters.
    const LEAST_SHARE: f64 = 0.05;
    let of_operators = parts.iter().map(|observed| {
        let bytes = result_bytes(input, observed) * observed.row.n_calls as f64;
        (observed.name, (bytes, observed.row.time_ns))
    });
    let of_operators = grouped(of_operators, |all: &mut (f64, i64), (bytes, ns)| {
        *all = (all.0 + bytes, all.1.saturating_add(ns));
    });
    let all_ns = sum(parts.iter().map(|observed| observed.row.time_ns));
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
fn result_bytes(input: &Input, observed: &Observed) -> f64 {
    let Some(work) = input.evaluation(observed.row.operation).work else {
        return 0.0;
    };
    let tensors = observed.operation.tensors(input.profile).into_iter();
    let sizes = tensors.filter_map(|tensor| element_bytes(tensor.dtype));
    match sizes.reduce(f64::max) {
        Some(size) if work.flops > 0.0 => work.flops * size,
        _ => work.bytes.unwrap_or(0.0) / 2.0,
    }
}

/// A fused step over parameters of this size.
fn fused_step(input: &Input, parts: &[&Observed], bytes: f64) -> Option<FusedStep> {
    let rows: Vec<&Row> = parts.iter().map(|observed| observed.row).collect();
    let roofline_ns = bytes * FUSED_PASSES / input.gpu()?.mem_bw_gbps;
    let percent = roofline_ns / time_ns(&rows).max(1) as f64 * 100.0;
    let is_worth_it = percent <= MOST_PERCENT && are_large(input, &rows, &gate(input));
    (bytes > 0.0 && is_worth_it).then_some(FusedStep {
        roofline_ns,
        percent,
        last: "",
        is_adam: true,
        passes: None,
    })
}
