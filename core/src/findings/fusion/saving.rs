//! What one kernel in place of a chain saves.

use super::super::Input;
use super::super::finding::{Estimate, Impact};
use super::pattern::Pattern;
use super::shapes::{Shape, can_be, can_be_slice};
use super::steps::{Step, StepKind};
use crate::base::interval::sum;
use crate::trace::Category;

/// The part of the shorter of arithmetic and memory traffic that does not hide behind the longer.
const NOT_HIDDEN: f64 = 0.15;
/// A short chain is estimated when this share of it has a model …
const MODELLED_OF_FEW: f64 = 0.5;
/// … and one of at least this many steps …
const MANY: usize = 5;
/// … when this share has.
const MODELLED_OF_MANY: f64 = 0.75;

/// No kernel takes less than this to start and end, or than the shortest of the trace if some are
/// shorter.
const LEAST_NS: i64 = 3_000;

/// What a kernel takes however little it does.
pub(super) fn least_kernel_ns(input: &Input) -> i64 {
    let kernels = input.profile.gpu.iter().map(|(_, work)| work);
    let kernels = kernels.filter(|work| work.category == Category::Kernel);
    let lengths = kernels.map(|work| work.span.length()).filter(|ns| *ns > 0);
    lengths.min().unwrap_or(LEAST_NS).min(LEAST_NS)
}

/// What one instance saves. `anchor` is the product or norm that the chain would be the end of; of a
/// run that trains, its own result is needed once more, for the backward pass. What is left
/// takes at least `least_ns`, unless it becomes part of the anchor.
pub(super) fn saving(
    input: &Input,
    kinds: &[StepKind],
    pattern: Pattern,
    anchor: Option<&Step>,
    members: &[&Step],
    is_training: bool,
    least_ns: i64,
) -> Option<Impact> {
    let gpu = input.gpu()?;
    let known: Vec<(&&Step, &StepKind)> = members
        .iter()
        .filter_map(|step| Some((step, kinds.get(step.operation)?)))
        .collect();
    let modelled = known.iter().filter(|(_, kind)| kind.compute_us.is_some());
    let share = modelled.clone().count() as f64 / members.len().max(1) as f64;
    let needed = match members.len() < MANY {
        true => MODELLED_OF_FEW,
        false => MODELLED_OF_MANY,
    };
    if share < needed {
        return None;
    }
    let measured_ns = sum(modelled.clone().map(|(step, _)| step.ns));
    let compute_us: f64 = modelled.filter_map(|(_, kind)| kind.compute_us).sum();
    let of_anchor = anchor.and_then(|step| kinds.get(step.operation)?.gives.as_ref());
    let steps: Vec<&StepKind> = known.iter().map(|(_, kind)| *kind).collect();
    let mut bytes = outer_bytes(pattern, of_anchor, &steps);
    if anchor.is_some() && is_training {
        let result = steps.last().and_then(|kind| kind.gives.as_ref());
        bytes += result.map_or(0.0, |shape| shape.bytes);
    }
    let memory_us = bytes / gpu.mem_bw_gbps / 1e3;
    let fused_us = memory_us.max(compute_us) + NOT_HIDDEN * memory_us.min(compute_us);
    let least_ns = if anchor.is_some() { 0 } else { least_ns };
    let won = |share: f64| {
        let left_ns = (fused_us * 1e3 / share).round() as i64;
        measured_ns.saturating_sub(left_ns.max(least_ns)).max(0)
    };
    Some(Impact {
        low_ns: won(0.75),
        mid_ns: won(0.875),
        high_ns: won(1.0),
        estimate: Estimate::Roofline,
    })
}

/// The bytes that enter and leave a chain. A tensor that a step gives is taken by one later step, so
/// that what else is taken comes from outside. Only where the pattern is a formula, its input is read
/// once however often it stands in it.
pub(super) fn outer_bytes(pattern: Pattern, of_anchor: Option<&Shape>, steps: &[&StepKind]) -> f64 {
    let mut given: Vec<&Shape> = of_anchor.into_iter().collect();
    let mut read: Vec<&Shape> = Vec::new();
    let mut bytes = 0.0;
    for kind in steps {
        for taken in &kind.takes {
            if let Some(at) = given.iter().rposition(|given| can_be(given, taken)) {
                given.remove(at);
                continue;
            }
            let is_again = pattern.is_formula()
                && read
                    .iter()
                    .any(|known| can_be(known, taken) || can_be_slice(known, taken));
            if !is_again {
                bytes += taken.bytes;
                read.push(taken);
            }
        }
        given.extend(kind.gives.as_ref());
        // The sum goes on to the next block as well.
        let is_kept = pattern == Pattern::ResidualNorm && kind.name == "add";
        if is_kept {
            bytes += kind.gives.as_ref().map_or(0.0, |shape| shape.bytes);
        }
    }
    // The product or norm writes its result anyway.
    let result = steps.last().and_then(|kind| kind.gives.as_ref());
    match of_anchor {
        Some(_) => bytes,
        None => bytes + result.map_or(0.0, |shape| shape.bytes),
    }
}
