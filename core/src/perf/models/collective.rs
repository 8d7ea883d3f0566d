//! Collectives that run as ordinary kernels.
//!
//! Bytes are those of this GPU's memory; traffic over links is unknown here.

use super::norm::rms_flops;
use crate::base::sort::Arranged;
use crate::perf::input::Tensor;
use crate::perf::params::{self, Param, Params};
use crate::perf::{Modeled, OpInput, moved, vectors};

/// `all_reduce(…, x, …)`: read and written in place.
pub(super) fn all_reduce(input: &OpInput) -> Option<Modeled> {
    let x = input.largest(|_| true)?;
    Some(shaped(&x, x.bytes().map(|bytes| 2.0 * bytes)))
}

/// `reduce_scatter(…, in, out)`, `all_gather(…, in, out)`.
pub(super) fn in_and_out(input: &OpInput) -> Option<Modeled> {
    let sizes = input
        .tensors()
        .filter(|x| x.shape.len() > 1)
        .arranged_by(|a, b| b.n().total_cmp(&a.n()));
    let [one, other, ..] = sizes.as_slice() else {
        return None;
    };
    Some(shaped(
        one,
        one.bytes().zip(other.bytes()).map(|(a, b)| a + b),
    ))
}

fn shaped(x: &Tensor, bytes: Option<f64>) -> Modeled {
    moved(bytes).with(shape_params(x))
}

fn shape_params(x: &Tensor) -> Params {
    vec![
        ("op_shape", params::sizes(x.shape)),
        ("nelems", Param::Int(x.n())),
        ("dtype", params::text(x.dtype)),
    ]
}

/// All-reduce, addition of the residual and norm in one kernel: four passes over x.
pub(super) fn all_reduce_rms_norm(input: &OpInput) -> Option<Modeled> {
    let x = input.tensors().find(|x| x.shape.len() > 1)?;
    let channels = *x.shape.last()? as f64;
    let n = x.n();
    let mut all = shape_params(&x);
    all.push(("num_channels", Param::Int(channels)));
    Some(vectors(x.dtype, n + rms_flops(n, channels)?, 4.0 * n + channels).with(all))
}

/// Bytes of an element, by its type's name in PyTorch's collectives.
pub(crate) fn collective_element_bytes(dtype: &str) -> Option<f64> {
    Some(match dtype {
        "ComplexDouble" => 16.0,
        "Double" | "Long" | "UInt64" | "ComplexFloat" => 8.0,
        "Float" | "Int" | "UInt32" | "ComplexHalf" => 4.0,
        "Half" | "BFloat16" | "Short" | "UInt16" => 2.0,
        "Byte" | "Char" | "Bool" | "UInt8" => 1.0,
        _ if dtype.starts_with("Float8_") => 1.0,
        _ => return None,
    })
}
