//! The work of kernels without an operator that has their sizes: estimated from the sizes of the model, the tokens of a
//! step and the annotation around it. The formulas are those of operators with the same sizes.

use super::model_config::{LanguageModel, Matrix, Role, Weights};
use super::models::moe::{Mixture, Stored};
use super::{ComputeSpec, Modeled, Param, Work, bare, dtype, moved};
use crate::names::batch::{Batch, Sums};

/// Activations of M × K times weights of K × N. Weights may have a narrower type than activations.
pub(crate) fn gemm(
    matrix: Matrix,
    m: u64,
    activations: &str,
    weights: Option<&Weights>,
) -> Modeled {
    let math = weights
        .and_then(|weights| weights.math)
        .unwrap_or(activations);
    let bytes =
        dtype::bytes(activations).map(|size| (size, weights.map_or(size, |weights| weights.bytes)));
    gemm_of(matrix, m, bytes, dtype::matrix(math))
}

/// Like [`gemm`], from bytes per element of activations and weights, and the units.
pub(crate) fn gemm_of(
    matrix: Matrix,
    m: u64,
    bytes: Option<(f64, f64)>,
    compute: Option<ComputeSpec>,
) -> Modeled {
    let Matrix { batch, n, k } = matrix;
    let [b, m, n, k] = [batch, m, n, k].map(|size| size as f64);
    let bytes = bytes.map(|(size, weight)| b * ((m * k + m * n) * size + k * n * weight));
    let work = Work {
        flops: 2.0 * b * m * n * k,
        bytes,
        compute,
    };
    let batch = (batch > 1).then_some(("B", Param::Int(b)));
    let sizes = [
        ("M", Param::Int(m)),
        ("N", Param::Int(n)),
        ("K", Param::Int(k)),
    ];
    bare(work).with(batch.into_iter().chain(sizes).collect())
}

/// Sizes of the experts of a layer on one GPU.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ExpertSizes {
    /// Tokens.
    pub(crate) tokens: u64,
    /// Rows and columns of the weights, including padding if known.
    pub(crate) hidden: u64,
    pub(crate) inner: u64,
    pub(crate) experts: u64,
    pub(crate) chosen: u64,
}

/// An expert GEMM. How weights are stored follows from the kernel's name, else from the configuration.
pub(crate) fn experts(
    role: Role,
    sizes: ExpertSizes,
    kernel: &str,
    activations: &str,
    weights: Option<&Weights>,
) -> Option<Modeled> {
    let named = Stored::named(kernel, activations).filter(Stored::is_known);
    let stored = named.unwrap_or_else(|| match weights {
        Some(weights) => Stored::of(Some(weights.bytes), weights.math.unwrap_or(activations)),
        None => Stored::of(dtype::bytes(activations), activations),
    });
    let ExpertSizes {
        tokens,
        hidden,
        inner,
        experts,
        chosen,
    } = sizes;
    let mixture = Mixture {
        gate: if role == Role::ExpertsDown { 1.0 } else { 2.0 },
        ..Mixture::new(
            [tokens, hidden, inner].map(|size| size as f64),
            [experts as f64, chosen as f64],
            activations,
            &stored,
        )
    };
    let mixture = mixture.possible()?;
    match role {
        Role::ExpertsUp => Some(mixture.up()),
        Role::ExpertsDown => Some(mixture.down()),
        Role::ExpertsFused => Some(mixture.fused()),
        _ => None,
    }
}

/// Sizes of an attention over a paged cache on one GPU.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PagedSizes {
    pub(crate) heads: u64,
    pub(crate) kv_heads: u64,
    pub(crate) d_qk: u64,
    pub(crate) d_v: u64,
    /// Whether the cache has one vector for keys and values together.
    pub(crate) is_latent: bool,
    /// Maximum number of keys that a query attends to.
    pub(crate) window: Option<u64>,
    /// Bytes of an element of the cache, if it does not have the type of activations.
    pub(crate) cache_bytes: Option<f64>,
}

impl PagedSizes {
    /// The sizes of a model's layer on each of this many GPUs.
    pub(crate) fn of(model: &LanguageModel, gpus: u64, layer: usize) -> Option<PagedSizes> {
        let (heads, kv_heads) = model.heads_of(gpus)?;
        let (d_qk, d_v) = match model.latent {
            Some(latent) => (latent.kv_rank + latent.rope, latent.kv_rank),
            None => (model.head_dim, model.head_dim),
        };
        Some(PagedSizes {
            heads,
            kv_heads,
            d_qk,
            d_v,
            is_latent: model.latent.is_some(),
            window: model.window_of(layer),
            cache_bytes: None,
        })
    }
}

/// Attention of a step. With a sliding window, the sums over requests give a bound, which is exact if all contexts are
/// longer than the window, or all are shorter.
pub(crate) fn attention(batch: &Batch, sizes: PagedSizes, activations: &str) -> Option<Modeled> {
    let tokens = batch.tokens()? as f64;
    let pairs = batch.pairs()?;
    let phases = [batch.context, batch.generation];
    let window = sizes.window.map_or(f64::INFINITY, |window| window as f64);
    let seen = |(sums, pairs): (&Sums, f64)| Some(pairs.min(sums.sq? as f64 * window));
    let pairs: Option<f64> = phases.iter().zip(pairs).map(seen).sum();
    let cached = |sums: &Sums| {
        let [sq, sk] = [sums.sq?, sums.sk?].map(|sum| sum as f64);
        let least = match sizes.window {
            // A request in prefill attends to the window before its first token, and to its own tokens.
            Some(_) => sums.requests? as f64 * window + sq_beyond_first(sums)?,
            None => f64::INFINITY,
        };
        Some((sk.min(least) - sq).max(0.0))
    };
    let cached: Option<f64> = [cached(&batch.context), cached(&batch.generation)]
        .into_iter()
        .sum();
    let [h, h_kv, d_qk, d_v] =
        [sizes.heads, sizes.kv_heads, sizes.d_qk, sizes.d_v].map(|size| size as f64);
    let width = d_qk + d_v;
    let size = dtype::bytes(activations)?;
    let of_token = if sizes.is_latent { d_qk } else { width };
    let (new, old) = (
        tokens * (h * width + h_kv * of_token) * size,
        cached? * h_kv * of_token * sizes.cache_bytes.unwrap_or(size),
    );
    let count = |sum: Option<u64>| Param::Int(sum.unwrap_or(0) as f64);
    let work = Work {
        flops: 2.0 * h * width * pairs?,
        bytes: Some(new + old),
        compute: dtype::matrix(activations),
    };
    Some(bare(work).with(vec![
        ("B", Param::Int(1.0)),
        ("N_Q", Param::Int(tokens)),
        ("H_Q", Param::Int(h)),
        ("N_KV", Param::Int(tokens)),
        ("H_KV", Param::Int(h_kv)),
        ("d_h_qk", Param::Int(d_qk)),
        ("d_h_v", Param::Int(d_v)),
        ("causal", Param::Flag(true)),
        ("sum_ctx_tokens", count(batch.context.sq)),
        ("sum_gen_tokens", count(batch.generation.sq)),
    ]))
}

/// New tokens beyond the first of each request: of requests in prefill, or with several tokens at once.
fn sq_beyond_first(sums: &Sums) -> Option<f64> {
    let (sq, requests) = (sums.sq?, sums.requests?);
    Some(sq.saturating_sub(requests) as f64)
}

/// Full attention from batch, tokens, heads and head dimension.
pub(crate) fn full_attention(sizes: [u64; 4], activations: &str, math: &str) -> Modeled {
    let [b, n, h, d] = sizes.map(|size| size as f64);
    let work = Work {
        flops: 4.0 * b * h * d * n * n,
        bytes: dtype::bytes(activations).map(|size| 4.0 * b * n * h * d * size),
        compute: dtype::matrix(math),
    };
    bare(work).with(vec![
        ("B", Param::Int(b)),
        ("N_Q", Param::Int(n)),
        ("H_Q", Param::Int(h)),
        ("N_KV", Param::Int(n)),
        ("H_KV", Param::Int(h)),
        ("d_h_qk", Param::Int(d)),
        ("d_h_v", Param::Int(d)),
        ("causal", Param::Flag(false)),
    ])
}

/// Moves this many elements of a type, with negligible computation.
pub(crate) fn elements(n: u64, activations: &str) -> Modeled {
    moved(dtype::bytes(activations).map(|size| n as f64 * size))
}

/// Moves this many bytes.
pub(crate) fn bytes(n: f64) -> Modeled {
    moved(Some(n))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::batch::parse;

    const SIZES: PagedSizes = PagedSizes {
        heads: 64,
        kv_heads: 8,
        d_qk: 64,
        d_v: 64,
        is_latent: false,
        window: None,
        cache_bytes: None,
    };

    fn figures(annotation: &str, sizes: PagedSizes) -> (f64, f64) {
        let batch = parse(annotation).unwrap();
        let work = attention(&batch, sizes, "c10::BFloat16").unwrap().work;
        (work.flops, work.bytes.unwrap())
    }

    const DECODE: &str =
        "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk55086sqsq32sqsk55086)";

    #[test]
    fn a_step_that_decodes_reads_its_cache() {
        // 2·64·128·55086, and 32·72·128·2 + 55054·8·128·2 bytes.
        assert_eq!(figures(DECODE, SIZES), (902_529_024.0, 113_340_416.0));
        let window = PagedSizes {
            window: Some(128),
            ..SIZES
        };
        assert_eq!(figures(DECODE, window), (67_108_864.0, 8_912_896.0));
        let narrow = PagedSizes {
            cache_bytes: Some(1.0),
            ..SIZES
        };
        assert_eq!(
            figures(DECODE, narrow),
            (902_529_024.0, 589_824.0 + 56_375_296.0)
        );
    }

    #[test]
    fn pairs_of_context_and_generation() {
        let name = "execute_14_context_2(sq12sk20sqsq80sqsk144)_generation_2(sq2sk30sqsq2sqsk30)";
        let one = PagedSizes {
            heads: 1,
            kv_heads: 1,
            d_qk: 1,
            d_v: 1,
            ..SIZES
        };
        // 110 + 30 pairs; 14 tokens, and 8 + 28 cached ones.
        assert_eq!(figures(name, one), (560.0, 112.0 + 144.0));
        // A window of 8: 96 + 16 pairs at most; of the cache at most 16 + 10 − 12 and 16 − 2.
        let window = PagedSizes {
            window: Some(8),
            ..one
        };
        assert_eq!(figures(name, window), (448.0, 112.0 + 4.0 * (8.0 + 14.0)));
    }

    #[test]
    fn narrow_weights_move_fewer_bytes() {
        let matrix = Matrix {
            batch: 1,
            n: 5120,
            k: 2880,
        };
        let plain = gemm(matrix, 32, "c10::BFloat16", None).work;
        assert_eq!(
            (plain.flops, plain.bytes),
            (943_718_400.0, Some(30_003_200.0))
        );
    }
}
