//! State-space models.
//!
//! The scans in chunks run as several kernels, with a state of N × P for each head and chunk between them. No library
//! has them in one, so these states count beside the operands.

use crate::perf::input::product;
use crate::perf::params::{self, Params};
use crate::perf::{Modeled, OpInput, Work, dtype, matrices, on_matrices, on_vectors, vectors};

/// `causal_conv1d(x, w, bias, …)` with x of B × C × L and w of C × k: each result is a sum of k
/// products. x and w are read, the result is written.
pub(super) fn causal_conv1d(input: &OpInput) -> Option<Modeled> {
    let n = product(input.sizes(0)?);
    let [channels, k] = input.sized(1)?;
    let n_bias = input.sizes(2).map_or(0.0, |_| channels);
    let dtype = input.dtype(0);
    let elements = 2.0 * n + channels * k + n_bias;
    Some(vectors(dtype, 2.0 * n * k, elements).with(shape_params(input)))
}

/// `MambaSplitConv1dScanCombinedFn(zxbcdt, w, …, chunk[6], …, head size[15], groups[16])` with zxbcdt of B × T ×
/// (2·H·P + 2·G·N + H): a short convolution, then in chunks of C the GEMMs of the state-space dual form: C·Bᵀ for each
/// group, its product with x, and the states of N × P.
pub(super) fn mamba_ssd(input: &OpInput) -> Option<Modeled> {
    let [b, t, width] = input.sized(0)?;
    let [channels, taps] = input.sized(1)?;
    let chunk = input.number_or(6, 128.0)?;
    let p = input.number_or(15, 64.0)?;
    let g = input.number_or(16, 1.0)?;
    // channels = H·P + 2·G·N and width = 2·H·P + 2·G·N + H.
    let h = (width - channels) / (p + 1.0);
    let n = (width - 2.0 * h * p - h) / (2.0 * g);
    let scan = 2.0 * b * g * t * chunk * n + 2.0 * b * h * t * chunk * p + 4.0 * b * h * t * n * p;
    let dtype = input.dtype(0);
    let elements = b * t * (width + h * p) + channels * taps;
    let theirs = matrices(dtype, 2.0 * b * channels * t * taps + scan, elements);
    let Work { bytes, .. } = theirs.work;
    let states = || states_bytes(b * (t / chunk).ceil() * h * n * p, dtype);
    (h > 0.0 && n > 0.0 && chunk > 0.0).then(|| {
        let modeled = Modeled {
            work: Work {
                bytes: bytes.zip(states()).map(|(bytes, states)| bytes + states),
                ..theirs.work
            },
            their_bytes: bytes,
            ..theirs
        };
        modeled.with(shape_params(input))
    })
}

/// The bytes of the states between chunks: one kernel writes them in FP32, the next one reads them and passes them on
/// in the type of the operands, which the last one reads.
fn states_bytes(elements: f64, dtype: &str) -> Option<f64> {
    Some(elements * 2.0 * (4.0 + dtype::bytes(dtype)?))
}

/// TraceLens's parameters: input and filter.
fn shape_params(input: &OpInput) -> Params {
    vec![
        ("input_shape", params::opt_sizes(input.shape(0))),
        ("filter_shape", params::opt_sizes(input.shape(1))),
        ("dtype_input_weight", params::types_of(input, [0, 1])),
    ]
}

/// `_causal_conv1d_bwd_cpp(x, w, bias, dY, …)`: gradients of x and w, each as expensive as the forward pass. Not in
/// TraceLens.
pub(super) fn causal_conv1d_backward(input: &OpInput) -> Option<Modeled> {
    let n = product(input.sizes(0)?);
    let [channels, k] = input.sized(1)?;
    let dtype = input.dtype(0);
    let elements = 3.0 * n + 2.0 * channels * k;
    Some(vectors(dtype, 4.0 * n * k, elements))
}

/// `SelectiveScanFn(u, Δ, A, B, C, D, z, …)` of Mamba, u of B × D × L and A of D × N: for each of B·D·L·N states the
/// exponential and product Δ·A (2), Δ·B·u (2), the recurrence (2) and the sum with C (2). Every operand is read and the
/// result written. Not in TraceLens.
pub(super) fn selective_scan(input: &OpInput) -> Option<Modeled> {
    let u = input.tensor(0)?;
    let [_, states] = input.sized(2)?;
    let bytes = || Some(input.tensor_bytes()? + u.bytes()?);
    Some(on_vectors(u.dtype, 8.0 * u.n() * states, bytes()))
}

/// Linear attention in chunks, `ChunkGLAFunction(q, k, v, …)` with q of B × T × H × K and v of B × T × H × V: in a chunk
/// of C scores and their product with v, across chunks the states of K × V, which are updated and multiplied by q. Not in
/// TraceLens.
pub(super) fn chunked_attention(input: &OpInput) -> Option<Modeled> {
    chunked(input, false)
}

/// The same with the delta rule, as in `ChunkGatedDeltaRuleFunction(q, k, v, g, β, …)`: a system of the keys of each
/// chunk is solved for what takes the place of k and v, and the states are multiplied by it. Both go through memory.
pub(super) fn chunked_delta_rule(input: &OpInput) -> Option<Modeled> {
    chunked(input, true)
}

fn chunked(input: &OpInput, has_delta: bool) -> Option<Modeled> {
    /// Libraries take chunks of this many positions.
    const CHUNK: f64 = 64.0;
    let k = *input.sizes(0)?.last()? as f64;
    let v = *input.sizes(2)?.last()? as f64;
    let values = input.tensor(2)?;
    let rows = values.n() / v.max(1.0);
    let (in_chunk, of_states) = match has_delta {
        true => (3.0 * k + 2.0 * v, 3.0),
        false => (k + v, 2.0),
    };
    let flops = rows * (2.0 * CHUNK * in_chunk + 2.0 * of_states * k * v);
    let bytes = || {
        let element = values.element_bytes()?;
        let states = rows / CHUNK * k * v;
        let replaced = if has_delta { rows * (k + v) } else { 0.0 };
        Some(input.tensor_bytes()? + values.bytes()? + 2.0 * (states + replaced) * element)
    };
    (k > 0.0 && v > 0.0).then(|| on_matrices(values.dtype, flops, bytes()))
}

/// `MambaChunkScanCombinedFn(x, Δ, A, B, C, chunk[5], …)` with x of B × T × H × P and B of B × T × G × N: the same scan
/// as [`mamba_ssd`]. Not in TraceLens.
pub(super) fn chunk_scan(input: &OpInput) -> Option<Modeled> {
    let [b, t, h, p] = input.sized(0)?;
    let [_, _, g, n] = input.sized(3)?;
    let chunk = input.number(5).filter(|chunk| *chunk > 0.0)?;
    let x = input.tensor(0)?;
    let states = || states_bytes(b * (t / chunk).ceil() * h * n * p, x.dtype);
    let bytes = || Some(input.tensor_bytes()? + x.bytes()? + states()?);
    let flops = 2.0 * b * g * t * chunk * n + 2.0 * b * h * t * chunk * p + 4.0 * b * h * t * n * p;
    Some(on_matrices(x.dtype, flops, bytes()))
}
