//! Root-mean-square norms of inference libraries, fused with what stands before and after them.
//!
//! The norm of M rows of C counts as in [`norm`](super::norm::rms_norm). An addition of the residual
//! before it is one more operation each, and the residual is read and written back. A
//! quantization after it is two more, and the result is one byte each with a scale of four bytes
//! for each group.

use super::dtype;
use super::gemm::bare;
use super::input::product;
use super::norm::rms_flops;
use super::params;
use super::params::Param;
use super::{Modelled, OpInput, Work};

/// What is fused with a norm.
#[derive(Clone, Copy, Default)]
struct Fused {
    /// The residual is added and written back.
    adds: bool,
    /// More operations for each element.
    flops_each: f64,
    /// Bytes written, where the result is not of the input's type.
    result_bytes: Option<f64>,
}

/// `rms_norm(x, scale, eps)`.
pub(super) fn plain(input: &OpInput) -> Option<Modelled> {
    norm(input, 0, 1, Fused::default())
}

/// `rmsnorm(out, x, scale, eps)`.
pub(super) fn with_out(input: &OpInput) -> Option<Modelled> {
    norm(input, 1, 2, Fused::default())
}

/// `add_rmsnorm(out, x, residual, residual_out, scale, eps)`.
pub(super) fn add(input: &OpInput) -> Option<Modelled> {
    let fused = Fused {
        adds: true,
        flops_each: 1.0,
        ..Fused::default()
    };
    norm(input, 1, 4, fused)
}

/// `rmsnorm2d_fwd_with_dynamicquant(out, x, scales, scale, …)`: a scale for each row.
pub(super) fn dynamic_quant(input: &OpInput) -> Option<Modelled> {
    let (n, rows) = rows(input, 1)?;
    let fused = Fused {
        flops_each: 2.0,
        result_bytes: Some(n + 4.0 * rows),
        ..Fused::default()
    };
    norm(input, 1, 3, fused)
}

/// `rmsnorm_fp8_group_quant(x, scale, eps, group)`.
pub(super) fn group_quant(input: &OpInput) -> Option<Modelled> {
    let fused = Fused {
        flops_each: 2.0,
        result_bytes: Some(grouped_bytes(input, 3)?),
        ..Fused::default()
    };
    norm(input, 0, 1, fused)
}

/// `rmsnorm_with_add_fp8_group_quant(x, residual, scale, eps, group)`.
pub(super) fn add_group_quant(input: &OpInput) -> Option<Modelled> {
    let fused = Fused {
        adds: true,
        flops_each: 3.0,
        result_bytes: Some(grouped_bytes(input, 4)?),
    };
    norm(input, 0, 2, fused)
}

/// `add_rmsnorm_pad(x, scale, eps, residual, pad)`: the rows of the result are padded to a
/// multiple.
pub(super) fn add_pad(input: &OpInput) -> Option<Modelled> {
    let (n, rows) = rows(input, 0)?;
    let pad = input.number(4).filter(|pad| *pad > 0.0)?;
    let padded = (n / rows / pad).ceil() * pad * rows;
    let fused = Fused {
        adds: true,
        flops_each: 1.0,
        result_bytes: dtype::bytes(input.dtype(0)).map(|size| padded * size),
    };
    norm(input, 0, 1, fused)
}

/// `fused_rms_mxfp4_quant(x, scale, …)`: half a byte each, one scale byte for 32.
pub(super) fn mxfp4_quant(input: &OpInput) -> Option<Modelled> {
    let (n, _) = rows(input, 0)?;
    let fused = Fused {
        flops_each: 2.0,
        result_bytes: Some(n / 2.0 + n / 32.0),
        ..Fused::default()
    };
    norm(input, 0, 1, fused)
}

fn norm(input: &OpInput, x: usize, scale: usize, fused: Fused) -> Option<Modelled> {
    let n = product(input.sizes(x)?);
    let channels = *input.sizes(scale)?.first()? as f64;
    let dtype = input.dtype(x);
    let bytes = || {
        let size = dtype::bytes(dtype)?;
        let residual = if fused.adds { 2.0 * n * size } else { 0.0 };
        let result = fused.result_bytes.unwrap_or(n * size);
        Some(n * size + residual + channels * size + result)
    };
    Some(Modelled {
        work: Work {
            flops: rms_flops(n, channels)? + fused.flops_each * n,
            bytes: bytes(),
            compute: dtype::vector(dtype),
        },
        params: vec![
            ("op_shape", params::opt_sizes(input.shape(x))),
            ("dtype_in_out", params::dtypes(&[Some(dtype), None])),
            ("stride_input", params::opt_sizes(input.strides(x))),
            ("stride_output", Param::None),
            ("num_channels", params::int(channels)),
            ("has_bias", params::flag(false)),
            ("is_affine", params::flag(true)),
            ("is_training", params::flag(false)),
        ],
    })
}

/// Elements and rows of an argument.
fn rows(input: &OpInput, at: usize) -> Option<(f64, f64)> {
    let (_, rows) = input.sizes(at)?.split_last()?;
    Some((product(input.sizes(at)?), product(rows)))
}

/// One byte each and a scale of four for each group of a row.
fn grouped_bytes(input: &OpInput, group_at: usize) -> Option<f64> {
    let (n, rows) = rows(input, 0)?;
    let group = input.number(group_at).filter(|group| *group > 0.0)?;
    Some(n + 4.0 * rows * (n / rows / group).ceil())
}

/// `fused_add_rms_norm(x, residual, scale, eps)` in place: the sum becomes the residual, its norm
/// takes x's place. Not in the reference.
pub(super) fn add_in_place(input: &OpInput) -> Option<Modelled> {
    let fused = Fused {
        adds: true,
        flops_each: 1.0,
        ..Fused::default()
    };
    Some(bare(norm(input, 0, 2, fused)?.work))
}

/// `rms_norm(out, x, scale, eps)` of vLLM, SGLang and FlashInfer. Not in the reference.
pub(super) fn out_first(input: &OpInput) -> Option<Modelled> {
    Some(bare(with_out(input)?.work))
}

/// `FusedRMSNormAffineFunction(x, scale, …)` of apex. Not in the reference.
pub(super) fn unlisted(input: &OpInput) -> Option<Modelled> {
    Some(bare(plain(input)?.work))
}

/// `rms_norm_static_fp8_quant(out, x, scale, …)`, and `fused_add_rms_norm_static_fp8_quant(out, x,
/// residual, scale, …)`: the result is of out's type, two more operations each. Not in the reference.
pub(super) fn quantised(input: &OpInput) -> Option<Modelled> {
    let adds = input.name.contains("add");
    let written = input.tensor(0)?.bytes()?;
    let fused = Fused {
        adds,
        flops_each: if adds { 3.0 } else { 2.0 },
        result_bytes: Some(written),
    };
    let scale = if adds { 3 } else { 2 };
    Some(bare(norm(input, 1, scale, fused)?.work))
}
