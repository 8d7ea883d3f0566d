//! The rules that give a name its [`Library`]. The first matching rule decides.
//!
//! Each rule has an example from a trace, which is its test: no earlier rule may match it.

use super::super::rule::Pattern::{Holds, PythonName, Starts};
use super::super::rule::{Rule, rule};
use super::Library::{self, *};

/// Operators named after their library.
#[rustfmt::skip]
pub(super) const OP_RULES: &[Rule<Library>] = &[
    rule(Holds("aiter::"), Aiter, "aiter::gemm_a8w8_ck"),
    rule(Holds("rocm_aiter"), Aiter, "vllm::rocm_aiter_triton_gemm_a8w8_blockscale"),
    rule(Holds("fbgemm"), Fbgemm, "fbgemm::f8f8bf16_rowwise"),
    rule(Holds("miopen"), MiOpen, "aten::miopen_convolution"),
    rule(Holds("cudnn"), CuDnn, "aten::cudnn_convolution"),
    rule(Holds("triton"), Triton, "triton_poi_fused_add_0"),
    rule(Starts("flash_attn"), FlashAttention, "flash_attn::_flash_attn_forward"),
    rule(Starts("flashinfer::"), FlashInfer, "flashinfer::rmsnorm"),
    rule(Starts("deep_gemm::"), DeepGemm, "deep_gemm::fp8_gemm_nt"),
    rule(Starts("bitsandbytes::"), BitsAndBytes, "bitsandbytes::int8_linear_matmul"),
];

/// Kernels, copies and fills.
#[rustfmt::skip]
pub(super) const KERNEL_RULES: &[Rule<Library>] = &[
    // Traffic between GPUs.
    rule(Holds("nccl"), Nccl, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"),
    rule(Holds("rccl"), Nccl, "rcclGenericKernel<1, false>"),
    rule(Holds("nvshmem"), Nvshmem, "nvshmemi_barrier_kernel"),
    rule(Holds("oneccl"), OneCcl, "oneccl_allreduce_large<sycl::half>"),
    rule(Holds("deep_ep::"), DeepEp, "void deep_ep::internode_ll::dispatch<true, false, 7168>(void*)"),
    rule(Holds("mori::"), Mori, "mori::moe::EpDispatchInterNodeKernel<float>"),
    rule(Starts("epdispatch"), Mori, "EpDispatchIntraNodeKernel_bf16"),
    rule(Starts("epcombine"), Mori, "EpCombineIntraNodeKernel_bf16"),

    // Copies and fills by the runtime.
    rule(Starts("memcpy"), GpuRuntime, "Memcpy DtoD (Device -> Device)"),
    rule(Starts("memset"), GpuRuntime, "Memset (Device)"),
    rule(Starts("memory_copy_"), GpuRuntime, "MEMORY_COPY_HOST_TO_DEVICE"),
    rule(Starts("__amd_rocclr_"), GpuRuntime, "__amd_rocclr_fillBufferAligned.kd"),

    // torch.compile names its kernels after the ops they fuse, so this precedes the rules for those words.
    rule(Starts("triton_"), Triton, "triton_red_fused_add_addmm_mul_native_layer_norm_split_16"),

    // DNN libraries; before GEMMs and attention, whose words their names contain.
    rule(Holds("cudnn"), CuDnn, "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_3_64x128x128"),
    rule(Holds("xmma_fprop"), CuDnn, "sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128"),
    rule(Holds("xmma_dgrad"), CuDnn, "sm80_xmma_dgrad_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128"),
    rule(Holds("xmma_wgrad"), CuDnn, "sm80_xmma_wgrad_implicit_gemm_indexed_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128"),
    rule(Holds("implicit_convolve"), CuDnn, "void implicit_convolve_sgemm<float, float, 1024, 5, 5, 3, 3, 3, 1>"),
    rule(Holds("miopen"), MiOpen, "MIOpenBatchNormFwdTrainSpatialMeanVariance"),
    rule(Starts("igemm_"), MiOpen, "igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt128x256x32"),
    rule(Starts("naive_conv"), MiOpen, "naive_conv_ab_packed_fwd_nchw_ushort_double_ushort"),
    rule(Starts("batched_transpose_"), MiOpen, "batched_transpose_32x32_half"),
    rule(Starts("transpose_nchw"), MiOpen, "transpose_NCHW2CNHW_V2_2D_WG_off64"),
    rule(Starts("transpose_cnhw"), MiOpen, "transpose_CNHW2NCHW_V2_2D_WG_off64"),
    rule(Starts("subtensorop"), MiOpen, "SubTensorOpWithCastTensor1d"),
    rule(Starts("op_tensor"), MiOpen, "Op_tensor_bias_2d"),
    rule(Starts("optensor"), MiOpen, "OpTensorFwdBias"),
    rule(Starts("im2d2col"), MiOpen, "Im2d2Col_v2"),
    rule(Starts("im2col"), MiOpen, "Im2Col"),
    rule(Starts("mlopooling"), MiOpen, "mloPoolingG"),
    rule(Starts("gemm_kernel"), OneDnn, "gemm_kernel"),
    rule(Starts("gen_conv"), OneDnn, "gen_conv"),
    rule(Starts("micro_sdpa"), OneDnn, "micro_sdpa"),
    rule(Holds("xetla"), XeTla, "gpu::xetla::fmha::FmhaForwardKernel<gpu::xetla::fmha_forward_t>"),

    // Libraries whose kernels contain their name; before the templates they are built from.
    rule(Holds("aiter"), Aiter, "_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi64ELi8ELb0ELb0ELb1ELi1EEEv"),
    rule(Holds("flashinfer"), FlashInfer, "void flashinfer::BatchPrefillWithPagedKVCacheKernel<1, 2>"),
    rule(Holds("deep_gemm::"), DeepGemm, "void deep_gemm::sm90_fp8_gemm_1d2d_impl<0u, 7168u, 2048u>"),
    rule(Holds("fbgemm"), Fbgemm, "void fbgemm_gpu::quantizeFloat8Rowwise<__nv_bfloat16>"),
    rule(Holds("split_embedding"), Fbgemm, "split_embedding_codegen_forward_unweighted_kernel<float>"),
    rule(Holds("transformer_engine"), TransformerEngine, "void transformer_engine::normalization::rmsnorm_fwd_tuned_kernel<Kernel_traits>"),
    rule(Holds("tensorrt_llm"), TensorRtLlm, "void tensorrt_llm::kernels::cvt_fp16_to_fp4<__nv_bfloat16, false>"),
    rule(Holds("fmhasm10"), TensorRtLlm, "fmhaSm100fKernel_QkvBfloat16OBfloat16H64PagedKvCausalP64VarSeqQ128Kv128PersistentContext"),
    rule(Starts("bmm_"), TensorRtLlm, "bmm_E2m1_E2m1E2m1_Fp32_t128x8x512_s5_et128x8_m128x8x64_cga1x1x1_16dp256b_TN"),
    rule(Starts("moe::dev::"), TensorRtLlm, "moe::dev::finalize::finalizeKernel"),
    rule(Holds("routingdeepseek"), TensorRtLlm, "void routingDeepSeek::routingMainKernel<KernelParams>"),
    rule(Holds("marlin"), Marlin, "void marlin::Marlin<__nv_bfloat16, 256, 1, 8, 8>"),
    rule(Holds("vllm::"), Vllm, "void vllm::paged_attention_v1_kernel<__nv_bfloat16, 128, 16>"),
    // Skinny GEMMs, from the engine's extension for AMD.
    rule(Holds("wvsplitk"), Vllm, "void wvSplitK_hf_sml_<__hip_bfloat16, 64, 2, 16, 8, 2, 1>"),
    rule(Holds("llgemm1"), Vllm, "void LLGemm1_kernel<__half, 4>"),
    rule(Holds("sgl_hip"), Sglang, "_ZN7sgl_hip10activation18act_and_mul_kernelI14__hip_bfloat16"),
    rule(Holds("sglang"), Sglang, "void sglang::gptq::gemm_half_q_half_gptq_4bit_kernel<true, 4>"),
    rule(Holds("mul_mat_"), Ggml, "void mul_mat_q4_K<__half, true>"),
    rule(Holds("kgemm_4bit"), BitsAndBytes, "void kgemm_4bit_inference_naive<__nv_bfloat16, 128, 16>"),
    rule(Holds("kdequantizeblockwise"), BitsAndBytes, "void kDequantizeBlockwise<__nv_bfloat16, 512, 64, 8, 2>"),
    rule(Holds("kquantizeblockwise"), BitsAndBytes, "void kQuantizeBlockwise<__nv_bfloat16, 64, 2, 0, 2>"),
    rule(Holds("koptimizer"), BitsAndBytes, "void kOptimizer32bit2State<float, 0>"),
    rule(Holds("kint8vectorquant"), BitsAndBytes, "void kInt8VectorQuant<__half, 1024, 0>"),
    rule(Holds("selective_scan_fwd_kernel<"), Mamba, "void selective_scan_fwd_kernel<Selective_Scan_fwd_kernel_traits<128, 16, 1>>"),
    rule(Holds("selective_scan_bwd_kernel<"), Mamba, "void selective_scan_bwd_kernel<Selective_Scan_bwd_kernel_traits<128, 16, 1>>"),
    rule(Holds("causal_conv1d_fwd_kernel<"), Mamba, "void causal_conv1d_fwd_kernel<Causal_conv1d_fwd_kernel_traits<128, 4>>"),
    rule(Holds("cuapplylayernorm"), Apex, "void cuApplyLayerNorm<float, float, c10::BFloat16>"),
    rule(Holds("distadam"), Apex, "DistAdamCapturableFunctor"),

    // Attention; before the templates it is built from.
    rule(Holds("splitkv_mla"), FlashMla, "void sm90::flash_fwd_splitkv_mla_kernel<Traits<cutlass::bfloat16_t>>"),
    rule(Holds("fwd_mla_combine"), FlashMla, "void smxx::mla_combine::flash_fwd_mla_combine_kernel<cutlass::bfloat16_t>"),
    rule(Holds("flash_fwd"), FlashAttention, "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128, 128, 4>>"),
    rule(Holds("flash_bwd"), FlashAttention, "void flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<128, 64, 128, 8>>"),
    rule(Holds("flash::"), FlashAttention, "void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<CollectiveMainloop>>>"),
    rule(Holds("fmha_cutlass"), MemEfficientAttention, "fmha_cutlassF_bf16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel)"),

    // AMD's templates and GEMMs.
    rule(Holds("ck_tile"), ComposableKernel, "_ZN7ck_tile6kentryILi2ENS_38FmhaBatchPrefillWithPagedKVCacheKernel"),
    rule(Starts("_zn2ck"), ComposableKernel, "_ZN2ck16tensor_operation6device12_GLOBAL__N_139kernel_grouped_conv_fwd_xdl_cshuffle_v3"),
    rule(Holds(" ck::"), ComposableKernel, "void ck::kernel_gemm_xdl_cshuffle_v3<ck::GridwiseGemm_xdl_cshuffle_v3>"),
    rule(Holds("fmhafwd"), ComposableKernel, "FmhaFwdKernel_bf16"),
    rule(Holds("fmhabwd"), ComposableKernel, "FmhaBwdDQDKDVKernel_bf16"),
    rule(Holds("cijk_"), Tensile, "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x224x64_MI16x16x1_SN"),
    rule(Holds("rocblas"), RocBlas, "void rocblas_gemvt_sn_kernel<false, 256, 4, int>"),
    rule(Holds("rocprim"), RocPrim, "void rocprim::ROCPRIM_400400_NS::detail::trampoline_kernel<rocprim::partition_config_selector>"),

    // NVIDIA's templates and GEMMs.
    rule(Holds("nvjet"), CuBlas, "nvjet_sm100_tst_24x64_64x16_4x1_v_bz_TNN"),
    rule(Holds("cublas"), CuBlas, "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas"),
    rule(Holds("xmma_gemm"), CuBlas, "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize32x32x8_stage3"),
    rule(Holds("splitkreduce"), CuBlas, "void splitKreduce_kernel<32, 16, int, float, __nv_bfloat16, float>"),
    rule(Holds("gemvx"), CuBlas, "std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, __nv_bfloat16>"),
    rule(Holds("gemmk1_"), CuBlas, "void gemmk1_kernel<int, float, 256, 5, false, false, false, false>"),
    rule(Holds("gemmsn_"), CuBlas, "void gemmSN_TN_kernel<float, 128, 16, 2, 4, 4, 4, true>"),
    rule(Holds("gemv2t_"), CuBlas, "void gemv2T_kernel_val<int, int, float, float, float, float, 128, 16, 4, 4>"),
    rule(Holds("gemv2n_"), CuBlas, "void gemv2N_kernel<int, int, float, float, float, float, 128, 4, 4, 4>"),
    rule(Holds("gemvnsp_"), CuBlas, "void gemvNSP_kernel<__half, __half, __half, float, 1, 32, 4, 1024>"),
    rule(Starts("ampere_"), CuBlas, "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn"),
    rule(Starts("turing_"), CuBlas, "turing_fp16_s1688gemm_fp16_128x128_ldg8_f2f_tn"),
    rule(Starts("volta_"), CuBlas, "volta_sgemm_128x64_tn"),
    rule(Starts("maxwell_"), CuBlas, "maxwell_sgemm_128x64_nn"),
    rule(Starts("hopper_"), CuBlas, "hopper_dgemm_128x64_tn"),
    rule(Holds("cutlass"), Cutlass, "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x64_64x6_tn_align8>"),

    // PyTorch's own; before the primitives that take its kernels as template arguments.
    rule(Holds("at_cuda_detail::cub"), Cub, "void at_cuda_detail::cub::DeviceRadixSortSingleTileKernel<at_cuda_detail::cub::DeviceRadixSortPolicy>"),
    rule(Starts("void cub::"), Cub, "void cub::CUB_200101_900_NS::DeviceSelectSweepKernel<cub::policy>"),
    rule(Starts("void thrust::"), Cub, "void thrust::THRUST_200302_800_NS::cuda_cub::core::_kernel_agent<at::native::policy>"),
    rule(Starts("void hipcub::"), Cub, "void hipcub::DeviceReduceKernel<float>"),
    rule(Holds("at::native"), PyTorch, "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>>"),
    rule(Holds("::elementwise_kernel_with_index"), PyTorch, "void (anonymous namespace)::elementwise_kernel_with_index<int, long>"),
    rule(Holds("::softmax_warp_"), PyTorch, "void (anonymous namespace)::softmax_warp_forward<float, float, float, 8, false, false>"),
    rule(Holds("at::cuda::"), PyTorch, "void at::cuda::detail::kernelPointwiseApply2<float, float>"),
    rule(Holds("multimem_all_reduce"), PyTorch, "void multimem_all_reduce_kernel<c10::BFloat16, 16>"),
    rule(Holds("symmetric_memory::"), PyTorch, "c10d::symmetric_memory::barrier_kernel(unsigned int**, unsigned long, unsigned long)"),
    rule(Holds("cub::"), Cub, "std::enable_if<true>::type cub::DeviceScanKernel<float>"),
    rule(Holds("thrust::"), Cub, "std::enable_if<true>::type thrust::transform_kernel<float>"),

    // Python compilers, by names that only they generate.
    rule(Holds("flydsl"), FlyDsl, "qk_norm_rope_H32_D512_RD64_flydsl"),
    rule(Holds("tilelang"), TileLang, "tilelang_sparse_fwd_kernel"),
    rule(Holds("triton"), Triton, "create_flashattn_kv_indices_triton"),
    rule(Starts("kernel_unified_attention"), Triton, "kernel_unified_attention_2d"),
    rule(Starts("fused_moe_kernel"), Triton, "fused_moe_kernel_gptq_awq"),
    rule(Starts("attn_fwd"), Triton, "attn_fwd"),
    rule(Starts("bwd_kernel_d"), Triton, "bwd_kernel_dk_dv"),
    rule(Starts("bwd_preprocess"), Triton, "bwd_preprocess"),
    rule(Starts("fused_recurrent_"), Triton, "fused_recurrent_gated_delta_rule_fwd_kernel"),
    rule(Starts("fused_qkvzba_"), Triton, "fused_qkvzba_split_reshape_cat_kernel"),
    rule(Starts("chunk_"), Triton, "chunk_gated_delta_rule_fwd_kernel_h_blockdim64"),
    rule(Starts("liger_"), Triton, "liger_cross_entropy_kernel"),
    rule(PythonName, Triton, "_fwd_grouped_kernel_stage1"),
];
