//! Roles of kernels in MoE layers: by their names or, for kernels with generic names, by the kernels that precede and
//! follow them on their stream.
//!
//! A router scores the experts for each token right before a kernel chooses among them. Between the two there may be
//! one kernel that pads tokens or converts the scores, and a GEMM may end with a kernel that adds up partial results.
//! The same kernel may run twice in a layer, for both GEMMs; the activation between them and the quantization for them
//! have names that also occur in dense layers.

use std::sync::Arc;

use crate::base::map::Map;
use crate::base::sort::Arranged;
use crate::names::Family;
use crate::names::gemm::is_split_sum;
use crate::names::moe::{MoeRole, is_gated_activation, quantizes};
use crate::profile::Profile;
use crate::profile::launch::GpuId;
use crate::trace::{Category, StringId};

/// The roles of kernels in MoE layers.
#[derive(Debug, Default)]
pub(crate) struct MoeRoles {
    /// By GPU activity; empty if no kernel name belongs to an MoE layer.
    roles: Vec<Option<MoeRole>>,
}

/// What is known from a kernel's name.
#[derive(Debug, Clone, Copy, PartialEq)]
struct KernelTraits {
    family: Family,
    /// The role of a kernel that is named after experts or is a grouped GEMM.
    role: Option<MoeRole>,
    chooses: bool,
    is_grouped: bool,
    activates: bool,
    quantizes: bool,
    adds_up: bool,
}

impl KernelTraits {
    fn by(family: Family, name: &str) -> KernelTraits {
        let may_have = matches!(family, Family::Moe | Family::Gemm);
        let role = may_have.then(|| MoeRole::of_name(name)).flatten();
        let is_grouped = family == Family::Gemm && role == Some(MoeRole::Gemm);
        KernelTraits {
            family,
            role: role.filter(|_| family == Family::Moe || is_grouped),
            chooses: family == Family::Moe && role == Some(MoeRole::TopK),
            is_grouped,
            activates: is_gated_activation(name),
            quantizes: quantizes(name),
            adds_up: is_split_sum(name),
        }
    }

    fn is_moe(self) -> bool {
        self.family == Family::Moe
    }

    /// Whether it may belong to any kind of layer.
    fn is_common(self) -> bool {
        matches!(
            self.family,
            Family::Elementwise | Family::Triton | Family::Other
        )
    }
}

impl MoeRoles {
    /// Computed once per profile.
    pub(crate) fn of(profile: &Profile) -> Arc<MoeRoles> {
        profile.once(|| MoeRoles::find(profile))
    }

    fn find(profile: &Profile) -> MoeRoles {
        let (trace, events) = (&profile.trace, &profile.trace.events);
        let kernels = || {
            let all = profile.gpu.iter();
            all.filter(|(_, work)| work.category == Category::Kernel)
        };
        if !kernels().any(|(_, work)| work.family == Family::Moe) {
            return MoeRoles::default();
        }
        let on_stream =
            kernels().map(|(id, work)| (events.track(work.event), work.span.start_ns, id));
        let on_stream = on_stream.arranged();
        let mut known: Map<StringId, KernelTraits> = Map::default();
        let mut traits_of = |id: GpuId| {
            let work = profile.gpu.get(id)?;
            let by_name = || KernelTraits::by(work.family, trace.strings.get(work.name));
            Some((id, *known.entry(work.name).or_insert_with(by_name)))
        };
        let mut roles = vec![None; profile.gpu.len()];
        for of_stream in on_stream.chunk_by(|one, next| one.0 == next.0) {
            let kernels = of_stream.iter().filter_map(|(.., id)| traits_of(*id));
            let kernels: Vec<(GpuId, KernelTraits)> = kernels
                .filter(|(_, traits)| traits.family != Family::MemoryCopy)
                .collect();
            for (id, role) in roles_on_stream(&kernels) {
                if let Some(slot) = roles.get_mut(id.index()) {
                    *slot = Some(role);
                }
            }
        }
        MoeRoles { roles }
    }

    /// The role of a kernel; `None` if it is not part of an MoE layer or unknown.
    pub(crate) fn get(&self, id: GpuId) -> Option<MoeRole> {
        self.roles.get(id.index()).copied().flatten()
    }

    /// The family of some GPU activity, given the family by name: MoE if all of it has a role in an MoE layer.
    pub(crate) fn family(&self, family: Family, mut work: impl Iterator<Item = GpuId>) -> Family {
        let may_be = matches!(
            family,
            Family::Gemm | Family::Elementwise | Family::Triton | Family::Other
        );
        match may_be && !self.roles.is_empty() && work.all(|id| self.get(id).is_some()) {
            true => Family::Moe,
            false => family,
        }
    }
}

/// The kernels of a stream that belong to MoE layers, in order.
fn roles_on_stream(kernels: &[(GpuId, KernelTraits)]) -> Vec<(GpuId, MoeRole)> {
    let mut found = Vec::new();
    let mut layer = Layer::default();
    for (at, (id, traits)) in kernels.iter().enumerate() {
        let before = kernels.get(..at).unwrap_or_default();
        if traits.chooses {
            layer.close(&mut found);
            found.extend(routers(before).map(|id| (id, MoeRole::Router)));
        }
        if traits.is_moe() || (traits.is_grouped && layer.is_open) {
            layer.add(*id, *traits, &mut found);
        } else if traits.family == Family::Attention {
            layer.close(&mut found);
            layer.is_open = false;
        } else if traits.is_common() {
            layer.common.push((*id, *traits));
        } else {
            layer.common.clear();
        }
    }
    layer.close(&mut found);
    found
}

/// The GEMM right before a choice of experts, and the kernel that adds up its partial results.
fn routers(before: &[(GpuId, KernelTraits)]) -> impl Iterator<Item = GpuId> {
    let prepares =
        |traits: &KernelTraits| traits.is_common() || traits.role == Some(MoeRole::Prepare);
    let mut before = before.iter().rev().peekable();
    before.next_if(|(_, traits)| prepares(traits) && !traits.adds_up);
    let mut gemm = before.take_while(|(_, traits)| traits.family == Family::Gemm);
    let last = gemm.next();
    let first = last
        .filter(|(_, traits)| traits.adds_up)
        .and_then(|_| gemm.next());
    [last, first].into_iter().flatten().map(|(id, _)| *id)
}

/// A layer, as far as it has been seen.
#[derive(Debug, Default)]
struct Layer {
    /// A kernel that is named after experts ran since the last attention.
    is_open: bool,
    gemms: Vec<(GpuId, MoeRole)>,
    /// Generic kernels since the last kernel of the layer.
    common: Vec<(GpuId, KernelTraits)>,
}

impl Layer {
    fn add(&mut self, id: GpuId, traits: KernelTraits, found: &mut Vec<(GpuId, MoeRole)>) {
        self.is_open = true;
        let common = std::mem::take(&mut self.common);
        let Some(role) = traits.role else { return };
        if !role.is_gemm() {
            found.push((id, role));
            if role == MoeRole::Combine {
                self.close(found);
            }
            return;
        }
        let is_second = !self.gemms.is_empty();
        found.extend(common.into_iter().filter_map(|(id, traits)| match traits {
            traits if traits.activates && is_second => Some((id, MoeRole::Activation)),
            traits if traits.quantizes => Some((id, MoeRole::Prepare)),
            _ => None,
        }));
        self.gemms.push((id, role));
    }

    /// Distinguishes the two GEMMs: by name, otherwise by alternation. A single GEMM may do the work of both.
    fn close(&mut self, found: &mut Vec<(GpuId, MoeRole)>) {
        let gemms = std::mem::take(&mut self.gemms);
        let is_single = gemms.len() < 2;
        let mut last = None;
        found.extend(gemms.into_iter().map(|(id, role)| {
            let role = match (role, last) {
                (MoeRole::Gemm, _) if is_single => role,
                (MoeRole::Gemm, Some(MoeRole::Gemm1)) => MoeRole::Gemm2,
                (MoeRole::Gemm, _) => MoeRole::Gemm1,
                _ => role,
            };
            last = Some(role);
            (id, role)
        }));
        self.common.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Timetable;
    use MoeRole::{Activation, Combine, Gemm, Gemm1, Gemm2, Prepare, Router, Sort, TopK};

    const DENSE: &str = "Cijk_Alik_Bljk_BBS_BH_MT16x16x256";

    /// Runs the kernels on one stream, each in its own operator; returns their roles.
    fn roles(kernels: &[&str]) -> Vec<Option<MoeRole>> {
        let mut timetable = Timetable::new();
        for (at, kernel) in (0_u32..).zip(kernels) {
            let op = format!("my::op_{at}");
            timetable = timetable.work(&op, kernel, at * 10 + 100..at * 10 + 105);
        }
        let profile = timetable.profile();
        let roles = MoeRoles::of(&profile);
        let all = profile.gpu.iter();
        all.map(|(id, _)| roles.get(id)).collect()
    }

    #[test]
    fn the_gemm_before_a_choice_of_experts_is_the_router_s() {
        let cases: &[(&[&str], &[usize])] = &[
            (&[DENSE, "Rmsnorm2dFwd", DENSE, "_topk_forward"], &[2]),
            // Tokens are padded, scores are converted to FP32, partial sums over K are added up.
            (
                &[
                    DENSE,
                    "triton_poi_fused_constant_pad_nd_moe_forward_0",
                    "_topk_forward",
                ],
                &[0],
            ),
            (
                &[
                    DENSE,
                    DENSE,
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
            // A choice in several steps has one router.
            (
                &[DENSE, "_topk_forward", "_combined_routing_compute", DENSE],
                &[0],
            ),
            // A choice of tokens, and experts without a router.
            (&[DENSE, "gatherTopK", DENSE], &[]),
            (&[DENSE, "Rmsnorm2dFwd", "_topk_forward"], &[]),
        ];
        for (kernels, expected) in cases {
            let roles = roles(kernels).into_iter().enumerate();
            let routers = roles.filter(|(_, role)| *role == Some(Router));
            let routers: Vec<usize> = routers.map(|(at, _)| at).collect();
            assert_eq!(routers, *expected, "{kernels:?}");
        }
    }

    #[test]
    fn a_layer_tells_what_its_kernels_do() {
        const GROUPED: &str = "void cutlass::device_kernel<cutlass::gemm::GroupProblemShape<int>>";
        const ACTIVATION: &str = "void vllm::act_and_mul_kernel<c10::BFloat16>";
        const QUANT: &str = "_per_token_group_quant_fp8";
        #[rustfmt::skip]
        let cases: &[&[(&str, Option<MoeRole>)]] = &[
            // One kernel for both GEMMs, twice in a row for two chunks of tokens.
            &[
                (DENSE, Some(Router)), ("void vllm::moe::topkGatingSoftmax<4>", Some(TopK)),
                ("void vllm::moe::moe_align_block_size_kernel<int>", Some(Sort)),
                ("fused_moe_kernel", Some(Gemm1)), (ACTIVATION, Some(Activation)), ("fused_moe_kernel", Some(Gemm2)),
                ("fused_moe_kernel", Some(Gemm1)), (ACTIVATION, Some(Activation)), ("fused_moe_kernel", Some(Gemm2)),
                ("void vllm::moe::moe_sum_kernel<c10::BFloat16, 8>", Some(Combine)),
            ],
            // FP8: tokens are quantized for both GEMMs; the dense layers before and after use the same kernels.
            &[
                (QUANT, None), (DENSE, None), (ACTIVATION, None), (QUANT, None), (DENSE, None), ("attn_fwd", None),
                ("biased_grouped_topk", Some(TopK)),
                (QUANT, Some(Prepare)), ("fused_moe_kernel", Some(Gemm1)), (ACTIVATION, Some(Activation)),
                (QUANT, Some(Prepare)), ("fused_moe_kernel", Some(Gemm2)), (ACTIVATION, None), (DENSE, None),
            ],
            // One name says it is the first GEMM, so the other is the second.
            &[
                ("_topk_forward", Some(TopK)),
                ("_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1_swiglu", Some(Gemm1)),
                ("_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1", Some(Gemm2)),
            ],
            // Grouped GEMMs belong to experts only after a kernel has chosen them.
            &[(GROUPED, None), ("attn_fwd", None), ("expandInputRowsKernel", Some(Sort)), (GROUPED, Some(Gemm1)), (GROUPED, Some(Gemm2))],
            // A single GEMM in a layer may do the work of both.
            &[("_topk_forward", Some(TopK)), ("fused_moe_kernel", Some(Gemm)), ("attn_fwd", None)],
        ];
        for layer in cases {
            let (kernels, expected): (Vec<&str>, Vec<Option<MoeRole>>) =
                layer.iter().copied().unzip();
            assert_eq!(roles(&kernels), expected, "{kernels:?}");
        }
    }

    #[test]
    fn what_runs_for_experts_alone_is_mixture_of_experts_work() {
        let profile = Timetable::new()
            .work("aten::mm", "Cijk_MT16x16x256", 100..110)
            .work("TopK", "_topk_forward", 110..120)
            .work("my::up", "fused_moe_kernel", 120..150)
            .work("my::silu", "act_and_mul_kernel", 150..155)
            .work("my::down", "fused_moe_kernel", 155..170)
            .work("aten::linear", "Cijk_MT16x16x256", 170..210)
            .profile();
        let families = profile.operations().iter();
        let families = families
            .map(|one| (one.short_name(&profile), one.family))
            .arranged_by_key(|(name, _)| *name);
        let expected = [
            ("TopK", Family::Moe),
            ("aten::linear", Family::Gemm),
            ("aten::mm", Family::Moe),
            ("my::down", Family::Moe),
            ("my::silu", Family::Moe),
            ("my::up", Family::Moe),
        ];
        assert_eq!(families, expected);
    }
}
