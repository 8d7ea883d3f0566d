//! The element type of a serving engine's KV cache, from the operator that writes it or, failing that, from its kernel.
//!
//! Attention is called with the new keys and values in the type of the model and reads older ones in the type of the
//! cache, which may be narrower.

use std::sync::Arc;

use crate::names::attention::{CacheType, cache_argument, cache_type};
use crate::profile::Profile;
use crate::trace::{Category, StringId, Trace};

/// The element type of the KV cache.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KvCache {
    /// As recorded by the operator that writes the cache.
    named: Option<StringId>,
    /// By the kernel that writes the cache.
    of_kernel: Option<CacheType>,
}

impl KvCache {
    /// Computed once per profile.
    pub(crate) fn of(profile: &Profile) -> Arc<KvCache> {
        profile.once(|| KvCache::find(&profile.trace))
    }

    /// Its type; `None` if it is the type of the model or unknown.
    pub(crate) fn dtype<'a>(&self, trace: &'a Trace) -> Option<&'a str> {
        match (self.named, self.of_kernel) {
            (Some(named), _) => Some(trace.strings.get(named)),
            (None, Some(CacheType::Fp8)) => Some("unsigned char"),
            (None, _) => None,
        }
    }

    fn find(trace: &Trace) -> KvCache {
        let of_kernel = || trace.strings.iter().find_map(|(_, name)| cache_type(name));
        let writes = |name: &str| cache_argument(name).is_some();
        let mut writers = trace.named(|of| of == Category::CpuOp, writes);
        let named = writers.find_map(|event| {
            let at = cache_argument(trace.name(event))?;
            let args = trace.args.get(trace.events.op_args(event)?)?;
            args.types.as_deref()?.get(at).copied()
        });
        KvCache {
            named,
            of_kernel: of_kernel(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Timetable;

    #[test]
    fn what_writes_the_cache_tells_its_type() {
        let op = "_C_cache_ops::reshape_and_cache_flash";
        let types = r#""Input Dims": [[2, 1, 8], [2, 1, 8], [99, 16, 1, 8]], "Input type": ["c10::BFloat16", "c10::BFloat16", "unsigned char"]"#;
        let kernel = |n: u32| {
            format!(
                "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, unsigned char, (vllm::Fp8KVCacheDataType){n}>(int)"
            )
        };
        let dtype = |timetable: Timetable| {
            let profile = timetable.profile();
            let cache = KvCache::of(&profile);
            cache.dtype(&profile.trace).map(str::to_owned)
        };
        let by_op = Timetable::new().call(op, types, &kernel(0), 10..20);
        assert_eq!(dtype(by_op).as_deref(), Some("unsigned char"));
        // A kernel of a graph: 0 means the type of the model.
        let by_kernel = |n| dtype(Timetable::new().work("hipGraphLaunch", &kernel(n), 10..20));
        assert_eq!(by_kernel(1).as_deref(), Some("unsigned char"));
        assert_eq!(by_kernel(0), None);
    }

    /// Two requests with one new token each, 8 tokens in the cache, head dimension 4: the new tokens take 2·(2 + 1)·8
    /// elements of two bytes, the cache 8·8 elements of one byte.
    #[test]
    fn attention_reads_the_cache_in_its_type() {
        let step = "execute_2_context_0(sq0sk0sqsq0sqsk0)_generation_2(sq2sk10sqsq2sqsk10)";
        let bytes = |cache: &str| {
            let store = format!("2x1x4:c10::Half*2, 99x16x1x4:{cache}");
            let profile = Timetable::new()
                .annotation(step, 0..100)
                .op("vllm::unified_attention_with_output", 10..20)
                .args("2x2x4:c10::Half, 2x1x4:c10::Half*2")
                .launched("attn", 11..12, 200..210)
                .op("_C_cache_ops::reshape_and_cache_flash", 30..40)
                .args(&store)
                .launched("store", 31..32, 210..220)
                .profile();
            let mut all = profile.operations().iter();
            let attention = all
                .find(|one| one.name(&profile).contains("attention"))
                .unwrap();
            attention.modeled.as_ref().unwrap().work.bytes
        };
        assert_eq!(bytes("unsigned char"), Some(96.0 + 64.0));
        assert_eq!(bytes("c10::Half"), Some(96.0 + 128.0));
    }
}
