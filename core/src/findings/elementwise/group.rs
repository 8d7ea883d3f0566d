//! What an element-wise operation does to each element, by its name and arguments.

use super::super::Input;
use super::super::memory_bound::arguments;
use crate::base::sort::Arrange;
use crate::perf::OpInput;
use crate::profile::operations::Operation;

/// What an element-wise operation does to each element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::findings) enum Group {
    /// Adds, multiplies, copies or fills: as fast as the memory.
    Baseline,
    /// Adds or multiplies operands of which one is stretched or lies in another order: read element by
    /// element.
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
    pub(in crate::findings) const ALL: [Group; 10] = [
        Group::Baseline,
        Group::Uneven,
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
            Group::Uneven => "add or multiply, stretched or reordered",
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
            Group::Uneven => "uneven_count",
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
            Group::Uneven => "Additions and multiplications of stretched or reordered operands",
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
    pub(in crate::findings) fn of(input: &Input, operation: &Operation) -> Group {
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
            ("add" | "mul", Some(arguments)) if !are_alike(&arguments) => Group::Uneven,
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

/// Whether all tensors, numbers aside, have one shape and lie in one order, none of them stretched.
fn are_alike(input: &OpInput) -> bool {
    let mut tensors = input.tensors().filter(|tensor| tensor.n() > 1.0);
    let Some(first) = tensors.next() else {
        return true;
    };
    let is_stretched = |sizes: &[i64], strides: &[i64]| {
        let mut dims = sizes.iter().zip(strides);
        dims.any(|(size, stride)| *size > 1 && *stride == 0)
    };
    tensors.all(|other| match (first.strides, other.strides) {
        _ if first.shape != other.shape => false,
        (Some(a), Some(b)) => {
            let shape = first.shape;
            order(shape, a, b) == order(shape, b, a)
                && !is_stretched(shape, a)
                && !is_stretched(shape, b)
        }
        _ => true,
    })
}

/// Whether a tensor has elements of a kind of their own, or gaps between them: two types, or strides
/// that are not dense.
pub(super) fn could_be_dense(input: &OpInput) -> bool {
    let tensors: Vec<_> = input.tensors().filter(|tensor| tensor.n() > 1.0).collect();
    let mut types = tensors.iter().map(|tensor| tensor.dtype);
    let first = types.next();
    let has_gaps = |sizes: &[i64], strides: &[i64]| {
        let mut dims: Vec<(i64, i64)> = strides
            .iter()
            .zip(sizes)
            .filter(|(_, size)| **size > 1)
            .map(|(stride, size)| (*stride, *size))
            .collect();
        dims.arrange_by_key(|dim| *dim);
        let mut next = 1_i64;
        dims.into_iter().any(|(stride, size)| {
            let is_apart = stride != next;
            next = next.saturating_mul(size);
            is_apart
        })
    };
    types.any(|one| Some(one) != first)
        || tensors.iter().any(|one| {
            one.strides
                .is_some_and(|strides| has_gaps(one.shape, strides))
        })
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
    fn plain_sums_have_operands_of_one_shape_and_order() {
        let add = |shape: &str, strides: &str| {
            group(
                "aten::add",
                &format!(
                    r#""Input Dims": [[8, 4, 16], {shape}, []], "Input type": ["float", "float", "Scalar"], "Input Strides": [[64, 16, 1], {strides}, []]"#
                ),
            )
        };
        let cases = [
            ("[8, 4, 16]", "[64, 16, 1]", Group::Baseline),
            // A number, and one in a tensor.
            ("[]", "[]", Group::Baseline),
            ("[1]", "[1]", Group::Baseline),
            // Transposed, expanded, stretched.
            ("[8, 4, 16]", "[1, 128, 8]", Group::Uneven),
            ("[8, 4, 16]", "[0, 16, 1]", Group::Uneven),
            ("[8, 4, 1]", "[4, 1, 1]", Group::Uneven),
        ];
        for (shape, strides, expected) in cases {
            assert_eq!(add(shape, strides), expected, "{shape} {strides}");
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
