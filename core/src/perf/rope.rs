//! Rotary position embeddings: pairs of numbers turned by an angle.
//!
//! Three operations for each element: two products and a sum. Queries and keys are read and
//! written in place; tables of cosines stay in the cache.

use super::dtype;
use super::gemm::bare;
use super::input::product;
use super::params;
use super::{Modelled, OpInput, Work};

/// `FusedRoPEFunc(x, …)`.
pub(super) fn fused(input: &OpInput) -> Option<Modelled> {
    rotated(input, product(input.sizes(0)?), 0)
}

/// `rotary_embedding(positions, q, k, head size, table, …)`.
pub(super) fn rotary_embedding(input: &OpInput) -> Option<Modelled> {
    rotated(
        input,
        product(input.sizes(1)?) + product(input.sizes(2)?),
        1,
    )
}

/// `rope_cached_positions_2c_fwd_impl(out_x, out_y, x, y, …)`.
pub(super) fn cached_positions(input: &OpInput) -> Option<Modelled> {
    rotated(
        input,
        product(input.sizes(2)?) + product(input.sizes(3)?),
        2,
    )
}

fn rotated(input: &OpInput, n: f64, typed_by: usize) -> Option<Modelled> {
    let dtype = input.dtype(typed_by);
    Some(Modelled {
        work: Work {
            flops: 3.0 * n,
            bytes: dtype::bytes(dtype).map(|size| 2.0 * n * size),
            compute: dtype::vector(dtype),
        },
        params: vec![("num_elements", params::int(n))],
    })
}

/// Queries turned, keys turned and stored in the cache, in one kernel:
/// `fused_qk_rope_concat_and_cache_mla(q_nope, q_pe, kv_c, k_pe, …)`. All four are read and
/// written; the positional parts of queries and keys are turned.
pub(super) fn qk_and_cache(input: &OpInput) -> Option<Modelled> {
    let size = |at: usize| input.sizes(at).map(product);
    let (turned, kept) = (size(1)? + size(3)?, size(0)? + size(2)?);
    let dtype = input.dtype(0);
    Some(bare(Work {
        flops: 3.0 * turned,
        bytes: dtype::bytes(dtype).map(|size| 2.0 * (turned + kept) * size),
        compute: dtype::vector(dtype),
    }))
}
