//! Element-wise operators by name.

use super::words::{holds, leading_digits, without_namespace};
use crate::base::labels::labeled;

labeled! {
    /// Kinds of element-wise operations; `as` gives the key of their count in files.
    pub(crate) enum ElementwiseKind {
        /// Adds, multiplies, copies or fills: limited by memory bandwidth.
        Baseline => "add, multiply, copy, fill" as "baseline_count",
        /// Adds or multiplies with a broadcast or strided operand, which is read element by element.
        Uneven => "add or multiply, broadcast or strided" as "uneven_count",
        /// Copies into another order of dimensions: `contiguous()`, `channels_last`. May convert the type as well.
        Layout => "layout copy" as "layout_copy_count",
        /// Only converts the type.
        Cast => "type conversion" as "cast_count",
        /// Moves elements and computes none, see [`Movement`].
        Movement => "data movement" as "movement_count",
        /// Other arithmetic.
        Arithmetic => "arithmetic" as "arithmetic_count",
        /// Activations and their gradients.
        Activation => "activation" as "activation_count",
        /// Exponentials, roots, powers.
        Math => "mathematical function" as "math_count",
        /// Comparisons and masks.
        Mask => "comparison or mask" as "comparison_mask_count",
        /// Steps of an optimizer, and operations on lists of tensors.
        Optimizer => "optimizer" as "optimizer_count",
        /// Applies rotary embeddings to queries and keys.
        Rope => "RoPE" as "rope_count",
        /// Anything else: dropout, quantization.
        Other => "other" as "other_count",
    }
}

/// Operators by kind, without their namespace, a trailing `_` and what follows "_backward".
#[rustfmt::skip]
const NAMES: &[(ElementwiseKind, &[&str])] = &[
    (ElementwiseKind::Baseline, &["add", "mul", "copy", "fill", "zero"]),
    (ElementwiseKind::Arithmetic, &["sub", "rsub", "div", "true_divide", "floor_divide", "remainder", "fmod", "neg", "abs", "clamp", "clamp_min", "clamp_max", "addcmul", "addcdiv", "lerp", "maximum", "minimum", "round", "floor", "ceil", "sign"]),
    (ElementwiseKind::Activation, &["sigmoid", "relu", "relu6", "gelu", "silu", "swish", "tanh", "mish", "hardswish", "hardsigmoid", "hardtanh", "leaky_relu", "elu", "celu", "selu", "softplus", "threshold", "log_sigmoid", "silu_and_mul", "gelu_and_mul", "gelu_tanh_and_mul", "prelu", "_prelu_kernel"]),
    (ElementwiseKind::Cast, &["to", "_to_copy", "type_as", "float", "half", "bfloat16"]),
    (ElementwiseKind::Math, &["exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "pow", "square", "sqrt", "rsqrt", "reciprocal", "erf", "sin", "cos"]),
    (ElementwiseKind::Mask, &["where", "masked_fill", "eq", "ne", "gt", "lt", "ge", "le", "logical_and", "logical_or", "logical_not", "bitwise_and", "bitwise_or", "bitwise_not", "isnan", "isinf", "isfinite", "tril", "triu"]),
];

impl ElementwiseKind {
    /// From the name of an operator, regardless of its arguments.
    pub(crate) fn of_name(name: &str) -> ElementwiseKind {
        const LISTS: &[&str] = &["_foreach_", "_fused_adam", "_fused_adagrad", "_fused_sgd"];
        let name = without_namespace(name);
        if LISTS.iter().any(|prefix| name.starts_with(prefix)) {
            return ElementwiseKind::Optimizer;
        }
        let base = ElementwiseKind::base_name(name);
        if is_rope(name) {
            return ElementwiseKind::Rope;
        }
        if Movement::of_name(name).is_some() {
            return ElementwiseKind::Movement;
        }
        let known = NAMES.iter().find(|(_, names)| names.contains(&base));
        known.map_or(ElementwiseKind::Other, |(kind, _)| *kind)
    }

    /// "gelu" for "aten::gelu_backward", "add" for "aten::add_".
    pub(crate) fn base_name(name: &str) -> &str {
        let name = without_namespace(name);
        let base = name.split("_backward").next().unwrap_or(name);
        base.strip_suffix('_').unwrap_or(base)
    }

    /// The label for a count of such operations.
    pub(crate) fn count_label(self) -> &'static str {
        match self {
            ElementwiseKind::Baseline => "Additions, multiplications, copies, fills",
            ElementwiseKind::Uneven => {
                "Additions and multiplications of broadcast or strided operands"
            }
            ElementwiseKind::Layout => "Layout copies",
            ElementwiseKind::Cast => "Type conversions",
            ElementwiseKind::Movement => {
                "Data movement: concatenations, shifts, repetitions, padding"
            }
            ElementwiseKind::Arithmetic => "Other arithmetic",
            ElementwiseKind::Activation => "Activations",
            ElementwiseKind::Math => "Mathematical functions",
            ElementwiseKind::Mask => "Comparisons and masks",
            ElementwiseKind::Optimizer => "Optimizer steps",
            ElementwiseKind::Rope => "Rotary position embeddings (RoPE)",
            ElementwiseKind::Other => "Other operations",
        }
    }
}

/// How an operator moves elements without computing any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Movement {
    /// Joins tensors.
    Concatenation,
    /// Changes the order along dimensions.
    Shift,
    /// Repeats elements in memory.
    Repetition,
    /// Adds elements at the ends of dimensions.
    Padding,
}

impl Movement {
    /// From the name of an operator, or of a kernel where no operator is known.
    pub(crate) fn of_name(name: &str) -> Option<Movement> {
        if name.contains("CatArrayBatchedCopy") {
            return Some(Movement::Concatenation);
        }
        match ElementwiseKind::base_name(name) {
            "cat" | "concat" | "concatenate" | "hstack" | "stack" | "vstack" => {
                Some(Movement::Concatenation)
            }
            "roll" | "flip" | "rot90" => Some(Movement::Shift),
            "repeat" | "repeat_interleave" | "tile" => Some(Movement::Repetition),
            "constant_pad_nd" | "pad" => Some(Movement::Padding),
            _ => None,
        }
    }
}

/// Whether an operator samples an image at other positions.
pub(crate) fn is_resampling(name: &str) -> bool {
    holds(
        name,
        &["upsample", "grid_sampl", "interpolate", "roi_align"],
    )
}

/// Whether an operator draws random numbers.
pub(crate) fn is_random(name: &str) -> bool {
    #[rustfmt::skip]
    const NAMES: &[&str] = &[
        "bernoulli", "cauchy", "exponential", "geometric", "log_normal", "normal", "rand", "rand_like", "randint",
        "randn", "randn_like", "random", "uniform",
    ];
    NAMES.contains(&ElementwiseKind::base_name(name))
}

/// Whether an operator only writes one value into a tensor.
pub(crate) fn is_fill(name: &str) -> bool {
    matches!(ElementwiseKind::base_name(name), "fill" | "zero")
}

/// Whether an operator makes a tensor of one value.
pub(crate) fn makes_constant(name: &str) -> bool {
    #[rustfmt::skip]
    const MAKERS: &[&str] = &[
        "full", "full_like", "new_full", "ones", "ones_like", "new_ones", "zeros", "zeros_like", "new_zeros",
    ];
    MAKERS.contains(&ElementwiseKind::base_name(name))
}

/// Whether an operator keeps a triangle of a matrix.
pub(crate) fn is_triangle(name: &str) -> bool {
    matches!(ElementwiseKind::base_name(name), "triu" | "tril")
}

/// Whether an element-wise operator or kernel applies rotary embeddings.
pub(crate) fn is_rope(name: &str) -> bool {
    const WORDS: &[&str] = &["rotary", "rope_", "_rope", "mlarope"];
    let is_mangled = name.starts_with("kn_entry_");
    is_mangled || holds(name, WORDS) || without_namespace(name).eq_ignore_ascii_case("rope")
}

/// Whether a kernel only converts the type of its elements, or possibly only does that.
pub(crate) fn converts(kernel: &str) -> bool {
    const WORDS: &[&str] = &["direct_copy_kernel", "convert_kernel"];
    let generated = kernel.split_once("_fused__to_copy_");
    let is_generated = generated.is_some_and(|(_, rest)| rest == leading_digits(rest));
    is_generated || holds(kernel, WORDS)
}

/// Whether a kernel generates values without input or from constants: it fills, and reads no operand that differs
/// between steps or layers.
pub(crate) fn makes_values(kernel: &str) -> bool {
    const MAKES: &[&str] = &["zeros", "ones", "full", "fill", "empty", "arange"];
    const COMPUTES: &[&str] = &[
        "add",
        "mul",
        "sub",
        "mean",
        "rsqrt",
        "silu",
        "gelu",
        "cat_",
        "quant",
        "index",
        "embedding",
        "norm",
        "mask",
    ];
    holds(kernel, MAKES) && !holds(kernel, COMPUTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_rope_and_conversions() {
        #[rustfmt::skip]
        let ropes = [
            ("void vllm::rotary_embedding_kernel<c10::BFloat16, true>", true), ("_C::rotary_embedding", true),
            ("_triton_rope", true), ("aiter::rope_fwd", true), ("kn_entry_2c_sbhd_cached_indirect_inplace", true),
            ("void flashinfer::BatchQKApplyRotaryPosIdsCosSinCacheKernel<true, 64, 8>", true),
            ("aten::property", false), ("aten::mul", false),
        ];
        for (name, expected) in ropes {
            assert_eq!(is_rope(name), expected, "{name}");
        }
        #[rustfmt::skip]
        let makers = [
            ("triton_poi_fused__to_copy_div_empty_like_zeros_20", true),
            ("void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>", true),
            ("triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_0", false),
            ("void per_token_group_quant_8bit_kernel<c10::BFloat16>", false),
            ("triton_poi_fused_add_zeros_3", false), ("triton_poi_fused__to_copy_1", false),
        ];
        for (name, expected) in makers {
            assert_eq!(makes_values(name), expected, "{name}");
        }
        assert!(converts("triton_poi_fused__to_copy_1"));
        assert!(!converts("triton_poi_fused__to_copy_add_1"));
    }
}
