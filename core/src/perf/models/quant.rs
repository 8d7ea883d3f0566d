//! Quantization to eight or four bits, with scales.

use crate::perf::input::product;
use crate::perf::{Modeled, OpInput, Work, bare, dtype, on_vectors, params};

/// `quantize_fp8_tensorwise(x, …)`: one byte and one operation per element.
pub(super) fn fp8_tensorwise(input: &OpInput) -> Option<Modeled> {
    let x = input.tensor(0)?;
    let bytes = x.bytes().map(|bytes| bytes + x.n());
    Some(on_vectors(x.dtype, x.n(), bytes).with(params::of_one(input, 0, Some("fp8"), None)))
}

/// `quantize_mxfp4_dual(x)` of M × N: four bits per element, and a scale byte for every 32 in a row and every 32 in a
/// column.
pub(super) fn mxfp4_dual(input: &OpInput) -> Option<Modeled> {
    let [m, n] = input.sized(0)?;
    let scales = m * (n / 32.0).ceil() + n * (m / 32.0).ceil();
    let bytes =
        dtype::bytes(input.dtype(0)).map(|size| m * n * size + 2.0 * (m * n / 2.0).ceil() + scales);
    Some(on_vectors(input.dtype(0), m * n, bytes).with(params::of_one(input, 0, Some("fp4"), None)))
}

/// `dynamic_per_token_scaled_quant(out, x, scales, …)`: the maximum of each group, and a multiplication and a rounding
/// per element: 2.59375 operations with groups of 32.
pub(super) fn per_group(input: &OpInput) -> Option<Modeled> {
    let (out, x) = (input.tensor(0)?, input.tensor(1)?);
    let scales = input.tensor(2).map_or(Some(0.0), |scales| scales.bytes());
    let bytes = || Some(out.bytes()? + x.bytes()? + scales?);
    let params = params::of_two(input, [1, 2], Some(out.dtype), out.strides);
    Some(on_vectors(x.dtype, 2.59375 * out.n(), bytes()).with(params))
}

/// `triton_per_token_group_quant_fp8(x, group)` of M × N: six operations and one byte per element, and a four-byte
/// scale for each group.
pub(super) fn fp8_group(input: &OpInput) -> Option<Modeled> {
    let [m, n] = input.sized(0)?;
    let group = input.number(1).filter(|group| *group > 0.0)?;
    let scales = 4.0 * m * (n / group).ceil();
    let bytes = dtype::bytes(input.dtype(0)).map(|size| m * n * size + m * n + scales);
    let modeled = on_vectors(input.dtype(0), 6.0 * m * n, bytes);
    Some(modeled.with(params::of_one(input, 0, Some("fp8"), None)))
}

/// `dynamic_mxfp4_quant(x, …)`: half a byte per element and a scale byte for every 32.
pub(super) fn mxfp4(input: &OpInput) -> Option<Modeled> {
    four_bits(input, 0)
}

/// The same with results first: `(out, scales, x, …)`. x is the tensor with elements of two or four bytes.
pub(super) fn mxfp4_out_first(input: &OpInput) -> Option<Modeled> {
    let is_wide = |at: &usize| {
        let wide = dtype::bytes(input.dtype(*at)).is_some_and(|size| size >= 2.0);
        wide && !dtype::is_integer(input.dtype(*at)) && input.sizes(*at).is_some()
    };
    four_bits(input, (0..input.n_args()).find(is_wide)?)
}

fn four_bits(input: &OpInput, at: usize) -> Option<Modeled> {
    let n = product(input.sizes(at)?);
    let dtype = input.dtype(at);
    let bytes = dtype::bytes(dtype).map(|size| n * size + n / 2.0 + n / 32.0);
    Some(on_vectors(dtype, 2.59375 * n, bytes).with(params::of_one(input, at, Some("fp4"), None)))
}

/// `mixed_sample_outer_exponential(out, logits, exponentials, …)`: divides logits by noise and finds the maximum of
/// each row.
pub(super) fn sample(input: &OpInput) -> Option<Modeled> {
    let logits = input.tensor(1)?;
    let bytes: Option<f64> = input.tensors().map(|tensor| tensor.distinct_bytes()).sum();
    let modeled = on_vectors(logits.dtype, 3.0 * logits.n(), bytes);
    Some(modeled.with(params::of_one(input, 1, None, None)))
}

/// `dynamic_scaled_fp8_quant(out, x, scales)`, `per_token_group_quant(x, out, scales, …)`: x is the floating-point
/// tensor with the most elements. A maximum, a multiplication and a rounding per element; every operand moves once. Not
/// in TraceLens.
pub(super) fn to_narrow(input: &OpInput) -> Option<Modeled> {
    let is_wide = |tensor: &crate::perf::input::Tensor| {
        !dtype::is_integer(tensor.dtype) && tensor.element_bytes().is_some_and(|size| size >= 2.0)
    };
    let x = input.largest(is_wide)?;
    let bytes = input.tensor_bytes();
    Some(on_vectors(x.dtype, 3.0 * x.n(), bytes))
}

/// `quantize_4bit(x, block, …)`, `int8_vectorwise_quant(x, …)` of bitsandbytes: x is read; half a byte or one byte is
/// written per element, and a four-byte scale for each block (a row if no block size is given).
pub(super) fn bnb_quantize(input: &OpInput) -> Option<Modeled> {
    let x = input.tensor(0)?;
    let each = if input.name.contains("4bit") {
        0.5
    } else {
        1.0
    };
    let row = *x.shape.last()? as f64;
    let block = (1..3).find_map(|at| input.number(at).filter(|size| *size >= 16.0));
    let scales = 4.0 * x.n() / block.unwrap_or(row).max(1.0);
    let bytes = x.bytes().map(|bytes| bytes + each * x.n() + scales);
    Some(on_vectors(x.dtype, 3.0 * x.n(), bytes))
}

/// `dequantize_4bit(packed, scales, block, kind, shape[4], type[5])` of bitsandbytes: one multiplication per element.
pub(super) fn bnb_dequantize_4bit(input: &OpInput) -> Option<Modeled> {
    let n = product(&input.integers(4)?);
    let size = dtype::bytes_of_code(input.value(5))?;
    Some(dequantized(input, n, n * size))
}

/// Dequantization, which reads all tensors and writes so many bytes.
fn dequantized(input: &OpInput, flops: f64, written: f64) -> Modeled {
    bare(Work {
        flops,
        bytes: input.tensor_bytes().map(|bytes| bytes + written),
        compute: None,
    })
}

/// `dequantize_blockwise(bytes, scales, code, block, type[4])` of bitsandbytes: a look-up and a multiplication per byte.
pub(super) fn bnb_dequantize_blockwise(input: &OpInput) -> Option<Modeled> {
    let n = input.tensor(0)?.n();
    let size = dtype::bytes_of_code(input.value(4))?;
    Some(dequantized(input, n, n * size))
}

/// `int8_mm_dequant(sums, row scales, column scales, …)` of bitsandbytes: two multiplications for each 32-bit sum; the
/// result has two bytes.
pub(super) fn bnb_dequantize_sums(input: &OpInput) -> Option<Modeled> {
    let n = input.tensor(0)?.n();
    Some(dequantized(input, 2.0 * n, 2.0 * n))
}

/// `awq_dequantize(packed, scales, zeros, …)`: packed into K × N/8 integers; the result has the scales' type.
pub(super) fn awq_dequantize(input: &OpInput) -> Option<Modeled> {
    let (packed, scales) = (input.tensor(0)?, input.tensor(1)?);
    let n = packed.n() * 8.0;
    let bytes = || Some(input.tensor_bytes()? + n * scales.element_bytes()?);
    Some(on_vectors(scales.dtype, 2.0 * n, bytes()))
}
