//! Sizes of GEMMs that TraceLens has no parameters for, and thus no sizes in its sheets.

use super::serving::packed;
use super::{linear_sizes, matmul_sizes, matrix_sizes, offsets};
use crate::perf::OpInput;
use crate::perf::input::product;

/// Sizes of a GEMM: C of M × N from A of M × K and B of K × N.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GemmSizes {
    /// Batch size, or number of groups.
    pub batch: u64,
    /// Rows of C; the average per group if the groups share them.
    pub m: u64,
    /// Columns of C, likewise.
    pub n: u64,
    /// Size of the reduction dimension, likewise.
    pub k: u64,
    /// Whether it is a grouped GEMM, with separate weights per group, instead of a batch.
    pub is_grouped: bool,
}

/// Converts to integers; `None` if one is zero.
fn sizes([batch, m, k, n]: [f64; 4]) -> Option<GemmSizes> {
    let size = |size: f64| (size >= 1.0).then_some(size as u64);
    Some(GemmSizes {
        batch: size(batch)?,
        m: size(m)?,
        n: size(n)?,
        k: size(k)?,
        is_grouped: false,
    })
}

/// `_int_mm(A, B)` and similar ops: two matrices, or two batches of them.
pub(crate) fn of_two(input: &OpInput) -> Option<GemmSizes> {
    if let Some([batch, m, k]) = input.sized(0) {
        let [_, _, n] = input.sized(1)?;
        return sizes([batch, m, k, n]);
    }
    let [m, k, n] = matrix_sizes(input)?;
    sizes([1.0, m, k, n])
}

/// `linear(x, W, …)` and similar ops: x of … × K, W of N × K.
pub(crate) fn of_rows(input: &OpInput) -> Option<GemmSizes> {
    let [m, k, n] = linear_sizes(input, 1)?;
    sizes([1.0, m, k, n])
}

/// `matmul(A, B)`.
pub(crate) fn of_matmul(input: &OpInput) -> Option<GemmSizes> {
    sizes(matmul_sizes(input)?)
}

/// `mv(A, x)`, and `addmv(bias, A, x)`, in which A is second.
pub(crate) fn of_vector(input: &OpInput, first: usize) -> Option<GemmSizes> {
    let [m, k] = input.sized(first)?;
    sizes([1.0, m, k, 1.0])
}

/// `cutlass_scaled_mm(out, A, …)`.
pub(crate) fn of_out(input: &OpInput) -> Option<GemmSizes> {
    let [m, n] = input.sized(0)?;
    let [_, k] = input.sized(1)?;
    sizes([1.0, m, k, n])
}

/// Weights packed into integers: sizes follow from the activations and the scales.
pub(crate) fn of_packed(input: &OpInput) -> Option<GemmSizes> {
    let [m, k, n] = packed(input)?.sizes;
    sizes([1.0, m, k, n])
}

/// `gemv_4bit(x, w, shape of w[2], …)`.
pub(crate) fn of_four_bits(input: &OpInput) -> Option<GemmSizes> {
    let (&k, rows) = input.sizes(0)?.split_last()?;
    let n = *input.integers(2)?.first()? as f64;
    sizes([1.0, product(rows), k as f64, n])
}

/// Grouped GEMMs: the sizes of a group of average size.
pub(crate) fn of_groups(input: &OpInput) -> Option<GemmSizes> {
    let mean = |size: f64, groups: f64| (size / groups.max(1.0)).round().max(1.0);
    let of_group = match (&*input.floats(0)?, &*input.floats(1)?) {
        (&[m, k], &[groups, _, n]) => [groups, mean(m, groups), k, n],
        (&[groups, m, k], &[_, _, n]) => [groups, m, k, n],
        (&[groups, m, k], &[_, n]) => [groups, m, k, mean(n, groups)],
        (&[m, k], &[_, n]) => {
            let [groups] = input.sized(offsets(input))?;
            [groups, m, mean(k, groups), n]
        }
        _ => return None,
    };
    Some(GemmSizes {
        is_grouped: true,
        ..sizes(of_group)?
    })
}
