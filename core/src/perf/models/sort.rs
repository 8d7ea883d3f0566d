//! Sorting and selecting. Not in TraceLens.
//!
//! Comparisons: n·log₂ n for a sort along a dimension of n, one for each element to select the top k (radix select).
//! The values are read; values and 8-byte indices are written.

use super::index::dimension;
use crate::perf::{Modeled, OpInput, dtype, on_vectors};

/// `sort(x, dim, …)`, `argsort`; `sort.stable(x, stable, dim, …)`.
pub(super) fn sort(input: &OpInput) -> Option<Modeled> {
    let x = input.tensor(0)?;
    let dim = match input.is_flag(1) || input.is_absent(1) {
        true => input.number_or(2, -1.0)?,
        false => input.number(1)?,
    };
    let length = along(x.shape, dim)?;
    let comparisons = x.n() * length.max(1.0).log2().max(1.0);
    let bytes = || Some(2.0 * x.bytes()? + 8.0 * x.n());
    Some(on_vectors(x.dtype, comparisons, bytes()))
}

/// The part of what a radix sort moves that [`sort`] counts, for keys of a type. A sort of keys with 8-byte indices
/// reads the keys once to count them, then reads and writes both for each eight bits of the keys.
pub(crate) fn share_of_radix_sort(dtype: &str) -> Option<f64> {
    let key = dtype::bytes(dtype)?;
    let (once, passes) = (2.0 * key + 8.0, key);
    (key > 0.0).then(|| once / (key + passes * 2.0 * (key + 8.0)))
}

/// The part of what a radix selection moves that [`selected`] counts, for values of a type: it reads all values once
/// for each eight bits of them.
pub(crate) fn share_of_radix_selection(dtype: &str) -> Option<f64> {
    let passes = dtype::bytes(dtype)?;
    (passes > 0.0).then(|| 1.0 / passes)
}

/// `topk(x, k, dim, …)`; for `kthvalue` one value and one index per row.
pub(super) fn selected(input: &OpInput, k: f64) -> Option<Modeled> {
    let x = input.tensor(0)?;
    let length = along(x.shape, input.number_or(2, -1.0)?)?;
    let n_out = x.n() / length.max(1.0) * k;
    let bytes = || Some(x.bytes()? + n_out * (x.element_bytes()? + 8.0));
    Some(on_vectors(x.dtype, x.n(), bytes()))
}

/// The size of a dimension; negative ones count from the end.
fn along(shape: &[i64], dim: f64) -> Option<f64> {
    let at = dimension(dim, shape.len())?;
    shape.get(at).map(|size| *size as f64)
}
