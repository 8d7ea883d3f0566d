//! Roles of kernels in MoE layers, from the names of operators and kernels.

use super::words::{Words, classify, holds};
use crate::base::labels::labeled;

labeled! {
    /// The role of a kernel or an operator in an MoE layer.
    pub(crate) enum MoeRole {
        /// Scores the experts for each token.
        Router => "router",
        /// Selects the experts.
        TopK => "top-k",
        /// Sorts, aligns and gathers tokens by expert.
        Sort => "sort and align",
        /// Pads or quantizes tokens for the grouped GEMMs.
        Prepare => "pad and quantize",
        /// Gate and up projection of the selected experts.
        Gemm1 => "GEMM1 (gate-up)",
        /// Activation between both GEMMs, as a separate kernel.
        Activation => "activation",
        /// Down projection of the selected experts.
        Gemm2 => "GEMM2 (down)",
        /// A grouped GEMM; which one is unknown.
        Gemm => "expert GEMM",
        /// All expert computation in one operation.
        Fused => "fused MoE",
        /// Sums the results of the selected experts.
        Combine => "combine",
        /// Communication: sends tokens to the GPUs of their experts and back.
        Dispatch => "dispatch and combine between GPUs",
    }
}

#[rustfmt::skip]
const WORDS: &Words<MoeRole> = &[
    (MoeRole::Prepare, &[
        "pad_nd_moe_forward", "quant_moe", "moe_quant", "quantize_with_block_size",
        "per_token_group_quant",
    ]),
    (MoeRole::Activation, &["and_mul", "silu_mul", "doactivation", "dogatedactivation", "dev::activation"]),
    (MoeRole::Gemm1, &["gemm1", "stage1", "swiglu", "_up", "gate_up"]),
    (MoeRole::Gemm2, &["gemm2", "stage2", "_down"]),
    (MoeRole::Sort, &["combined_routing", "routing_compute", "indiceshistogramkernel", "indicesoffsets"]),
    (MoeRole::Combine, &["finalize", "moe_sum", "mul_sum", "post_reorder", "ep_gather", "unpermute"]),
    (MoeRole::Router, &["router"]),
    (MoeRole::TopK, &["gating", "gate_", "routing", "topk", "top_k"]),
    (MoeRole::Sort, &[
        "sort", "align", "permute", "scatter", "gather", "expandinputrows", "buildexpertmaps",
        "computestrides", "bitmatrix", "writeback_idx", "reorder_triton", "src2dst", "masked_m_",
        "shuffleinputrows", "problem_sizes",
    ]),
    (MoeRole::Fused, &["fmoe"]),
    (MoeRole::Gemm, &[
        "matmul_ogs", "fused_moe_kernel", "moe_gemm", "moe_mxgemm", "moeflatmm", "moe_flatmm", "wna16",
        "marlin", "_dynbatch", "groupproblemshape", "group_gemm", "grouped_gemm", "groupedgemm",
        "mgrouped", "gemmtype)1", "gemmtype)2",
    ]),
];

/// Softmax, bias or groups, and the selection of experts in one kernel.
#[rustfmt::skip]
const FUSED_ROUTING: &[&str] = &["fused", "topk_softmax", "topkgating", "topk_gating", "grouped_topk"];

/// GEMMs of 8 bits or fewer.
const NARROW: &[&str] = &["fp8", "fp4", "int8", "int4", "mxfp", "w4a", "w8a8"];

impl MoeRole {
    /// From the name and TraceLens's label.
    pub(crate) fn of(name: &str, label: &str) -> MoeRole {
        match (label, MoeRole::of_name(name)) {
            ("MoE_fused", _) => MoeRole::Fused,
            ("MoE_unfused", Some(role @ (MoeRole::Gemm1 | MoeRole::Gemm2))) => role,
            ("MoE_unfused", _) => MoeRole::Gemm,
            _ if is_layer(name) => MoeRole::Fused,
            (_, Some(role)) => role,
            ("MoE_aux", None) => MoeRole::Sort,
            (_, None) => MoeRole::Fused,
        }
    }

    /// The role of a kernel that is known to be in an MoE layer, from its own name, else from its template arguments.
    pub(crate) fn of_name(name: &str) -> Option<MoeRole> {
        let own = name.split('<').next().unwrap_or(name);
        classify(WORDS, own).or_else(|| classify(WORDS, name))
    }

    /// Whether it is one of the two expert GEMMs, as a separate kernel.
    pub(crate) fn is_gemm(self) -> bool {
        matches!(self, MoeRole::Gemm1 | MoeRole::Gemm2 | MoeRole::Gemm)
    }

    /// Whether it is work around the GEMMs.
    pub(crate) fn is_around(self) -> bool {
        use MoeRole::{Combine, Prepare, Router, Sort, TopK};
        matches!(self, Router | TopK | Sort | Prepare | Combine)
    }
}

/// Whether an operator can be a whole MoE layer: its name mentions experts, but none of the layer's parts. Kernels do
/// not have an operator's namespace.
pub(crate) fn is_layer(op: &str) -> bool {
    const EXPERTS: &[&str] = &["moe", "experts"];
    const PARTS: &[&str] = &[
        "quant",
        "dispatch",
        "combine",
        "sum",
        "activation",
        "act_and_mul",
        "gemm",
    ];
    let is_operator =
        op.contains("::") && !op.starts_with("aten::") && !op.contains([' ', '<', '(']);
    let is_part =
        || MoeRole::of_name(op).is_some_and(|role| !matches!(role, MoeRole::Gemm | MoeRole::Fused));
    is_operator && holds(op, EXPERTS) && !holds(op, PARTS) && !is_part()
}

/// Whether a kernel, in an MoE layer or not, is a gated activation, including compiler-generated ones.
pub(crate) fn is_gated_activation(kernel: &str) -> bool {
    holds(kernel, &["and_mul", "silu", "swiglu", "gelu"])
}

/// Whether a kernel, in an MoE layer or not, quantizes.
pub(crate) fn quantizes(kernel: &str) -> bool {
    holds(kernel, &["quant", "to_fp8", "to_fp4", "to_mxfp"])
        && !holds(kernel, &["dequant", "noquant"])
}

/// Whether an operator or a kernel dequantizes, other than for a KV cache, or to simulate quantization.
pub(crate) fn dequantizes(name: &str) -> bool {
    holds(name, &["dequant"])
        && !holds(
            name,
            &["cache", "fake", "quant_dequant", "quantize_dequantize"],
        )
}

/// Whether one kernel does all of the routing.
pub(crate) fn is_fused_routing(name: &str) -> bool {
    holds(name, FUSED_ROUTING)
}

/// Whether a name contains a type of 8 bits or fewer.
pub(crate) fn is_narrow(name: &str) -> bool {
    holds(name, NARROW)
}

#[cfg(test)]
mod tests {
    use super::MoeRole::{self, *};

    #[test]
    fn names_and_labels_tell_the_role() {
        #[rustfmt::skip]
        let cases = [
            ("aiter::fmoe_g1u1", "MoE_fused", Fused),
            ("aiter::ck_moe_stage1", "MoE_unfused", Gemm1),
            ("aiter::moe_sorting_fwd", "MoE_aux", Sort),
            ("aiter::biased_grouped_topk_hip", "MoE_aux", TopK),
            ("vllm::moe_forward", "other", Fused),
            ("vllm::fused_marlin_moe", "other", Fused),
            ("vllm::moe_wna16_gemm", "other", Gemm),
            ("my::moe_gemm2", "other", Gemm2),
            ("TopK", "other", TopK),
            ("pseudo_op::moe_triton_unfused_up", "MoE_unfused", Gemm1),
            ("pseudo_op::moe_triton_unfused_down", "MoE_unfused", Gemm2),
        ];
        for (name, label, role) in cases {
            assert_eq!(MoeRole::of(name, label), role, "{name}");
        }
    }

    #[test]
    fn kernels_tell_their_role() {
        #[rustfmt::skip]
        let cases = [
            ("_router_triton_kernel", Router),
            ("_topk_forward", TopK),
            ("moe::dev::routing::routingIndicesHistogramScoresKernel<256>", TopK),
            ("void vllm::topkGatingSoftmax<4, 128>", TopK),
            ("void aiter::grouped_topk_opt_kernel<__hip_bfloat16>", TopK),
            ("biased_grouped_topk", TopK),
            ("void moe_fused_gate_kernel<256>", TopK),
            ("_sum_bitmatrix_rows", Sort),
            ("_combined_routing_memset", Sort),
            ("_combined_routing_compute", Sort),
            ("moe::dev::routing::routingIndicesHistogramKernel<256>", Sort),
            ("moe::dev::routing::routingIndicesOffsetsKernel<256>", Sort),
            ("void vllm::moe::moe_align_block_size_kernel<int>", Sort),
            ("void vllm::moe::count_and_sort_expert_tokens_kernel<int>", Sort),
            ("ck_tile::MoeSortingMultiPhaseKernel_P0", Sort),
            ("triton_poi_fused_constant_pad_nd_moe_forward_0", Prepare),
            ("void quantize_with_block_size<(BlockScaleQuantizationType)1>", Prepare),
            ("fused_dynamic_mxfp4_quant_moe_sort_kernel", Prepare),
            ("void per_token_group_quant_8bit_kernel<c10::BFloat16>", Prepare),
            ("_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1_swiglu", Gemm1),
            ("_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1", Gemm),
            ("bmm_MxE4m3_MxE2m1MxE4m3_Fp32_t128x16x256u2_s6_et64x16_swiGlu_dynBatch_sm100f", Gemm1),
            ("bmm_Bfloat16_MxE2m1MxE4m3_Fp32_t128x16x256u2_s6_dynBatch_sm100f", Gemm),
            ("fused_moe_kernel", Gemm),
            ("fused_moe_kernel_gptq_awq", Gemm),
            ("aiter::fmoe_bf16_pertokenFp8_g1u1_silu_1tg_32x384", Fused),
            ("void ck::kernel_moe_gemm<ck::GridwiseMoeGemm>", Gemm),
            ("void ck::kernel_moe_mxgemm_2lds<ck::GridwiseMoeGemmMX>", Gemm),
            ("aiter::moe_ck2stages_gemm2_256x64x128", Gemm2),
            ("ck_tile::MoeFlatmmKernel", Gemm),
            ("void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cutlass::gemm::GroupProblemShape<cute::tuple<int>>>>", Gemm),
            ("void deep_gemm::fp8_gemm_kernel<7168u, 2048u, (deep_gemm::GemmType)1>", Gemm),
            ("void marlin_moe_wna16::Marlin<__nv_bfloat16>", Gemm),
            ("void vllm::act_and_mul_kernel<c10::BFloat16>", Activation),
            ("_finalize_matmul_scatter_bf16", Combine),
            ("moe::dev::finalize::finalizeKernel<256>", Combine),
            ("void vllm::moe::moe_sum_kernel<c10::BFloat16, 8>", Combine),
            ("_moe_sum_reduce_kernel", Combine),
        ];
        for (name, role) in cases {
            assert_eq!(MoeRole::of_name(name), Some(role), "{name}");
        }
    }

    #[test]
    fn layers_are_told_from_their_parts() {
        for (op, expected) in [
            ("flashinfer::cutlass_fused_moe", true),
            ("vllm::rocm_aiter_ck_moe", true),
            ("vllm::fused_marlin_moe", true),
            ("sgl_kernel::fused_experts_cpu", true),
            ("aiter::moe_sorting_fwd", false),
            ("_moe_C::topk_softmax", false),
            ("_moe_C::moe_sum", false),
            ("vllm::moe_wna16_marlin_gemm1", false),
            ("void vllm::moe::moe_align_block_size_kernel<int>", false),
            ("fused_moe_kernel", false),
            ("aten::mm", false),
        ] {
            assert_eq!(super::is_layer(op), expected, "{op}");
        }
    }
}
