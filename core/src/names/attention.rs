//! What the names of operators and kernels say of attention.

use AttentionKernel::{Cache, Flash, Flex, Library, Linear, Math, MemoryEfficient, Other, Paged};

/// What computes an attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AttentionKernel {
    /// Exact attention in tiles, with nothing but the result written.
    Flash,
    /// The other fused kernel of the framework, which also takes FP32 and masks.
    MemoryEfficient,
    /// The DNN library's.
    Library,
    /// Attention over a paged cache, as serving engines have it.
    Paged,
    /// Attention with a compiled score function.
    Flex,
    /// Linear attention and its states.
    Linear,
    /// Keys and values written to the cache, and its tables.
    Cache,
    /// The framework's unfused path.
    Math,
    /// Some other.
    Other,
}

/// Words in lower-case names; the first that is found decides.
#[rustfmt::skip]
const WORDS: &[(&str, AttentionKernel)] = &[
    ("_attention_math", Math),
    ("flex_attention", Flex),
    ("reshape_and_cache", Cache),
    ("concat_and_cache", Cache),
    ("store_cache", Cache),
    ("store_kvcache", Cache),
    ("kv_indices", Cache),
    ("req_to_token", Cache),
    ("dequant_cache", Cache),
    ("get_mla_metadata", Cache),
    ("linear_attention", Linear),
    ("delta_rule", Linear),
    ("gdn_", Linear),
    ("dot_kkt", Linear),
    ("recompute_w_u", Linear),
    ("chunk_fwd", Linear),
    ("kda_", Linear),
    ("solve_tril", Linear),
    ("merge_16x16", Linear),
    ("_fwd_diag_", Linear),
    ("_fwd_none_diag_", Linear),
    ("_fwd_kv_", Linear),
    ("rwkv", Linear),
    ("_gla_", Linear),
    ("paged", Paged),
    // FlashAttention-3 over the pages of SGLang's cache.
    ("sgl_kernel::fwd", Paged),
    ("unified_attention", Paged),
    ("batch_prefill", Paged),
    ("batchprefill", Paged),
    ("batchdecode", Paged),
    ("pa_decode", Paged),
    ("pa_sparse", Paged),
    ("pa_bf16", Paged),
    ("pa_fp16", Paged),
    ("mla_", Paged),
    ("vllm", Paged),
    ("sglang", Paged),
    ("sgl_kernel", Paged),
    ("merge_state", Paged),
    ("flashinfer", Paged),
    ("_fwd_grouped_kernel_stage", Paged),
    ("_fwd_kernel_stage", Paged),
    ("cudnn", Library),
    ("efficient_attention", MemoryEfficient),
    ("mem_eff", MemoryEfficient),
    ("fmha_cutlass", MemoryEfficient),
    ("flash", Flash),
    ("fmha", Flash),
    ("attn_fwd", Flash),
    ("attn_bwd", Flash),
    ("bwd_kernel_dk_dv", Flash),
    ("bwd_kernel_dq", Flash),
    ("mha_", Flash),
];

impl AttentionKernel {
    /// From one name; `None` where it says nothing.
    pub(crate) fn of_name(name: &str) -> Option<AttentionKernel> {
        let name = name.to_ascii_lowercase();
        let word = WORDS.iter().find(|(word, _)| name.contains(word))?;
        Some(word.1)
    }

    /// In the column of types.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Flash => "flash",
            MemoryEfficient => "memory-efficient",
            Library => "DNN library",
            Paged => "paged",
            Flex => "flex",
            Linear => "linear attention",
            Cache => "cache",
            Math => "math",
            Other => "other",
        }
    }

    /// Whether it is attention over scores, which have a usual efficiency by length.
    pub(crate) fn has_scores(self) -> bool {
        !matches!(self, Linear | Cache)
    }

    /// Whether it never writes its scores to memory.
    pub(crate) fn is_fused(self) -> bool {
        matches!(self, Flash | MemoryEfficient | Library | Flex | Paged)
    }
}

/// Whether a name says backward.
pub(crate) fn is_backward(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.contains("backward") || name.contains("bwd")
}

/// Whether a kernel splits the keys of a query, or combines the results of such splits.
pub(crate) fn splits_keys(kernel: &str) -> bool {
    let kernel = kernel.to_ascii_lowercase();
    let words = ["splitkv", "split_kv", "splitk", "combine"];
    words.iter().any(|word| kernel.contains(word))
}

/// Whether a kernel is FlashAttention-2, as PyTorch and its own package have it.
pub(crate) fn is_flash_2(kernel: &str) -> bool {
    kernel.contains("flash::flash_fwd") || kernel.contains("flash::flash_bwd")
}

/// The head dimension that a kernel is made for, where its name has it:
/// "Flash_fwd_kernel_traits<96, …", "fmha_fwd_hd128_bf16".
pub(crate) fn head_dimension(kernel: &str) -> Option<u64> {
    let marks = ["kernel_traits<", "_hd", "hdim"];
    marks.iter().find_map(|mark| {
        let at = kernel.find(mark)? + mark.len();
        let digits = kernel.get(at..)?;
        let end = digits
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(digits.len());
        let size = digits.get(..end)?.parse().ok();
        size.filter(|size| (16..=512).contains(size))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_kind() {
        let cases = [
            (
                "aten::_scaled_dot_product_flash_attention",
                AttentionKernel::Flash,
            ),
            (
                "aten::_scaled_dot_product_efficient_attention",
                AttentionKernel::MemoryEfficient,
            ),
            (
                "aten::_scaled_dot_product_cudnn_attention",
                AttentionKernel::Library,
            ),
            (
                "vllm::unified_attention_with_output",
                AttentionKernel::Paged,
            ),
            ("aiter::mha_batch_prefill", AttentionKernel::Paged),
            ("sgl_kernel::fwd", AttentionKernel::Paged),
            (
                "_C_cache_ops::reshape_and_cache_flash",
                AttentionKernel::Cache,
            ),
            ("sgl_kernel::fwd", AttentionKernel::Paged),
            ("sgl_kernel::merge_state", AttentionKernel::Paged),
            ("vllm::gdn_attention_core", AttentionKernel::Linear),
            (
                "chunk_kda_fwd_kernel_intra_sub_inter",
                AttentionKernel::Linear,
            ),
            (
                "aten::_scaled_dot_product_attention_math",
                AttentionKernel::Math,
            ),
            ("triton_tem_fused_flex_attention_0", AttentionKernel::Flex),
            ("attn_fwd", AttentionKernel::Flash),
            (
                "fmha_cutlassF_bf16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel)",
                AttentionKernel::MemoryEfficient,
            ),
            (
                "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_3_64x128x128",
                AttentionKernel::Library,
            ),
        ];
        for (name, kind) in cases {
            assert_eq!(AttentionKernel::of_name(name), Some(kind), "{name}");
        }
        assert_eq!(AttentionKernel::of_name("aten::my_op"), None);
    }

    #[test]
    fn names_tell_the_head_dimension() {
        let cases = [
            (
                "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<96, 128, 64, 4>>",
                Some(96),
            ),
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
