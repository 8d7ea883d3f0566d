//! Names of kernels, copies and fills.
//!
//! The name of a C++ kernel spells out its template arguments, so it may contain names from anywhere. It is kept only
//! if every single identifier in it is known: by its library's namespace, or as a word of the language.

use super::placeholder::Placeholders;
use super::words::{described, in_name, is_identifier};
use crate::base::format::is_digits;
use crate::names::gpu_activity::is_communication_name;
use crate::names::{Family, family_of_kernel, op_category};
use crate::perf::models::table;
use crate::profile::gpu::timeline::GpuClass;
use crate::trace::Category;

/// Namespaces of publicly available libraries.
#[rustfmt::skip]
const LIBRARIES: &[&str] = &[
    "aiter", "at", "at_cuda_detail", "c10", "cask_cudnn", "ck", "ck_tile", "cub", "cublasLt", "cudnn", "cute",
    "cutlass", "cutlass3x_sm90_tensorop", "deep_ep", "deep_gemm", "fbgemm_gpu", "flashinfer", "hipcub", "marlin",
    "pytorch_flash", "PyTorchMemEffAttention", "rccl", "rocblas", "rocprim", "sgl_hip", "sglang", "std",
    "tensorrt_llm", "thrust", "torch", "transformer_engine", "vllm", "xformers",
];

/// Namespaces with common names: their content has to consist of known words.
const PLAIN_NAMESPACES: &[&str] = &["cuda", "flash", "hip", "internal"];

/// Words of the language, and types without a namespace.
#[rustfmt::skip]
const LANGUAGE: &[&str] = &[
    "HIP_vector_type", "OffsetCalculator", "TrivialOffsetCalculator", "function_traits", "__half", "__half2",
    "__hip_bfloat16", "__nv_bfloat16", "__nv_bfloat162", "__nv_fp8_e4m3", "__nv_fp8_e5m2", "_Float16", "auto",
    "bool", "char", "cudnnKernelDataType_t", "const", "cublasGemvParamsEx", "cublasGemvTensorStridedBatched",
    "double", "enum", "false", "float", "half", "ihipStream_t", "int", "int16_t", "int32_t", "int64_t",
    "int8_t", "lambda", "long", "namespace", "operator", "short", "signed", "size_t", "struct", "true", "type",
    "typename", "u", "ul", "uint16_t", "uint32_t", "uint64_t", "uint8_t", "unsigned", "void", "volatile", "kd",
    "hiprandStatePhilox4_32_10", "curandStatePhilox4_32_10_t", "Params", "nchw2nhwc_params_t",
    "nhwc2nchw_params_t", "ncclDevKernelArgsStorage",
];

/// Prefixes of kernels without a namespace; the rest of their names is generated.
#[rustfmt::skip]
const KERNELS: &[&str] = &[
    "Cijk_", "FlashAttnFwd", "Flash_fwd_", "Flash_bwd_", "Flash_kernel_traits", "GammaBeta", "MIOpen",
    "OpTensor", "Op_tensor_", "SubTensorOp", "_ZN2ck", "_ZN5aiter", "_ZN7ck_tile", "_ZN7sgl_hip",
    "cuApplyLayerNorm", "cuApplyRMSNorm", "elementwise_kernel_with_index", "fmha_cutlass", "fmhaSm", "gemmSN_",
    "gemmk1_", "gemv2N_", "gemv2T_", "gemvNSP_", "gemvx", "groupnorm_kernel_dispatch_", "Im2Col", "Im2d2Col",
    "igemm_bwd_gtc", "igemm_fwd_gtc", "igemm_wrw_gtc", "ncclDevKernel", "ncclKernel", "nchwToNhwcKernel",
    "nhwcToNchwKernel", "nvjet_", "wvSplitK_",
];

/// Prefixes of kernels without a namespace that anybody might use: the rest has to consist of known words.
#[rustfmt::skip]
const PLAIN_KERNELS: &[&str] = &[
    "ampere_", "batched_transpose_", "blackwell_", "bmm_", "cuCompute", "cudnn_", "cunn_", "cutlass_", "flash_bwd_",
    "flash_fwd_", "hopper_", "implicit_convolve_", "maxwell_", "naive_conv_", "rocblas_", "sm100_xmma_",
    "sm70_xmma_", "sm75_xmma_", "sm80_xmma_", "sm86_xmma_", "sm89_xmma_", "sm90_xmma_", "softmax_warp_",
    "splitKreduce_", "transpose_CNHW2NCHW", "transpose_NCHW2CNHW", "turing_", "volta_", "winograd_",
];

/// Words of such names in lower case, in addition to the common ones and those of one or two letters.
#[rustfmt::skip]
const PLAIN_WORDS: &[&str] = &[
    "algo", "align", "aligned", "ampere", "barrier", "batch", "batched", "beta", "bfloat", "bias", "blackwell", "cga", "cgemm",
    "clmp", "collective", "combine", "complex", "convert", "convolve", "cooperative", "cta", "cublas", "cudnn",
    "cutlass", "detail", "device", "dgemm", "dgrad", "dot", "double", "dyn", "dynamic", "enable", "epi", "epilogue",
    "execute", "exp", "filter", "fixed", "float", "fprop", "gamma", "glu", "grad", "grouped", "half", "hgemm",
    "hopper", "hmma", "igemm", "imma", "implicit", "indexed", "infer", "input", "interior", "kernel", "kcrs", "krsc",
    "large", "latency", "ldg", "loop", "low", "mainloop", "mask", "medium", "nchw", "nhwc", "nchwkcrs", "ndhwc",
    "nhwckrsc", "nosmem", "num", "off", "offset", "offsets", "opt", "optimized", "out", "output", "padded",
    "parallel", "persistent", "pingpong", "prepare", "preprocess", "region", "reorder", "scale", "sch", "scheduler",
    "scudnn", "segment", "segmented", "seqk", "sgemm", "shared", "simple", "simt", "single", "small", "sparse", "split",
    "splitk", "splitkv", "splits", "stage", "stages", "static", "std", "strided", "swi", "tensor", "tensorop", "tf",
    "tile", "tilesize", "tma", "trans", "transform", "turing", "varlen", "version", "volta", "warp", "warpgroup",
    "warpgroupsize", "warps", "warpsize", "warpspecialized", "weight", "wgrad", "wmma", "xmma", "zgemm",
];

const WHOLE: &[&str] = &[
    "attn_fwd",
    "bwd_kernel_dk_dv",
    "bwd_kernel_dq",
    "bwd_preprocess",
    "max_pool_backward_nchw",
    "max_pool_forward_nchw",
    "rotary_embedding_kernel",
];

/// Prefixes of kernels that `torch.compile` generates.
const COMPILED: &[&str] = &[
    "triton_for_fused_",
    "triton_per_fused_",
    "triton_poi_fused_",
    "triton_red_fused_",
    "triton_tem_fused_",
];

/// Replaces `(anonymous namespace)` while a name is parsed.
const ANONYMOUS: &str = "anonymous_namespace";

pub(super) fn name(name: &str, placeholders: &mut Placeholders) -> String {
    if is_copy(name) || is_known(name) {
        return name.to_owned();
    }
    if let Some(compiled) = compiled(name, placeholders) {
        return compiled;
    }
    let placeholder = placeholders.of("kernel", name);
    let word = described(placeholder.clone(), name);
    // The analysis must derive the same from the new name.
    let meaning = Meaning::of(name);
    let family = of_family(meaning.family);
    let candidates = [
        word.clone(),
        format!("{placeholder}_{family}"),
        format!("triton_{placeholder}"),
        // A PyTorch kernel instantiated with a user's function.
        format!("void at::native::{word}_kernel"),
    ];
    let same = candidates
        .into_iter()
        .find(|candidate| Meaning::of(candidate) == meaning);
    same.unwrap_or(word)
}

/// What an analysis derives from the name of a kernel alone.
#[derive(PartialEq)]
struct Meaning {
    family: Family,
    class: GpuClass,
    is_collective: bool,
    label: &'static str,
}

impl Meaning {
    fn of(name: &str) -> Meaning {
        Meaning {
            family: family_of_kernel(name),
            class: GpuClass::of(Category::Kernel, name),
            is_collective: is_communication_name(name),
            label: op_category("", Some(name)),
        }
    }
}

/// A word that assigns a name to its family.
fn of_family(family: Family) -> &'static str {
    match family {
        Family::Gemm => "gemm",
        Family::Attention => "attention",
        Family::Convolution => "convolution",
        Family::Normalization => "layer_norm",
        Family::Elementwise => "pointwise",
        Family::Reduction => "reduce",
        Family::Moe => "moe",
        Family::Triton => "triton",
        Family::MemoryCopy => "memcpy",
        Family::Communication => "all_reduce",
        Family::Other | Family::Unattributed => "other",
    }
}

pub(super) fn copy(name: &str, category: Category, placeholders: &mut Placeholders) -> String {
    let is_fill = category == Category::GpuMemset;
    let kind = if is_fill { "memset" } else { "memcpy" };
    placeholders.known_or(is_copy(name), kind, name)
}

/// Runtime names of copies and fills: `Memcpy DtoH (Device -> Pinned)`.
fn is_copy(name: &str) -> bool {
    const STARTS: &[&str] = &[
        "Memcpy",
        "Memset",
        "CopyHostToDevice",
        "CopyDeviceToHost",
        "CopyDeviceToDevice",
    ];
    #[rustfmt::skip]
    const WORDS: &[&str] = &[
        "Array", "CopyBuffer", "Device", "DtoA", "DtoD", "DtoH", "FillBuffer", "Host", "HtoA", "HtoD", "HtoH",
        "Managed", "Pageable", "Pinned", "PtoP", "Unknown", "kd",
    ];
    let rocm = name.strip_suffix(".kd").unwrap_or(name);
    let rocm = rocm
        .strip_prefix("__amd_rocclr_")
        .or(rocm.strip_prefix("MEMORY_COPY_"));
    if let Some(rest) = rocm {
        #[rustfmt::skip]
        const PARTS: &[&str] = &[
            "copyBuffer", "copyBufferRect", "copyBufferAligned", "copyBufferRectAligned", "fillBuffer",
            "fillBufferAligned", "fillBufferAligned2D", "copyImage", "fillImage", "HOST_TO_DEVICE", "DEVICE_TO_HOST",
            "DEVICE_TO_DEVICE", "copyBufferToImage", "initHeap", "scheduler", "gwsInit",
        ];
        return PARTS.contains(&rest);
    }
    let mut words = identifiers(name);
    !name.is_empty() && words.all(|word| STARTS.contains(&word) || WORDS.contains(&word))
}

fn identifiers(name: &str) -> impl Iterator<Item = &str> {
    name.split(|letter: char| !letter.is_alphanumeric() && letter != '_')
        .filter(|word| !word.is_empty())
}

/// Whether every identifier of a C++ name is known.
fn is_known(name: &str) -> bool {
    let name = name.replace("(anonymous namespace)", ANONYMOUS);
    let mut n_known = 0;
    let of_path = |letter: char| !letter.is_alphanumeric() && letter != '_' && letter != ':';
    for path in name.split(of_path).filter(|path| !path.is_empty()) {
        let mut parts = path.split("::").filter(|part| !part.is_empty());
        // A path that continues after template arguments: `Sequence<1>::type`.
        let goes_on = path.starts_with("::");
        let Some(first) = parts.find(|part| *part != ANONYMOUS) else {
            continue;
        };
        // The number of a lambda's argument: `auto:1`.
        let first = first.split(':').next().unwrap_or_default();
        if !first.is_ascii() || !path.is_ascii() {
            return false;
        }
        let is_plain = PLAIN_NAMESPACES.contains(&first);
        let is_library = match is_plain {
            true => parts.all(|part| is_kernel(part) || consists_of_words(part)),
            false => LIBRARIES.contains(&first),
        };
        let is_kernel = is_kernel(first);
        n_known += usize::from(is_kernel || is_library);
        let is_digits = first.starts_with(|letter: char| letter.is_ascii_digit())
            && first
                .trim_end_matches(|letter: char| "uUlLfF".contains(letter))
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'x');
        let is_fine = is_kernel
            || goes_on && n_known > 0
            || is_digits
            || LANGUAGE.contains(&first)
            || is_library;
        if !is_fine {
            return false;
        }
    }
    n_known > 0
}

fn is_kernel(name: &str) -> bool {
    let of_words = |start: &&str| name.strip_prefix(*start).is_some_and(consists_of_words);
    WHOLE.contains(&name)
        || KERNELS.iter().any(|start| name.starts_with(start))
        || PLAIN_KERNELS.iter().any(of_words)
}

/// Whether an identifier consists only of numbers, words of one or two letters, and kernel words:
/// `bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_tn`.
fn consists_of_words(identifier: &str) -> bool {
    let runs = identifier.split(|letter: char| letter == '_' || letter.is_ascii_digit());
    runs.flat_map(at_capitals).all(|word| {
        let word = word.to_ascii_lowercase();
        word.len() <= 2 || PLAIN_WORDS.contains(&word.as_str()) || in_name(&word) == [word.as_str()]
    })
}

/// Splits at capitals: `nchwToNhwc` is `nchw`, `To`, `Nhwc`; `2DWith` is `2`, `D`, `With`.
pub(super) fn at_capitals(run: &str) -> impl Iterator<Item = &str> {
    let is = |at: usize, kind: fn(&u8) -> bool| run.as_bytes().get(at).is_some_and(kind);
    let is_start = |at: usize| {
        let goes_on = is(at - 1, u8::is_ascii_uppercase) && !is(at + 1, u8::is_ascii_lowercase);
        is(at, u8::is_ascii_uppercase) && !goes_on
    };
    let starts: Vec<usize> = (1..run.len()).filter(|at| is_start(*at)).collect();
    let ends: Vec<usize> = starts.iter().copied().chain([run.len()]).collect();
    let starts = std::iter::once(0).chain(starts);
    starts
        .zip(ends)
        .filter_map(|(start, end)| run.get(start..end))
}

/// A kernel that `torch.compile` generated, with the operators that it fuses: `triton_poi_fused_add_mul_3`. Operators
/// that are not PyTorch's become `op`. `None` for any other name.
pub(super) fn compiled(name: &str, placeholders: &mut Placeholders) -> Option<String> {
    if !is_identifier(name) {
        return None;
    }
    let (start, rest) = COMPILED
        .iter()
        .find_map(|start| Some((start, name.strip_prefix(start)?)))?;
    let words: Vec<&str> = rest.split('_').collect();
    if words.iter().all(|word| is_word(word)) {
        return Some(name.to_owned());
    }
    let mut shown: Vec<&str> = Vec::new();
    for word in words.into_iter().filter(|word| !is_digits(word)) {
        match is_word(word) {
            true => shown.push(word),
            false if shown.last() == Some(&"op") => {}
            false => shown.push("op"),
        }
    }
    // No known word is "op", so the number makes the name unique.
    let number = placeholders.of("compiled", name);
    let number = number.trim_start_matches("compiled_");
    Some(format!("{start}{}_{number}", shown.join("_")))
}

/// Whether a word occurs in the names of PyTorch's operators, or is a number.
pub(super) fn is_word(word: &str) -> bool {
    #[rustfmt::skip]
    const OTHERS: &[&str] = &[
        "as", "backward", "bitwise", "bool", "chunk", "clamp", "clone", "constant", "contiguous", "copy", "cos",
        "data", "default", "detach", "device", "div", "eq", "erf", "exp", "expand", "fill", "floor", "full",
        "fused", "ge", "gt", "hardtanh", "index", "iota", "isnan", "le", "lift", "fresh", "like", "log", "logical",
        "lt", "max", "maximum", "min", "minimum", "mod", "nd", "ne", "neg", "new", "not", "ones", "or", "pad",
        "permute", "pow", "prims", "put", "reciprocal", "relu", "remainder", "repeat", "reshape", "round", "rsqrt",
        "rsub", "scalar", "select", "sigmoid", "sign", "sin", "slice", "split", "sqrt", "squeeze", "stack",
        "strided", "sub", "tensor", "tensors", "threshold", "tile", "to", "transpose", "tril", "triu", "trunc",
        "unbind", "unsafe", "unsqueeze", "view", "where", "with", "xor", "and", "zeros", "",
    ];
    if is_digits(word) || OTHERS.contains(&word) {
        return true;
    }
    let of_aten = |op: &str| {
        let name = op.strip_prefix("aten::");
        name.is_some_and(|name| name.split('_').any(|part| part == word))
    };
    table::models().any(|model| of_aten(model.op))
        || crate::names::known_ops().any(|op| of_aten(op.name))
        || (!word.is_empty() && in_name(word) == [word])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rustfmt::skip]
    const KNOWN: &[&str] = &[
        "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)",
        "void at::native::(anonymous namespace)::indexSelectLargeIndex<c10::BFloat16, long, unsigned int, 2, 2, -2, true>(int)",
        "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda(float)#1}>(int)",
        "void (anonymous namespace)::softmax_warp_forward<float, float, float, 8, false, false>(float*)",
        "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas",
        "Cijk_Alik_Bljk_BBS_BH_Bias_HAS_SAV_UserArgs_MT32x32x64_MI16x16x1",
        "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_tn",
        "cudnn_infer_ampere_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1",
        "cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_128x2_tn_align8",
        "void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2>, flash::VarlenDynamicPersistentTileScheduler>>>",
        "std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, __nv_bfloat16, float>",
        "bmm_Bfloat16_E4m3E4m3_Fp32_t128x8x512u2_s5_cga1x1x1_transOut_schPd2x1x2x3_bN_tma_tmaOpt_swiGlu_dynBatch_sm100f",
        "transpose_CNHW2NCHW_V2_2D_WG_off64", "void splitKreduce_kernel<32, 16, int, float>(float*)",
        "triton_red_fused_add_native_layer_norm_7", "Memcpy DtoD (Device -> Device)",
        "__amd_rocclr_fillBufferAligned.kd",
    ];

    #[test]
    fn kernels_of_libraries_stay() {
        for known in KNOWN {
            let mut placeholders = Placeholders::default();
            assert_eq!(name(known, &mut placeholders), *known);
        }
    }

    #[test]
    fn other_kernels_go_and_keep_their_family() {
        #[rustfmt::skip]
        let cases = [
            ("acme_gemm_v3", "kernel_1_gemm"),
            ("secret", "kernel_2"),
            // One unknown name among the template arguments is enough.
            ("void at::native::vectorized_elementwise_kernel<4, acme::Secret<float>>", "void at::native::kernel_3_elementwise_kernel"),
            ("void cutlass::gemm::Kernel<AcmeSecretMainloop>", "kernel_4_gemm"),
            ("triton_acme_secret_0", "triton_kernel_5"),
            ("triton_poi_fused_acme_secret_add_0", "triton_poi_fused_op_add_1"),
            ("acme_nccl_secret", "kernel_6_nccl"),
            // Also between GPUs, and not one of TraceLens's collectives.
            ("acme_secret_userbuffers", "kernel_7_all_reduce"),
            ("void größe<float>()", "kernel_8"),
            // Starts like a library's kernel, or has a common namespace.
            ("flash_fwd_acmecorp_zeus", "kernel_9_flash_fwd"),
            ("bmm_acmecorp_zeus_kernel", "kernel_10_gemm"),
            ("hopper_acmecorp_gemm", "kernel_11_gemm"),
            ("void internal::acmecorp_zeus_kernel<float>", "kernel_12"),
            ("hip::acmecorp_zeus2", "kernel_13"),
        ];
        let mut placeholders = Placeholders::default();
        for (kernel, expected) in cases {
            let shown = name(kernel, &mut placeholders);
            assert_eq!(shown, expected);
            assert_eq!(
                family_of_kernel(&shown),
                family_of_kernel(kernel),
                "{kernel}"
            );
            assert_eq!(
                is_communication_name(&shown),
                is_communication_name(kernel),
                "{kernel}"
            );
        }
    }

    #[test]
    fn each_family_has_a_word() {
        for family in Family::ALL {
            let name = match family {
                Family::Triton => "triton_kernel_1".to_owned(),
                Family::MemoryCopy | Family::Unattributed => continue,
                _ => format!("kernel_1_{}", of_family(family)),
            };
            assert_eq!(family_of_kernel(&name), family, "{name}");
        }
    }
}
