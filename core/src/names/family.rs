//! Dormer's own classification of GPU activity into families.

use serde::{Deserialize, Serialize};

use super::family_rules::{KERNEL_RULES, LABEL_RULES, OP_RULES};
use super::rule::first_match;
use crate::base::labels::labeled;

labeled! {
    /// A kind of work, coarse enough for a bar chart. The order is that of legends.
    #[derive(Serialize, Deserialize)]
    pub enum Family {
        /// GEMM.
        Gemm => "GEMM" as "gemm",
        /// Attention, fused or in parts that are specific to attention.
        Attention => "Attention" as "attention",
        /// Convolutions and their layout changes.
        Convolution => "Convolution" as "conv",
        /// Batch, layer, group and RMS norms.
        Normalization => "Normalization" as "norm",
        /// Each element read and written once: arithmetic, activations, casts, layout copies, concatenation, lookups by
        /// index, optimizers.
        Elementwise => "Element-wise" as "elementwise",
        /// Work along an axis: sums, softmax, losses, scans, pooling, top-k and sorting.
        Reduction => "Reduction" as "reduce",
        /// Routing and experts of mixture-of-experts layers.
        Moe => "MoE" as "moe",
        /// Kernels that torch.compile generated.
        Triton => "Triton" as "triton",
        /// Copies and fills of memory.
        MemoryCopy => "Memory copy" as "copy",
        /// Collectives and other traffic between GPUs.
        Communication => "Communication" as "comm",
        /// Nothing is known about it.
        Other => "Other" as "other",
        /// Kernels without a known launch, in a trace that has launches for others.
        Unattributed => "Unattributed" as "unattributed",
    }
}

impl Family {
    /// Whether it computes, rather than moves data.
    pub(crate) fn computes(self) -> bool {
        !matches!(self, Family::MemoryCopy | Family::Communication)
    }

    /// Its color, as the name of a style sheet token without the leading `--`.
    pub fn token(self) -> &'static str {
        self.key()
    }
}

labeled! {
    /// What the family of a kernel, copy or fill was determined from.
    pub enum Certainty {
        /// An operator launched it: the family follows from its name, or from both names.
        ByOperator => "operator",
        /// No operator is known above it, as in graphs and in GPU-only traces: the family follows from the kernel's
        /// name alone.
        ByKernelName => "kernel name",
    }
}

/// The family of an op from TraceLens's label, else from its name, else from a kernel it ran.
///
/// If `kernel` is one kernel of an op, this is the family of that kernel's time: a memory fill inside a GEMM counts as
/// the GEMM. Traffic between GPUs is communication whichever op starts it, as on the
/// [timeline](crate::profile::gpu::timeline). Computation that an op fuses with such traffic, as in asynchronous tensor
/// parallelism, is not. The name of a runtime call in place of an op says nothing (a graph launch owns hundreds of
/// kernels), so its kernels decide.
pub fn family_of_op(label: &str, name: &str, kernel: Option<&str>) -> Family {
    let of_kernel = kernel.map(family_of_kernel);
    let of_kernel = of_kernel.filter(|family| *family != Family::Other);
    if of_kernel == Some(Family::Communication) {
        return Family::Communication;
    }
    let by_label = LABEL_RULES
        .iter()
        .find(|(_, labels)| labels.contains(&label))
        .map(|(family, _)| *family);
    // The name of this library says nothing about its operators.
    let name = name.strip_prefix("fbgemm::").unwrap_or(name);
    match (by_label.or_else(|| first_match(OP_RULES, name)), of_kernel) {
        (None | Some(Family::Communication), Some(family)) => family,
        // A generated kernel named after the experts.
        (Some(Family::Triton), Some(Family::Moe)) => Family::Moe,
        (Some(family), _) => family,
        (None, None) => match label {
            "elementwise" | "multi_tensor_apply" => Family::Elementwise,
            _ => Family::Other,
        },
    }
}

/// The family of a kernel, copy or fill from its name alone.
pub fn family_of_kernel(name: &str) -> Family {
    first_match(KERNEL_RULES, name).unwrap_or(Family::Other)
}

#[cfg(test)]
mod tests {
    use super::super::rule::{Rule, assert_each_decides_its_example};
    use super::Family::*;
    use super::*;

    #[test]
    fn every_example_is_of_the_family_its_rule_names() {
        for Rule { example, kind, .. } in KERNEL_RULES {
            assert_eq!(family_of_kernel(example), *kind, "{example}");
        }
        for Rule { example, kind, .. } in OP_RULES {
            assert_eq!(family_of_op("other", example, None), *kind, "{example}");
        }
    }

    #[test]
    fn every_rule_decides_its_own_example() {
        assert_each_decides_its_example(KERNEL_RULES);
        assert_each_decides_its_example(OP_RULES);
    }

    #[test]
    fn every_label_of_the_reference_has_a_family() {
        for op in crate::names::known_ops() {
            let family = family_of_op(op.label, op.name, None);
            assert!(
                family != Other || matches!(op.label, "mHC"),
                "{} ({})",
                op.name,
                op.label
            );
        }
    }

    #[test]
    fn an_op_speaks_for_its_kernels() {
        #[rustfmt::skip]
        let cases = [
            // The layout change inside a convolution is convolution.
            ("CONV_fwd", "aten::miopen_convolution", "batched_transpose_32x32_half", Convolution),
            ("GEMM", "aten::addmm", "Memset (Device)", Gemm),
            // A copy between devices is labeled element-wise like one on the device.
            ("elementwise", "aten::copy_", "Memcpy HtoD (Pinned -> Device)", MemoryCopy),
            ("elementwise", "aten::copy_", "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda>", Elementwise),
            // A graph launch runs kernels of every family.
            ("other", "hipGraphLaunch", "Cijk_Alik_Bljk_BBS_BH_MT256x224x64", Gemm),
            ("other", "cudaGraphLaunch", "void flash_fwd_kernel<Flash_fwd_kernel_traits<128>>", Attention),
            ("other", "my::op", "my_kernel", Other),
            ("other", "fbgemm::split_embedding_codegen_lookup_sgd_function", "my_kernel", Elementwise),
            ("other", "fbgemm::f8f8bf16_rowwise", "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal>", Gemm),
            // Traffic between GPUs is communication, even inside an MoE layer.
            ("MoE_fused", "my::moe", "void deep_ep::internode_ll::dispatch<true, false, 7168>(void*)", Communication),
            // Computation fused with such traffic is not.
            ("other", "trtllm::gemm_allreduce", "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal>", Gemm),
            ("other", "symm_mem::fused_all_gather_matmul", "Memcpy PtoP (Device -> Device)", MemoryCopy),
            ("other", "vllm::all_reduce", "my_kernel", Communication),
            ("triton", "triton_poi_fused_constant_pad_nd_moe_forward_0", "triton_poi_fused_constant_pad_nd_moe_forward_0", Moe),
            ("other", "TopK", "_topk_forward", Moe),
            ("other", "vllm::inplace_fused_experts", "void vllm::act_and_mul_kernel<c10::BFloat16>", Moe),
        ];
        for (label, name, kernel, expected) in cases {
            assert_eq!(
                family_of_op(label, name, Some(kernel)),
                expected,
                "{name} {kernel}"
            );
        }
    }

    #[test]
    fn copies_that_torch_compile_makes_for_a_collective_are_no_collective() {
        for name in [
            "triton_poi_fused_all_reduce_0",
            "triton_poi_fused_reduce_scatter_tensor_1",
            "triton_per_fused_add_all_to_all_single_2",
        ] {
            assert_eq!(family_of_kernel(name), Triton, "{name}");
        }
    }

    #[test]
    fn each_family_has_a_label_and_a_token_of_its_own() {
        for (row, one) in Family::ALL.iter().enumerate() {
            for other in &Family::ALL[row + 1..] {
                assert_ne!(one.label(), other.label());
                assert_ne!(one.token(), other.token());
            }
        }
    }
}
