//! Pooling. Not in TraceLens.
//!
//! Forward: each result takes one operation for each element of its window. The input is read and the result written;
//! max pooling also writes 8-byte indices. Backward: the gradient and the indices are read, the gradient of the input
//! is written, with one addition for each element of a window (average pooling) or each result (max pooling).

use crate::perf::input::product;
use crate::perf::{Modeled, OpInput, on_vectors};

/// `max_pool2d_with_indices(x, kernel, stride, padding, dilation, ceil)`, and `avg_pool2d(x, kernel,
/// stride, padding, ceil, …)` which has no dilation.
pub(super) fn windowed(
    input: &OpInput,
    dilation_at: Option<usize>,
    ceil_at: usize,
    index_bytes: f64,
) -> Option<Modeled> {
    let x = input.tensor(0)?;
    let kernel = input.integers(1)?;
    let stride = input.integers_or_none(2)?;
    let stride = Some(stride).filter(|stride| !stride.is_empty());
    let padding = input.integers_or_none(3)?;
    let dilation = match dilation_at {
        Some(at) => input.integers_or_none(at)?,
        None => Vec::new(),
    };
    let rounds_up = input.flag_or(ceil_at, false)?;
    let (outer, inner) = x
        .shape
        .split_at_checked(x.shape.len().checked_sub(kernel.len())?)?;
    let mut n_out = product(outer);
    for (dim, (size, window)) in inner.iter().zip(&kernel).enumerate() {
        // A list of one applies to every dimension.
        let setting = |list: &[i64], default: i64| {
            list.get(dim).or(list.first()).copied().unwrap_or(default) as f64
        };
        let step = stride
            .as_ref()
            .map_or(*window as f64, |stride| setting(stride, 1));
        let reach = setting(&dilation, 1) * (*window as f64 - 1.0) + 1.0;
        let steps = (*size as f64 + 2.0 * setting(&padding, 0) - reach) / step;
        n_out *= if rounds_up {
            steps.ceil()
        } else {
            steps.floor()
        } + 1.0;
    }
    let bytes = || Some(x.bytes()? + n_out * (x.element_bytes()? + index_bytes));
    (n_out.is_finite() && n_out >= 0.0)
        .then(|| on_vectors(x.dtype, n_out * product(&kernel), bytes()))
}

/// `max_pool2d_with_indices_backward(dY, x, …, indices)`: x itself is not read.
pub(super) fn max_backward(input: &OpInput) -> Option<Modeled> {
    let (gradient, x) = (input.tensor(0)?, input.tensor(1)?);
    let bytes = || Some(gradient.bytes()? + gradient.n() * 8.0 + x.bytes()?);
    Some(on_vectors(gradient.dtype, gradient.n(), bytes()))
}

/// `avg_pool2d_backward(dY, x, kernel, …)`, `_adaptive_avg_pool2d_backward(dY, x)`.
pub(super) fn average_backward(input: &OpInput) -> Option<Modeled> {
    let (gradient, x) = (input.tensor(0)?, input.tensor(1)?);
    let window = input.integers(2).map_or(1.0, |kernel| product(&kernel));
    let bytes = || Some(gradient.bytes()? + x.bytes()?);
    Some(on_vectors(
        gradient.dtype,
        (gradient.n() * window).max(x.n()),
        bytes(),
    ))
}

/// `_adaptive_avg_pool2d(x, size)`, `adaptive_max_pool2d`: the windows cover the input once. Indices of maxima are also
/// written.
pub(super) fn adaptive(input: &OpInput, index_bytes: f64) -> Option<Modeled> {
    let x = input.tensor(0)?;
    let size = input.integers(1)?;
    let n_out = product(x.shape.get(..x.shape.len().checked_sub(size.len())?)?) * product(&size);
    let bytes = || Some(x.bytes()? + n_out * (x.element_bytes()? + index_bytes));
    Some(on_vectors(x.dtype, x.n(), bytes()))
}
