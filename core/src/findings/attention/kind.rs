//! What kind of kernel computes an attention: by the names of the operator and of its kernels.

use super::super::Input;
use crate::profile::operations::Operation;

/// What computes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Exact attention in tiles, with nothing but the result written.
    Flash,
    /// The other fused kernel of the framework, which also takes 32-bit types and masks.
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
const WORDS: &[(&str, Kind)] = &[
    ("_attention_math", Kind::Math),
    ("flex_attention", Kind::Flex),
    ("reshape_and_cache", Kind::Cache),
    ("concat_and_cache", Kind::Cache),
    ("store_cache", Kind::Cache),
    ("store_kvcache", Kind::Cache),
    ("kv_indices", Kind::Cache),
    ("req_to_token", Kind::Cache),
    ("dequant_cache", Kind::Cache),
    ("get_mla_metadata", Kind::Cache),
    ("linear_attention", Kind::Linear),
    ("delta_rule", Kind::Linear),
    ("gdn_", Kind::Linear),
    ("dot_kkt", Kind::Linear),
    ("recompute_w_u", Kind::Linear),
    ("chunk_fwd", Kind::Linear),
    ("kda_", Kind::Linear),
    ("solve_tril", Kind::Linear),
    ("merge_16x16", Kind::Linear),
    ("_fwd_diag_", Kind::Linear),
    ("_fwd_none_diag_", Kind::Linear),
    ("_fwd_kv_", Kind::Linear),
    ("rwkv", Kind::Linear),
    ("_gla_", Kind::Linear),
    ("paged", Kind::Paged),
    // FlashAttention-3 over the pages of SGLang's cache.
    ("sgl_kernel::fwd", Kind::Paged),
    ("unified_attention", Kind::Paged),
    ("batch_prefill", Kind::Paged),
    ("batchprefill", Kind::Paged),
    ("batchdecode", Kind::Paged),
    ("pa_decode", Kind::Paged),
    ("pa_sparse", Kind::Paged),
    ("pa_bf16", Kind::Paged),
    ("pa_fp16", Kind::Paged),
    ("mla_", Kind::Paged),
    ("vllm", Kind::Paged),
    ("sglang", Kind::Paged),
    ("sgl_kernel", Kind::Paged),
    ("merge_state", Kind::Paged),
    ("flashinfer", Kind::Paged),
    ("_fwd_grouped_kernel_stage", Kind::Paged),
    ("_fwd_kernel_stage", Kind::Paged),
    ("cudnn", Kind::Library),
    ("efficient_attention", Kind::MemoryEfficient),
    ("mem_eff", Kind::MemoryEfficient),
    ("fmha_cutlass", Kind::MemoryEfficient),
    ("flash", Kind::Flash),
    ("fmha", Kind::Flash),
    ("attn_fwd", Kind::Flash),
    ("attn_bwd", Kind::Flash),
    ("bwd_kernel_dk_dv", Kind::Flash),
    ("bwd_kernel_dq", Kind::Flash),
    ("mha_", Kind::Flash),
];

impl Kind {
    /// From one name.
    pub(super) fn of_name(name: &str) -> Option<Kind> {
        let name = name.to_ascii_lowercase();
        let word = WORDS.iter().find(|(word, _)| name.contains(word))?;
        Some(word.1)
    }

    /// From the operator, and from its longest kernels where the operator says nothing.
    pub(super) fn of(input: &Input, operation: &Operation) -> Kind {
        let strings = &input.profile.trace.strings;
        let of_kernels = || {
            let kernels = operation.kernels(input.profile);
            let mut names = kernels.iter().map(|(name, ..)| strings.get(*name));
            names.find_map(Kind::of_name)
        };
        Kind::of_name(operation.short_name(input.profile))
            .or_else(of_kernels)
            .unwrap_or(Kind::Other)
    }

    /// In the column of types.
    pub(super) fn label(self) -> &'static str {
        match self {
            Kind::Flash => "flash",
            Kind::MemoryEfficient => "memory-efficient",
            Kind::Library => "DNN library",
            Kind::Paged => "paged",
            Kind::Flex => "flex",
            Kind::Linear => "linear attention",
            Kind::Cache => "cache",
            Kind::Math => "math",
            Kind::Other => "other",
        }
    }

    /// Whether it is attention over scores, which the bands are about.
    pub(super) fn has_scores(self) -> bool {
        !matches!(self, Kind::Linear | Kind::Cache)
    }
}

/// Whether a name says backward.
pub(super) fn is_backward(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.contains("backward") || name.contains("bwd")
}

/// The head dimension that a kernel is made for, where its name has it:
/// "Flash_fwd_kernel_traits<96, …", "fmha_fwd_hd128_bf16".
pub(super) fn head_dimension(kernel: &str) -> Option<u64> {
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
            ("aten::_scaled_dot_product_flash_attention", Kind::Flash),
            (
                "aten::_scaled_dot_product_efficient_attention",
                Kind::MemoryEfficient,
            ),
            ("aten::_scaled_dot_product_cudnn_attention", Kind::Library),
            ("vllm::unified_attention_with_output", Kind::Paged),
            ("aiter::mha_batch_prefill", Kind::Paged),
            ("sgl_kernel::fwd", Kind::Paged),
            ("_C_cache_ops::reshape_and_cache_flash", Kind::Cache),
            ("sgl_kernel::fwd", Kind::Paged),
            ("sgl_kernel::merge_state", Kind::Paged),
            ("vllm::gdn_attention_core", Kind::Linear),
            ("chunk_kda_fwd_kernel_intra_sub_inter", Kind::Linear),
            ("aten::_scaled_dot_product_attention_math", Kind::Math),
            ("triton_tem_fused_flex_attention_0", Kind::Flex),
            ("attn_fwd", Kind::Flash),
            (
                "fmha_cutlassF_bf16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel)",
                Kind::MemoryEfficient,
            ),
            (
                "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_3_64x128x128",
                Kind::Library,
            ),
        ];
        for (name, kind) in cases {
            assert_eq!(Kind::of_name(name), Some(kind), "{name}");
        }
        assert_eq!(Kind::of_name("aten::my_op"), None);
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
