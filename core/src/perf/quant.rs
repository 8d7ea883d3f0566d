//! Quantisation: numbers to eight or four bits, with scales.

use super::dtype;
use super::gemm::bare;
use super::input::product;
use super::params;
use super::{Modelled, OpInput, Work};

/// `quantize_fp8_tensorwise(x, …)`: a byte for each element, one operation.
pub(super) fn fp8_tensorwise(input: &OpInput) -> Option<Modelled> {
    let x = input.tensor(0)?;
    Some(Modelled {
        work: Work {
            flops: x.n(),
            bytes: x.bytes().map(|bytes| bytes + x.n()),
            compute: dtype::vector(x.dtype),
        },
        params: vec![
            ("op_shape", params::sizes(x.shape)),
            (
                "dtype_in_out",
                params::dtypes(&[Some(x.dtype), Some("fp8")]),
            ),
            ("stride_input", params::opt_sizes(x.strides)),
            ("stride_output", String::new()),
        ],
    })
}

/// `quantize_mxfp4_dual(x)` of M × N: four bits each, and a scale byte for 32 in a row and for 32
/// in a column.
pub(super) fn mxfp4_dual(input: &OpInput) -> Option<Modelled> {
    let [m, n] = input.sized(0)?;
    let scales = m * (n / 32.0).ceil() + n * (m / 32.0).ceil();
    let bytes =
        dtype::bytes(input.dtype(0)).map(|size| m * n * size + 2.0 * (m * n / 2.0).ceil() + scales);
    Some(bare(Work {
        flops: m * n,
        bytes,
        compute: dtype::vector(input.dtype(0)),
    }))
}

/// `dynamic_per_token_scaled_quant(out, x, scales, …)`: for each element the maximum of its group,
/// a product and a rounding, 2.59375 operations with groups of 32.
pub(super) fn per_group(input: &OpInput) -> Option<Modelled> {
    let (out, x) = (input.tensor(0)?, input.tensor(1)?);
    let scales = input.tensor(2).map_or(Some(0.0), |scales| scales.bytes());
    let bytes = || Some(out.bytes()? + x.bytes()? + scales?);
    Some(bare(Work {
        flops: 2.59375 * out.n(),
        bytes: bytes(),
        compute: dtype::vector(x.dtype),
    }))
}

/// `triton_per_token_group_quant_fp8(x, group)` of M × N: six operations each, a byte each and a
/// scale of four for each group.
pub(super) fn fp8_group(input: &OpInput) -> Option<Modelled> {
    let [m, n] = input.sized(0)?;
    let group = input.number(1).filter(|group| *group > 0.0)?;
    let scales = 4.0 * m * (n / group).ceil();
    Some(bare(Work {
        flops: 6.0 * m * n,
        bytes: dtype::bytes(input.dtype(0)).map(|size| m * n * size + m * n + scales),
        compute: dtype::vector(input.dtype(0)),
    }))
}

/// `dynamic_mxfp4_quant(x, …)`: half a byte each and a scale byte for 32.
pub(super) fn mxfp4(input: &OpInput) -> Option<Modelled> {
    four_bits(input, 0)
}

/// The same with results first: `(out, scales, x, …)`. x is the tensor of two or four bytes.
pub(super) fn mxfp4_out_first(input: &OpInput) -> Option<Modelled> {
    let is_wide = |at: &usize| {
        let wide = dtype::bytes(input.dtype(*at)).is_some_and(|size| size >= 2.0);
        wide && !dtype::is_integer(input.dtype(*at)) && input.sizes(*at).is_some()
    };
    four_bits(input, (0..input.n_args()).find(is_wide)?)
}

fn four_bits(input: &OpInput, at: usize) -> Option<Modelled> {
    let n = product(input.sizes(at)?);
    let dtype = input.dtype(at);
    Some(bare(Work {
        flops: 2.59375 * n,
        bytes: dtype::bytes(dtype).map(|size| n * size + n / 2.0 + n / 32.0),
        compute: dtype::vector(dtype),
    }))
}

/// `mixed_sample_outer_exponential(out, logits, exponentials, …)`: logits and noise are divided and
/// the largest of each row is found.
pub(super) fn sample(input: &OpInput) -> Option<Modelled> {
    let logits = input.tensor(1)?;
    let bytes: Option<f64> = input.tensors().map(|tensor| tensor.distinct_bytes()).sum();
    Some(bare(Work {
        flops: 3.0 * logits.n(),
        bytes,
        compute: dtype::vector(logits.dtype),
    }))
}
