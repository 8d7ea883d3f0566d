//! Fourier transforms. Not in TraceLens.
//!
//! A complex transform of L points takes 5·L·log₂ L operations (L/2·log₂ L butterflies of ten: a complex multiplication
//! of six and two complex additions of two); over several dimensions L is the product of their sizes. A real transform
//! takes half. The input is read and the result written, once each; of a real signal's spectrum only L/2 + 1 values of
//! the last dimension are kept. A transform over several dimensions that is larger than the memory of a compute unit
//! takes a pass for each: the result of one is written, and read by the next.

use crate::perf::input::{Tensor, product};
use crate::perf::{Modeled, OpInput, on_vectors};

/// What a compute unit can keep on chip, in bytes.
const ON_CHIP_BYTES: f64 = 262_144.0;

/// The dimensions of `fft_fft(x, n, dim, …)`, `fft_fft2(x, sizes, dims, …)`: the last ones if they are not given. A
/// transform of another size than x has would need a copy first.
pub(super) fn dims(input: &OpInput) -> Option<Vec<i64>> {
    let n_dims = input.sizes(0)?.len() as i64;
    let given = input.integers_or_none(2)?;
    Some(match input.name {
        _ if !given.is_empty() => given,
        name if name.ends_with("fft2") => vec![-2, -1],
        name if name.ends_with("fftn") => (0..n_dims).collect(),
        _ => vec![-1],
    })
}

/// `_fft_c2c(x, dims, …)`.
pub(super) fn complex(input: &OpInput, dims: &[i64]) -> Option<Modeled> {
    let x = input.tensor(0)?;
    let points = points(x.shape, dims)?;
    transform(&x, 5.0 * x.n(), points, dims.len(), x.bytes())
}

/// `_fft_r2c(x, dims, …, onesided[3])`.
pub(super) fn from_real(input: &OpInput, dims: &[i64], is_onesided: bool) -> Option<Modeled> {
    let x = input.tensor(0)?;
    let last = size_of(x.shape, *dims.last()?)?;
    let kept = match is_onesided {
        true => (last / 2.0).floor() + 1.0,
        false => last,
    };
    let written = || Some(x.n() / last * kept * 2.0 * x.element_bytes()?);
    transform(
        &x,
        2.5 * x.n(),
        points(x.shape, dims)?,
        dims.len(),
        written(),
    )
}

/// `_fft_c2r(x, dims, …, size of the last dimension[3])`.
pub(super) fn to_real(input: &OpInput) -> Option<Modeled> {
    let x = input.tensor(0)?;
    let dims = input.integers(1)?;
    let last = size_of(x.shape, *dims.last()?).filter(|size| *size > 0.0)?;
    let size = input.number(3)?;
    let n_out = x.n() / last * size;
    let points = points(x.shape, &dims)? / last * size;
    let written = || Some(n_out * x.element_bytes()? / 2.0);
    transform(&x, 2.5 * n_out, points, dims.len(), written())
}

fn transform(
    x: &Tensor,
    flops: f64,
    points: f64,
    n_dims: usize,
    written: Option<f64>,
) -> Option<Modeled> {
    let bytes = || {
        let written = written?;
        let n_transforms = x.n() / points.max(1.0);
        // Complex values, of which the wider one of operand and result consists.
        let between = x.bytes()?.max(written);
        let is_large = between / n_transforms.max(1.0) > ON_CHIP_BYTES;
        let more = match is_large {
            true => n_dims.saturating_sub(1) as f64,
            false => 0.0,
        };
        Some(x.bytes()? + written + more * 2.0 * between)
    };
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

/// A transformed dimension whose size has a large prime factor, which the fast kernels of libraries are not built for:
/// its size, that factor, and the next size without one.
pub(crate) fn odd_size(input: &OpInput) -> Option<[u64; 3]> {
    /// Libraries have kernels for factors up to this one.
    const LARGEST: u64 = 13;
    /// Larger sizes are split into several transforms.
    const MOST: u64 = 1 << 24;
    let given = match input.name {
        name if name.starts_with("aten::_fft_") => input.integers(1)?,
        name if name.starts_with("aten::fft_") => dims(input)?,
        _ => return None,
    };
    let shape = input.sizes(0)?;
    let sizes = given.iter().filter_map(|dim| size_of(shape, *dim));
    let largest = |size: u64| {
        let (mut rest, mut factor, mut most) = (size, 2, 1);
        while factor * factor <= rest {
            while rest.is_multiple_of(factor) {
                (rest, most) = (rest / factor, factor);
            }
            factor += 1;
        }
        most.max(rest)
    };
    let is_fast = |size: &u64| {
        let mut rest = *size;
        for factor in [2, 3, 5, 7] {
            while rest.is_multiple_of(factor) {
                rest /= factor;
            }
        }
        rest == 1
    };
    let sizes = sizes.map(|size| size as u64);
    let odd = sizes.filter(|size| (1..=MOST).contains(size));
    let odd = odd.map(|size| (size, largest(size)));
    let (size, factor) = odd.max_by_key(|(_, factor)| *factor)?;
    let next = (size..=2 * MOST).find(is_fast)?;
    (factor > LARGEST).then_some([size, factor, next])
}
