//! Fourier transforms. Not in TraceLens.
//!
//! A complex transform of L points takes 5·L·log₂ L operations (L/2·log₂ L butterflies of ten: a complex multiplication
//! of six and two complex additions of two); over several dimensions L is the product of their sizes. A real transform
//! takes half. The input is read and the result written, once each; of a real signal's spectrum only L/2 + 1 values of
//! the last dimension are kept.

use super::input::{Tensor, product};
use super::{Modelled, OpInput, on_vectors};

/// `_fft_c2c(x, dims, …)`.
pub(super) fn complex(input: &OpInput) -> Option<Modelled> {
    let x = input.tensor(0)?;
    let points = points(x.shape, &input.integers(1)?)?;
    transform(&x, 5.0 * x.n(), points, x.bytes())
}

/// `_fft_r2c(x, dims, …, onesided[3])`.
pub(super) fn from_real(input: &OpInput) -> Option<Modelled> {
    let x = input.tensor(0)?;
    let dims = input.integers(1)?;
    let last = size_of(x.shape, *dims.last()?)?;
    let kept = match input.flag_or(3, true)? {
        true => (last / 2.0).floor() + 1.0,
        false => last,
    };
    let written = || Some(x.n() / last * kept * 2.0 * x.element_bytes()?);
    transform(&x, 2.5 * x.n(), points(x.shape, &dims)?, written())
}

/// `_fft_c2r(x, dims, …, size of the last dimension[3])`.
pub(super) fn to_real(input: &OpInput) -> Option<Modelled> {
    let x = input.tensor(0)?;
    let dims = input.integers(1)?;
    let last = size_of(x.shape, *dims.last()?).filter(|size| *size > 0.0)?;
    let size = input.number(3)?;
    let n_out = x.n() / last * size;
    let points = points(x.shape, &dims)? / last * size;
    let written = || Some(n_out * x.element_bytes()? / 2.0);
    transform(&x, 2.5 * n_out, points, written())
}

fn transform(x: &Tensor, flops: f64, points: f64, written: Option<f64>) -> Option<Modelled> {
    let bytes = || Some(x.bytes()? + written?);
    Some(on_vectors(x.dtype, flops * points.max(1.0).log2(), bytes()))
}

fn points(shape: &[i64], dims: &[i64]) -> Option<f64> {
    let sizes: Option<Vec<i64>> = dims
        .iter()
        .map(|dim| size_of(shape, *dim).map(|size| size as i64))
        .collect();
    Some(product(&sizes?))
}

fn size_of(shape: &[i64], dim: i64) -> Option<f64> {
    let at = if dim < 0 {
        dim.checked_add(shape.len() as i64)?
    } else {
        dim
    };
    shape
        .get(usize::try_from(at).ok()?)
        .map(|size| *size as f64)
}
