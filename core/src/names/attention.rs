//! Attention, by the names of operators and kernels.

use super::moe::quantizes;
use super::words::{Words, classify, holds, leading_digits};
use super::{Family, family_of_kernel};
use crate::base::labels::labeled;
use AttentionKernel::{Cache, Flash, Flex, Library, Linear, Math, MemoryEfficient, Paged};

labeled! {
    /// The kinds of attention kernels.
    pub(crate) enum AttentionKernel {
        /// Exact attention in tiles that writes only its result.
        Flash => "flash",
        /// The framework's other fused kernel, which also supports FP32 and masks.
        MemoryEfficient => "memory-efficient",
        /// The DNN library's.
        Library => "DNN library",
        /// Attention over a paged KV cache, as in serving engines.
        Paged => "paged",
        /// Attention with a compiled score function.
        Flex => "flex",
        /// Linear attention and its states.
        Linear => "linear attention",
        /// Writes keys and values to the KV cache, or prepares its tables.
        Cache => "cache",
        /// The framework's unfused path.
        Math => "math",
        Other => "other",
    }
}

#[rustfmt::skip]
const WORDS: &Words<AttentionKernel> = &[
    (Math, &["_attention_math"]),
    (Flex, &["flex_attention"]),
    (Cache, &[
        "reshape_and_cache", "concat_and_cache", "store_cache", "store_kvcache", "kv_indices",
        "req_to_token", "dequant_cache", "get_mla_metadata",
    ]),
    (Linear, &[
        "linear_attention", "delta_rule", "gdn_", "dot_kkt", "recompute_w_u", "chunk_fwd", "kda_",
        "solve_tril", "merge_16x16", "_fwd_diag_", "_fwd_none_diag_", "_fwd_kv_", "rwkv", "_gla_",
    ]),
    // `sgl_kernel::fwd` is FlashAttention-3 over SGLang's paged cache.
    (Paged, &[
        "paged", "sgl_kernel::fwd", "unified_attention", "batch_prefill", "batchprefill",
        "batchdecode", "pa_decode", "pa_sparse", "pa_bf16", "pa_fp16", "mla_", "vllm", "sglang",
        "sgl_kernel", "merge_state", "flashinfer", "_fwd_grouped_kernel_stage", "_fwd_kernel_stage",
    ]),
    (Library, &["cudnn"]),
    (MemoryEfficient, &["efficient_attention", "mem_eff", "fmha_cutlass"]),
    (Flash, &["sage_fwd", "flash", "fmha", "attn_fwd", "attn_bwd", "bwd_kernel_dk_dv", "bwd_kernel_dq", "mha_"]),
];

impl AttentionKernel {
    /// From one name; `None` if it is not known.
    pub(crate) fn of_name(name: &str) -> Option<AttentionKernel> {
        classify(WORDS, name)
    }

    /// Whether it is attention with scores, whose usual efficiency by length is known.
    pub(crate) fn has_scores(self) -> bool {
        !matches!(self, Linear | Cache)
    }

    /// Whether it never writes its scores to memory.
    pub(crate) fn is_fused(self) -> bool {
        matches!(self, Flash | MemoryEfficient | Library | Flex | Paged)
    }
}

pub(crate) fn is_backward(name: &str) -> bool {
    holds(name, &["backward", "bwd"])
}

/// Whether a kernel splits the keys of a query, or combines the results of such splits.
pub(crate) fn splits_keys(kernel: &str) -> bool {
    holds(kernel, &["splitkv", "split_kv", "splitk", "combine"])
}

/// Whether a kernel computes the attention of a layer: one such kernel runs per layer. Writing the cache, preparing,
/// quantizing and summing partial results are separate steps.
pub(crate) fn is_main(kernel: &str) -> bool {
    const MOST_OWN: usize = 80;
    const AROUND: &[&str] = &[
        "reduc",
        "combine",
        "concat",
        "gather",
        "set_mla",
        "prepare",
        "merge",
        "indices",
        "metadata",
        "stage2",
        "logits",
        "gating",
        "dequant",
        "req_to_token",
        "position",
    ];
    // Template arguments, and what follows the function in a mangled name, are only options.
    let own = own_name(kernel);
    let own = own.get(..MOST_OWN).unwrap_or(own);
    let computes = || match AttentionKernel::of_name(kernel) {
        Some(Linear) => holds(kernel, &["chunk_fwd_kernel_o", "fused_recurrent"]),
        Some(Cache) => false,
        _ => true,
    };
    let is_around = || holds(own, AROUND) || quantizes(own);
    family_of_kernel(kernel) == Family::Attention && !is_around() && computes()
}

/// The name of a kernel without its template arguments; for a wrapper, the name of the wrapped kernel:
/// `cutlass::device_kernel<flash::enable_sm80_or_later<flash::FlashAttnFwdCombine<…>>>`.
fn own_name(kernel: &str) -> &str {
    const STARTERS: &[&str] = &["device_kernel", "enable_sm", "kentry"];
    let mut parts = kernel.split('<');
    parts.find(|part| !holds(part, STARTERS)).unwrap_or(kernel)
}

/// The type of a KV cache, by the kernel that writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CacheType {
    /// The model's own type.
    OfModel,
    Fp8,
}

/// The cache type that a cache-writing kernel is compiled for: the last parameter of
/// `reshape_and_cache_flash_kernel<scalar, cache, (vllm::Fp8KVCacheDataType)1>`.
pub(crate) fn cache_type(kernel: &str) -> Option<CacheType> {
    const MARK: &str = "Fp8KVCacheDataType)";
    let (_, rest) = kernel.split_once(MARK)?;
    if AttentionKernel::of_name(kernel) != Some(Cache) {
        return None;
    }
    match leading_digits(rest) {
        "" => None,
        "0" => Some(CacheType::OfModel),
        _ => Some(CacheType::Fp8),
    }
}

/// The index of the cache among the arguments of an operator that writes it.
pub(crate) fn cache_argument(op: &str) -> Option<usize> {
    const OPS: &[&str] = &["::reshape_and_cache", "::concat_and_cache_mla"];
    OPS.iter()
        .any(|of| op.contains(of) && !op.contains('<'))
        .then_some(2)
}

/// Whether a kernel is FlashAttention-2, from PyTorch or its own package.
pub(crate) fn is_flash_2(kernel: &str) -> bool {
    kernel.contains("flash::flash_fwd") || kernel.contains("flash::flash_bwd")
}

/// The head dimension that a kernel is compiled for, if its name has it: "Flash_fwd_kernel_traits<96, …",
/// "fmha_fwd_hd128_bf16".
pub(crate) fn head_dimension(kernel: &str) -> Option<u64> {
    ["kernel_traits<", "_hd", "hdim"].iter().find_map(|mark| {
        let at = kernel.find(mark)? + mark.len();
        let size = leading_digits(kernel.get(at..)?).parse().ok();
        size.filter(|size| (16..=512).contains(size))
    })
}

/// Whether a kernel pads the head dimension to the next power of two: those written in Triton, which supports no other
/// block sizes.
pub(crate) fn pads_head_dimension(kernel: &str) -> bool {
    const WORDS: &[&str] = &[
        "attn_fwd",
        "attn_bwd",
        "bwd_kernel_dk_dv",
        "bwd_kernel_dq",
        "kernel_unified_attention",
        "_fwd_kernel",
        "triton_tem_fused_flex_attention",
    ];
    !kernel.contains("::") && holds(kernel, WORDS)
}

/// The tile of a kernel, as numbers of queries and keys, if its name has it: "Flash_fwd_kernel_traits<64, 128, 64, …",
/// "aligned_64x128_rf", "wgmma_f16_knob_3_64x128x128".
pub(crate) fn tile(kernel: &str) -> Option<(u64, u64)> {
    let size = |text: &str| {
        leading_digits(text)
            .parse()
            .ok()
            .filter(|size| (16..=512).contains(size))
    };
    if let Some(at) = kernel.find("kernel_traits<") {
        let mut sizes = kernel.get(at..)?.split(['<', ',']).skip(2).map(str::trim);
        return Some((size(sizes.next()?)?, size(sizes.next()?)?));
    }
    let is_named = holds(kernel, &["fmha_cutlass", "sdpa", "fmha_fwd"]);
    let pair = |part: &str| {
        let (first, second) = part.split_once('x')?;
        let is_whole = leading_digits(first) == first;
        is_whole.then_some((size(first)?, size(second)?))
    };
    kernel.split('_').filter(|_| is_named).find_map(pair)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_kind() {
        #[rustfmt::skip]
        let cases = [
            ("aten::_scaled_dot_product_flash_attention", Flash),
            ("aten::_scaled_dot_product_efficient_attention", MemoryEfficient),
            ("aten::_scaled_dot_product_cudnn_attention", Library),
            ("vllm::unified_attention_with_output", Paged),
            ("aiter::mha_batch_prefill", Paged),
            ("_C_cache_ops::reshape_and_cache_flash", Cache),
            ("sgl_kernel::fwd", Paged),
            ("sgl_kernel::merge_state", Paged),
            ("vllm::gdn_attention_core", Linear),
            ("chunk_kda_fwd_kernel_intra_sub_inter", Linear),
            ("aten::_scaled_dot_product_attention_math", Math),
            ("triton_tem_fused_flex_attention_0", Flex),
            ("attn_fwd", Flash),
            ("fmha_cutlassF_bf16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel)", MemoryEfficient),
            ("cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_3_64x128x128", Library),
        ];
        for (name, kind) in cases {
            assert_eq!(AttentionKernel::of_name(name), Some(kind), "{name}");
        }
        assert_eq!(AttentionKernel::of_name("aten::my_op"), None);
    }

    #[test]
    fn names_tell_the_tile() {
        #[rustfmt::skip]
        let cases = [
            ("void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<96, 128, 64, 4>>", Some((128, 64))),
            ("fmha_cutlassF_bf16_aligned_64x128_rf_sm80(PyTorchMemEffAttention::AttentionKernel)", Some((64, 128))),
            ("cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_3_64x128x128", Some((64, 128))),
            ("attn_fwd", None),
            ("void flash::kernel_traits<", None),
        ];
        for (kernel, sizes) in cases {
            assert_eq!(tile(kernel), sizes, "{kernel}");
        }
        assert!(pads_head_dimension("attn_fwd.kd"));
        assert!(!pads_head_dimension(
            "void pytorch_flash::flash_fwd_kernel<…>"
        ));
    }

    #[test]
    fn one_kernel_of_a_layer_is_its_attention() {
        #[rustfmt::skip]
        let cases = [
            ("kernel_unified_attention_2d", true),
            ("kernel_unified_attention_3d", true),
            ("reduce_segments", false),
            ("sage_fwd", true),
            ("sage_quant_kernel", false),
            ("void vllm::reshape_and_cache_flash_kernel<__hip_bfloat16, __hip_bfloat16>", false),
            ("void vllm::rotary_embedding_kernel<c10::BFloat16, true>", false),
            ("void flash::flash_fwd_splitkv_combine_kernel<Flash_fwd_kernel_traits<128>>", false),
            ("void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<96>>", true),
            ("_ZN7ck_tile6kentryILi2ENS_38FmhaBatchPrefillWithPagedKVCacheKernelINS_40BlockFmhaBatchPrefillPipelineQRKSVSAsyncINS_28BlockAttentionQuantScaleEnumE0E", true),
            ("_fwd_grouped_kernel_stage1", true),
            ("_fwd_kernel_stage2", false),
            ("void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2>>>>", true),
            ("void cutlass::device_kernel<flash::enable_sm80_or_later<flash::FlashAttnFwdCombine<cute::tuple<cute::C<8>>>>>", false),
            ("void cutlass::device_kernel<cutlass::fmha::kernel::Sm100FmhaMlaKernelTmaWarpspecialized<cute::tuple<cute::C<128>>>>", true),
            ("void cutlass::device_kernel<cutlass::fmha::kernel::Sm100FmhaMlaReductionKernel<cutlass::bfloat16_t>>", false),
            ("void ck_tile::kentry<2, ck_tile::FmhaFwdSplitKVKernel<ck_tile::Problem>>", true),
            ("void ck_tile::kentry<2, ck_tile::FmhaFwdSplitKVCombineKernel<ck_tile::Problem>>", false),
            ("void flash_fwd_splitkv_mla_kernel<Flash_fwd_kernel_traits_mla<576, 64, 64, 8>>", true),
            ("void flash_fwd_mla_combine_kernel<cutlass::bfloat16_t, 512>", false),
            ("_ZN5aiter32mla_a16w16_qh16_m16x4_n16x1_coex0_mask1E", true),
            ("kn_mla_reduce_v1_ps", false),
            ("fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKvSlidingOrChunkedCausalP32VarSeqQ8Kv128StaticSwapsAbForGen", true),
            ("void flashinfer::BatchDecodeWithPagedKVCacheKernel<128u, 2u>", true),
            ("void flashinfer::PersistentVariableLengthMergeStatesKernel<8u, 16u>", false),
            ("void paged_attention_ll4mi_QKV_mfma16_kernel<__hip_bfloat16, 16, 128>", true),
            ("void paged_attention_ll4mi_reduce_kernel<__hip_bfloat16, 128>", false),
            ("_ZN5aiter38pa_bf16_noquant_gqa8_1tg_4wE", true),
            ("concat_mla_absorb_q_kernel", false),
            ("set_mla_kv_buffer_kernel", false),
            ("void vllm::concat_and_cache_mla_kernel<__nv_bfloat16, __nv_bfloat16>", false),
        ];
        for (kernel, is) in cases {
            assert_eq!(is_main(kernel), is, "{kernel}");
        }
    }

    #[test]
    fn names_tell_the_head_dimension() {
        #[rustfmt::skip]
        let cases = [
            ("void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<96, 128, 64, 4>>", Some(96)),
            ("_ZN5aiter24fmha_fwd_hd128_bf16E", Some(128)),
            ("attn_fwd", None),
            ("Flash_fwd_kernel_traits<99999999999999999999999>", None),
            ("Flash_fwd_kernel_traits<>", None),
        ];
        for (kernel, size) in cases {
            assert_eq!(head_dimension(kernel), size, "{kernel}");
        }
    }
}
