//! Writing keys and values to the KV cache of a serving engine. Not in TraceLens.
//!
//! New keys and values are read and written once each, in the type of the cache, and an 8-byte slot index is read for
//! each token.

use crate::perf::input::product;
use crate::perf::{Modeled, OpInput, moved};

/// `reshape_and_cache(k, v, k cache, v cache, places[4], …)`, and
/// `concat_and_cache_mla(kv, k_pe, cache, places[3], …)`.
pub(crate) fn placed(input: &OpInput, places: usize) -> Option<Modeled> {
    let n = product(input.sizes(0)?) + product(input.sizes(1)?);
    let places = input.tensor(places);
    let places = places.map_or(Some(0.0), |places| places.bytes());
    let read = input.tensor(0)?.element_bytes();
    let written = input.tensor(2)?.element_bytes();
    let bytes = || Some(n * (read? + written?) + places?);
    Some(moved(bytes()))
}
