//! Names of operators and of runtime calls.

use super::kernels;
use super::placeholder::Placeholders;
use super::words::{described, is_identifier};
use crate::base::format::is_digits;
use crate::names::known_op;
use crate::perf::models::table;

/// Namespaces of operators that PyTorch and well-known libraries register. `_C` is not one of them: any extension may
/// use it, so only the operators in the tables are known.
#[rustfmt::skip]
const LIBRARIES: &[&str] = &[
    "_c10d_functional", "aiter", "aten",
    "bitsandbytes", "c10d", "c10d_functional", "deep_ep", "deep_gemm", "fbgemm", "flash_attn", "flashinfer",
    "inductor", "mkldnn", "onednn", "prims", "quantized", "quantized_decomposed", "sgl_kernel", "sglang",
    "symm_mem", "torchao", "torchvision", "transformer_engine", "vllm", "xformers",
];

/// Names that PyTorch gives to events that are not registered operators.
#[rustfmt::skip]
const FRAMEWORK: &[&str] = &[
    "record_param_comms", "detach", "detach_", "torch::autograd::AccumulateGrad", "torch::autograd::GraphRoot",
    "torch::autograd::CopyBackwards", "torch::autograd::CopySlices", "torch::distributed::reducer::mul_out",
    "torch.distributed.ddp.reducer::copy_bucket_to_grad", "TorchDynamo Cache Lookup", "Pregraph bytecode",
    "AOTDispatcher Runtime Wrapper Prologue", "[pytorch|profiler|execution_trace|process]",
    "[pytorch|profiler|execution_trace|thread]",
];

const EVALUATES: &str = "autograd::engine::evaluate_function: ";
const NODE: &str = "torch::autograd::CppNode<";
const REGION: &str = "Torch-Compiled Region: ";

pub(super) fn name(name: &str, placeholders: &mut Placeholders) -> String {
    match name.strip_prefix(EVALUATES) {
        Some(function) => format!("{EVALUATES}{}", function_name(function, placeholders)),
        None => function_name(name, placeholders),
    }
}

/// An operator, or a function that autograd evaluates.
fn function_name(name: &str, placeholders: &mut Placeholders) -> String {
    if is_known(name) {
        return name.to_owned();
    }
    if let Some(compiled) = kernels::compiled(name, placeholders) {
        return compiled;
    }
    let placeholder = placeholders.of("op", name);
    if name.starts_with(NODE) {
        return format!("{NODE}{placeholder}>");
    }
    // The prefix identifies a kernel that Python compiled.
    if let Some(rest) = name.strip_prefix("triton") {
        return format!("triton_{}", described(placeholder, rest));
    }
    // A user's function with a gradient: PyTorch appends the word to its name.
    match name.strip_suffix("Backward") {
        Some(own) => format!("{}_Backward", described(placeholder, own)),
        None => described(placeholder, name),
    }
}

fn is_known(name: &str) -> bool {
    if FRAMEWORK.contains(&name) || known_op(name).is_some() || table::exact(name).is_some() {
        return true;
    }
    if let Some((library, op)) = name.split_once("::") {
        return LIBRARIES.contains(&library) && is_identifier(op);
    }
    if let Some(collective) = name.strip_prefix("nccl:") {
        return is_collective(collective);
    }
    if let Some(region) = name.strip_prefix(REGION) {
        return region.split('/').all(is_digits);
    }
    is_node(name)
}

/// A node of PyTorch's own backward graph: `AddmmBackward0`. Users' nodes have no number, and contain words that no
/// operator has.
fn is_node(name: &str) -> bool {
    let stem = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let operator = stem.strip_suffix("Backward");
    let words = |operator: &str| kernels::at_capitals(operator).all(is_word_of_node);
    is_identifier(name) && stem.len() < name.len() && operator.is_some_and(words)
}

/// Whether a word occurs in the name of one of PyTorch's operators, as nodes spell it: `Addmm`, `2D`.
fn is_word_of_node(word: &str) -> bool {
    #[rustfmt::skip]
    const OTHERS: &[&str] = &[
        "abs", "act", "adaptive", "affine", "alias", "aminmax", "avg", "baddbmm", "bernoulli", "bilinear", "binary",
        "bicubic", "broadcast", "cdist", "ceil", "celu", "channel", "cholesky", "col", "complex", "conj", "cosh",
        "count", "cpu", "cross", "ctc", "cudnn", "cum", "cumprod", "cumsum", "det", "diag", "diagonal", "dist", "dot",
        "efficient", "elu", "entropy", "erfc", "erfinv", "expm", "fake", "fft", "flip", "foreach", "for", "fractional",
        "frac", "gather", "glu", "grid", "grad", "group", "huber", "im", "imag", "indices", "instance", "inverse",
        "kl", "kthvalue", "l", "leaky", "lerp", "lgamma", "linalg", "linear", "logsumexp", "lstm", "margin", "masked",
        "median", "miopen", "mish", "mkldnn", "mode", "mse", "multi", "mv", "nan", "nanmean", "nearest", "nested",
        "non", "nonzero", "norm", "overrideable", "packed", "per", "pdist", "pixel", "poisson", "prelu", "prod",
        "quantile", "quantize", "quick", "rand", "real", "reflection", "renorm", "replication", "resize", "rnn",
        "roll", "rot", "rrelu", "sampler", "scatter", "selu", "sgn", "shuffle", "sigmoid", "silu", "sinc", "sinh",
        "sizes", "smooth", "softmin", "softplus", "softshrink", "solve", "sort", "sparse", "square", "std", "sum",
        "svd", "swish", "take", "tan", "tanh", "thnn", "topk", "trace", "trapezoid", "triangular", "unfold", "unique",
        "upsample", "values", "var", "vector", "view", "weight", "window",
    ];
    let plain = word.trim_matches(|letter: char| letter.is_ascii_digit() || letter == '_');
    let plain = plain.to_ascii_lowercase();
    plain.len() <= 2 || OTHERS.contains(&plain.as_str()) || kernels::is_word(&plain)
}

pub(super) fn is_collective(name: &str) -> bool {
    #[rustfmt::skip]
    const NAMES: &[&str] = &[
        "all_reduce", "allreduce", "all_reduce_barrier", "broadcast", "all_gather", "allgather",
        "_all_gather_base", "_allgather_base", "all_gather_into_tensor", "all_gather_into_tensor_coalesced",
        "reduce", "reduce_scatter", "_reduce_scatter_base", "reduce_scatter_tensor",
        "reduce_scatter_tensor_coalesced", "all_to_all", "all_to_allv", "all_to_all_single", "alltoall",
        "alltoall_base", "gather", "scatter", "barrier", "coalesced", "send", "recv", "wait",
    ];
    let plain = name.trim_end_matches(is_space_or_digit);
    let plain = plain
        .trim_end_matches("->")
        .trim_end_matches(is_space_or_digit);
    NAMES.contains(&name) || NAMES.contains(&plain)
}

fn is_space_or_digit(letter: char) -> bool {
    letter == ' ' || letter.is_ascii_digit()
}

pub(super) fn call(name: &str, placeholders: &mut Placeholders) -> String {
    const APIS: &[&str] = &["cuda", "hip", "cu", "hsa_", "nvtx"];
    let is_api = |api: &&str| {
        let rest = name.strip_prefix(*api).unwrap_or_default();
        rest.starts_with(|letter: char| letter.is_ascii_uppercase())
    };
    let is_known = is_identifier(name) && APIS.iter().any(is_api);
    placeholders.known_or(is_known, "call", name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_of_libraries_stay_and_own_ones_go() {
        #[rustfmt::skip]
        let cases = [
            ("aten::_scaled_dot_product_flash_attention", None),
            ("autograd::engine::evaluate_function: AddmmBackward0", None),
            ("triton_poi_fused_add_mul_3", None),
            ("nccl:all_reduce", None),
            ("Torch-Compiled Region: 0/12", None),
            ("vllm::unified_attention_with_output", None),
            ("acme::router", Some("op_1_router")),
            ("acme::secret", Some("op_2")),
            ("aten::acme secret", Some("op_3")),
            ("ScaledDotProductEfficientAttentionBackward0", None),
            ("UpsampleBilinear2DBackward1", None),
            ("MaxPool2DWithIndicesBackward0", None),
            ("SecretFnBackward", Some("op_4_Backward")),
            ("autograd::engine::evaluate_function: SecretFnBackward", Some("autograd::engine::evaluate_function: op_4_Backward")),
            ("Acmecorp7ZeusBackward0", Some("op_5_backward")),
            ("nccl:secret", Some("op_6_nccl")),
            ("triton_acme_secret", Some("triton_op_7")),
            ("torch::autograd::CppNode<Secret>", Some("torch::autograd::CppNode<op_8>")),
            ("autograd::engine::evaluate_function: autograd::engine::evaluate_function: Mm", Some("autograd::engine::evaluate_function: op_9")),
        ];
        let mut placeholders = Placeholders::default();
        for (op, expected) in cases {
            assert_eq!(name(op, &mut placeholders), expected.unwrap_or(op));
        }
    }

    #[test]
    fn calls_of_the_runtime_stay() {
        let mut placeholders = Placeholders::default();
        let mut call = |name| call(name, &mut placeholders);
        assert_eq!(call("cudaLaunchKernel"), "cudaLaunchKernel");
        assert_eq!(call("hipExtModuleLaunchKernel"), "hipExtModuleLaunchKernel");
        assert_eq!(call("cutlass_secret"), "call_1");
        assert_eq!(call("secret"), "call_2");
    }
}
