//! The share of rotary position embeddings (RoPE), which have no category of their own.

use crate::base::format;
use crate::base::interval::percent_of;
use crate::base::map::Map;
use crate::base::sort::Arrange;
use crate::names::Family;
use crate::names::elementwise::{converts, is_rope};
use crate::profile::Profile;
use crate::profile::gpu::kernels::GpuWork;
use crate::profile::launch::GpuId;
use crate::trace::{Category, StringId};

/// RoPE kernels, and the type conversions that only ever run directly before them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Rope {
    n: u64,
    ns: i64,
    n_converted: u64,
    converted_ns: i64,
}

/// Label and value; `None` if no kernel has such a name.
pub(super) fn fact(profile: &Profile, busy_ns: i64) -> Option<(String, String)> {
    let rope = profile.once(|| Rope::find(profile));
    let share = percent_of(rope.ns.saturating_add(rope.converted_ns), busy_ns)?;
    let before = percent_of(rope.converted_ns, busy_ns).filter(|_| rope.n_converted > 0);
    let before = before.map(|before| {
        format!(
            "; {} in the {} directly before",
            format::percent(before),
            format::counted(rope.n_converted, "type conversion")
        )
    });
    (rope.n > 0).then(|| {
        let kernels = format::counted(rope.n, "kernel");
        let value = format!(
            "{} of the busy time ({kernels}{})",
            format::percent(share),
            before.unwrap_or_default()
        );
        ("RoPE".to_owned(), value)
    })
}

impl Rope {
    fn find(profile: &Profile) -> Rope {
        let trace = &profile.trace;
        let kernels = profile
            .gpu
            .iter()
            .filter(|(_, work)| work.category == Category::Kernel);
        let kernels =
            kernels.map(|(id, work)| (trace.events.track(work.event), work.span.start_ns, id));
        let mut kernels: Vec<_> = kernels.collect();
        let mut known: Map<StringId, (bool, bool)> = Map::default();
        let mut classify = |work: &GpuWork| {
            let by_name = || {
                let name = trace.strings.get(work.name);
                let is_generic = matches!(work.family, Family::Elementwise | Family::Triton);
                (
                    work.family == Family::Elementwise && is_rope(name),
                    is_generic && converts(name),
                )
            };
            *known.entry(work.name).or_insert_with(by_name)
        };
        let work = |id: GpuId| profile.gpu.get(id);
        let mut all = kernels.iter().filter_map(|(.., id)| work(*id));
        if !all.any(|work| classify(work).0) {
            return Rope::default();
        }
        kernels.arrange();
        let mut rope = Rope::default();
        // By name: number of runs, number of runs directly before a RoPE kernel, and the time of the latter.
        let mut conversions: Map<StringId, (u64, u64, i64)> = Map::default();
        for (at, (track, _, id)) in kernels.iter().enumerate() {
            let Some(work) = work(*id) else {
                continue;
            };
            let ns = work.span.length();
            let (is_rope, converts) = classify(work);
            if is_rope {
                (rope.n, rope.ns) = (rope.n + 1, rope.ns.saturating_add(ns));
            }
            if converts {
                let next = kernels.get(at + 1).filter(|(of, ..)| of == track);
                let next = next.and_then(|(.., id)| profile.gpu.get(*id));
                let is_before = next.is_some_and(|next| classify(next).0);
                let (n, n_before, before_ns) = conversions.entry(work.name).or_default();
                *n += 1;
                *n_before += u64::from(is_before);
                *before_ns = before_ns.saturating_add(if is_before { ns } else { 0 });
            }
        }
        // A conversion kernel that also runs elsewhere does not count toward RoPE.
        for (_, (_, n, ns)) in conversions
            .into_iter()
            .filter(|(_, (all, before, _))| all == before)
        {
            rope.n_converted += n;
            rope.converted_ns = rope.converted_ns.saturating_add(ns);
        }
        rope
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Timetable;

    #[test]
    fn a_conversion_that_runs_before_rope_alone_is_of_it() {
        let fact = |kernels: &[&str]| {
            let mut timetable = Timetable::new();
            for (at, kernel) in (0_u32..).zip(kernels) {
                timetable = timetable.work("my::op", kernel, at * 10 + 100..at * 10 + 110);
            }
            let profile = timetable.profile();
            fact(&profile, 100_000).map(|(_, value)| value)
        };
        let (rope, cast) = (
            "vllm::rotary_embedding_kernel",
            "triton_poi_fused__to_copy_1",
        );
        let both = [cast, rope, "gemm", cast, rope, "gemm", rope];
        assert_eq!(
            fact(&both).unwrap(),
            "50.0 % of the busy time (3 kernels; 20.0 % in the 2 type conversions directly before)"
        );
        let elsewhere = fact(&[cast, rope, cast, "gemm"]).unwrap();
        assert_eq!(elsewhere, "10.0 % of the busy time (1 kernel)");
        assert_eq!(fact(&["gemm", cast]), None);
    }
}
