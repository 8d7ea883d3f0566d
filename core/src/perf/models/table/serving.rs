//! Ops of serving engines and their kernel libraries.

use super::{Row, ours, reference};
use crate::perf::SheetFamily::*;
use crate::perf::models::norm::rms::{ADDS, ALONE, fused_norm};
use crate::perf::models::{attention, collective, elementwise, gemm, mhc, moe, norm, quant, rope};
use crate::perf::unlisted;

#[rustfmt::skip]
pub(super) const SERVING: &[Row] = &[
    ours(|call| attention::kv_cache::placed(call, 3), "_C_cache_ops::concat_and_cache_mla aiter::concat_and_cache_mla"),
    ours(|call| attention::kv_cache::placed(call, 4), "
        _C_cache_ops::reshape_and_cache _C_cache_ops::reshape_and_cache_flash aiter::reshape_and_cache
        aiter::reshape_and_cache_flash"),

    reference(CustomCollective, collective::all_reduce, "
        _C_custom_ar::all_reduce _C_custom_ar::qr_all_reduce sgl_kernel::all_reduce_reg
        sgl_kernel::qr_all_reduce"),
    reference(CustomCollective, collective::in_and_out, "
        aiter::all_gather_reg aiter::reduce_scatter sglang::reg_all_gather_into_tensor"),
    reference(CustomCollective, collective::all_reduce_rms_norm, "
        aiter::fused_allreduce_rmsnorm aiter::fused_allreduce_rmsnorm_"),

    ours(|call| unlisted(elementwise::gated(call)), "
        _C::fatrelu_and_mul _C::gelu_and_mul _C::gelu_tanh_and_mul _C::mul_and_silu
        _C::silu_and_mul_quant flashinfer::gelu_and_mul flashinfer::gelu_tanh_and_mul
        flashinfer::silu_and_mul sgl_kernel::gelu_and_mul sgl_kernel::gelu_tanh_and_mul
        vllm::gelu_and_mul vllm::gelu_tanh_and_mul vllm::silu_and_mul"),
    ours(elementwise::out_first, "_C::gelu_fast _C::gelu_new _C::gelu_quick"),
    reference(UnaryElementwise, elementwise::gated, "
        _C::silu_and_mul aiter::gelu_and_mul aiter::gelu_tanh_and_mul aiter::silu_and_mul
        sgl_kernel::silu_and_mul"),

    reference(Sdpa, attention::flash::aiter_backward, "aiter::_flash_attn_backward").backward_label("SDPA_bwd"),
    reference(Sdpa, |call| attention::flash::AITER.forward(call), "
        aiter::_flash_attn_forward aiter::fmha_v3_fwd aiter::mha_fwd").backward(|call| attention::flash::AITER.backward(call), Some("SDPA_bwd")),
    reference(Sdpa, |call| attention::flash::AITER_MHA_BACKWARD.backward(call), "aiter::mha_bwd").backward_label("SDPA_bwd"),
    reference(Sdpa, |call| attention::flash::AITER_WRAPPER_BACKWARD.backward(call), "aiter::wrapper_fmha_v3_bwd").backward_label("SDPA_bwd"),
    reference(Sdpa, |call| attention::flash::AITER_WRAPPER.forward(call), "aiter::wrapper_fmha_v3_fwd").backward(|call| attention::flash::AITER_WRAPPER.backward(call), Some("SDPA_bwd")),

    ours(attention::inference::paged, "_C::paged_attention_v1 _rocm_C::paged_attention"),
    ours(attention::inference::latent_layer, "vllm::unified_mla_attention_with_output"),
    reference(InferenceAttention, attention::inference::varlen, "
        aiter::fmha_v3_varlen_fwd aiter::mha_varlen_fwd"),
    reference(InferenceAttention, attention::inference::gated_delta, "
        aiter::linear_attention_with_output_base vllm::gdn_attention_core"),
    reference(InferenceAttention, attention::inference::batch_prefill, "aiter::mha_batch_prefill"),
    reference(InferenceAttention, attention::inference::paged_decode, "aiter::pa_decode_gluon"),
    reference(InferenceAttention, attention::inference::sparse_prefill, "aiter::pa_sparse_prefill_opus_fwd"),
    reference(InferenceAttention, attention::inference::store_cache, "sglang::store_cache"),
    reference(InferenceAttention, |call| attention::inference::prefill(call, 2), "sglang_profiler::attention_paged_attention_ragged"),
    reference(InferenceAttention, attention::inference::latent_sparse, "sglang_profiler::tilelang_kernel_tilelang_sparse_fwd"),
    reference(InferenceAttention, attention::inference::unified, "vllm::unified_attention_with_output"),

    reference(Mhc, mhc::post_and_product, "aiter::mhc_fused_post_pre_gemm_sqrsum"),
    reference(Mhc, mhc::post, "aiter::mhc_post"),
    reference(Mhc, mhc::pre_norm, "aiter::mhc_pre_big_fuse_rmsnorm"),
    reference(Mhc, mhc::pre_product, "aiter::mhc_pre_gemm_sqrsum"),

    ours(moe::sorted_rows, "_C::cutlass_moe_mm sgl_kernel::fp8_blockwise_scaled_grouped_mm"),
    ours(|call| unlisted(moe::auxiliary(call)), "
        _moe_C::grouped_topk _moe_C::moe_align_block_size _moe_C::topk_softmax aiter::grouped_topk
        aiter::moe_align_block_size aiter::moe_fused_gate aiter::moe_sorting_opus_fwd
        aiter::topk_sigmoid aiter::topk_softmax aiter::topk_softmax_asm sgl_kernel::moe_align_block_size
        sgl_kernel::moe_fused_gate sgl_kernel::topk_softmax"),
    ours(moe::sum, "_moe_C::moe_sum aiter::moe_sum sgl_kernel::moe_sum sgl_kernel::moe_sum_reduce"),
    reference(MoeAux, moe::auxiliary, "
        aiter::biased_grouped_topk_hip aiter::moe_sorting_fwd aiter::mxfp4_moe_sort_hip
        aiter::topk_softplus sglang_profiler::fused_moe_triton_kernels_fused_append_shared_experts"),
    reference(MoeUnfused, moe::ck_stage1, "aiter::ck_moe_stage1"),
    reference(MoeUnfused, moe::ck_stage2, "aiter::ck_moe_stage2"),
    reference(MoeFused, moe::fused_g1u1, "aiter::fmoe_fp8_blockscale_g1u1 aiter::fmoe_g1u1"),
    ours(moe::fused_sorted, "
        aiter::fmoe aiter::fmoe_fp8_g1u1_a16 aiter::fmoe_g1u1_a16 aiter::fmoe_g1u1_tkw1
        aiter::fmoe_int8_g1u0"),
    ours(|call| unlisted(Some(moe::shaped(call)?.fused())), "
        aiter::fused_moe_ sglang::inplace_fused_experts sglang::outplace_fused_experts
        vllm::inplace_fused_experts vllm::outplace_fused_experts vllm::rocm_aiter_asm_moe_tkw1
        vllm::rocm_aiter_fused_moe"),
    reference(MoeUnfused, |call| Some(moe::shaped(call)?.up()), "aiter::moe_cktile2stages_gemm1_ck"),
    reference(MoeUnfused, |call| Some(moe::shaped(call)?.down()), "aiter::moe_cktile2stages_gemm2_ck"),
    reference(MoeUnfused, moe::invoke_grouped, "sglang_profiler::fused_moe_triton_kernels_invoke_fused_moe_kernel"),

    reference(Normalization, |call| norm::group_norm(call)?.forward(), "aiter::_groupnorm_run").backward(|call| norm::group_norm(call)?.backward(), Some("NORM_bwd")),

    ours(|call| unlisted(attention::flash::VLLM.forward(call)), "_vllm_fa2_C::varlen_fwd"),

    ours(quant::awq_dequantize, "_C::awq_dequantize sgl_kernel::awq_dequantize"),
    ours(quant::to_narrow, "
        _C::dynamic_per_token_scaled_fp8_quant _C::dynamic_scaled_fp8_quant
        _C::dynamic_scaled_int8_quant _C::per_token_group_fp8_quant _C::per_token_group_quant_int8
        _C::scaled_fp4_quant _C::static_scaled_fp8_quant _C::static_scaled_int8_quant
        aiter::static_per_tensor_quant sgl_kernel::scaled_fp4_quant sgl_kernel::sgl_per_tensor_quant_fp8
        sgl_kernel::sgl_per_token_group_quant_8bit sgl_kernel::sgl_per_token_group_quant_fp8
        sgl_kernel::sgl_per_token_group_quant_int8 sgl_kernel::sgl_per_token_quant_fp8"),
    reference(BinaryElementwise, quant::per_group, "
        aiter::dynamic_per_group_scaled_quant aiter::dynamic_per_tensor_quant
        aiter::dynamic_per_token_scaled_quant"),
    reference(GroupQuant, quant::mxfp4_out_first, "
        aiter::dynamic_per_group_scaled_quant_fp4 aiter::fused_dynamic_mx_quant_moe_sort_hip
        aiter::fused_dynamic_mxfp4_quant_moe_sort_hip"),
    reference(Elementwise, quant::sample, "aiter::mixed_sample_outer_exponential"),
    reference(GroupQuant, quant::mxfp4, "
        sglang_profiler::fused_mxfp4_quant_fused_flatten_mxfp4_quant
        sglang_profiler::quant_dynamic_mxfp4_quant"),
    reference(BinaryElementwise, quant::fp8_group, "vllm::triton_per_token_group_quant_fp8"),

    // `fused_add_rms_norm(x, residual, scale, eps)` in place.
    ours(|call| unlisted(fused_norm(call, 0, 2, ADDS)), "
        _C::fused_add_rms_norm flashinfer::fused_add_rmsnorm flashinfer::gemma_fused_add_rmsnorm
        sgl_kernel::fused_add_rmsnorm sgl_kernel::gemma_fused_add_rmsnorm"),
    ours(|call| unlisted(norm::rms::quantized(call)), "
        _C::fused_add_rms_norm_static_fp8_quant _C::rms_norm_dynamic_per_token_quant
        _C::rms_norm_static_fp8_quant"),
    // `rmsnorm(out, x, scale, eps)`.
    ours(|call| unlisted(fused_norm(call, 1, 2, ALONE)), "
        _C::rms_norm flashinfer::gemma_rmsnorm flashinfer::rmsnorm sgl_kernel::gemma_rmsnorm
        sgl_kernel::rmsnorm"),
    reference(RmsNorm, norm::rms::mxfp4_quant, "
        aiter::_fuse_rmsnorm_fp4_quant sglang_profiler::fused_mxfp4_quant_fused_rms_mxfp4_quant"),
    // `add_rmsnorm(out, x, residual, residual_out, scale, eps)`.
    reference(RmsNorm, |call| fused_norm(call, 1, 4, ADDS), "aiter::add_rmsnorm aiter::rmsnorm2d_fwd_with_add_ck"),
    reference(RmsNorm, norm::rms::add_pad, "
        aiter::fused_add_rmsnorm_pad_ vllm::rocm_aiter_triton_add_rmsnorm_pad"),
    // `rms_norm(x, scale, eps)`.
    reference(RmsNorm, |call| fused_norm(call, 0, 1, ALONE), "aiter::rms_norm aiter::rmsnorm2d_fwd_ck"),
    reference(RmsNorm, |call| fused_norm(call, 1, 2, ALONE), "aiter::rmsnorm"),
    reference(RmsNorm, norm::rms::dynamic_quant, "
        aiter::rmsnorm2d_fwd_with_dynamicquant_ck aiter::rmsnorm_quant"),
    reference(RmsNorm, norm::rms::group_quant, "vllm::rocm_aiter_rmsnorm_fp8_group_quant"),
    reference(RmsNorm, norm::rms::add_group_quant, "vllm::rocm_aiter_rmsnorm_with_add_fp8_group_quant"),

    ours(|call| unlisted(rope::partial(call)), "_C::batched_rotary_embedding _C::rotary_embedding vllm::rotary_embedding"),
    reference(FusedRope, rope::qk_and_cache, "
        aiter::fused_qk_rope_cat_and_cache_mla aiter::fused_qk_rope_concat_and_cache_mla"),
    // `rope_fwd_impl(out, x, …)`.
    ours(|call| unlisted(rope::whole(call, &[1])), "aiter::rope_cached_fwd_impl aiter::rope_fwd_impl aiter::rope_thd_fwd_impl"),
    // `rope_cached_positions_2c_fwd_impl(out_x, out_y, x, y, …)`.
    reference(Rope, |call| rope::whole(call, &[2, 3]), "aiter::rope_cached_positions_2c_fwd_impl"),
    // `apply_rope(q, k, q_out, k_out, table, …)`.
    ours(|call| unlisted(rope::whole(call, &[0, 1])), "
        flashinfer::apply_rope_pos_ids_cos_sin_cache sgl_kernel::apply_rope_pos_ids_cos_sin_cache"),
    // `rotary_embedding(positions, q, k, head size, table, …)`.
    reference(Rope, |call| rope::whole(call, &[1, 2]), "sgl_kernel::rotary_embedding"),

    reference(Gemm, gemm::scaled::a16w16_asm, "aiter::_gemm_a16w16_asm"),
    reference(Gemm, gemm::scaled::a4w4, "aiter::_gemm_a4w4_asm aiter::gemm_a4w4"),
    reference(Gemm, gemm::scaled::a8w8, "
        aiter::_gemm_a8w8_blockscale_bpreshuffle_asm aiter::flatmm_a8w8_blockscale_asm
        aiter::gemm_a8w8_blockscale_bpreshuffle_ck aiter::gemm_a8w8_blockscale_bpreshuffle_cktile
        aiter::gemm_a8w8_blockscale_ck aiter::gemm_a8w8_blockscale_cktile aiter::gemm_a8w8_bpreshuffle
        aiter::gemm_a8w8_bpreshuffle_ck aiter::gemm_a8w8_ck aiter::gfx950_a8w8_blockscale_asm
        sglang_profiler::fp8_utils_gemm_a8w8_blockscale
        sglang_profiler::gemm_a8w8_blockscale_gemm_a8w8_blockscale
        vllm::_rocm_aiter_preshuffled_per_token_w8a8_gemm vllm::rocm_aiter_triton_gemm_a8w8_blockscale"),
    reference(Gemm, gemm::scaled::batched_a16wfp4, "aiter::batched_gemm_a16wfp4_"),
    reference(Gemm, |call| gemm::scaled::a16w16(call, 0), "aiter::gemm_a16w16"),
    reference(Gemm, gemm::scaled::a16w16_atomic, "
        aiter::gemm_a16w16_atomic_ sglang_profiler::gemm_kernels_flydsl_hgemm"),
    reference(Gemm, gemm::scaled::afp4wfp4, "aiter::gemm_afp4wfp4_"),
    reference(Gemm, gemm::scaled::batched_a8w8, "sglang_profiler::batched_gemm_a8w8_a_per_token_group_prequant_w_per_batched_tensor_quant_batched_gemm_a8w8_a_per_token_group_prequant_w_per_batched_tensor_quant"),
    reference(Gemm, gemm::scaled::scaled_mm, "trtllm::cublas_scaled_mm"),
    reference(Gemm, gemm::scaled::dynamic_quant, "vllm::gemm_with_dynamic_quant"),
    reference(Gemm, |call| gemm::scaled::a16w16(call, 1), "vllm::rocm_unquantized_gemm"),

    ours(gemm::serving::weight_only, "
        _C::allspark_w8a16_gemm _C::awq_gemm _C::awq_marlin_gemm _C::gptq_gemm _C::gptq_marlin_gemm
        _C::gptq_marlin_24_gemm _C::machete_mm _C::marlin_gemm torchao::marlin_24_gemm
        sgl_kernel::gptq_gemm sgl_kernel::gptq_marlin_gemm").gemm_sizes(gemm::sizes::of_packed),
    ours(gemm::serving::fp4_out_first, "_C::cutlass_scaled_fp4_mm sgl_kernel::cutlass_scaled_fp4_mm"),
    ours(gemm::serving::out_first, "_C::cutlass_scaled_mm _C::cutlass_scaled_mm_azp").gemm_sizes(gemm::sizes::of_out),
    ours(gemm::serving::plain_out_first, "
        _C::router_gemm_bf16_fp32 sgl_kernel::dsv3_fused_a_gemm sgl_kernel::dsv3_router_gemm"),
    ours(gemm::serving::lora_expand, "vllm::lora_expand"),
    ours(gemm::serving::lora_shrink, "vllm::lora_shrink"),
    ours(gemm::serving::batches, "sgl_kernel::bmm_fp8").gemm_sizes(gemm::sizes::of_two),
    ours(gemm::serving::columns, "
        sgl_kernel::fp8_blockwise_scaled_mm sgl_kernel::fp8_scaled_mm sgl_kernel::int8_scaled_mm").gemm_sizes(gemm::sizes::of_two),
    ours(gemm::serving::rows, "
        vllm::apply_w8a8_block_fp8_linear vllm::w8a8_block_fp8_matmul_func").gemm_sizes(gemm::sizes::of_rows),
];
