//! Kernels that `torch.compile` generates: `triton_poi_fused_add_mul_3` is pointwise, `triton_red_…` and `triton_per_…`
//! are reductions.
//!
//! The call has its tensors and the sizes of the loops around the kernel's body: x and y for points, and finally r for
//! the reduction. Operations are those listed in the name, per point. Each tensor moves once, with the actual size of
//! its elements, and never more elements than there are points, because for a slice of a larger tensor only the slice
//! moves. A kernel that works in place reads and writes a tensor. The call does not say so, but it is certain where only
//! one tensor has an element for each point and the kernel is the epilogue of a GEMM or a convolution, and where the last
//! tensor, which is the result of any other kernel, is the result of a GEMM.

pub(crate) mod template;

use crate::base::format;
use crate::perf::input::Tensor;
use crate::perf::params::{self, Param, Params};
use crate::perf::{Modeled, OpInput, dtype, on_vectors};

/// The last `n_sizes` arguments are always loop sizes; the last of two is that of the reduction.
pub(crate) fn fused(input: &OpInput, n_sizes: usize) -> Option<Modeled> {
    let tensors: Vec<Tensor> = input.tensors().collect();
    let largest = tensors.iter().map(Tensor::n).fold(0.0, f64::max);
    let n_points = points(input, n_sizes, largest)?;
    let ops = fused_ops(input.name);
    let full: Vec<&Tensor> = tensors.iter().filter(|t| t.n() >= n_points).collect();
    let in_place = match full.as_slice() {
        [only] if ops.iter().any(|op| EXTERNAL.contains(op)) => Some(*only),
        [first, .., last] if n_sizes == 1 && reads_gemm(&ops, first, last, &tensors) => {
            Some(*first)
        }
        _ => None,
    };
    let moved = |tensor: &Tensor| Some(tensor.n().min(n_points) * tensor.element_bytes()?);
    let flops_each: f64 = ops.iter().copied().map(flops_of).sum();
    let first = tensors.first()?;
    let bytes = tensors.iter().chain(in_place).map(moved).sum();
    let modeled = on_vectors(first.dtype, flops_each * n_points, bytes);
    Some(modeled.with(params(input, &ops, n_sizes)?))
}

/// Whether the last tensor of a pointwise kernel is the flat result of a GEMM, of which it combines views with others.
/// Its own result has the dimensions of the view, so it replaces the first.
fn reads_gemm(ops: &[&str], first: &Tensor, last: &Tensor, tensors: &[Tensor]) -> bool {
    let is_last = tensors.last().is_some_and(|one| one.shape == last.shape);
    let combines = ops
        .iter()
        .any(|op| matches!(*op, "add" | "sub" | "mul" | "div"));
    // Only what follows a GEMM is viewed this way.
    let views = ops.contains(&"_unsafe_view");
    let is_flat =
        last.shape.len() == 2 && first.shape.len() > 2 && first.n().total_cmp(&last.n()).is_eq();
    is_last && combines && views && is_flat
}

/// TraceLens's parameters: the last two sizes for a reduction, else the last.
fn params(input: &OpInput, ops: &[&str], n_sizes: usize) -> Option<Params> {
    let sizes = sizes(input);
    let (last, rest) = sizes.split_last()?;
    let (x, r) = match rest.last() {
        Some(before) if n_sizes == 2 => (*before, *last),
        _ => (*last, 1.0),
    };
    let names = format::joined(ops.iter().map(|op| format!("aten.{op}")), ", ");
    Some(vec![
        ("fused_ops", params::text(&names)),
        ("xnumel", Param::Int(x)),
        ("rnumel", Param::Int(r)),
    ])
}

/// The integers among the arguments, in order.
fn sizes(input: &OpInput) -> Vec<f64> {
    (0..input.n_args())
        .filter(|at| !dtype::is_tensor(input.dtype(*at)))
        .filter_map(|at| input.value(at).trim().parse::<i64>().ok())
        .map(|size| size as f64)
        .collect()
}

/// Points of the loop nest. The last `n_sizes` sizes always belong to it. Earlier ones belong to it as long as there
/// are no more points than elements in the largest tensor; otherwise they are sizes of dynamic shapes.
fn points(input: &OpInput, n_sizes: usize, largest: f64) -> Option<f64> {
    let sizes = sizes(input);
    let mut n_points = 1.0;
    for (at, size) in sizes.iter().rev().enumerate() {
        if at >= n_sizes && n_points * size > largest {
            break;
        }
        n_points *= size;
    }
    (!sizes.is_empty() && n_points >= 0.0).then_some(n_points)
}

/// Operations of a fused op per point; views and copies have none.
fn flops_of(op: &str) -> f64 {
    match op {
        "add" | "sub" | "mul" | "div" | "relu" | "mean" | "sum" | "abs" | "neg" | "ne" | "eq"
        | "lt" | "gt" => 1.0,
        "pow" | "sqrt" | "rsqrt" | "var" | "reciprocal" => 2.0,
        "exp" | "log" | "sigmoid" | "tanh" | "silu" => 4.0,
        "gelu" => 8.0,
        _ => 0.0,
    }
}

/// Ops that a library computed; the kernel continues from their result.
const EXTERNAL: [&str; 5] = ["addmm", "baddbmm", "bmm", "convolution", "mm"];

/// Names of several words that contain another op's name.
const LONG_NAMES: [&str; 24] = [
    "_log_softmax",
    "_scaled_dot_product_flash_attention",
    "_softmax",
    "_to_copy",
    "_unsafe_view",
    "add_",
    "bitwise_and",
    "embedding_dense_backward",
    "gelu_backward",
    "index_add",
    "logical_and",
    "max_pool2d_with_indices",
    "native_batch_norm_backward",
    "native_dropout_backward",
    "native_group_norm",
    "native_layer_norm",
    "native_layer_norm_backward",
    "scalar_tensor",
    "sigmoid_backward",
    "silu_backward",
    "slice_backward",
    "sum_to_size",
    "tanh_backward",
    "threshold_backward",
];

/// The ops in a kernel's name: `triton_poi_fused__to_copy_add_mul_3` fuses `_to_copy`, `add`, `mul`. An op that occurs
/// several times is listed once.
pub(crate) fn fused_ops(name: &str) -> Vec<&str> {
    let Some((_, list)) = name.split_once("_fused_") else {
        return Vec::new();
    };
    let mut rest = match list.rsplit_once('_') {
        Some((ops, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => ops,
        _ => list,
    };
    let mut ops = Vec::new();
    while !rest.is_empty() {
        let ends = |op: &&&str| {
            let after = rest.strip_prefix(**op);
            after.is_some_and(|after| after.is_empty() || after.starts_with('_'))
        };
        let word = rest.find('_').filter(|at| *at > 0).unwrap_or(rest.len());
        let longest = LONG_NAMES.iter().filter(ends).map(|op| op.len()).max();
        let (op, after) = rest.split_at(longest.unwrap_or(word).max(1));
        ops.push(op);
        rest = after.strip_prefix('_').unwrap_or(after);
    }
    ops
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_list_what_was_fused() {
        let cases: [(&str, &[&str]); 4] = [
            (
                "triton_poi_fused__to_copy_add_mul_3",
                &["_to_copy", "add", "mul"],
            ),
            (
                "triton_red_fused__unsafe_view_native_layer_norm_native_layer_norm_backward_12",
                &[
                    "_unsafe_view",
                    "native_layer_norm",
                    "native_layer_norm_backward",
                ],
            ),
            ("triton_per_fused_mean_pow_rsqrt", &["mean", "pow", "rsqrt"]),
            ("triton_poi_0", &[]),
        ];
        for (name, ops) in cases {
            assert_eq!(fused_ops(name), ops, "{name}");
        }
    }
}
