//! What an element-wise operation does to each element, by its name and arguments.

use super::super::Input;
use super::super::memory_bound::arguments;
use crate::operations::Operation;
use crate::perf::OpInput;
use crate::sort::Arrange;

/// What an element-wise operation does to each element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::analysis) enum Group {
    /// Adds, multiplies, copies or fills: as fast as the memory.
    Baseline,
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

/// Operators of a group, without their namespace, a trailing `_` and what follows "_backward".
#[rustfmt::skip]
const NAMES: &[(Group, &[&str])] = &[
    (Group::Baseline, &["add", "mul", "copy", "fill", "zero"]),
    (Group::Arithmetic, &["sub", "rsub", "div", "true_divide", "floor_divide", "remainder", "fmod", "neg", "abs", "clamp", "clamp_min", "clamp_max", "addcmul", "addcdiv", "lerp", "maximum", "minimum", "round", "floor", "ceil", "sign"]),
    (Group::Activation, &["sigmoid", "relu", "relu6", "gelu", "silu", "swish", "tanh", "mish", "hardswish", "hardsigmoid", "hardtanh", "leaky_relu", "elu", "celu", "selu", "softplus", "threshold", "log_sigmoid", "silu_and_mul", "gelu_and_mul", "gelu_tanh_and_mul", "prelu", "_prelu_kernel"]),
    (Group::Cast, &["to", "_to_copy", "type_as", "float", "half", "bfloat16"]),
    (Group::Math, &["exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "pow", "square", "sqrt", "rsqrt", "reciprocal", "erf", "sin", "cos"]),
    (Group::Mask, &["where", "masked_fill", "eq", "ne", "gt", "lt", "ge", "le", "logical_and", "logical_or", "logical_not", "bitwise_and", "bitwise_or", "bitwise_not", "isnan", "isinf", "isfinite", "tril", "triu"]),
];

impl Group {
    /// All groups, in the order of tables.
    pub(in crate::analysis) const ALL: [Group; 9] = [
        Group::Baseline,
        Group::Layout,
        Group::Cast,
        Group::Arithmetic,
        Group::Activation,
        Group::Math,
        Group::Mask,
        Group::Optimizer,
        Group::Other,
    ];

    /// For people.
    pub(super) fn label(self) -> &'static str {
        match self {
            Group::Baseline => "add, multiply, copy, fill",
            Group::Layout => "layout copy",
            Group::Cast => "type conversion",
            Group::Arithmetic => "arithmetic",
            Group::Activation => "activation",
            Group::Math => "mathematical function",
            Group::Mask => "comparison or mask",
            Group::Optimizer => "optimizer",
            Group::Other => "other",
        }
    }

    /// The name of its number of rows in files.
    pub(super) fn count_key(self) -> &'static str {
        match self {
            Group::Baseline => "baseline_count",
            Group::Layout => "layout_copy_count",
            Group::Cast => "cast_count",
            Group::Arithmetic => "arithmetic_count",
            Group::Activation => "activation_count",
            Group::Math => "math_count",
            Group::Mask => "comparison_mask_count",
            Group::Optimizer => "optimizer_count",
            Group::Other => "other_count",
        }
    }

    /// The same for people.
    pub(super) fn count_label(self) -> &'static str {
        match self {
            Group::Baseline => "Additions, multiplications, copies, fills",
            Group::Layout => "Layout copies",
            Group::Cast => "Type conversions",
            Group::Arithmetic => "Other arithmetic",
            Group::Activation => "Activations",
            Group::Math => "Mathematical functions",
            Group::Mask => "Comparisons and masks",
            Group::Optimizer => "Optimizer steps",
            Group::Other => "Other operations",
        }
    }

    /// The group of an operation.
    pub(in crate::analysis) fn of(input: &Input, operation: &Operation) -> Group {
        let name = operation.short_name(input.profile);
        let name = name.rsplit("::").next().unwrap_or(name);
        let is_list = name.starts_with("_foreach_")
            || name.starts_with("_fused_adam")
            || name.starts_with("_fused_adagrad")
            || name.starts_with("_fused_sgd");
        if is_list || operation.key.label == "multi_tensor_apply" {
            return Group::Optimizer;
        }
        let base = name.split("_backward").next().unwrap_or(name);
        let base = base.strip_suffix('_').unwrap_or(base);
        let group = NAMES
            .iter()
            .find(|(_, names)| names.contains(&base))
            .map_or(Group::Other, |(group, _)| *group);
        match (base, arguments(input, operation)) {
            ("copy", Some(arguments)) => copy(&arguments),
            _ => group,
        }
    }
}

/// `copy_(to, from)`.
fn copy(input: &OpInput) -> Group {
    let (Some(to), Some(from)) = (input.tensor(0), input.tensor(1)) else {
        return Group::Baseline;
    };
    let is_reordered = match (to.strides, from.strides) {
        (Some(to_strides), Some(from_strides)) if to.shape == from.shape => {
            order(to.shape, to_strides, from_strides) != order(to.shape, from_strides, to_strides)
        }
        _ => false,
    };
    match (is_reordered, to.dtype != from.dtype) {
        (true, _) => Group::Layout,
        (false, true) => Group::Cast,
        (false, false) => Group::Baseline,
    }
}

/// Dimensions as they lie in memory, the outermost first. Those of size one and those that one of
/// both tensors repeats (stride zero) lie nowhere; of equal strides the first dimension counts as
/// the outer one.
fn order(sizes: &[i64], strides: &[i64], others: &[i64]) -> Vec<usize> {
    let mut dims: Vec<(i64, usize)> = sizes
        .iter()
        .zip(strides.iter().zip(others))
        .enumerate()
        .filter(|(_, (size, (stride, other)))| **size > 1 && **stride != 0 && **other != 0)
        .map(|(dim, (_, (stride, _)))| (*stride, dim))
        .collect();
    dims.arrange_by_key(|(stride, dim)| (std::cmp::Reverse(*stride), *dim));
    dims.into_iter().map(|(_, dim)| dim).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Report, ReportOptions};
    use crate::testing::Timetable;

    fn group(op: &str, args: &str) -> Group {
        let profile = Timetable::new()
            .op(op, 0..10)
            .args(args)
            .launch(1, 1..2)
            .kernel(1, "elementwise_kernel", 20..30)
            .profile();
        let report = Report::new(&profile, &ReportOptions::default());
        let input = report.analysis_input(&profile);
        Group::of(&input, &profile.operations()[0])
    }

    #[test]
    fn names_tell_the_group() {
        let cases = [
            ("aten::add_", Group::Baseline),
            ("aten::mul", Group::Baseline),
            ("aten::div", Group::Arithmetic),
            ("aten::gelu_backward", Group::Activation),
            ("sgl_kernel::silu_and_mul", Group::Activation),
            ("aten::rsqrt", Group::Math),
            ("aten::masked_fill_", Group::Mask),
            ("aten::_foreach_addcdiv_", Group::Optimizer),
            ("aten::cat", Group::Other),
            ("aten::sigmoid_backward", Group::Activation),
        ];
        for (op, expected) in cases {
            assert_eq!(
                group(op, r#""Input Dims": [[8]], "Input type": ["float"]"#),
                expected,
                "{op}"
            );
        }
    }

    #[test]
    fn arguments_tell_what_a_copy_is_for() {
        let copy = |to: (&str, &str), from: (&str, &str)| {
            group(
                "aten::copy_",
                &format!(
                    r#""Input Dims": [[8, 4, 16], [8, 4, 16], []], "Input type": ["{}", "{}", "Scalar"], "Input Strides": [{}, {}, []]"#,
                    to.0, from.0, to.1, from.1
                ),
            )
        };
        let dense = ("float", "[64, 16, 1]");
        let cases = [
            (dense, dense, Group::Baseline),
            // Transposed in the first two dimensions.
            (dense, ("float", "[16, 128, 1]"), Group::Layout),
            (("c10::Half", "[64, 16, 1]"), dense, Group::Cast),
            (
                ("c10::Half", "[64, 16, 1]"),
                ("float", "[16, 128, 1]"),
                Group::Layout,
            ),
            // A slice of a larger tensor keeps the order.
            (dense, ("float", "[640, 160, 1]"), Group::Baseline),
            // An expanded tensor is read again and again in the same order.
            (dense, ("float", "[0, 16, 1]"), Group::Baseline),
        ];
        for (to, from, expected) in cases {
            assert_eq!(copy(to, from), expected, "{to:?} {from:?}");
        }
    }
}
