//! The rules that give a name its [`Family`]. The first rule that fits decides.
//!
//! Each rule carries a name as traces have it, which is its test: the example must be of the
//! rule's family, and no earlier rule may take it. Patterns are lower case; names are lowered.

use super::Family::{self, *};

/// Where a pattern must stand.
#[derive(Debug, Clone, Copy)]
pub(super) enum Pattern {
    /// Anywhere in the name.
    Holds(&'static str),
    /// At the start of the name.
    Starts(&'static str),
}
use Pattern::{Holds, Starts};

/// One rule.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rule {
    pub(super) pattern: Pattern,
    pub(super) family: Family,
    #[cfg_attr(not(test), expect(dead_code, reason = "the test of the rule"))]
    pub(super) example: &'static str,
}

const fn rule(pattern: Pattern, family: Family, example: &'static str) -> Rule {
    Rule {
        pattern,
        family,
        example,
    }
}

/// Labels of the reference that settle the family. "elementwise" does not: `aten::copy_` has it,
/// and its kernel may be a copy from the host.
pub(super) const LABEL_RULES: &[(&str, Family)] = &[
    ("GEMM", Gemm),
    ("GroupedGEMM_fwd", Gemm),
    ("SDPA_fwd", Attention),
    ("SDPA_bwd", Attention),
    ("InferenceAttention", Attention),
    ("CONV_fwd", Convolution),
    ("CONV_bwd", Convolution),
    ("NORM_fwd", Normalisation),
    ("NORM_bwd", Normalisation),
    ("RMSNorm", Normalisation),
    ("RoPE_fwd", Elementwise),
    ("RoPE_bwd", Elementwise),
    ("FusedRoPE", Elementwise),
    ("GroupQuant", Elementwise),
    ("reduce", Reduction),
    ("CrossEntropy_fwd", Reduction),
    ("CrossEntropy_bwd", Reduction),
    ("SSM_fwd", Reduction),
    ("SSM_bwd", Reduction),
    ("MoE_fused", Moe),
    ("MoE_unfused", Moe),
    ("MoE_aux", Moe),
    ("MoE_comm_fwd", Communication),
    ("MoE_comm_bwd", Communication),
    ("CustomCollective", Communication),
    ("record_param_comms", Communication),
    ("triton", Triton),
];

/// Ops without a settling label, by what their name says. Only words that cannot mean anything
/// else: for the rest the kernel knows better.
#[rustfmt::skip]
pub(super) const OP_RULES: &[Rule] = &[
    rule(Starts("c10d::"), Communication, "c10d::allreduce_"),
    rule(Starts("nccl:"), Communication, "nccl:all_reduce"),
    rule(Holds("all_reduce"), Communication, "vllm::all_reduce"),
    rule(Holds("all_gather"), Communication, "_c10d_functional::all_gather_into_tensor"),
    rule(Holds("reduce_scatter"), Communication, "vllm::reduce_scatter"),
    rule(Holds("all_to_all"), Communication, "_c10d_functional::all_to_all_single"),
    rule(Holds("moe"), Moe, "vllm::moe_forward"),
    rule(Holds("attention"), Attention, "vllm::unified_attention_with_output"),
    rule(Holds("flash_attn"), Attention, "flash_attn::_flash_attn_varlen_forward_v2"),
    rule(Holds("fmha"), Attention, "aiter::fmha_v4_fwd"),
    rule(Holds("conv_bias"), Convolution, "my::conv_bias_relu"),
    rule(Holds("convolution"), Convolution, "aten::mkldnn_convolution"),
    rule(Starts("aten::conv1d"), Convolution, "aten::conv1d"),
    rule(Starts("aten::conv2d"), Convolution, "aten::conv2d"),
    rule(Starts("aten::conv3d"), Convolution, "aten::conv3d"),
    rule(Holds("layernorm"), Normalisation, "vllm::fused_layernorm"),
    rule(Holds("layer_norm"), Normalisation, "my::layer_norm_fwd"),
    rule(Holds("rmsnorm"), Normalisation, "sgl_kernel::gemma_rmsnorm"),
    rule(Holds("rms_norm"), Normalisation, "_C::fused_add_rms_norm_dynamic"),
    rule(Holds("batch_norm"), Normalisation, "aten::_batch_norm_impl_index"),
    rule(Holds("group_norm"), Normalisation, "xformers::group_norm"),
    rule(Holds("gemm"), Gemm, "my::w8a8_gemm"),
    rule(Holds("matmul"), Gemm, "bitsandbytes::matmul_4bit"),
    rule(Holds("scaled_mm"), Gemm, "_C::cutlass_scaled_mm"),
    rule(Holds("grouped_mm"), Gemm, "aten::_grouped_mm"),
    rule(Holds("_int_mm"), Gemm, "aten::_int_mm"),
    rule(Starts("aten::linear"), Gemm, "aten::linear"),
    rule(Holds("softmax"), Reduction, "aten::_log_softmax_backward_data"),
    rule(Holds("cross_entropy"), Reduction, "aten::cross_entropy_loss"),
    rule(Holds("nll_loss"), Reduction, "aten::nll_loss_forward"),
    rule(Holds("_pool"), Reduction, "aten::max_pool2d_with_indices"),
    rule(Starts("aten::topk"), Reduction, "aten::topk"),
    rule(Starts("aten::sort"), Reduction, "aten::sort"),
    rule(Starts("aten::argmax"), Reduction, "aten::argmax"),
    rule(Holds("embedding_dense_backward"), Reduction, "aten::embedding_dense_backward"),
    rule(Holds("embedding"), Elementwise, "aten::embedding"),
    rule(Holds("dropout"), Elementwise, "aten::native_dropout"),
    rule(Holds("gelu"), Elementwise, "aten::gelu_backward"),
    rule(Holds("relu"), Elementwise, "aten::relu_"),
    rule(Holds("silu"), Elementwise, "sgl_kernel::silu_and_mul"),
    rule(Holds("_foreach_"), Elementwise, "aten::_foreach_add_"),
    rule(Holds("_fused_adam"), Elementwise, "aten::_fused_adamw_"),
    rule(Starts("aten::index"), Elementwise, "aten::index_select"),
    rule(Starts("aten::gather"), Elementwise, "aten::gather"),
    rule(Starts("aten::scatter"), Elementwise, "aten::scatter_add_"),
    rule(Starts("aten::cat"), Elementwise, "aten::cat"),
    rule(Starts("aten::where"), Elementwise, "aten::where"),
    rule(Starts("aten::masked_fill"), Elementwise, "aten::masked_fill_"),
    rule(Starts("aten::tanh"), Elementwise, "aten::tanh"),
    rule(Starts("aten::sub"), Elementwise, "aten::sub"),
    rule(Starts("aten::rsub"), Elementwise, "aten::rsub"),
    rule(Starts("aten::exp_"), Elementwise, "aten::exp_"),
    rule(Starts("aten::arange"), Elementwise, "aten::arange"),
];

/// Kernels, copies and fills.
#[rustfmt::skip]
pub(super) const KERNEL_RULES: &[Rule] = &[
    // Traffic between GPUs. RCCL's kernels carry NCCL's names.
    rule(Holds("nccl"), Communication, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"),
    rule(Holds("rccl"), Communication, "rcclGenericKernel<1, false>"),
    rule(Holds("cross_device_reduce"), Communication, "void vllm::cross_device_reduce_2stage<__nv_bfloat16, 8>(vllm::RankData*)"),
    rule(Holds("all_reduce"), Communication, "two_shot_all_reduce_kernel"),
    rule(Holds("allreduce"), Communication, "void tensorrt_llm::kernels::ar_fusion::allreduce_fusion_kernel_oneshot_lamport<0, __nv_bfloat16, 8>"),
    rule(Holds("allgather"), Communication, "void aiter::allgather_lastdim<std::bfloat16_t, 2>(aiter::RankData*)"),
    rule(Holds("reduce_scatter"), Communication, "void aiter::reduce_scatter_cross_device<__hip_bfloat16, 8>"),
    rule(Holds("nvshmem"), Communication, "nvshmemi_barrier_kernel"),

    // Copies and fills by the runtime.
    rule(Starts("memcpy"), MemoryCopy, "Memcpy DtoD (Device -> Device)"),
    rule(Starts("memset"), MemoryCopy, "Memset (Device)"),
    rule(Starts("memory_copy_"), MemoryCopy, "MEMORY_COPY_HOST_TO_DEVICE"),
    rule(Starts("__amd_rocclr_"), MemoryCopy, "__amd_rocclr_fillBufferAligned.kd"),
    rule(Starts("copybuffer"), MemoryCopy, "CopyBuffer"),
    rule(Starts("fillbuffer"), MemoryCopy, "FillBuffer"),

    // torch.compile names its kernels after the ops they fuse, so this goes before those words.
    rule(Starts("triton_"), Triton, "triton_red_fused_add_addmm_mul_native_layer_norm_split_16"),

    // Experts. Their kernels are GEMMs too; the layer is what people look for.
    rule(Holds("moe"), Moe, "fused_moe_kernel"),
    rule(Holds("topk_gating"), Moe, "void tensorrt_llm::kernels::topk_gating<128>"),
    rule(Holds("topkgating"), Moe, "void vllm::topkGatingSoftmax<4, 128, 4, 16, int>(float const*)"),
    rule(Holds("grouped_topk"), Moe, "void aiter::grouped_topk_opt_kernel<__hip_bfloat16>"),
    rule(Holds("grouped_gemm"), Gemm, "void cutlass::gemm::grouped_gemm_kernel<bf16>"),

    // Attention; before GEMM and norm, whose words its template arguments hold.
    rule(Holds("fmha"), Attention, "fmha_cutlassF_bf16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel)"),
    rule(Holds("flash_fwd"), Attention, "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128, 128, 4>>"),
    rule(Holds("flash_bwd"), Attention, "void flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<128, 64, 128, 8>>"),
    rule(Holds("flashattn"), Attention, "void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<CollectiveMainloop>>>"),
    rule(Holds("flash_att"), Attention, "void flash_attention_forward<bf16, 128>"),
    rule(Holds("flashinfer"), Attention, "void flashinfer::BatchPrefillWithPagedKVCacheKernel<1, 2>"),
    rule(Holds("attention"), Attention, "void vllm::paged_attention_v1_kernel<__nv_bfloat16, 128, 16>"),
    rule(Holds("attn"), Attention, "attn_fwd"),
    rule(Holds("mha_varlen"), Attention, "mha_varlen_fwd_bf16"),
    rule(Holds("sdpa"), Attention, "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_3_64x128x128"),
    rule(Holds("mla_"), Attention, "void aiter::mla_a16w16_qh16_m16x4_n16x1_coex0_mask1"),
    rule(Holds("kv_cache"), Attention, "void vllm::reshape_and_cache_kv_cache_kernel<bf16>"),
    rule(Holds("kvcache"), Attention, "void (anonymous namespace)::store_kvcache<16>(void*)"),
    rule(Holds("and_cache"), Attention, "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16>"),
    rule(Holds("kv_indices"), Attention, "kv_indices_generate_kernel"),

    // PyTorch's generic kernels: what they compute stands in the template arguments, which may
    // hold any other word.
    rule(Holds("multi_tensor_apply"), Elementwise, "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::FusedOptimizerTensorListMetadata<4>>"),
    rule(Holds("elementwise_kernel"), Elementwise, "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>>"),
    rule(Holds("elementwise_grid_stride"), Elementwise, "void at::native::(anonymous namespace)::distribution_elementwise_grid_stride_kernel<float, 4>"),

    // Convolution; before GEMM and norm: implicit GEMMs, and batch norm fused behind.
    rule(Holds("implicit_gemm"), Convolution, "sm80_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nchw_tilesize128x128x32"),
    rule(Holds("implicitgemm"), Convolution, "cask_cudnn::implicitGemmPrecomputed<float>"),
    rule(Holds("implicit_convolve"), Convolution, "void implicit_convolve_sgemm<float, float, 1024, 5, 5>"),
    rule(Starts("igemm_fwd_gtc"), Convolution, "igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt128x256x32"),
    rule(Starts("igemm_bwd_gtc"), Convolution, "igemm_bwd_gtcx2_nhwc_bf16_bx0_ex1_bt64x128x32"),
    rule(Starts("igemm_wrw_gtc"), Convolution, "igemm_wrw_gtcx3_nhwc_bf16_bx0_ex1_bt64x64x64"),
    rule(Holds("xmma_fprop"), Convolution, "sm90_xmma_fprop_bf16f32_f32_tilesize128"),
    rule(Holds("xmma_dgrad"), Convolution, "sm90_xmma_dgrad_bf16_tilesize64"),
    rule(Holds("xmma_wgrad"), Convolution, "sm90_xmma_wgrad_bf16_tilesize64"),
    rule(Holds("fprop"), Convolution, "cutlass_tensorop_s16816fprop_optimized_f16_128x128_32x4_nhwc_align8"),
    rule(Holds("dgrad"), Convolution, "cutlass_tensorop_s16816dgrad_optimized_f16_64x64_32x4_nhwc"),
    rule(Holds("wgrad"), Convolution, "cudnn_infer_ampere_scudnn_winograd_wgrad_128x64"),
    rule(Holds("winograd"), Convolution, "ampere_scudnn_winograd_128x128_ldg1_ldg4_tile148n_nt_v1"),
    rule(Holds("im2col"), Convolution, "void at::native::im2col_kernel<float>(long)"),
    rule(Holds("im2d2col"), Convolution, "Im2d2Col_v2"),
    rule(Holds("col2im"), Convolution, "void at::native::col2im_kernel<float, float>(long)"),
    rule(Holds("nchwtonhwc"), Convolution, "void cudnn::engines_precompiled::nchwToNhwcKernel<__nv_bfloat16, __nv_bfloat16, float, true, true, 0>"),
    rule(Holds("nhwctonchw"), Convolution, "void cudnn::engines_precompiled::nhwcToNchwKernel<__nv_bfloat16, __nv_bfloat16, float, true, false, 0>"),
    rule(Holds("bwd_weight"), Convolution, "_ZN2ck16tensor_operation6device37kernel_batched_gemm_xdlops_bwd_weightINS_47GridwiseGemm"),
    rule(Holds("bwd_data"), Convolution, "kernel_grouped_bwd_data_multiple_d_xdl_cshuffle"),
    rule(Holds("miopensp3asm"), Convolution, "miopenSp3AsmConv_v30_3_1_gfx9_fp32_f2x3_stride1"),
    rule(Holds("conv_depthwise"), Convolution, "void at::native::(anonymous namespace)::conv_depthwise2d_forward_kernel<3>"),
    rule(Holds("causal_conv1d"), Convolution, "void causal_conv1d_fwd_kernel<Causal_conv1d_fwd_kernel_traits<128, 4>>"),
    rule(Holds("convolve"), Convolution, "void cudnn::cnn::convolve_common_engine_float_NHWC<__half>"),
    rule(Holds("conv_fwd"), Convolution, "_ZN2ck16tensor_operation6device12_GLOBAL__N_139kernel_grouped_conv_fwd_xdl_cshuffle_v3"),
    rule(Holds("conv2d"), Convolution, "void cudnn::cnn::conv2d_grouped_direct_kernel<false, true>"),
    rule(Holds("conv3d"), Convolution, "naive_conv3d_ab_nonpacked_ncdhw"),
    rule(Holds("conv_bwd"), Convolution, "_ZN2ck16tensor_operation6device12_GLOBAL__N_137kernel_grouped_conv_bwd_xdl"),
    rule(Starts("naive_conv"), Convolution, "naive_conv_ab_packed_fwd_nchw_ushort_double_ushort"),
    rule(Holds("cudnn::kernel"), Convolution, "void cutlass__5x_cudnn::Kernel<cutlass_tensorop_bf16_s16816_optimized_128x64_nhwc>"),
    // MIOpen and its layout changes around a convolution.
    rule(Starts("batched_transpose_"), Convolution, "batched_transpose_32x32_half"),
    rule(Starts("transpose_nchw"), Convolution, "transpose_NCHW2CNHW_V2_2D_WG_off64"),
    rule(Starts("transpose_cnhw"), Convolution, "transpose_CNHW2NCHW_V2_2D_WG_off64"),
    rule(Starts("subtensorop"), Convolution, "SubTensorOpWithCastTensor1d"),
    rule(Starts("op_tensor"), Convolution, "Op_tensor_bias_2d"),

    // Norms; before reductions, which many of them are.
    rule(Holds("batch_norm"), Normalisation, "void at::native::batch_norm_collect_statistics_kernel<at::native::Var, c10::BFloat16>"),
    rule(Holds("batchnorm"), Normalisation, "MIOpenBatchNormFwdTrainSpatialMeanVariance"),
    rule(Holds("cudnn::bn_"), Normalisation, "void cudnn::bn_fw_tr_1C11_singleread<__half, 512, true>"),
    rule(Holds("layer_norm"), Normalisation, "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>"),
    rule(Holds("layernorm"), Normalisation, "void transformer_engine::normalization::layernorm_fwd_kernel"),
    rule(Holds("ln_fwd"), Normalisation, "void ln_fwd_tuned_kernel<Kernel_traits>"),
    rule(Holds("ln_bwd"), Normalisation, "void ln_bwd_finalize_kernel<Kernel_traits>"),
    rule(Holds("group_norm"), Normalisation, "void group_norm_nhwc_sum_kernel<bf16>"),
    rule(Holds("groupnorm"), Normalisation, "groupnorm_kernel_dispatch_down"),
    rule(Holds("rms_norm"), Normalisation, "void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>"),
    rule(Holds("rmsnorm"), Normalisation, "_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi64ELi8ELb0ELb0ELb1ELi1EEEv"),
    rule(Holds("gammabeta"), Normalisation, "void at::native::(anonymous namespace)::GammaBetaBackwardSimpleCUDAKernel<float, float, false>"),
    rule(Holds("rowwisemoments"), Normalisation, "void at::native::(anonymous namespace)::RowwiseMomentsCUDAKernel<float>"),
    rule(Holds("computeinternalgradients"), Normalisation, "void at::native::(anonymous namespace)::ComputeInternalGradientsCUDAKernel<float>"),
    rule(Holds("fusedparams"), Normalisation, "void at::native::(anonymous namespace)::ComputeFusedParamsCUDAKernel<float>"),

    // Positions are rotated element by element.
    rule(Holds("rotary"), Elementwise, "void rotary_embedding_kernel<c10::BFloat16, true>"),
    rule(Holds("rope_"), Elementwise, "kn_entry_2c_sbhd_cached_rope_fwd"),

    // Matrix products of the vendors' libraries.
    rule(Starts("cijk_"), Gemm, "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x224x64_MI16x16x1_SN"),
    rule(Holds("nvjet_"), Gemm, "nvjet_tst_192x192_64x4_1x2_h_bz_coopB_TNT"),
    rule(Holds("gemm"), Gemm, "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas"),
    rule(Holds("gemv"), Gemm, "std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, __nv_bfloat16, __nv_bfloat16, __nv_bfloat16, float>"),
    rule(Holds("splitkreduce"), Gemm, "void cublasLt::splitKreduce_kernel<32, 16, int, float, __nv_bfloat16, float, __nv_bfloat16>"),
    rule(Holds("wvsplitk"), Gemm, "void wvSplitK_hf_sml_<__hip_bfloat16, 64, 2, 16, 8, 2, 1>"),
    rule(Holds("matmul"), Gemm, "_matmul_ogs_NNT_bf16xbf16xmxfp4_128x256x128x1_swiglu"),
    rule(Holds("hipblaslt"), Gemm, "hipblaslt_custom_kernel_bf16"),
    rule(Holds("tensorop"), Gemm, "cutlass_80_wmma_tensorop_bf16_s161616_16x16_32x1_tn_align8"),
    rule(Holds("marlin"), Gemm, "void marlin::Marlin<__nv_bfloat16, 256, 1, 8, 8>"),
    rule(Holds("xmma_"), Gemm, "sm80_xmma_sparse_bf16_tn_n_tilesize256"),

    // Along an axis.
    rule(Holds("softmax"), Reduction, "void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, c10::BFloat16, float, c10::BFloat16>"),
    rule(Holds("cross_entropy"), Reduction, "liger_cross_entropy_kernel"),
    rule(Holds("nll_loss"), Reduction, "void at::native::(anonymous namespace)::nll_loss_forward_reduce_cuda_kernel_2d<float, float, long>"),
    rule(Holds("reduce"), Reduction, "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float>>>"),
    rule(Holds("pool"), Reduction, "void at::native::(anonymous namespace)::max_pool_forward_nchw<c10::BFloat16>"),
    rule(Holds("topk"), Reduction, "void at::native::sbtopk::gatherTopK<float, unsigned int, 2, false>"),
    rule(Holds("sampling"), Reduction, "void TopPSamplingFromProbKernel<1024, sampling>"),
    rule(Holds("sort"), Reduction, "void at::native::bitonicSortKVInPlace<2, -1, 16, 16, long, long>"),
    rule(Holds("scan"), Reduction, "void at::native::tensor_kernel_scan_innermost_dim<float, std::plus<float>>"),
    rule(Holds("rocprim"), Reduction, "void rocprim::ROCPRIM_400400_NS::detail::trampoline_kernel<rocprim::ROCPRIM_400400_NS::default_config, rocprim::partition_config_selector>"),
    rule(Holds("cub::"), Reduction, "void cub::CUB_200101_900_NS::DeviceSelectSweepKernel<cub::policy>"),
    rule(Holds("embedding_backward"), Reduction, "void at::native::(anonymous namespace)::embedding_backward_feature_kernel<c10::BFloat16, float, long>"),
    rule(Holds("compute_grad_weight"), Reduction, "void at::native::(anonymous namespace)::compute_grad_weight<c10::BFloat16, long>"),
    rule(Holds("argmax"), Reduction, "_fused_argmax_kernel"),

    // Element by element.
    rule(Holds("catarray"), Elementwise, "void at::native::(anonymous namespace)::CatArrayBatchedCopy_contig<at::native::(anonymous namespace)::OpaqueType<2u>, unsigned int, 3, 128, 1>"),
    rule(Holds("elementwise"), Elementwise, "void transformer_engine::elementwise_unary<bf16>"),
    rule(Holds("dropout"), Elementwise, "void dropout_add_kernel<bf16>"),
    rule(Holds("index"), Elementwise, "void at::native::indexFuncLargeIndex<float, long, unsigned int, 2, 2, -2, true>"),
    rule(Holds("gather"), Elementwise, "void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*, int, long)"),
    rule(Holds("scatter"), Elementwise, "void scatter_rows_kernel<bf16>"),
    rule(Holds("embedding"), Elementwise, "void vocab_parallel_embedding_kernel<bf16>"),
    rule(Holds("upsample"), Elementwise, "void at::native::(anonymous namespace)::upsample_nearest2d_out_frame<c10::BFloat16>"),
    rule(Holds("_pad"), Elementwise, "void at::native::(anonymous namespace)::replication_pad_forward_kernel2d<float>"),
    rule(Holds("and_mul"), Elementwise, "_ZN7sgl_hip10activation18act_and_mul_kernelI14__hip_bfloat16"),
    rule(Holds("activation"), Elementwise, "void activation_kernel<bf16>"),
    rule(Holds("gelu"), Elementwise, "void gelu_fast_kernel<bf16>"),
    rule(Holds("silu"), Elementwise, "_silu_kernel"),
    rule(Holds("swiglu"), Elementwise, "_swiglu_fwd_kernel"),
    rule(Holds("adam"), Elementwise, "void multi_tensor_adam_kernel<float>"),
    rule(Holds("quant"), Elementwise, "void vllm::dynamic_per_token_scaled_fp8_kernel_quant<bf16>"),
    rule(Holds("transpose"), Elementwise, "void transpose_readWrite_alignment_kernel<__half>"),
    rule(Holds("permute"), Elementwise, "void permute_kernel<bf16, 4>"),
    rule(Holds("copy"), Elementwise, "void copy_rows_kernel<bf16>"),
    rule(Holds("fill"), Elementwise, "void fill_rows_kernel<bf16>"),
    rule(Holds("at::native::tril"), Elementwise, "void at::native::triu_tril_kernel<at::native::tril, float>"),
    rule(Holds("philox"), Elementwise, "void philox_uniform_kernel<float>"),
];
