//! State-space models.

use super::dtype;
use super::gemm::bare;
use super::input::product;
use super::{Modelled, OpInput, Work};

/// `causal_conv1d(x, w, bias, …)` with x of B × C × L and w of C × k: each result is a sum of k
/// products. x and w are read, the result is written.
pub(super) fn causal_conv1d(input: &OpInput) -> Option<Modelled> {
    let n = product(input.sizes(0)?);
    let [channels, k] = input.sized(1)?;
    let n_bias = input.sizes(2).map_or(0.0, |_| channels);
    let dtype = input.dtype(0);
    let elements = 2.0 * n + channels * k + n_bias;
    Some(bare(Work {
        flops: 2.0 * n * k,
        bytes: dtype::bytes(dtype).map(|size| elements * size),
        compute: dtype::vector(dtype),
    }))
}

/// `MambaSplitConv1dScanCombinedFn(zxbcdt, w, …, chunk[6], …, head size[15], groups[16])` with zxbcdt
/// of B × T × (2·H·P + 2·G·N + H): a short convolution, then in chunks of C the products of the
/// state-space dual form: C·Bᵀ for each group, its product with x, and the states of N × P.
pub(super) fn mamba_ssd(input: &OpInput) -> Option<Modelled> {
    let [b, t, width] = input.sized(0)?;
    let [channels, taps] = input.sized(1)?;
    let chunk = input.number(6).unwrap_or(128.0);
    let p = input.number(15).unwrap_or(64.0);
    let g = input.number(16).unwrap_or(1.0);
    // channels = H·P + 2·G·N and width = 2·H·P + 2·G·N + H.
    let h = (width - channels) / (p + 1.0);
    let n = (width - 2.0 * h * p - h) / (2.0 * g);
    let scan = 2.0 * b * g * t * chunk * n + 2.0 * b * h * t * chunk * p + 4.0 * b * h * t * n * p;
    let dtype = input.dtype(0);
    let elements = b * t * (width + h * p) + channels * taps;
    (h > 0.0 && n > 0.0).then(|| {
        bare(Work {
            flops: 2.0 * b * channels * t * taps + scan,
            bytes: dtype::bytes(dtype).map(|size| elements * size),
            compute: dtype::matrix(dtype),
        })
    })
}
