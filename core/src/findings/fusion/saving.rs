//! What replacing a chain by one kernel saves.

use super::steps::{ChainStep, Operator};
use crate::findings::engine::compute::steady_ns;
use crate::findings::engine::finding::Estimate;
use crate::findings::prelude::*;
use crate::names::fusion::ChainKind;
use crate::profile::operations::dataflow::{Shape, can_be, can_be_slice};
use crate::trace::Category;

/// The part of the shorter of arithmetic and memory traffic that is not hidden by the longer.
const NOT_HIDDEN: f64 = 0.15;
/// A short chain is estimated if this share of it has a model.
const MODELLED_OF_FEW: f64 = 0.5;
/// Chains of at least this many steps are long.
const MANY: usize = 5;
/// A long chain is estimated if this share of it has a model.
const MODELLED_OF_MANY: f64 = 0.75;

/// The minimum time of a kernel, unless the trace has shorter ones.
const LEAST_NS: i64 = 3_000;

pub(super) struct Projection<'a> {
    pub(super) input: &'a Input<'a>,
    /// Whether the result that precedes a chain is needed again in the backward pass.
    pub(super) is_training: bool,
    /// The minimum time of a kernel, however little it does.
    pub(super) least_ns: i64,
}

impl<'a> Projection<'a> {
    pub(super) fn new(input: &'a Input<'a>) -> Projection<'a> {
        let kernels = input.profile.gpu.iter().map(|(_, work)| work);
        let kernels = kernels.filter(|work| work.category == Category::Kernel);
        let lengths = kernels.map(|work| work.span.length()).filter(|ns| *ns > 0);
        Projection {
            input,
            is_training: input.profile.is_training(),
            least_ns: lengths.min().unwrap_or(LEAST_NS).min(LEAST_NS),
        }
    }

    /// What one instance saves. `anchor` is the GEMM or norm that the chain would become the epilogue of: then no
    /// separate kernel is left.
    pub(super) fn saving(
        &self,
        kind: ChainKind,
        anchor: Option<ChainStep>,
        members: &[ChainStep],
    ) -> Option<Impact> {
        let projected = self.projected(kind, anchor, members);
        projected.or_else(|| self.all_but_longest(kind, members))
    }

    fn steady_ns(&self, one: &ChainStep) -> i64 {
        steady_ns(self.input, one.step.operation, one.step.ns)
    }

    /// Where bytes or the bandwidth are unknown: a formula reads its input once and writes one result, which its longest
    /// step does as well.
    fn all_but_longest(&self, kind: ChainKind, members: &[ChainStep]) -> Option<Impact> {
        let times = members.iter().map(|one| self.steady_ns(one));
        let longest_ns = times.clone().max().filter(|_| kind.is_formula())?;
        let saved_ns = sum(times).saturating_sub(longest_ns);
        (saved_ns > 0).then(|| Impact::measured(saved_ns))
    }

    /// The measured time less that of one kernel, from its bytes and arithmetic.
    fn projected(
        &self,
        kind: ChainKind,
        anchor: Option<ChainStep>,
        members: &[ChainStep],
    ) -> Option<Impact> {
        let gpu = self.input.gpu()?;
        let modeled = |one: &ChainStep| Some((one.operator.compute_us?, self.steady_ns(one)));
        let modeled = members.iter().filter_map(modeled);
        let (compute_us, measured_ns): (Vec<f64>, Vec<i64>) = modeled.unzip();
        let needed = match members.len() < MANY {
            true => MODELLED_OF_FEW,
            false => MODELLED_OF_MANY,
        };
        if (compute_us.len() as f64 / members.len().max(1) as f64) < needed {
            return None;
        }
        let measured_ns = sum(measured_ns);
        let steps: Vec<&Operator> = members.iter().map(|one| one.operator).collect();
        let of_anchor = anchor.and_then(|one| one.operator.gives.as_ref());
        let mut bytes = outer_bytes(kind, of_anchor, &steps);
        if anchor.is_some() && self.is_training {
            bytes += written(&steps);
        }
        let memory_us = bytes / gpu.mem_bw_gbps / 1e3;
        let compute_us: f64 = compute_us.iter().sum();
        let fused_us = memory_us.max(compute_us) + NOT_HIDDEN * memory_us.min(compute_us);
        let least_ns = if anchor.is_some() { 0 } else { self.least_ns };
        let targets = [0.75, 0.875, 1.0];
        Some(Impact::of_each(Estimate::Roofline, targets, |share| {
            let left_ns = (fused_us * 1e3 / share).round() as i64;
            measured_ns.saturating_sub(left_ns.max(least_ns)).max(0)
        }))
    }
}

/// The size of the last step's output in bytes.
fn written(steps: &[&Operator]) -> f64 {
    let result = steps.last().and_then(|step| step.gives.as_ref());
    result.map_or(0.0, |shape| shape.bytes)
}

/// The bytes that enter and leave a chain: inputs that no earlier step produces come from outside. Only if the chain is
/// a formula, its input is read once however often it is used.
pub(super) fn outer_bytes(kind: ChainKind, of_anchor: Option<&Shape>, steps: &[&Operator]) -> f64 {
    let mut given: Vec<&Shape> = of_anchor.into_iter().collect();
    let mut read: Vec<&Shape> = Vec::new();
    let mut bytes = 0.0;
    for step in steps {
        for taken in &step.takes {
            if let Some(at) = given.iter().rposition(|given| can_be(given, taken)) {
                given.remove(at);
                continue;
            }
            let is_read = |known: &&Shape| can_be(known, taken) || can_be_slice(known, taken);
            if !(kind.is_formula() && read.iter().any(is_read)) {
                bytes += taken.bytes;
                read.push(taken);
            }
        }
        given.extend(step.gives.as_ref());
        // The sum is also passed on to the next block.
        if kind == ChainKind::ResidualNorm && step.name == "add" {
            bytes += written(&[step]);
        }
    }
    // A flag of one byte for each element says what was kept.
    if kind == ChainKind::Dropout
        && let Some(shape) = steps.last().and_then(|step| step.gives.as_ref())
    {
        bytes += shape.element_bytes.map_or(0.0, |size| shape.bytes / size);
    }
    // The GEMM or norm writes its result in any case.
    match of_anchor {
        Some(_) => bytes,
        None => bytes + written(steps),
    }
}
