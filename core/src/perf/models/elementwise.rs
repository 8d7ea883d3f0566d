//! Element-wise ops.
//!
//! An op counts as one operation per result, regardless of its function: memory bandwidth decides. Operands are read
//! and the result is written, once each.

use super::index::padded;
use crate::names::signatures::has_out_operand;
use crate::perf::input::{Tensor, broadcast, product};
use crate::perf::{Modeled, OpInput, dtype, moved, on_vectors, params, vectors};

/// `f(x)`, and `f(x, out)`. For `copy_(to, from)` TraceLens calls the target "in". Exponents and bounds may be tensors
/// as well, which TraceLens takes as results: see [`pointwise`].
pub(super) fn unary(input: &OpInput) -> Option<Modeled> {
    let n = product(input.shape(0)?);
    let dtype_in = input.dtype(0);
    let takes_two = ["aten::pow", "aten::clamp_min", "aten::clamp_max"].contains(&input.name);
    let (dtype_out, stride_out) = result_at(input, 1);
    let bytes = |[share_in, share_out]: [f64; 2]| {
        let size_in = dtype::bytes(dtype_in)?;
        let size_out = dtype_out.map_or(Some(size_in), dtype::bytes)?;
        Some(n * size_in * share_in + n * size_out * share_out)
    };
    let modeled = match takes_two && dtype_out.is_some() {
        true => pointwise(input)?,
        false => Modeled {
            their_bytes: bytes([1.0; 2]),
            ..on_vectors(dtype_in, n, bytes(distinct_shares(input)))
        },
    };
    Some(modeled.with(params::of_one(input, 0, dtype_out, stride_out)))
}

/// The share of the elements of the first two operands that are distinct in memory. TraceLens counts all of them.
fn distinct_shares(input: &OpInput) -> [f64; 2] {
    [0, 1].map(|at| input.distinct_share(at))
}

/// Type and strides of a result that is one of the arguments.
fn result_at<'a>(input: &OpInput<'a>, at: usize) -> (Option<&'a str>, Option<&'a [i64]>) {
    match input.sizes(at) {
        Some(_) => (Some(input.dtype(at)), input.strides(at)),
        None => (None, None),
    }
}

/// `f(x, y)` and `f(x, y, out)` with broadcast shapes. Without a result argument, the type is the wider one of two
/// tensors, else the first operand's.
pub(super) fn binary(input: &OpInput) -> Option<Modeled> {
    binary_to(input, result_at(input, 2))
}

/// The same with a result of this type and strides; `LigerSiLUMul` has neither.
pub(super) fn binary_to(
    input: &OpInput,
    (dtype_out, stride_out): (Option<&str>, Option<&[i64]>),
) -> Option<Modeled> {
    let (shape_1, shape_2) = (input.shape(0)?, input.shape(1)?);
    let n_out = product(&broadcast(shape_1, shape_2)?);
    let (dtype_1, dtype_2) = (input.dtype(0), input.dtype(1));
    let bytes = |[share_1, share_2]: [f64; 2]| {
        let (size_1, size_2) = (dtype::bytes(dtype_1)?, dtype::bytes(dtype_2)?);
        let size_out = match dtype_out {
            Some(dtype) => dtype::bytes(dtype)?,
            None if shape_1.is_empty() || shape_2.is_empty() => size_1,
            None => size_1.max(size_2),
        };
        let read = product(shape_1) * size_1 * share_1 + product(shape_2) * size_2 * share_2;
        Some(read + n_out * size_out)
    };
    let params = params::of_two(input, [0, 1], dtype_out, stride_out);
    let modeled = Modeled {
        their_bytes: bytes([1.0; 2]),
        ..on_vectors(dtype_1, n_out, bytes(distinct_shares(input)))
    };
    Some(modeled.with(params))
}

/// Any number of tensors in, one result of their common shape and type: `sub`, `where`, `gelu`, and the backward of
/// each, which reads the gradient in addition to the saved tensors.
pub(super) fn pointwise(input: &OpInput) -> Option<Modeled> {
    mapped(input, |widest| widest.element_bytes())
}

/// `abs`, `angle`: complex numbers give real ones, half as wide.
pub(super) fn magnitude(input: &OpInput) -> Option<Modeled> {
    mapped(input, |x| {
        let is_complex = dtype::rank(x.dtype) == dtype::Rank::Complex;
        Some(x.element_bytes()? / if is_complex { 2.0 } else { 1.0 })
    })
}

/// In-place ops, whose result replaces the first operand: `masked_fill_`, `sub_`.
pub(super) fn in_place(input: &OpInput) -> Option<Modeled> {
    let target = input.tensor(0)?;
    let n = target.n();
    let bytes = || Some(read_bytes(input)? + target.bytes()?);
    Some(on_vectors(target.dtype, n, bytes()))
}

/// `result_bytes` gives the bytes of a result element from the widest operand, one for a flag, unless the output tensor
/// is among the arguments.
pub(super) fn mapped(input: &OpInput, result_bytes: fn(&Tensor) -> Option<f64>) -> Option<Modeled> {
    let (operands, out) = operands_and_out(input);
    let mut shape: Vec<i64> = Vec::new();
    let mut widest: Option<Tensor> = None;
    for tensor in &operands {
        // The tensor allocated for the result is among the arguments, still empty.
        if tensor.shape == [0] {
            continue;
        }
        shape = broadcast(&shape, tensor.shape)?;
        // PyTorch's type promotion: the highest kind, and within it tensors before scalars.
        let order = |one: &Tensor| {
            let is_tensor = !one.shape.is_empty();
            (dtype::rank(one.dtype), is_tensor, one.element_bytes())
        };
        if widest.is_none_or(|other| order(tensor) > order(&other)) {
            widest = Some(*tensor);
        }
    }
    let widest = widest?;
    let n = product(&shape);
    let bytes = || {
        let size = match out {
            Some(out) => out.element_bytes(),
            None => result_bytes(&widest),
        };
        let read: Option<f64> = operands.iter().map(read_once).sum();
        Some(read? + n * size?)
    };
    Some(on_vectors(widest.dtype, n, bytes()))
}

/// The operands that are read, and separately the output tensor if the caller passes one.
fn operands_and_out<'a>(input: &OpInput<'a>) -> (Vec<Tensor<'a>>, Option<Tensor<'a>>) {
    let mut tensors: Vec<Tensor> = input.tensors().collect();
    let n_args = input.n_args();
    let is_last = n_args
        .checked_sub(1)
        .and_then(|at| input.tensor(at))
        .is_some();
    let name = input.name.strip_prefix("aten::");
    let has_out = |name: &str| tensors.len() > 1 && is_last && has_out_operand(name, n_args);
    let out = if name.is_some_and(has_out) {
        tensors.pop()
    } else {
        None
    };
    (tensors, out)
}

/// Bytes of all tensors, read once; repeated elements are not counted again.
fn read_bytes(input: &OpInput) -> Option<f64> {
    input.tensors().map(|tensor| read_once(&tensor)).sum()
}

fn read_once(tensor: &Tensor) -> Option<f64> {
    match tensor.shape {
        [0] => Some(0.0),
        _ => tensor.distinct_bytes(),
    }
}

/// `fill_`, `normal_`: the target is written, nothing is read or computed. For `clamp_`, `mul_` … on a list, see
/// [`super::optimizer`].
pub(super) fn fill(input: &OpInput) -> Option<Modeled> {
    Some(moved(input.tensor(0)?.bytes()))
}

/// `to(x, type, …)`, `_to_copy(x, type, …)`: x is read and written in the other type.
pub(super) fn cast(input: &OpInput) -> Option<Modeled> {
    let x = input.tensor(0)?;
    let bytes = || Some(x.distinct_bytes()? + x.n() * dtype::bytes_of_code(input.value(1))?);
    Some(on_vectors(x.dtype, x.n(), bytes()))
}

/// `randn(sizes, type, …)`, `full(sizes, value, type, …)`: the tensor is written, with elements of four bytes if no
/// type is given.
pub(super) fn made(input: &OpInput, type_at: usize) -> Option<Modeled> {
    let size = dtype::bytes_of_code(input.value(type_at)).unwrap_or(4.0);
    Some(moved(Some(product(&input.integers(0)?) * size)))
}

/// `arange(start, end, step, out)` and its shorter forms. The result is written; its length follows from the bounds,
/// since its shape is recorded before it is resized.
pub(super) fn arange(input: &OpInput) -> Option<Modeled> {
    let out = input.tensors().last()?;
    let numbers: Vec<f64> = (0..input.n_args())
        .map_while(|position| input.number(position))
        .collect();
    let (start, end, step) = match numbers.as_slice() {
        [end] => (0.0, *end, 1.0),
        [start, end] => (*start, *end, 1.0),
        [start, end, step, ..] => (*start, *end, *step),
        [] => return None,
    };
    let n = ((end - start) / step).ceil();
    (n.is_finite() && n >= 0.0).then(|| vectors(out.dtype, n, n))
}

/// `replication_padNd(x, pad)`: x is read, the padded result written.
pub(super) fn replication_pad(input: &OpInput) -> Option<Modeled> {
    let shape = input.sizes(0)?;
    Some(resized(input, shape, &padded(shape, &input.integers(1)?)?))
}

/// `reflection_padNd_backward(dY, x, pad)`, `replication_padNd_backward`: each element of the padded gradient is read
/// and added to its source position; x itself is not read. Not in TraceLens.
pub(super) fn pad_backward(input: &OpInput) -> Option<Modeled> {
    let (gradient, x) = (input.tensor(0)?, input.tensor(1)?);
    let bytes = || Some(gradient.bytes()? + x.bytes()?);
    Some(on_vectors(gradient.dtype, gradient.n(), bytes()))
}

/// `upsample_nearestNd(x, size)`, or with scale factors for each dimension instead of the size. TraceLens reads sizes
/// only, so calls with factors have no parameters.
pub(super) fn upsample(input: &OpInput) -> Option<Modeled> {
    let shape = input.sizes(0)?;
    let (outer, inner) = shape.split_at_checked(2)?;
    let sizes = input.integers(1);
    let has_sizes = sizes.is_some();
    let resized_inner = match sizes {
        Some(sizes) => sizes,
        None => input
            .numbers(2)?
            .iter()
            .zip(inner)
            .map(|(factor, size)| (*size as f64 * factor).floor() as i64)
            .collect(),
    };
    if resized_inner.len() != inner.len() {
        return None;
    }
    let out: Vec<i64> = outer.iter().copied().chain(resized_inner).collect();
    let mut modeled = resized(input, shape, &out);
    if !has_sizes {
        modeled.params.clear();
    }
    Some(modeled)
}

fn resized(input: &OpInput, shape: &[i64], out: &[i64]) -> Modeled {
    let dtype = input.dtype(0);
    let (n_in, n_out) = (product(shape), product(out));
    let mut all = vec![
        ("input_shape", params::sizes(shape)),
        ("output_shape", params::sizes(out)),
        ("op_shape", params::sizes(out)),
    ];
    let rest = params::of_one(input, 0, Some(dtype), None);
    all.extend(rest.into_iter().skip(1));
    vectors(dtype, n_out, n_in + n_out).with(all)
}

/// `silu_and_mul(out, x)`: x contains gate and value next to each other, twice the size of the result. Five operations
/// per element: exp, add, divide, and two multiplications; eight for `gelu_and_mul`, and ten for `gelu_tanh_and_mul`.
pub(super) fn gated(input: &OpInput) -> Option<Modeled> {
    let flops_each = match input.name {
        name if name.contains("gelu_tanh") => 10.0,
        name if name.contains("gelu") => 8.0,
        _ => 5.0,
    };
    let n = product(input.sizes(0)?);
    let (dtype_out, dtype_in) = (input.dtype(0), input.dtype(1));
    let bytes = || Some(2.0 * n * dtype::bytes(dtype_in)? + n * dtype::bytes(dtype_out)?);
    Some(on_vectors(dtype_in, flops_each * n, bytes()).with(vec![
        ("op_shape", params::opt_sizes(input.shape(0))),
        ("dtype_in_out", params::types_of(input, [1, 0])),
        ("stride_input", params::opt_sizes(input.strides(1))),
        ("stride_output", params::opt_sizes(input.strides(0))),
    ]))
}

/// `native_dropout(x, p, train)`, `_fused_dropout`: in addition to the result, a flag per element says whether it was
/// kept.
pub(super) fn dropout(input: &OpInput) -> Option<Modeled> {
    let x = input.tensor(0)?;
    let flags = if input.flag_or(2, true)? { x.n() } else { 0.0 };
    Some(on_vectors(
        x.dtype,
        2.0 * x.n(),
        x.bytes().map(|bytes| 2.0 * bytes + flags),
    ))
}

/// `glu(x, dim)`: one half of x is the gate of the other.
pub(super) fn glu(input: &OpInput) -> Option<Modeled> {
    let x = input.tensor(0)?;
    Some(vectors(x.dtype, x.n() / 2.0, 1.5 * x.n()))
}

/// `glu_backward(dY, x, dim)`: a gradient as large as x.
pub(super) fn glu_backward(input: &OpInput) -> Option<Modeled> {
    let (gradient, x) = (input.tensor(0)?, input.tensor(1)?);
    let bytes = || Some(gradient.bytes()? + 2.0 * x.bytes()?);
    Some(on_vectors(x.dtype, x.n(), bytes()))
}

/// `complex(x, y)`, `polar(length, angle)`: two real numbers make a complex one, twice as wide.
pub(super) fn to_complex(input: &OpInput) -> Option<Modeled> {
    let x = input.tensor(0)?;
    Some(vectors(x.dtype, x.n(), 4.0 * x.n()))
}

/// `silu(out, x)` of libraries: x is read, the result written.
pub(super) fn out_first(input: &OpInput) -> Option<Modeled> {
    let (out, x) = (input.tensor(0)?, input.tensor(1)?);
    let bytes = || Some(out.bytes()? + x.bytes()?);
    Some(on_vectors(x.dtype, out.n(), bytes()))
}

/// Every tensor moves once: library kernels that take every operand and result as an argument.
pub(super) fn operands(input: &OpInput) -> Option<Modeled> {
    let largest = input.largest(|_| true)?;
    Some(on_vectors(largest.dtype, largest.n(), read_bytes(input)))
}
