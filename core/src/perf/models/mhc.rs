//! Hyper-connections: a layer mixes n residual streams.
//!
//! With M tokens, n streams of size H. Before a layer, a GEMM of M × n·H with n·H × (n² + 2·n) gives the coefficients,
//! and the sum of squares normalizes them; the streams' weighted sum is the layer's input. After it, stream j becomes
//! post_j·y + Σᵢ comb_ij·xᵢ: 1 + 2·n operations for each of M·n·H. The iterations that make the small n × n matrix
//! doubly stochastic are not counted, because their number is not recorded. Every operand and result is an argument and
//! moves once.

use crate::perf::{Modeled, OpInput, Unit, Work, dtype, params};

/// `mhc_pre_gemm_sqrsum(out, sums, x, weights, …)` with x of M × n·H and weights of (n² + 2·n) × n·H.
pub(super) fn pre_product(input: &OpInput) -> Option<Modeled> {
    let [m, k] = input.sized(2)?;
    let [n, _] = input.sized(3)?;
    let flops = 2.0 * m * n * k + 2.0 * m * k;
    counted(input, flops, Unit::Matrix, [("M", m), ("N", n), ("K", k)])
}

/// `mhc_post(out, y, streams, post, comb)`.
pub(super) fn post(input: &OpInput) -> Option<Modeled> {
    let [m, n, h] = input.sized(2)?;
    let sizes = [("M", m), ("N", n), ("K", h)];
    counted(input, mixed([m, n, h]), Unit::Vector, sizes)
}

/// `mhc_pre_big_fuse_rmsnorm(…)`: coefficients from the GEMM, the streams' weighted sum, and its norm with four
/// operations per element.
pub(super) fn pre_norm(input: &OpInput) -> Option<Modeled> {
    let [m, n, h] = streams(input)?;
    let flops = 2.0 * m * n * h + 4.0 * m * h;
    counted(input, flops, Unit::Vector, [("M", m), ("N", n), ("K", h)])
}

/// `mhc_fused_post_pre_gemm_sqrsum(…)`: the end of one layer and the GEMM of the next.
pub(super) fn post_and_product(input: &OpInput) -> Option<Modeled> {
    let [m, n, h] = streams(input)?;
    let weights = input
        .tensors()
        .find(|tensor| matches!(tensor.shape, [_, k] if (*k as f64 - n * h).abs() < 0.5))?;
    let rows = *weights.shape.first()? as f64;
    let flops = mixed([m, n, h]) + 2.0 * m * rows * n * h + 2.0 * m * n * h;
    counted(input, flops, Unit::Matrix, [("M", m), ("N", n), ("K", h)])
}

fn mixed([m, n, h]: [f64; 3]) -> f64 {
    m * n * h * (1.0 + 2.0 * n)
}

/// M × n × H, the largest tensor of three dimensions.
fn streams(input: &OpInput) -> Option<[f64; 3]> {
    let largest = input.largest(|tensor| tensor.shape.len() == 3)?;
    let sizes: [i64; 3] = largest.shape.try_into().ok()?;
    Some(sizes.map(|size| size as f64))
}

fn counted(
    input: &OpInput,
    flops: f64,
    unit: Unit,
    sizes: [(&'static str, f64); 3],
) -> Option<Modeled> {
    let largest = input.largest(|tensor| !dtype::is_integer(tensor.dtype))?;
    Some(Modeled {
        work: Work {
            flops,
            bytes: input.tensor_bytes(),
            compute: match unit {
                Unit::Matrix => dtype::matrix(largest.dtype),
                Unit::Vector => dtype::vector(largest.dtype),
            },
        },
        params: params::whole(sizes),
        their_flops: None,
        their_bytes: None,
    })
}
