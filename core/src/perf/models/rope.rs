//! Rotary position embeddings: pairs of numbers rotated by an angle.
//!
//! Three operations per element: two multiplications and an addition. Queries and keys are read and written in place;
//! tables of cosines stay in the GPU's cache.

use crate::perf::input::product;
use crate::perf::params::Param;
use crate::perf::{Modeled, OpInput, vectors};

/// Rotates these arguments entirely; their type is that of the first.
pub(super) fn whole(input: &OpInput, turned: &[usize]) -> Option<Modeled> {
    let sizes = turned.iter().map(|at| input.sizes(*at).map(product));
    rotated(input, sizes.sum::<Option<f64>>()?, *turned.first()?)
}

fn rotated(input: &OpInput, n: f64, typed_by: usize) -> Option<Modeled> {
    let dtype = input.dtype(typed_by);
    Some(vectors(dtype, 3.0 * n, 2.0 * n).with(vec![("num_elements", Param::Int(n))]))
}

/// Rotates queries and keys and stores the keys in the KV cache, in one kernel:
/// `fused_qk_rope_concat_and_cache_mla(q_nope, q_pe, kv_c, k_pe, …)`. All four are read and written; the positional
/// parts of queries and keys are rotated.
pub(super) fn qk_and_cache(input: &OpInput) -> Option<Modeled> {
    let size = |at: usize| input.sizes(at).map(product);
    let (turned, kept) = (size(1)? + size(3)?, size(0)? + size(2)?);
    let modeled = vectors(input.dtype(0), 3.0 * turned, 2.0 * (turned + kept));
    Some(modeled.with(vec![("num_elements", Param::Int(turned))]))
}

/// `rotary_embedding(positions, q, k, head size, table, …)` of vLLM. The size of the table, which contains sines and
/// cosines, tells how much of each head is rotated.
pub(super) fn partial(input: &OpInput) -> Option<Modeled> {
    let head = input.number(3).filter(|size| *size > 0.0)?;
    let turned = (*input.sizes(4)?.last()? as f64 / head).min(1.0);
    let keys = input.sizes(2).map_or(0.0, product);
    let n = (product(input.sizes(1)?) + keys) * turned;
    rotated(input, n, 1)
}
