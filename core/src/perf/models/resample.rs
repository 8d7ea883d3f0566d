//! Resizing images and sampling them at given points. Not in TraceLens.
//!
//! Each result is a weighted sum of k neighbors, 2·k − 1 operations: two along each dimension when linear, four when
//! cubic. The image is read and the result written, once each; when downsampling, only the neighbors of results are
//! read. Backward, the gradient is read and each neighbor's share added to the image's gradient.

use crate::perf::input::{Tensor, product};
use crate::perf::{Modeled, OpInput, moved, on_vectors};

/// `upsample_linear1d(x, size, …)` and similar ops; `along` is the number of neighbors per result along each dimension:
/// one, two, or four for cubic.
pub(super) fn resized(input: &OpInput, along: f64) -> Option<Modeled> {
    let x = input.tensor(0)?;
    let size = input.integers(1)?;
    let outer = x.shape.get(..2)?;
    let n_dims = x.shape.len().checked_sub(2).filter(|n| *n == size.len())?;
    let n_out = product(outer) * product(&size);
    let k = along.powi(n_dims as i32);
    sampled(&x, n_out, k, 0.0)
}

/// `upsample_…_backward(dY, size, size of x, …)`.
pub(super) fn resized_backward(input: &OpInput, along: f64) -> Option<Modeled> {
    let gradient = input.tensor(0)?;
    let n_x = product(&input.integers(2)?);
    let n_dims = gradient.shape.len().checked_sub(2)?;
    let bytes = || Some(gradient.bytes()? + n_x * gradient.element_bytes()?);
    let flops = (2.0 * along.powi(n_dims as i32) - 1.0) * gradient.n();
    Some(on_vectors(gradient.dtype, flops, bytes()))
}

/// `grid_sampler_2d(x, grid, …)` with x of N × C × …, grid of N × … × dimensions; bilinear unless the mode is nearest.
pub(super) fn grid_sampler(input: &OpInput) -> Option<Modeled> {
    let (x, grid) = (input.tensor(0)?, input.tensor(1)?);
    let (n_out, k) = gridded(&x, &grid, input.value(2))?;
    sampled(&x, n_out, k, grid.bytes()?)
}

/// `grid_sampler_2d_backward(dY, x, grid, …)`: gradients of x and of the grid.
pub(super) fn grid_sampler_backward(input: &OpInput) -> Option<Modeled> {
    let (gradient, x, grid) = (input.tensor(0)?, input.tensor(1)?, input.tensor(2)?);
    let (n_out, k) = gridded(&x, &grid, input.value(3))?;
    let bytes = || Some(gradient.bytes()? + 2.0 * x.bytes()? + 2.0 * grid.bytes()?);
    Some(on_vectors(x.dtype, 2.0 * (2.0 * k - 1.0) * n_out, bytes()))
}

fn gridded(x: &Tensor, grid: &Tensor, mode: &str) -> Option<(f64, f64)> {
    let (dims, places) = grid.shape.split_last()?;
    let channels = *x.shape.get(1)? as f64;
    let k = match mode.trim() {
        "1" => 1.0,
        "2" => 4_f64.powi(*dims as i32),
        _ => 2_f64.powi(*dims as i32),
    };
    Some((product(places) * channels, k))
}

fn sampled(x: &Tensor, n_out: f64, k: f64, others: f64) -> Option<Modeled> {
    let size = x.element_bytes();
    let n_read = x.n().min(k * n_out);
    let bytes = size.map(|size| (n_read + n_out) * size + others);
    Some(on_vectors(x.dtype, (2.0 * k - 1.0) * n_out, bytes))
}

/// `torchvision::roi_align(x, boxes, scale, height, width, …)`: a grid of results for each box and channel, each at
/// least one bilinear sample.
pub(super) fn roi_align(input: &OpInput) -> Option<Modeled> {
    let (x, boxes) = (input.tensor(0)?, input.tensor(1)?);
    let channels = *x.shape.get(1)? as f64;
    let n_boxes = *boxes.shape.first()? as f64;
    let n_out = n_boxes * channels * input.number(3)? * input.number(4)?;
    let samples = input.number_or(5, 1.0)?.max(1.0);
    sampled(&x, n_out, 4.0 * samples * samples, boxes.bytes()?)
}

/// `im2col(x, kernel, …)`, with x of N × C × H × W: each window is written as a column. The number
/// of windows follows from kernel, dilation, padding and stride.
pub(super) fn im2col(input: &OpInput) -> Option<Modeled> {
    let x = input.tensor(0)?;
    let [outer @ .., height, width] = x.shape else {
        return None;
    };
    let [kernel, dilation, padding, stride] = [1, 2, 3, 4].map(|position| input.integers(position));
    let (kernel, dilation, padding, stride) = (kernel?, dilation?, padding?, stride?);
    let mut n_out = product(outer) * product(&kernel);
    for (dim, size) in [height, width].into_iter().enumerate() {
        let of = |list: &[i64]| list.get(dim).or(list.last()).map(|value| *value as f64);
        let reach = of(&dilation)? * (of(&kernel)? - 1.0) + 1.0;
        n_out *= ((*size as f64 + 2.0 * of(&padding)? - reach) / of(&stride)?).floor() + 1.0;
    }
    let bytes = || Some((x.n() + n_out) * x.element_bytes()?);
    (n_out.is_finite() && n_out >= 0.0).then(|| moved(bytes()))
}

/// `col2im(x, size, …)`: columns of N × C·k × L are summed into images.
pub(super) fn col2im(input: &OpInput) -> Option<Modeled> {
    let x = input.tensor(0)?;
    let window = product(&input.integers(2)?);
    let [outer @ .., rows, _] = x.shape else {
        return None;
    };
    let n_out = product(outer) * *rows as f64 / window.max(1.0) * product(&input.integers(1)?);
    let bytes = || Some((x.n() + n_out) * x.element_bytes()?);
    Some(on_vectors(x.dtype, x.n(), bytes()))
}
