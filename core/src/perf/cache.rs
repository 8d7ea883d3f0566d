//! Placing keys and values in the cache of a serving engine. Not in the reference.
//!
//! New keys and values are read and written once each, in the type of the cache, and a place of
//! eight bytes is read for each token.

use super::gemm::bare;
use super::input::product;
use super::{Modelled, OpInput, Work};

/// `reshape_and_cache(k, v, k cache, v cache, places, …)`.
pub(super) fn keys_and_values(input: &OpInput) -> Option<Modelled> {
    placed(input, &[0, 1], 2, Some(4))
}

/// `concat_and_cache_mla(kv, k_pe, cache, places, …)`.
pub(super) fn latent(input: &OpInput) -> Option<Modelled> {
    placed(input, &[0, 1], 2, Some(3))
}

fn placed(input: &OpInput, new: &[usize], cache: usize, places: Option<usize>) -> Option<Modelled> {
    let n: f64 = new
        .iter()
        .map(|at| input.sizes(*at).map(product))
        .sum::<Option<f64>>()?;
    let places = places
        .and_then(|at| input.tensor(at))
        .map_or(Some(0.0), |places| places.bytes());
    let read = input.tensor(*new.first()?)?.element_bytes();
    let written = input.tensor(cache)?.element_bytes();
    let bytes = || Some(n * (read? + written?) + places?);
    Some(bare(Work {
        flops: 0.0,
        bytes: bytes(),
        compute: None,
    }))
}
