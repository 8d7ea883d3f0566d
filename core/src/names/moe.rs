//! Parts of MoE layers, by the names of operators and kernels.

use super::words::{Words, holds, said_by};
use super::{Family, family_of_kernel};
use crate::base::labels::labelled;

labelled! {
    /// Parts of an MoE layer.
    pub(crate) enum MoePart {
        /// Chooses experts: gate, router.
        Routing => "routing",
        /// Pads or quantizes tokens for the grouped GEMMs.
        Preparation => "padding of tokens",
        /// Sorts, aligns, gathers and adds up tokens.
        Sorting => "sorting of tokens",
        /// The first or second grouped GEMM in a kernel of its own.
        Unfused => "expert GEMMs, unfused",
        /// All of the experts in one operation.
        Fused => "fused MoE",
    }
}

#[rustfmt::skip]
const WORDS: &Words<MoePart> = &[
    (MoePart::Preparation, &["pad_nd_moe_forward"]),
    (MoePart::Unfused, &["gemm1", "gemm2", "stage1", "stage2", "_up", "_down"]),
    (MoePart::Sorting, &["combined_routing", "indiceshistogramkernel", "indicesoffsets"]),
    (MoePart::Routing, &["gating", "gate_", "router", "routing", "topk", "top_k"]),
    (MoePart::Sorting, &[
        "sort", "align", "permute", "scatter", "gather", "expandinputrows", "finalize", "moe_sum",
        "buildexpertmaps", "computestrides", "bitmatrix", "writeback_idx", "reorder_triton",
        "src2dst", "masked_m_", "shuffleinputrows", "problem_sizes",
    ]),
];

/// Softmax, bias or groups and the choice of experts in one kernel.
#[rustfmt::skip]
const FUSED_ROUTING: &[&str] = &["fused", "topk_softmax", "topkgating", "topk_gating", "grouped_topk"];

/// GEMMs in eight bits or fewer.
const NARROW: &[&str] = &["fp8", "fp4", "int8", "int4", "mxfp", "w4a", "w8a8"];

impl MoePart {
    /// By the name and the reference's label.
    pub(crate) fn of(name: &str, label: &str) -> MoePart {
        match (label, said_by(WORDS, name)) {
            ("MoE_unfused", _) => MoePart::Unfused,
            ("MoE_fused", _) => MoePart::Fused,
            (_, Some(part)) => part,
            ("MoE_aux", None) => MoePart::Sorting,
            (_, None) => MoePart::Fused,
        }
    }
}

/// Whether an operator can be a whole layer: its name has experts in it, and none of the parts. Kernels
/// have no namespace of operators.
pub(crate) fn is_layer(op: &str) -> bool {
    const EXPERTS: &[&str] = &["moe", "experts"];
    const PARTS: &[&str] = &[
        "quant",
        "dispatch",
        "combine",
        "sum",
        "activation",
        "act_and_mul",
    ];
    let is_operator =
        op.contains("::") && !op.starts_with("aten::") && !op.contains([' ', '<', '(']);
    is_operator && holds(op, EXPERTS) && !holds(op, PARTS) && said_by(WORDS, op).is_none()
}

/// Whether a kernel chooses experts for tokens, or is the first step of that.
pub(crate) fn chooses_experts(kernel: &str) -> bool {
    let part = MoePart::of(kernel, "");
    part == MoePart::Routing && family_of_kernel(kernel) == Family::Moe
}

/// Whether one kernel does all of the routing.
pub(crate) fn is_fused_routing(name: &str) -> bool {
    holds(name, FUSED_ROUTING)
}

/// Whether a name tells a type of eight bits or fewer.
pub(crate) fn is_narrow(name: &str) -> bool {
    holds(name, NARROW)
}

#[cfg(test)]
mod tests {
    use super::MoePart::{self, *};

    #[test]
    fn names_and_labels_tell_the_part() {
        let cases = [
            ("aiter::fmoe_g1u1", "MoE_fused", Fused),
            ("aiter::ck_moe_stage1", "MoE_unfused", Unfused),
            ("aiter::moe_sorting_fwd", "MoE_aux", Sorting),
            ("aiter::biased_grouped_topk_hip", "MoE_aux", Routing),
            ("void vllm::topkGatingSoftmax<4, 128>", "other", Routing),
            ("vllm::moe_forward", "other", Fused),
            ("my::moe_gemm2", "other", Unfused),
            ("_combined_routing_memset", "other", Sorting),
            ("TopK", "other", Routing),
            ("_finalize_matmul_scatter_bf16", "other", Sorting),
            (
                "triton_poi_fused_constant_pad_nd_moe_forward_0",
                "triton",
                Preparation,
            ),
            (
                "moe::dev::routing::routingIndicesHistogramKernel<256>",
                "other",
                Sorting,
            ),
            (
                "moe::dev::routing::routingIndicesHistogramScoresKernel<256>",
                "other",
                Routing,
            ),
        ];
        for (name, label, part) in cases {
            assert_eq!(MoePart::of(name, label), part, "{name}");
        }
    }

    #[test]
    fn layers_are_told_from_their_parts() {
        for (op, expected) in [
            ("flashinfer::cutlass_fused_moe", true),
            ("vllm::rocm_aiter_ck_moe", true),
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
