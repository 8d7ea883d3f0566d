//! The step of a layer that a kernel performs. GEMMs get their roles from the steps around them.

use super::attention::{AttentionKernel, is_main};
use super::gemm::{is_layout_change, is_split_sum};
use super::moe::MoeRole;
use super::triton::LoopKind;
use super::words::holds;
use super::{Family, family_of_kernel};

/// A step of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    /// A GEMM with weights.
    Gemm,
    /// Sums the parts of the preceding GEMM.
    GemmSum,
    /// The attention of a layer.
    Attention,
    /// Combines the parts of the preceding attention.
    AttentionSum,
    /// Writes keys and values to the cache.
    Store,
    /// Applies rotary embeddings to queries and keys.
    Rope,
    /// Normalizes, and adds the residual if `adds` is true.
    Norm { adds: bool },
    /// Applies the activation of an MLP, gated or not.
    Activation,
    /// Selects experts.
    TopK,
    /// Sorts tokens by expert.
    Sort,
    /// An expert GEMM.
    Expert,
    /// Sums the results of a token's experts.
    Combine,
    /// Pads tokens for the experts.
    Pad,
    /// Anything else.
    Other,
}

#[rustfmt::skip]
const ACTIVATIONS: &[&str] = &["silu", "gelu", "swiglu", "act_and_mul"];
const NARROWS: &[&str] = &["quant"];

impl Step {
    /// From the name of a kernel.
    pub(crate) fn of(kernel: &str) -> Step {
        if is_split_sum(kernel) {
            return Step::GemmSum;
        }
        let is_activation = || holds(kernel, ACTIVATIONS) && !holds(kernel, NARROWS);
        match family_of_kernel(kernel) {
            Family::Attention => of_attention(kernel),
            Family::Gemm if !is_layout_change(kernel) => Step::Gemm,
            Family::Moe => of_experts(kernel),
            Family::Normalization => Step::Norm {
                adds: holds(kernel, &["fused_add", "add_rms", "fusedadd", "addrms"]),
            },
            Family::Triton if is_gemm_template(kernel) => Step::Gemm,
            _ if holds(kernel, &["rotary", "_rope_", "rope_kernel"]) => Step::Rope,
            Family::Elementwise | Family::Triton | Family::Other if is_activation() => {
                Step::Activation
            }
            _ => Step::Other,
        }
    }
}

fn of_attention(kernel: &str) -> Step {
    const STORES: &[&str] = &[
        "and_cache",
        "store_cache",
        "store_kvcache",
        "kv_cache_kernel",
    ];
    const SUMS: &[&str] = &["reduce", "combine", "merge_state", "stage2"];
    match AttentionKernel::of_name(kernel) {
        _ if is_main(kernel) => Step::Attention,
        Some(AttentionKernel::Cache) if holds(kernel, STORES) => Step::Store,
        _ if holds(kernel, SUMS) => Step::AttentionSum,
        _ => Step::Other,
    }
}

fn of_experts(kernel: &str) -> Step {
    let is_narrowing = || holds(kernel, NARROWS) && !is_gemm(kernel);
    match MoeRole::of(kernel, "") {
        MoeRole::Router | MoeRole::TopK => Step::TopK,
        MoeRole::Combine => Step::Combine,
        MoeRole::Activation => Step::Activation,
        MoeRole::Sort => Step::Sort,
        MoeRole::Dispatch => Step::Other,
        _ if is_narrowing() => Step::Other,
        MoeRole::Prepare => Step::Pad,
        MoeRole::Gemm1 | MoeRole::Gemm2 | MoeRole::Gemm | MoeRole::Fused => Step::Expert,
    }
}

/// Whether a kernel that was generated from a template is a GEMM.
fn is_gemm_template(kernel: &str) -> bool {
    LoopKind::of(kernel) == LoopKind::Template && holds(kernel, &["mm"])
}

/// Whether a kernel applies GELU, alone or fused.
pub(crate) fn is_gelu(kernel: &str) -> bool {
    holds(kernel, &["gelu"])
}

/// Whether a kernel is a layer norm.
pub(crate) fn is_layer_norm(kernel: &str) -> bool {
    holds(kernel, &["layer_norm", "layernorm"])
}

/// Whether a name that mentions quantization is nevertheless that of a GEMM.
fn is_gemm(kernel: &str) -> bool {
    holds(kernel, &["gemm", "matmul", "fused_moe_kernel"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_step() {
        #[rustfmt::skip]
        let cases = [
            ("Cijk_Alik_Bljk_BBS_BH_MT32x32x256", Step::Gemm),
            ("nvjet_tst_64x64_64x16_2x1_2cta_v_bz_bias_TNT", Step::Gemm),
            ("void cublasLt::splitKreduce_kernel<32, 16>", Step::GemmSum),
            ("kernel_unified_attention_2d", Step::Attention),
            ("reduce_segments", Step::AttentionSum),
            ("void vllm::reshape_and_cache_flash_kernel<__hip_bfloat16>", Step::Store),
            ("void vllm::rotary_embedding_kernel<c10::BFloat16, true>", Step::Rope),
            ("void flashinfer::BatchQKApplyRotaryPosIdsCosSinCacheKernel<true, 64, 8>", Step::Rope),
            ("void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>", Step::Norm { adds: true }),
            ("_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_27Rmsnorm2dFwdPipelineOnePass", Step::Norm { adds: false }),
            ("void vllm::act_and_mul_kernel<c10::BFloat16, silu_kernel>", Step::Activation),
            ("triton_poi_fused_mul_silu_3", Step::Activation),
            ("_topk_forward", Step::TopK),
            ("void vllm::moe::topkGatingSoftmax<4, 128>", Step::TopK),
            ("_sum_bitmatrix_rows", Step::Sort),
            ("_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1_swiglu", Step::Expert),
            ("fused_moe_kernel", Step::Expert),
            ("_finalize_matmul_scatter_bf16", Step::Combine),
            ("void vllm::moe::moe_sum_kernel<c10::BFloat16, 4>", Step::Combine),
            ("triton_poi_fused_constant_pad_nd_moe_forward_0", Step::Pad),
            ("triton_poi_fused__to_copy_1", Step::Other),
            ("triton_tem_fused_addmm_gelu_5", Step::Gemm),
            ("triton_per_fused__to_copy_addmm_mean_pow_view_7", Step::Other),
        ];
        for (kernel, expected) in cases {
            assert_eq!(Step::of(kernel), expected, "{kernel}");
        }
    }
}
