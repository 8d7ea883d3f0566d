//! The GEMMs of routers: by their names they are GEMMs like all others, and what follows tells.
//!
//! A router scores the experts for each token, right before a kernel chooses among them. Between both
//! may stand one kernel that changes the type of the scores or pads the tokens, and a GEMM may end with a
//! kernel that adds up its parts.

use std::sync::Arc;

use crate::base::sort::Arrange;
use crate::names::gemm::is_split_sum;
use crate::names::moe::{MoePart, chooses_experts};
use crate::names::{Family, family_of_kernel};
use crate::profile::Profile;
use crate::profile::kernels::GpuEvents;
use crate::profile::launch::GpuId;
use crate::trace::{ByName, Category};

/// The kernels of routers.
#[derive(Debug, Default)]
pub(crate) struct Routers {
    /// Rising.
    kernels: Vec<GpuId>,
}

/// Whether a kernel may stand between a router's GEMM and the choice of experts.
fn stands_between(kernel: &str) -> bool {
    match family_of_kernel(kernel) {
        Family::Elementwise | Family::Triton => true,
        Family::Moe => MoePart::of(kernel, "") == MoePart::Preparation,
        _ => false,
    }
}

/// Whether a kernel adds up the parts of a GEMM.
fn adds_up(profile: &Profile, id: GpuId) -> bool {
    let name = profile.gpu.get(id).map(|work| work.name);
    name.is_some_and(|name| is_split_sum(profile.trace.strings.get(name)))
}

impl Routers {
    /// Found once.
    pub(crate) fn of(profile: &Profile) -> Arc<Routers> {
        profile.once(GpuEvents::All, || Routers::find(profile))
    }

    fn find(profile: &Profile) -> Routers {
        let (trace, events) = (&profile.trace, &profile.trace.events);
        let mut chooses = ByName::new(chooses_experts);
        let all = || {
            let all = profile.gpu.iter();
            all.filter(|(_, work)| events.category(work.event) == Category::Kernel)
        };
        if !all().any(|(_, work)| chooses.of(trace, work.event)) {
            return Routers::default();
        }
        let on_stream = all().map(|(id, work)| {
            let stream = events.track(work.event);
            (stream, work.span.start_ns, id, work.event)
        });
        let mut on_stream: Vec<_> = on_stream.collect();
        on_stream.arrange();
        let mut is_gemm = ByName::new(|name: &str| family_of_kernel(name) == Family::Gemm);
        let mut is_between = ByName::new(stands_between);
        let mut kernels = Vec::new();
        for of_stream in on_stream.chunk_by(|one, next| one.0 == next.0) {
            for (at, (.., event)) in of_stream.iter().enumerate() {
                if !chooses.of(trace, *event) {
                    continue;
                }
                let before = of_stream.get(..at).unwrap_or_default().iter().rev();
                let mut before = before.peekable();
                before.next_if(|(.., event)| is_between.of(trace, *event));
                let mut gemm = before.take_while(|(.., event)| is_gemm.of(trace, *event));
                let Some(&(.., last, _)) = gemm.next() else {
                    continue;
                };
                kernels.push(last);
                if adds_up(profile, last) {
                    kernels.extend(gemm.next().map(|(.., id, _)| *id));
                }
            }
        }
        kernels.arrange();
        kernels.dedup();
        Routers { kernels }
    }

    /// Whether all of some GPU activity is of routers.
    pub(crate) fn have(&self, mut work: impl Iterator<Item = GpuId>) -> bool {
        !self.kernels.is_empty() && work.all(|id| self.kernels.binary_search(&id).is_ok())
    }

    /// The family of some GPU activity that goes by this one: a router's GEMM is a part of its MoE layer.
    pub(crate) fn family(&self, family: Family, work: impl Iterator<Item = GpuId>) -> Family {
        match family {
            Family::Gemm if self.have(work) => Family::Moe,
            family => family,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Timetable;

    /// Kernels of one stream, each of an operator of its own: those that are a router's.
    fn routers(kernels: &[&str]) -> Vec<usize> {
        let mut timetable = Timetable::new();
        for (at, kernel) in (0_u32..).zip(kernels) {
            let op = format!("my::op_{at}");
            timetable = timetable.work(&op, kernel, at * 10 + 100..at * 10 + 105);
        }
        let profile = timetable.profile();
        let all = Routers::of(&profile).kernels.clone();
        all.into_iter().map(GpuId::index).collect()
    }

    #[test]
    fn the_gemm_before_a_choice_of_experts_is_the_router_s() {
        const GEMM: &str = "Cijk_Alik_Bljk_BBS_BH_MT16x16x256";
        let cases: &[(&[&str], &[usize])] = &[
            (&[GEMM, "Rmsnorm2dFwd", GEMM, "_topk_forward"], &[2]),
            // Scores are made FP32; parts of the sum over K are added up.
            (
                &[
                    GEMM,
                    GEMM,
                    "triton_poi_fused__to_copy_0",
                    "vllm::moe::topkGatingSoftmax",
                ],
                &[1],
            ),
            (
                &[
                    "nvjet_tst_64x64",
                    "cublasLt::splitKreduce_kernel",
                    "_topk_forward",
                ],
                &[0, 1],
            ),
            // What chooses in steps has one router.
            (
                &[GEMM, "_topk_forward", "_combined_routing_compute", GEMM],
                &[0],
            ),
            // Tokens are padded for the experts in between.
            (
                &[
                    GEMM,
                    "triton_poi_fused_constant_pad_nd_moe_forward_0",
                    "_topk_forward",
                ],
                &[0],
            ),
            // The choice of tokens, and experts without a router.
            (&[GEMM, "gatherTopK", GEMM], &[]),
            (&[GEMM, "Rmsnorm2dFwd", "_topk_forward"], &[]),
        ];
        for (kernels, expected) in cases {
            assert_eq!(routers(kernels), *expected, "{kernels:?}");
        }
    }

    #[test]
    fn a_router_is_mixture_of_experts_work() {
        let profile = Timetable::new()
            .work("aten::mm", "Cijk_MT16x16x256", 100..110)
            .work("TopK", "_topk_forward", 110..120)
            .work("aten::linear", "Cijk_MT16x16x256", 120..160)
            .profile();
        let families = profile.operations().iter();
        let families: Vec<Family> = families.map(|one| one.family).collect();
        assert_eq!(families, [Family::Gemm, Family::Moe, Family::Moe]);
    }
}
