//! Ops of training libraries, and autograd functions written in Python.

use super::{Row, ours, reference};
use crate::perf::SheetFamily::*;
use crate::perf::models::attention::flash::{FLASH_3, listed_if_dense};
use crate::perf::models::{
    attention, conv, elementwise, gemm, loss, moe, norm, quant, resample, rope, shard, softmax, ssm,
};
use crate::perf::unlisted;

#[rustfmt::skip]
pub(super) const LIBRARIES: &[Row] = &[
    ours(attention::aten::qkv_packed, "FlashAttnQKVPackedFunc"),
    ours(attention::aten::te_fused, "FusedAttnFunc"),
    ours(attention::flash::neighborhood, "
        natten::na1d_forward natten::na2d_forward natten::na3d_forward"),
    ours(|call| attention::aten::CUTLASS_BACKWARD.backward(call), "xformers::efficient_attention_backward_cutlass"),
    ours(attention::aten::efficient_forward, "xformers::efficient_attention_forward_cutlass"),

    reference(Conv, |call| conv::conv_bias(call)?.forward(), "
        ConvBiasReLU_ ConvBias_").backward(|call| conv::conv_bias(call)?.backward(), Some("CONV_bwd")),
    reference(Conv, |call| conv::conv_bias(call)?.backward(), "
        ConvBiasReLU_Backward ConvBias_Backward").backward_label("CONV_bwd"),
    ours(|call| unlisted(conv::convolution(call)?.forward()), "xla::convolution"),

    reference(BinaryElementwise, |call| elementwise::binary_to(call, (None, None)), "LigerSiLUMulFunction"),

    reference(Sdpa, |call| attention::flash::evoformer(call, false), "EvoformerAttention").backward(|call| attention::flash::evoformer(call, true), Some("SDPA_bwd")),
    reference(Sdpa, |call| attention::flash::function(call).forward(call), "FlashAttnFunc").backward(|call| attention::flash::function(call).backward(call), Some("SDPA_bwd")),
    reference(Sdpa, attention::flash::flash_backward, "flash_attn::_flash_attn_backward").backward_label("SDPA_bwd"),
    reference(Sdpa, |call| attention::flash::FORWARD.forward(call), "flash_attn::_flash_attn_forward").backward(|call| attention::flash::FORWARD.backward(call), Some("SDPA_bwd")),
    ours(|call| unlisted(attention::flash::FLASH_3_BACKWARD.backward(call)), "flash_attn_3::bwd"),
    reference(Sdpa, |call| listed_if_dense(call, FLASH_3.forward(call)), "flash_attn_3::fwd").backward(|call| listed_if_dense(call, FLASH_3.backward(call)), Some("SDPA_bwd")),
    ours(|call| unlisted(attention::flash::XFORMERS_BACKWARD.backward(call)), "xformers_flash::flash_bwd"),
    ours(|call| unlisted(attention::flash::XFORMERS.forward(call)), "xformers_flash::flash_fwd"),

    reference(InferenceAttention, attention::inference::latent, "pseudo_mla_decode_fwd"),
    reference(InferenceAttention, |call| attention::inference::prefill(call, 0), "pseudo_mla_prefill_fwd"),

    reference(CrossEntropy, loss::cross_entropy, "CrossEntropyFunction"),

    reference(MoeComm, moe::dispatch, "MoECombine MoEDispatch").backward(moe::dispatch, Some("MoE_comm_bwd")),
    reference(MoeFused, |call| Some(moe::shaped(call)?.fused()), "pseudo_op::moe_aiter_fused_1stage"),
    reference(MoeUnfused, |call| Some(moe::shaped(call)?.up()), "
        pseudo_op::moe_flydsl_stage1 pseudo_op::moe_gptq_awq_up"),
    reference(MoeUnfused, |call| Some(moe::ragged(call)?.up()), "pseudo_op::moe_triton_unfused_up"),
    reference(MoeUnfused, |call| Some(moe::shaped(call)?.down()), "
        pseudo_op::moe_flydsl_stage2 pseudo_op::moe_gptq_awq_down"),
    reference(MoeUnfused, |call| Some(moe::ragged(call)?.down()), "pseudo_op::moe_triton_unfused_down"),

    ours(|call| unlisted(norm::apex_layer_norm(call)?.forward()), "
        FastLayerNormFN FusedLayerNormAffineFunction MixedFusedLayerNorm").backward(|call| unlisted(norm::apex_layer_norm(call)?.backward()), None),
    reference(Normalization, |call| norm::modulated(call, 12.0, [2.0, 2.0]), "primus::fused_ln_modulate").backward(|call| norm::modulated(call, 15.0, [3.0, 3.0]), Some("NORM_bwd")),
    reference(Normalization, |call| norm::modulated(call, 15.0, [3.0, 3.0]), "primus::fused_ln_modulate_backward").backward_label("NORM_bwd"),

    ours(|call| unlisted(attention::flash::varlen_function(call).forward(call)), "FlashAttnVarlenFunc"),
    reference(Sdpa, |call| attention::flash::VARLEN_BACKWARD.backward(call), "flash_attn::_flash_attn_varlen_backward").backward_label("SDPA_bwd"),
    reference(Sdpa, |call| attention::flash::VARLEN.forward(call), "flash_attn::_flash_attn_varlen_forward").backward(|call| attention::flash::VARLEN.backward(call), Some("SDPA_bwd")),

    ours(quant::bnb_dequantize_4bit, "bitsandbytes::dequantize_4bit"),
    ours(quant::bnb_dequantize_blockwise, "bitsandbytes::dequantize_blockwise"),
    ours(quant::bnb_dequantize_sums, "bitsandbytes::int8_mm_dequant"),
    ours(quant::bnb_quantize, "
        bitsandbytes::int8_vectorwise_quant bitsandbytes::quantize_4bit bitsandbytes::quantize_blockwise
        fbgemm::quantize_fp8_per_row fbgemm::quantize_fp8_per_tensor"),
    reference(UnaryElementwise, quant::mxfp4_dual, "
        primus::quantize_mxfp4_dual primus_turbo::quantize_mxfp4_dual
        primus_turbo_cpp_extension::quantize_mxfp4_dual"),
    reference(UnaryElementwise, quant::fp8_tensorwise, "
        primus_turbo::quantize_fp8_tensorwise primus_turbo_cpp_extension::quantize_fp8_tensorwise"),

    ours(resample::roi_align, "torchvision::roi_align"),

    ours(|call| unlisted(norm::rms::fused_norm(call, 0, 1, norm::rms::ALONE)), "FusedRMSNormAffineFunction LigerRMSNormFunction"),

    // `FusedRoPEFunc(x, …)`.
    reference(Rope, |call| rope::whole(call, &[0]), "FusedRoPEFunc"),
    ours(|call| unlisted(rope::whole(call, &[0, 1])), "LigerRopeFunction"),
    ours(|call| unlisted(rope::whole(call, &[0])), "ApplyRotaryEmb"),
    ours(loss::cross_entropy_in_place, "LigerCrossEntropyFunction"),

    ours(|call| unlisted(gemm::scaled::grouped(call, 1.0)), "GroupedGemm").backward(|call| unlisted(gemm::scaled::grouped(call, 2.0)), None),
    reference(Gemm, gemm::scaled::te_pseudo, "
        _LayerNormLinearBackward_wgrad_mm _LayerNormLinearBackward_xgrad_mm _LayerNormLinear_yfwd_mm
        _LinearBackward_wgrad_mm _LinearBackward_xgrad_mm _Linear_yfwd_mm"),
    reference(Gemm, gemm::scaled::int8_linear, "bitsandbytes::int8_linear_matmul"),
    reference(GroupedGemm, |call| gemm::scaled::grouped(call, 1.0), "
        primus_turbo::grouped_gemm primus_turbo::grouped_gemm_impl
        primus_turbo_cpp_extension::ck_grouped_gemm primus_turbo_cpp_extension::grouped_gemm").backward(|call| gemm::scaled::grouped(call, 2.0), Some("GroupedGEMM_bwd")),
    reference(GroupedGemm, gemm::scaled::grouped_variable_k, "
        primus_turbo::grouped_gemm_variable_k primus_turbo::grouped_gemm_variable_k_impl
        primus_turbo_cpp_extension::ck_grouped_gemm_variable_k
        primus_turbo_cpp_extension::grouped_gemm_variable_k").backward_label("GroupedGEMM_bwd"),
    reference(Gemm, gemm::scaled::hipblaslt_fp4, "
        primus_turbo::hipblaslt_gemm_fp4 primus_turbo_cpp_extension::hipblaslt_gemm_fp4"),
    reference(Gemm, gemm::scaled::hipblaslt_fp8, "
        primus_turbo::hipblaslt_gemm_fp8 primus_turbo_cpp_extension::hipblaslt_gemm_fp8"),
    reference(Gemm, gemm::scaled::te_gemm, "tex_ts::te_gemm_ts"),

    ours(gemm::serving::te_linear, "_LayerNormLinear _Linear"),
    ours(gemm::serving::four_bit_rows, "bitsandbytes::gemv_4bit").gemm_sizes(gemm::sizes::of_four_bits),
    ours(gemm::serving::rows, "
        bitsandbytes::int8_scaled_mm fbgemm::f8f8bf16 fbgemm::f8f8bf16_blockwise
        fbgemm::f8f8bf16_rowwise fbgemm::f8f8bf16_tensorwise fbgemm::i8i8bf16").gemm_sizes(gemm::sizes::of_rows),

    ours(shard::chunk_cat, "fsdp::chunk_cat"),

    ours(softmax::scaled, "
        GenericScaledMaskedSoftmax ScaledMaskedSoftmax ScaledSoftmax ScaledUpperTriangMaskedSoftmax").backward(softmax::scaled_bwd, None),

    ours(|call| unlisted(ssm::causal_conv1d(call)), "CausalConv1dFn"),
    ours(ssm::causal_conv1d_backward, "DaoAILab::_causal_conv1d_bwd_cpp"),
    reference(Ssm, ssm::causal_conv1d, "DaoAILab::_causal_conv1d_fwd_cpp"),
    ours(ssm::chunk_scan, "MambaChunkScanCombinedFn"),
    ours(ssm::chunked_attention, "
        ChunkGLAFunction ChunkLightningAttnFunction ChunkLinearAttentionFunction ChunkRetentionFunction
        ChunkSimpleGLAFunction"),
    ours(ssm::chunked_delta_rule, "
        ChunkDeltaRuleFunction ChunkGatedDeltaRuleFunction ChunkKDAFunction"),
    reference(Ssm, ssm::mamba_ssd, "MambaSplitConv1dScanCombinedFn").backward_label("SSM_bwd"),
    ours(ssm::selective_scan, "SelectiveScanFn"),

    // The decode steps of DeepSeek-V4 are not ops of a trace but kernels that a TraceLens option names; the number of
    // keys per query depends on the values of index tensors.
    reference(InferenceAttention, |_| None, "
        pseudo_v4_paged_decode_csa pseudo_v4_paged_decode_hca pseudo_v4_paged_decode_swa"),
];
