//! Optimizer steps and other ops on lists of tensors. Not in TraceLens.
//!
//! For n parameters in total. A list of tensors has no type in a trace; the kernel's name gives the size of an element,
//! and both sizes if one type is copied to another. Adam and AdamW: 12 operations each; parameter, gradient and two
//! moments are read, all but the gradient written: 7 passes. AMSGrad also keeps the largest second moment: one more
//! operation and 2 more passes. SGD: 2 operations; parameter and gradient read, the parameter written: 3 passes; with
//! momentum 4 operations and 5 passes, since it is read and written as well. Adagrad: square, add, root, divide,
//! subtract; parameter, gradient and sum read, two of them written: 5 passes.

use super::index::element_bytes_of_kernels;
use crate::hardware::Precision;
use crate::perf::input::product;
use crate::perf::{ComputeSpec, Modeled, OpInput, Unit, Work, bare, dtype};

/// `_fused_adam_(params, grads, moments, second moments, largest of these, …)`, `_fused_adamw_`.
pub(super) fn adam(input: &OpInput) -> Option<Modeled> {
    match has_list(input, 4) {
        true => list(input, 13.0, 9.0),
        false => list(input, 12.0, 7.0),
    }
}

/// `_fused_sgd_(params, grads, momentum, …)`.
pub(super) fn sgd(input: &OpInput) -> Option<Modeled> {
    match has_list(input, 2) {
        true => list(input, 4.0, 5.0),
        false => list(input, 2.0, 3.0),
    }
}

/// Whether a list of tensors is not empty.
fn has_list(input: &OpInput, position: usize) -> bool {
    let list = input.tensor_list(position);
    list.is_some_and(|list| !list.is_empty())
}

/// `_foreach_sqrt(xs)`, `_foreach_mul_(xs, scalar)`: read, compute, write.
pub(super) fn foreach_unary(input: &OpInput) -> Option<Modeled> {
    list(input, 1.0, 2.0 + one_if_two_lists(input))
}

/// `_foreach_add_(xs, ys, alpha)`: two lists read, one written.
pub(super) fn foreach_binary(input: &OpInput) -> Option<Modeled> {
    let more = one_if_two_lists(input);
    list(input, 1.0 + more, 2.0 + more)
}

fn one_if_two_lists(input: &OpInput) -> f64 {
    input.tensor_list(1).map_or(0.0, |_| 1.0)
}

/// `_foreach_copy_(to, from)`: one list read, the other written, possibly in another type.
pub(super) fn foreach_copy(input: &OpInput) -> Option<Modeled> {
    let modeled = list(input, 0.0, 2.0)?;
    let Some([to, from]) = input.kernels.iter().find_map(|name| copied_types(name)) else {
        return Some(modeled);
    };
    let n: f64 = input.tensor_list(0)?.into_iter().map(product).sum();
    Some(bare(Work {
        bytes: Some(n * (to + from)),
        ..modeled.work
    }))
}

/// Bytes of the types in `Copy<c10::BFloat16, float>`.
fn copied_types(kernel: &str) -> Option<[f64; 2]> {
    let (_, arguments) = kernel.split_once("::Copy<")?;
    let (to, rest) = arguments.split_once(", ")?;
    let mut depth = 0;
    let end = rest.find(|letter| {
        depth += match letter {
            '<' => 1,
            '>' => -1,
            _ => 0,
        };
        depth < 0 || (depth == 0 && letter == ',')
    })?;
    let from = rest.get(..end)?;
    Some([dtype::bytes(to)?, dtype::bytes(from.trim())?])
}

/// Work from operations per element and passes over all elements.
pub(super) fn list(input: &OpInput, flops_each: f64, passes: f64) -> Option<Modeled> {
    let n: f64 = input.tensor_list(0)?.into_iter().map(product).sum();
    let size = element_bytes_of_kernels(input.kernels);
    Some(bare(Work {
        flops: flops_each * n,
        bytes: size.map(|size| passes * n * size),
        // Optimizers compute in FP32 regardless of what they store.
        compute: Some(ComputeSpec {
            unit: Unit::Vector,
            precision: Precision::Fp32,
        }),
    }))
}
