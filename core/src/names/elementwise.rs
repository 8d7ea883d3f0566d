//! Element-wise operators by name.

use super::words::without_namespace;

/// What an element-wise operation does to each element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ElementwiseKind {
    /// Adds, multiplies, copies or fills: as fast as the memory.
    Baseline,
    /// Adds or multiplies operands of which one is broadcast or strided: read element by element.
    Uneven,
    /// Copies into another order of dimensions: `contiguous()`, `channels_last`. Some convert as well.
    Layout,
    /// Copies into another type and does nothing else.
    Cast,
    /// Other arithmetic.
    Arithmetic,
    /// Activations and their gradients.
    Activation,
    /// Exponentials, roots, powers.
    Math,
    /// Comparisons and masks.
    Mask,
    /// Steps of an optimizer, and operations on lists of tensors.
    Optimizer,
    /// Anything else: concatenation, dropout, positions, quantisation.
    Other,
}

/// Operators of a kind, without their namespace, a trailing `_` and what follows "_backward".
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
    /// All kinds, in the order of tables.
    pub(crate) const ALL: [ElementwiseKind; 10] = [
        ElementwiseKind::Baseline,
        ElementwiseKind::Uneven,
        ElementwiseKind::Layout,
        ElementwiseKind::Cast,
        ElementwiseKind::Arithmetic,
        ElementwiseKind::Activation,
        ElementwiseKind::Math,
        ElementwiseKind::Mask,
        ElementwiseKind::Optimizer,
        ElementwiseKind::Other,
    ];

    /// By the name of an operator, whatever its arguments are.
    pub(crate) fn of_name(name: &str) -> ElementwiseKind {
        const LISTS: &[&str] = &["_foreach_", "_fused_adam", "_fused_adagrad", "_fused_sgd"];
        let name = without_namespace(name);
        if LISTS.iter().any(|prefix| name.starts_with(prefix)) {
            return ElementwiseKind::Optimizer;
        }
        let base = ElementwiseKind::base_name(name);
        let known = NAMES.iter().find(|(_, names)| names.contains(&base));
        known.map_or(ElementwiseKind::Other, |(kind, _)| *kind)
    }

    /// "gelu" of "aten::gelu_backward", "add" of "aten::add_".
    pub(crate) fn base_name(name: &str) -> &str {
        let name = without_namespace(name);
        let base = name.split("_backward").next().unwrap_or(name);
        base.strip_suffix('_').unwrap_or(base)
    }

    /// For people: in tables, the same of a number of them, and the name of that number in files.
    #[rustfmt::skip]
    fn names(self) -> [&'static str; 3] {
        match self {
            ElementwiseKind::Baseline => ["add, multiply, copy, fill", "Additions, multiplications, copies, fills", "baseline_count"],
            ElementwiseKind::Uneven => ["add or multiply, broadcast or strided", "Additions and multiplications of broadcast or strided operands", "uneven_count"],
            ElementwiseKind::Layout => ["layout copy", "Layout copies", "layout_copy_count"],
            ElementwiseKind::Cast => ["type conversion", "Type conversions", "cast_count"],
            ElementwiseKind::Arithmetic => ["arithmetic", "Other arithmetic", "arithmetic_count"],
            ElementwiseKind::Activation => ["activation", "Activations", "activation_count"],
            ElementwiseKind::Math => ["mathematical function", "Mathematical functions", "math_count"],
            ElementwiseKind::Mask => ["comparison or mask", "Comparisons and masks", "comparison_mask_count"],
            ElementwiseKind::Optimizer => ["optimizer", "Optimizer steps", "optimizer_count"],
            ElementwiseKind::Other => ["other", "Other operations", "other_count"],
        }
    }

    /// In a table.
    pub(crate) fn label(self) -> &'static str {
        self.names()[0]
    }

    /// Of a number of operations.
    pub(crate) fn count_label(self) -> &'static str {
        self.names()[1]
    }

    /// The name of that number in files.
    pub(crate) fn count_key(self) -> &'static str {
        self.names()[2]
    }
}
