//! GEMM of serving engines that TraceLens has no model for.
//!
//! The formulas are those of [`gemm`](super). Quantized weights are read as packed, with their scales; the result
//! has two bytes per element if the operands have one.

use super::{Gemm, linear_sizes, matrix_sizes};
use crate::hardware::Precision;
use crate::perf::input::{Tensor, product};
use crate::perf::{ComputeSpec, Modeled, OpInput, Unit, Work, bare, dtype, on_matrices};

/// `cutlass_scaled_mm(out, A, B, scales, scales, bias)`, B of K × N.
pub(crate) fn out_first(input: &OpInput) -> Option<Modeled> {
    let [m, n] = input.sized(0)?;
    let [_, k] = input.sized(1)?;
    let gemm = Gemm {
        has_bias: input.tensor(5).is_some(),
        c: dtype::bytes(input.dtype(0)),
        bias: dtype::bytes(input.dtype(0)).map(|size| size * n),
        ..Gemm::uniform([m, k, n], dtype::bytes(input.dtype(1)))
    };
    Some(bare(gemm.work(input.dtype(1))))
}

/// `cutlass_scaled_fp4_mm(out, A, B, …)`: bytes of A and B pack two four-bit numbers.
pub(crate) fn fp4_out_first(input: &OpInput) -> Option<Modeled> {
    let [m, n] = input.sized(0)?;
    let [_, packed] = input.sized(1)?;
    let bytes = || Some((m + n) * packed * 17.0 / 16.0 + m * n * dtype::bytes(input.dtype(0))?);
    Some(bare(Work {
        flops: 4.0 * m * n * packed,
        // Sixteen numbers, in eight bytes, have a one-byte scale.
        bytes: bytes(),
        compute: Some(ComputeSpec {
            unit: Unit::Matrix,
            precision: Precision::Fp4,
        }),
    }))
}

/// `fp8_scaled_mm(A, B, scales, scales, type, bias)` of SGLang, B of K × N.
pub(crate) fn columns(input: &OpInput) -> Option<Modeled> {
    let [m, k, n] = matrix_sizes(input)?;
    Some(eight_bit([1.0, m, k, n], input))
}

/// `w8a8_block_fp8_matmul(A, B, …)`, `int8_scaled_mm` of bitsandbytes: B of N × K, A of … × K.
pub(crate) fn rows(input: &OpInput) -> Option<Modeled> {
    let [m, k, n] = linear_sizes(input, 1)?;
    Some(eight_bit([1.0, m, k, n], input))
}

/// `bmm_fp8(A, B, out, …)`, A of B × M × K.
pub(crate) fn batches(input: &OpInput) -> Option<Modeled> {
    let [batch, m, k] = input.sized(0)?;
    let [_, _, n] = input.sized(1)?;
    Some(eight_bit([batch, m, k, n], input))
}

fn eight_bit([batch, m, k, n]: [f64; 4], input: &OpInput) -> Modeled {
    let (a, b) = (dtype::bytes(input.dtype(0)), dtype::bytes(input.dtype(1)));
    let gemm = Gemm {
        batch,
        a,
        b,
        c: a.map(|size| size.max(2.0)),
        ..Gemm::uniform([m, k, n], a)
    };
    bare(gemm.work(input.dtype(0)))
}

/// Weights packed into integers, and the operands they are multiplied with.
pub(crate) struct Packed<'a> {
    /// M, K and N.
    pub(crate) sizes: [f64; 3],
    activations: Tensor<'a>,
    scales: Tensor<'a>,
    weights: Tensor<'a>,
}

/// The activations are the first floating-point matrix, M × K; the scales are the last, groups × N; the packed weights
/// are the largest integer matrix.
pub(crate) fn packed<'a>(input: &OpInput<'a>) -> Option<Packed<'a>> {
    let is_float = |tensor: &Tensor| !dtype::is_integer(tensor.dtype);
    let matrices: Vec<Tensor> = input.tensors().filter(|t| t.shape.len() == 2).collect();
    let activations = matrices.iter().position(is_float)?;
    let x = matrices.get(activations)?;
    let scales = matrices
        .iter()
        .skip(activations + 1)
        .rfind(|t| is_float(t))?;
    let weights = matrices
        .iter()
        .filter(|tensor| !is_float(tensor))
        .max_by(|a, b| a.n().total_cmp(&b.n()))?;
    let ([m, k], [_, n]) = (x.shape, scales.shape) else {
        return None;
    };
    Some(Packed {
        sizes: [*m as f64, *k as f64, *n as f64],
        activations: *x,
        scales: *scales,
        weights: *weights,
    })
}

/// `gptq_marlin_gemm`, `awq_gemm`, `gptq_gemm`: two-byte activations with packed weights.
pub(crate) fn weight_only(input: &OpInput) -> Option<Modeled> {
    let packed = packed(input)?;
    let ([m, k, n], x) = (packed.sizes, packed.activations);
    let bytes = || {
        let weights = packed.weights.bytes()? + packed.scales.bytes()?;
        Some(x.bytes()? + weights + m * n * x.element_bytes()?)
    };
    Some(on_matrices(x.dtype, 2.0 * m * n * k, bytes()))
}

/// `_weight_int4pack_mm(x, w, group, scales)`: four-bit weights in a special block layout; N follows from the scales
/// and zeros of groups × N × 2. `_weight_int8pack_mm(x, w, scales)` with w of N × K.
pub(crate) fn weight_packed(input: &OpInput) -> Option<Modeled> {
    let (x, w) = (input.tensor(0)?, input.tensor(1)?);
    let (k, rows) = x.shape.split_last()?;
    let n = match input.sizes(3) {
        Some(&[_, n, 2]) => n,
        _ => *w.shape.first().filter(|_| w.shape.len() == 2)?,
    };
    let n_out = product(rows) * n as f64;
    let bytes = || Some(input.tensor_bytes()? + n_out * x.element_bytes()?);
    Some(on_matrices(x.dtype, 2.0 * n_out * *k as f64, bytes()))
}

/// `gemv_4bit(x, w, shape of w[2], …)` of bitsandbytes: the shape before packing, N × K.
pub(crate) fn four_bit_rows(input: &OpInput) -> Option<Modeled> {
    let x = input.tensor(0)?;
    let shape = input.integers(2)?;
    let [n, k] = shape.as_slice() else {
        return None;
    };
    let n_out = x.n() / (*k as f64) * *n as f64;
    let bytes = || Some(input.tensor_bytes()? + n_out * x.element_bytes()?);
    (*k > 0).then(|| on_matrices(x.dtype, 2.0 * n_out * *k as f64, bytes()))
}

/// `router_gemm(out, x, w)`, w in either order: K is the last size of x.
pub(crate) fn plain_out_first(input: &OpInput) -> Option<Modeled> {
    let (out, x, w) = (input.tensor(0)?, input.tensor(1)?, input.tensor(2)?);
    let k = *x.shape.last()? as f64;
    let bytes = || Some(out.bytes()? + x.bytes()? + w.bytes()?);
    Some(on_matrices(x.dtype, 2.0 * out.n() * k, bytes()))
}

/// `lora_shrink(x, adapters, out, …)` of vLLM, x of M × K, out of slices × M × R: each row by the matrix of its adapter.
/// At least one adapter is read.
pub(crate) fn lora_shrink(input: &OpInput) -> Option<Modeled> {
    let (x, out) = (input.tensor(0)?, input.tensor(2)?);
    let (&[_, k], &[slices, _, rank]) = (x.shape, out.shape) else {
        return None;
    };
    let adapter = (slices * rank) as f64 * k as f64;
    let bytes = || Some(x.bytes()? + out.bytes()? + adapter * x.element_bytes()?);
    Some(on_matrices(x.dtype, 2.0 * out.n() * k as f64, bytes()))
}

/// `lora_expand(x, adapters, out, …)`, x of slices × M × R, out of M × N, to which it adds.
pub(crate) fn lora_expand(input: &OpInput) -> Option<Modeled> {
    let (x, out) = (input.tensor(0)?, input.tensor(2)?);
    let (&[_, _, rank], &[_, n]) = (x.shape, out.shape) else {
        return None;
    };
    let adapter = rank as f64 * n as f64;
    let bytes = || Some(x.bytes()? + 2.0 * out.bytes()? + adapter * out.element_bytes()?);
    Some(on_matrices(out.dtype, 2.0 * out.n() * rank as f64, bytes()))
}

/// Transformer Engine's `_Linear(…)`: its arguments have w of N × K first, or x of … × K; w is the matrix whose last
/// size the other tensor shares.
pub(crate) fn te_linear(input: &OpInput) -> Option<Modeled> {
    let tensors: Vec<Tensor> = input
        .tensors()
        .filter(|tensor| tensor.shape.len() > 1)
        .collect();
    let [one, other, ..] = tensors.as_slice() else {
        return None;
    };
    let k = *one.shape.last().filter(|k| other.shape.last() == Some(k))?;
    // In `_Linear` the weight is first; after a norm, it follows the input.
    let (w, x) = match input.name.contains("LayerNorm") {
        true => (other, one),
        false => (one, other),
    };
    let n = *w.shape.first().filter(|_| w.shape.len() == 2)? as f64;
    let n_out = x.n() / (k.max(1) as f64) * n;
    let bytes = || Some(x.bytes()? + w.bytes()? + n_out * x.element_bytes()?);
    Some(on_matrices(x.dtype, 2.0 * n_out * k as f64, bytes()))
}
