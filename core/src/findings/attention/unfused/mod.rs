//! Attention in separate operations: the time of each, and that of a single kernel.

mod evidence;

use super::band::has_few_keys;
use crate::base::map::{Map, Set};
use crate::findings::engine::assessment::Band;
use crate::findings::engine::compute::steady_ns;
use crate::findings::prelude::*;
use crate::hardware::roofline::roofline;
use crate::names::Family;
use crate::perf::FusedAttention;
use crate::profile::operations::call_order::{Order, OrderedCall, time_ns};
use crate::profile::operations::kinds::unfused_attention::{
    self, UnfusedCalls, UnfusedPart, roles,
};
pub(super) use evidence::add_rows;

/// One attention in separate operations.
pub(super) struct Unfused {
    /// Its calls, in any order; no call is part of two of these.
    calls: Vec<(OrderedCall, UnfusedPart)>,
    softmax: OrderedCall,
    /// Its sizes; `None` if shapes were not recorded.
    sizes: Option<FusedAttention>,
    is_backward: bool,
    pub(super) time_ns: i64,
    /// `None` without a GPU or without shapes.
    fused: Option<Fused>,
    pub(super) impact: Impact,
}

/// The time of a fused call at roofline, and the usual % of roofline.
#[derive(Clone, Copy)]
struct Fused {
    roofline_ns: f64,
    band: Band,
}

/// The upper end for few queries, which have no band: what good kernels reach.
const DECODE_HIGH_PERCENT: f64 = 80.0;

/// Whether there is any softmax that could be part of an attention.
pub(super) fn has_softmax(input: &Input) -> bool {
    input.operations().any(|(_, operation, _)| {
        let name = operation.short_name(input.profile).to_ascii_lowercase();
        name.contains("softmax") && operation.family != Family::Attention
    })
}

/// All attention in separate operations, forward or backward.
pub(super) fn find(input: &Input, order: &Order, is_backward: bool) -> Vec<Unfused> {
    let found = input.profile.once(|| {
        let roles = roles(input.profile);
        FoundInLanes([false, true].map(|is_backward| {
            let find = |lane: &[OrderedCall]| {
                let operations: Vec<usize> = lane.iter().map(|placed| placed.operation).collect();
                unfused_attention::find(&roles, &operations, is_backward)
            };
            order.lanes().map(find).collect()
        }))
    });
    let FoundInLanes([forward, backward]) = &*found;
    let lanes = if is_backward { backward } else { forward };
    let of_lanes = order.lanes().zip(lanes);
    of_lanes
        .flat_map(|(lane, found)| found.iter().map(move |found| (lane, found)))
        .filter_map(|(lane, found)| Unfused::new(input, lane, found, is_backward))
        .collect()
}

/// What is found in each lane, forward and backward.
struct FoundInLanes([Vec<Vec<UnfusedCalls>>; 2]);

impl Unfused {
    fn new(
        input: &Input,
        lane: &[OrderedCall],
        found: &UnfusedCalls,
        is_backward: bool,
    ) -> Option<Unfused> {
        let calls = found.calls.iter();
        let calls: Vec<(OrderedCall, UnfusedPart)> = calls
            .filter_map(|&(call, part)| Some((*lane.get(call)?, part)))
            .collect();
        let time_ns = time_ns(input.profile, calls.iter().map(|(placed, _)| placed));
        let steady = |placed: &OrderedCall| {
            steady_ns(input, placed.operation, placed.kernel_ns(input.profile))
        };
        let all_steady_ns = sum(calls.iter().map(|(placed, _)| steady(placed)));
        let gemm = found.gemm.and_then(|gemm| lane.get(gemm));
        let fused = found
            .sizes
            .and_then(|sizes| fused(input, sizes, gemm?, is_backward));
        let impact = match fused {
            Some(Fused { roofline_ns, band }) => Impact::of_band(all_steady_ns, roofline_ns, band),
            None if input.gpu().is_some() => Impact::heuristic(all_steady_ns),
            // Scores would not go to memory; the time of GEMMs in a fused kernel is unknown.
            None => {
                let others = calls.iter().filter(|(_, part)| *part != UnfusedPart::Gemm);
                Impact::at_most(sum(others.map(|(placed, _)| steady(placed))))
            }
        };
        Some(Unfused {
            calls,
            softmax: *lane.get(found.softmax)?,
            sizes: found.sizes,
            is_backward,
            time_ns,
            fused,
            impact,
        })
    }
}

/// Attention in separate operations, in the form used by comparisons.
pub(crate) struct Chain {
    /// The operation of each of its calls, as indices into [`Profile::operations`](crate::Profile::operations).
    pub(crate) operations: Vec<usize>,
    /// The operation of its softmax.
    pub(crate) softmax: usize,
    /// `None` if shapes were not recorded.
    pub(crate) sizes: Option<FusedAttention>,
    pub(crate) is_backward: bool,
}

/// All attention in separate operations, forward and backward.
pub(crate) fn chains(input: &Input) -> Vec<Chain> {
    if !has_softmax(input) {
        return Vec::new();
    }
    let order = Order::of(input.profile);
    let all = [false, true].into_iter();
    let all = all.flat_map(|is_backward| find(input, &order, is_backward));
    all.map(|one| Chain {
        operations: one
            .calls
            .iter()
            .map(|(placed, _)| placed.operation)
            .collect(),
        softmax: one.softmax.operation,
        sizes: one.sizes,
        is_backward: one.is_backward,
    })
    .collect()
}

/// Operations all of whose calls are parts of attention in separate operations: a fused kernel replaces them.
pub(crate) fn replaced(input: &Input) -> Set<usize> {
    let mut n_parts: Map<usize, u64> = Map::default();
    for chain in chains(input) {
        for at in chain.operations {
            *n_parts.entry(at).or_default() += 1;
        }
    }
    let all = n_parts.into_iter();
    all.filter(|(at, n)| *n >= input.operation(*at).n_calls())
        .map(|(at, _)| at)
        .collect()
}

/// A fused call with the same sizes; `gemm` determines the type of its operands.
fn fused(
    input: &Input,
    sizes: FusedAttention,
    gemm: &OrderedCall,
    is_backward: bool,
) -> Option<Fused> {
    let thresholds = &input.options.thresholds;
    let operands = input.operation(gemm.operation).tensors(input.profile);
    let dtype = operands.first().map_or("", |operand| operand.dtype);
    let work = match is_backward {
        true => sizes.backward(dtype),
        false => sizes.forward(dtype),
    };
    let roofline = roofline(&work, input.gpu()?, input.options.basis)?;
    let length = sizes.n_q.min(sizes.n_kv) as f64;
    let is_decode = sizes.n_q as f64 <= thresholds.sdpa_decode_queries && sizes.n_kv > sizes.n_q;
    let (queries, keys) = (sizes.n_q as f64, sizes.n_kv as f64);
    let band = match is_decode {
        true => Band(thresholds.gate_efficiency_percent, DECODE_HIGH_PERCENT),
        false if has_few_keys(queries, keys, roofline.bound, thresholds) => Band::OF_FEW_KEYS,
        false => Band::of_length(length),
    };
    Some(Fused {
        roofline_ns: roofline.time_us * 1e3,
        band: band.of_pass(is_backward, thresholds),
    })
}
