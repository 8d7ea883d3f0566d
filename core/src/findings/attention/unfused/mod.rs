//! Attention that is computed in separate operations: two products with a softmax between them.
//!
//! Scores of N_Q × N_KV for each head are written by the first product, read and written by scaling,
//! mask, softmax and dropout, and read by the second product. Sizes prove it: the softmax works on
//! as many elements as the product before it writes and the product after it reads, along the same
//! last dimension. Where shapes were not recorded, the order of the calls has to do: batched
//! products with nothing but a softmax and element-wise work between them.
//!
//! Everything is looked for in the order in which the GPU runs it, so it makes no difference whether
//! a module, an operator or nothing at all is around it.

mod role;
mod search;

use super::super::Input;
use super::super::order::{Order, Placed, tensors, time_ns};
use crate::names::Family;
use crate::perf::{FusedAttention, Work};
use role::Seen;
use search::Search;

/// What a call does in an attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    Softmax,
    Product,
    Scaling,
    Mask,
    Copy,
    Dropout,
    Other,
}

impl Part {
    pub(super) const ALL: [Part; 7] = [
        Part::Softmax,
        Part::Product,
        Part::Scaling,
        Part::Mask,
        Part::Copy,
        Part::Dropout,
        Part::Other,
    ];

    pub(super) fn label(self) -> &'static str {
        match self {
            Part::Softmax => "softmax",
            Part::Product => "matrix products",
            Part::Scaling => "scaling",
            Part::Mask => "mask",
            Part::Copy => "copies",
            Part::Dropout => "dropout",
            Part::Other => "other element-wise work",
        }
    }

    /// In the column of types.
    pub(super) fn class(self) -> &'static str {
        match self {
            Part::Softmax => "unfused: softmax",
            Part::Product => "unfused: product",
            Part::Scaling => "unfused: scaling",
            Part::Mask => "unfused: mask",
            Part::Copy => "unfused: copy",
            Part::Dropout => "unfused: dropout",
            Part::Other => "unfused: other",
        }
    }
}

/// One attention in parts.
#[derive(Debug, Clone)]
pub(super) struct Instance<'a> {
    /// Its calls, in no order; none is in another instance.
    pub(super) calls: Vec<(Placed, Part)>,
    /// The softmax.
    pub(super) softmax: Placed,
    /// Its sizes; `None` where shapes were not recorded.
    pub(super) sizes: Option<FusedAttention>,
    /// The type of its operands.
    pub(super) dtype: &'a str,
}

impl Instance<'_> {
    /// The measured time of all its calls.
    pub(super) fn time_ns(&self, input: &Input) -> i64 {
        time_ns(input, self.calls.iter().map(|(placed, _)| placed))
    }

    /// The work of one fused call that does the same.
    pub(super) fn fused_work(&self, is_backward: bool) -> Option<Work> {
        let sizes = self.sizes?;
        Some(match is_backward {
            true => sizes.backward(self.dtype),
            false => sizes.forward(self.dtype),
        })
    }
}

/// Whether there is any softmax that could be part of an attention.
pub(super) fn has_softmax(input: &Input) -> bool {
    input.operations().any(|(_, operation, _)| {
        let name = operation.short_name(input.profile).to_ascii_lowercase();
        name.contains("softmax") && operation.family != Family::Attention
    })
}

/// Every attention in parts, forward or backward.
pub(super) fn find<'a>(input: &Input<'a>, order: &Order, is_backward: bool) -> Vec<Instance<'a>> {
    let operations = input.profile.operations();
    let seen: Vec<Seen> = operations
        .iter()
        .map(|operation| Seen::new(input, operation))
        .collect();
    let mut instances = Vec::new();
    for lane in order.lanes() {
        let mut search = Search::new(&seen, lane);
        for at in 0..lane.len() {
            let Some(found) = search.around(at, is_backward) else {
                continue;
            };
            let dtype = found.product.and_then(|product| {
                let placed = lane.get(product)?;
                let operand = tensors(input, operations.get(placed.operation)?);
                Some(operand.first()?.dtype)
            });
            let calls = found.calls.iter();
            instances.push(Instance {
                calls: calls
                    .filter_map(|&(call, part)| Some((*lane.get(call)?, part)))
                    .collect(),
                softmax: lane[at],
                sizes: found.sizes,
                dtype: dtype.unwrap_or_default(),
            });
        }
    }
    instances
}
