//! Attention of serving engines: packed sequences with a paged KV cache.
//!
//! A call mixes requests in prefill (context) and requests in decode (generation). Its shapes do not show the length of
//! each, but an annotation that the engine writes around the step does, as sums over its requests: sq query tokens, sk
//! keys, sqsq = Σ sq², and sqsk = Σ sq·sk. Without one, the bounds that some ops have are used.
//!
//! A request of sq new tokens with sk keys in total has sq·sk − (sq² − sq)/2 scores, because each new token attends to
//! itself and all earlier ones. Each score takes 2·(d_qk + d_v) operations per head. New tokens' queries, keys, values
//! and results move once, and so do the cached keys and values, in the type of the cache. TraceLens leaves out the
//! diagonal of context, and the mask of generation: H·(d_qk + d_v)·(2·c_sqsk − c_sqsq + 2·g_sqsk).
//!
//! A latent cache (MLA) has one vector per token: keys are the whole vector and values a part of it.

use super::Attention;
use super::mask::{Mask, Window};
use super::packed::{Packed, packed};
use crate::names::batch::{self, Batch};
use crate::perf::input::product;
use crate::perf::params::{self, Param};
use crate::perf::{Modeled, OpInput, dtype, matrices, on_matrices, vectors};

/// Sums over the requests of a step, for context (`c`) and generation (`g`).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Requests {
    c_sq: f64,
    c_sk: f64,
    c_sqsq: f64,
    c_sqsk: f64,
    g_sq: f64,
    g_sk: f64,
    g_sqsq: f64,
    g_sqsk: f64,
}

impl Requests {
    /// Parses an annotation that has the lengths of its requests.
    fn parse(annotation: &str) -> Option<Requests> {
        let Batch {
            context,
            generation,
            ..
        } = batch::parse(annotation).filter(Batch::has_lengths)?;
        let sum = |sum: Option<u64>| sum.unwrap_or(0) as f64;
        Some(Requests {
            c_sq: sum(context.sq),
            c_sk: sum(context.sk),
            c_sqsq: sum(context.sqsq),
            c_sqsk: sum(context.sqsk),
            g_sq: sum(generation.sq),
            g_sk: sum(generation.sk),
            g_sqsq: sum(generation.sqsq),
            g_sqsk: sum(generation.sqsk),
        })
    }

    /// Only the requests in decode; `None` if there are none.
    fn growing(self) -> Option<Requests> {
        (self.g_sq > 0.0).then_some(Requests {
            g_sq: self.g_sq,
            g_sk: self.g_sk,
            g_sqsq: self.g_sqsq,
            g_sqsk: self.g_sqsk,
            ..Requests::default()
        })
    }

    /// Number of computed (query, key) pairs, for context and for generation.
    fn pairs(&self) -> [f64; 2] {
        let masked = |sq: f64, sqsq: f64| ((sqsq - sq) / 2.0).max(0.0);
        let context = self.c_sqsk - masked(self.c_sq, self.c_sqsq);
        [context, self.g_sqsk - masked(self.g_sq, self.g_sqsq)]
    }

    /// Tokens that are computed.
    fn new_tokens(&self) -> f64 {
        self.c_sq + self.g_sq
    }

    /// Tokens that are read from the cache.
    fn cached(&self) -> f64 {
        (self.c_sk - self.c_sq + self.g_sk - self.g_sq).max(0.0)
    }
}

/// Heads and head dimensions.
#[derive(Clone, Copy)]
struct Heads<'a> {
    h_q: f64,
    h_kv: f64,
    d_qk: f64,
    d_v: f64,
    type_q: &'a str,
    /// The type of the cache.
    type_kv: &'a str,
    /// Whether values are a part of the keys.
    is_latent: bool,
}

impl Heads<'_> {
    fn annotated(&self, r: &Requests) -> Modeled {
        let width = self.d_qk + self.d_v;
        let flops = 2.0 * self.h_q * width * r.pairs().iter().sum::<f64>();
        let theirs = 2.0 * r.c_sqsk - r.c_sqsq + 2.0 * r.g_sqsk;
        let modeled = on_matrices(self.type_q, flops, self.moved(r));
        Modeled {
            their_flops: Some(self.h_q * width * theirs),
            ..modeled
        }
    }

    fn moved(&self, r: &Requests) -> Option<f64> {
        let width = self.d_qk + self.d_v;
        let of_token = self.h_kv * if self.is_latent { self.d_qk } else { width };
        let new = r.new_tokens() * (self.h_q * width + of_token) * dtype::bytes(self.type_q)?;
        Some(new + r.cached() * of_token * dtype::bytes(self.type_kv)?)
    }
}

/// Heads and head dimensions; the last three sizes of keys are positions, heads and head dimension.
fn heads<'a>(input: &OpInput<'a>, q: usize, kv: usize, d_v: Option<f64>) -> Option<Heads<'a>> {
    let [_, h_q, d_qk] = input.sized(q)?;
    let [.., h_kv, d_kv] = input.sizes(kv)? else {
        return None;
    };
    Some(Heads {
        h_q,
        h_kv: *h_kv as f64,
        d_qk,
        d_v: d_v.unwrap_or(*d_kv as f64),
        type_q: input.dtype(q),
        type_kv: input.kv_type.unwrap_or(input.dtype(kv)),
        is_latent: false,
    })
}

/// Whether an annotation has the lengths of a step's requests.
pub(crate) fn names_batch(annotation: &str) -> bool {
    Requests::parse(annotation).is_some()
}

fn requests(input: &OpInput) -> Option<Requests> {
    Requests::parse(input.annotation?)
}

/// `unified_attention_with_output(q, k, v, …)`. TraceLens reads the annotation of this op only, and then has parameters
/// for it.
pub(crate) fn unified(input: &OpInput) -> Option<Modeled> {
    let (heads, requests) = (heads(input, 0, 1, None)?, requests(input)?);
    let modeled = heads.annotated(&requests);
    if input.name != "vllm::unified_attention_with_output" {
        return Some(modeled);
    }
    let first = |at: usize| input.sizes(at)?.first().map(|n| *n as f64);
    let sizes = Attention {
        mask: Mask::BottomRight,
        ..Attention::new(
            [1.0, first(0)?, heads.h_q, heads.d_qk],
            [first(1)?, heads.h_kv, heads.d_v],
        )
    };
    let mut all = sizes.params(0.0, false);
    all.extend([
        ("sum_ctx_tokens", Param::Int(requests.c_sq)),
        ("sum_gen_tokens", Param::Int(requests.g_sq)),
        ("dtype_A_B", params::types_of(input, [0, 1])),
    ]);
    Some(modeled.with(all))
}

/// The same with a separate head dimension of values, which follow the queries at `q` and the keys.
pub(crate) fn prefill(input: &OpInput, q: usize) -> Option<Modeled> {
    let d_v = *input.sizes(q + 2)?.last()? as f64;
    Some(heads(input, q, q + 1, Some(d_v))?.annotated(&requests(input)?))
}

/// `mha_varlen_fwd(q, k, v, starts_q, starts_k, max_q[5], max_k[6], …, zeros, causal, window, …)`. The two flags are at
/// positions 9 and 10, or 11 and 12.
pub(crate) fn varlen(input: &OpInput) -> Option<Modeled> {
    let d_v = *input.sizes(2)?.last()? as f64;
    let heads = heads(input, 0, 1, Some(d_v))?;
    if let Some(requests) = requests(input) {
        return Some(heads.annotated(&requests));
    }
    let [n_kv, _, _] = input.sized(1)?;
    let mut flags = (7..14)
        .filter(|at| input.is_flag(*at))
        .filter_map(|at| Some((at, input.flag(at)?)));
    let (mask, window) = match flags.nth(1) {
        Some((at, true)) => (Mask::BottomRight, Window::read(input, at + 1)?),
        Some((at, false)) => (Mask::None, Window::read(input, at + 1)?),
        None => (Mask::BottomRight, Window::default()),
    };
    bounded(input, heads, n_kv, packed(3, 5)?, (mask, window))
}

/// `mha_batch_prefill(q, k pages, v pages, starts_q, starts_pages, pages, max_q[6], max_k[7], …, causal[12],
/// window[13], …)`: keys are in pages, listed per request.
pub(crate) fn batch_prefill(input: &OpInput) -> Option<Modeled> {
    let d_v = *input.sizes(2)?.last()? as f64;
    let heads = heads(input, 0, 1, Some(d_v))?;
    if let Some(requests) = requests(input) {
        return Some(heads.annotated(&requests));
    }
    let page = match input.sizes(1)? {
        [_, page, _, _] => *page as f64,
        _ => 1.0,
    };
    let [n_pages] = input.sized(5)?;
    let [n_starts] = input.sized::<1>(4)?;
    // The list of pages may have more entries than are in use.
    let n_kv = (n_pages * page).min((n_starts - 1.0) * input.number(7)?);
    let mask = if input.flag(12)? {
        Mask::BottomRight
    } else {
        Mask::None
    };
    let window = Window::read(input, 13)?;
    bounded(input, heads, n_kv, packed(3, 6)?, (mask, window))
}

/// An estimate from the number of requests, their maximum length and their total length.
fn bounded(
    input: &OpInput,
    heads: Heads,
    n_kv: f64,
    packed: Packed,
    (mask, window): (Mask, Window),
) -> Option<Modeled> {
    let [n_q, _, _] = input.sized(0)?;
    let queries = [1.0, n_q, heads.h_q, heads.d_qk];
    let all = Attention {
        mask,
        window,
        ..Attention::new(queries, [n_kv, heads.h_kv, heads.d_v])
    };
    let flops = all.flops_of(&packed.lengths(input)?, Attention::forward_flops);
    Some(matrices(heads.type_q, flops, all.forward_elements()))
}

/// `paged_attention(out, exp sums, maxima, tmp, q[4], k[5], v, heads[7], …)` of `_rocm_C`, and `paged_attention_v1(out,
/// q[1], k[2], v, heads[4], …)`: generation with paged keys, whose lengths are only in the annotation. Not in
/// TraceLens.
pub(crate) fn paged(input: &OpInput) -> Option<Modeled> {
    let q = (0..5).rfind(|at| input.sizes(*at).is_some_and(|sizes| sizes.len() == 3))?;
    let is_rocm = input.name.starts_with("_rocm_C");
    let q = if is_rocm { q } else { 1 };
    Some(heads_alike(input, q, input.number(q + 3)?)?.annotated(&requests(input)?.growing()?))
}

/// Heads whose keys and values have the same dimension.
fn heads_alike<'a>(input: &OpInput<'a>, q: usize, h_kv: f64) -> Option<Heads<'a>> {
    let [_, h_q, d_qk] = input.sized(q)?;
    Some(Heads {
        h_q,
        h_kv,
        d_qk,
        d_v: d_qk,
        type_q: input.dtype(q),
        type_kv: input.kv_type.unwrap_or(input.dtype(q + 1)),
        is_latent: false,
    })
}

/// `tilelang_sparse_fwd(q, kv, …)`: values are the first 512 numbers of the keys.
pub(crate) fn latent_sparse(input: &OpInput) -> Option<Modeled> {
    let heads = heads(input, 0, 1, Some(512.0))?;
    let heads = Heads {
        is_latent: true,
        ..heads
    };
    Some(heads.annotated(&requests(input)?))
}

/// `mla_decode_fwd(q, cache, out, …)`: one latent per token; the result has the size of its values.
pub(crate) fn latent(input: &OpInput) -> Option<Modeled> {
    let heads = heads(input, 0, 1, None)?;
    let out = input
        .sized::<3>(2)
        .filter(|[_, h_q, _]| h_q.total_cmp(&heads.h_q).is_eq());
    let d_v = out.map_or(heads.d_v, |[_, _, d_v]| d_v).min(heads.d_qk);
    let heads = Heads {
        d_v,
        is_latent: true,
        ..heads
    };
    Some(heads.annotated(&requests(input)?))
}

/// `unified_mla_attention_with_output(q, latents, k_pe, out, …)`: decode attends to latents, prefill to the keys and
/// values of each head. The GEMMs that convert between them are not counted. Not in TraceLens.
pub(crate) fn latent_layer(input: &OpInput) -> Option<Modeled> {
    let [_, h_q, d_q] = input.sized(0)?;
    let rank = *input.sizes(1)?.last()? as f64;
    let d_rope = *input.sizes(2)?.last()? as f64;
    let d_out = *input.sizes(3)?.last()? as f64;
    let d_out = if d_out > h_q {
        d_out / h_q
    } else {
        return None;
    };
    let requests = requests(input)?;
    let [context, generation] = requests.pairs();
    let scores = context * (d_q + d_out) + generation * (2.0 * rank + d_rope);
    let (type_q, latent) = (input.dtype(0), rank + d_rope);
    let bytes = || {
        let new = requests.new_tokens() * (h_q * (d_q + d_out) + latent) * dtype::bytes(type_q)?;
        let type_kv = input.kv_type.unwrap_or(type_q);
        Some(new + requests.cached() * latent * dtype::bytes(type_kv)?)
    };
    Some(on_matrices(type_q, 2.0 * h_q * scores, bytes()))
}

/// `pa_decode_gluon(out, q, k, v, …, window[19])`: generation only; a query attends to at most the sliding window.
pub(crate) fn paged_decode(input: &OpInput) -> Option<Modeled> {
    let h_kv = *input.sizes(2)?.get(1)? as f64;
    let all = requests(input)?.growing()?;
    let window = input.number(19).filter(|window| *window > 0.0);
    let seen = |sum: f64| window.map_or(sum, |window| sum.min(all.g_sq * window));
    let seen = Requests {
        g_sk: seen(all.g_sk),
        g_sqsk: seen(all.g_sqsk),
        // The window acts as the mask.
        g_sqsq: if window.is_some() { 0.0 } else { all.g_sqsq },
        ..all
    };
    Some(heads_alike(input, 1, h_kv)?.annotated(&seen))
}

/// `pa_sparse_prefill_opus_fwd(q, kv, indices, …, more indices[5], …)`: each index is one key that one query attends
/// to.
pub(crate) fn sparse_prefill(input: &OpInput) -> Option<Modeled> {
    let [n_q, h_q, d] = input.sized(0)?;
    let pairs = *input.sizes(2)?.first()? as f64 + *input.sizes(5)?.first()? as f64;
    let bytes = || {
        let queries = 2.0 * n_q * h_q * d * dtype::bytes(input.dtype(0))?;
        Some(queries + pairs * d * dtype::bytes(input.dtype(1))?)
    };
    let modeled = on_matrices(input.dtype(0), pairs * h_q * 2.0 * (d + d), bytes());
    let mut all = params::whole([("N_Q", n_q), ("H_Q", h_q), ("d_h_qk", d), ("d_h_v", d)]);
    all.push(("dtype_A_B", params::types_of(input, [0, 1])));
    Some(modeled.with(all))
}

/// `gdn_attention_core(qkv, b, …, out[3])`, linear attention with a gated delta rule: seven operations for each element
/// of the d_v × d_k state, per token and head.
pub(crate) fn gated_delta(input: &OpInput) -> Option<Modeled> {
    let r = requests(input)?;
    let width = *input.sizes(0)?.get(1)? as f64;
    let h_v = *input.sizes(1)?.get(1)? as f64;
    let d_v = *input.sizes(3)?.get(2)? as f64;
    let d_k = (width - h_v * d_v) / h_v;
    let tokens = r.c_sq + r.g_sq;
    let moved = tokens * h_v * (d_k + 2.0 * d_v + 2.0);
    (d_k > 0.0).then(|| matrices(input.dtype(0), 7.0 * tokens * h_v * d_v * d_k, moved))
}

/// `store_cache(k, v, k cache, v cache, places, …)`: keys and values are read and written once.
pub(crate) fn store_cache(input: &OpInput) -> Option<Modeled> {
    let n = product(input.sizes(0)?);
    let dtype = input.dtype(0);
    Some(vectors(dtype, 0.0, 4.0 * n).with(vec![
        ("op_shape", params::opt_sizes(input.shape(0))),
        ("nelems", Param::Int(n)),
        ("dtype", params::text(dtype)),
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_tell_the_sums() {
        let expected = Requests {
            c_sq: 8.0,
            c_sk: 10.0,
            c_sqsq: 32.0,
            c_sqsk: 40.0,
            g_sq: 1.0,
            g_sk: 9.0,
            g_sqsq: 1.0,
            g_sqsk: 9.0,
        };
        let vllm = "execute_9_context_2(sq8sk10sqsq32sqsk40)_generation_1(sq1sk9sqsq1sqsk9)";
        assert_eq!(Requests::parse(vllm), Some(expected));
        let sglang = "step[MIXED bs=3 toks=9 c=2 g=1 c_sq=8 c_sqsq=32 c_sqsk=40 c_sk=10 g_sq=1 g_sqsq=1 g_sqsk=9 g_sk=9]";
        assert_eq!(Requests::parse(sglang), Some(expected));
        assert_eq!(expected.pairs().map(|n| n as u64), [28, 9]);
        assert_eq!((expected.new_tokens(), expected.cached()), (9.0, 10.0));
        assert_eq!(Requests::parse("step[DECODE bs=64]"), None);
        assert_eq!(Requests::parse("ProfilerStep#3"), None);
    }
}
