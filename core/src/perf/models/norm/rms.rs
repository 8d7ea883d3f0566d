//! RMS norms of inference libraries, fused with the operations before and after them.
//!
//! The norm of M rows of C is counted as in [`norm`](super::rms_norm). A preceding addition of the residual is
//! one more operation per element, and the residual is read and written back. A subsequent quantization is two more,
//! and the result is one byte per element, with a four-byte scale for each group.

use super::rms_flops;
use crate::perf::input::product;
use crate::perf::models::norm;
use crate::perf::params::Param;
use crate::perf::{Modeled, OpInput, dtype, on_vectors};

#[derive(Clone, Copy)]
pub(crate) struct Fused {
    /// Whether the residual is added and written back.
    adds: bool,
    /// Additional operations per element.
    flops_each: f64,
    /// Bytes written, if the result does not have the input's type.
    result_bytes: Option<f64>,
}

pub(crate) const ALONE: Fused = Fused {
    adds: false,
    flops_each: 0.0,
    result_bytes: None,
};

pub(crate) const ADDS: Fused = Fused {
    adds: true,
    flops_each: 1.0,
    result_bytes: None,
};

impl Fused {
    /// Adds a quantization whose result takes this many bytes.
    fn quantized(self, result_bytes: f64) -> Fused {
        Fused {
            flops_each: self.flops_each + 2.0,
            result_bytes: Some(result_bytes),
            ..self
        }
    }
}

/// `rmsnorm2d_fwd_with_dynamicquant(out, x, scales, scale, …)`: one scale per row.
pub(crate) fn dynamic_quant(input: &OpInput) -> Option<Modeled> {
    let (n, rows) = rows(input, 1)?;
    fused_norm(input, 1, 3, ALONE.quantized(n + 4.0 * rows))
}

/// `rmsnorm_fp8_group_quant(x, scale, eps, group)`.
pub(crate) fn group_quant(input: &OpInput) -> Option<Modeled> {
    fused_norm(input, 0, 1, ALONE.quantized(grouped_bytes(input, 3)?))
}

/// `rmsnorm_with_add_fp8_group_quant(x, residual, scale, eps, group)`.
pub(crate) fn add_group_quant(input: &OpInput) -> Option<Modeled> {
    fused_norm(input, 0, 2, ADDS.quantized(grouped_bytes(input, 4)?))
}

/// `add_rmsnorm_pad(x, scale, eps, residual, pad)`: the rows of the result are padded to a
/// multiple.
pub(crate) fn add_pad(input: &OpInput) -> Option<Modeled> {
    let (n, rows) = rows(input, 0)?;
    let pad = input.number(4).filter(|pad| *pad > 0.0)?;
    let padded = (n / rows / pad).ceil() * pad * rows;
    let fused = Fused {
        result_bytes: dtype::bytes(input.dtype(0)).map(|size| padded * size),
        ..ADDS
    };
    fused_norm(input, 0, 1, fused)
}

/// `fused_rms_mxfp4_quant(x, scale, …)`: half a byte per element, one scale byte for every 32.
pub(crate) fn mxfp4_quant(input: &OpInput) -> Option<Modeled> {
    let (n, _) = rows(input, 0)?;
    fused_norm(input, 0, 1, ALONE.quantized(n / 2.0 + n / 32.0))
}

/// `rms_norm_static_fp8_quant(out, x, scale, …)`, and `fused_add_rms_norm_static_fp8_quant(out, x, residual, scale,
/// …)`: the result has the type of `out`.
pub(crate) fn quantized(input: &OpInput) -> Option<Modeled> {
    let (fused, scale) = match input.name.contains("add") {
        true => (ADDS, 3),
        false => (ALONE, 2),
    };
    fused_norm(input, 1, scale, fused.quantized(input.tensor(0)?.bytes()?))
}

/// The norm of x, given the positions of x and its scale. If the residual is added in place, the sum replaces the
/// residual, and the norm replaces x.
pub(crate) fn fused_norm(input: &OpInput, x: usize, scale: usize, fused: Fused) -> Option<Modeled> {
    let n = product(input.sizes(x)?);
    let channels = *input.sizes(scale)?.first()? as f64;
    let dtype = input.dtype(x);
    let bytes = || {
        let size = dtype::bytes(dtype)?;
        let residual = if fused.adds { 2.0 * n * size } else { 0.0 };
        let result = fused.result_bytes.unwrap_or(n * size);
        Some(n * size + residual + channels * size + result)
    };
    let flops = rms_flops(n, channels)? + fused.flops_each * n;
    let params = norm::params(input, x, Param::Int(channels), [false, true, false]);
    Some(on_vectors(dtype, flops, bytes()).with(params))
}

/// Elements and rows of an argument.
fn rows(input: &OpInput, at: usize) -> Option<(f64, f64)> {
    let (_, rows) = input.sizes(at)?.split_last()?;
    Some((product(input.sizes(at)?), product(rows)))
}

/// One byte per element and a four-byte scale for each group of a row.
fn grouped_bytes(input: &OpInput, group_at: usize) -> Option<f64> {
    let (n, rows) = rows(input, 0)?;
    let group = input.number(group_at).filter(|group| *group > 0.0)?;
    Some(n + 4.0 * rows * (n / rows / group).ceil())
}
