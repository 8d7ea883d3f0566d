//! What an element-wise operation does to each element, by its name and arguments.

use crate::base::sort::Arranged;
use crate::names::elementwise::{ElementwiseKind, Movement, is_fill, makes_constant};
use crate::perf::OpInput;
use crate::profile::Profile;
use crate::profile::operations::Operation;
use crate::trace::EventId;

impl ElementwiseKind {
    pub(crate) fn of(profile: &Profile, operation: &Operation) -> ElementwiseKind {
        let name = operation.short_name(profile);
        if operation.key.label == "multi_tensor_apply" {
            return ElementwiseKind::Optimizer;
        }
        if Movement::of(profile, operation).is_some() {
            return ElementwiseKind::Movement;
        }
        let kind = ElementwiseKind::of_name(name);
        let is_named = |wanted: &[&str]| wanted.contains(&ElementwiseKind::base_name(name));
        match operation.arguments(profile) {
            Some(arguments) if is_named(&["copy"]) => copy(&arguments),
            Some(arguments) if is_named(&["add", "mul"]) && !are_alike(&arguments) => {
                ElementwiseKind::Uneven
            }
            _ => kind,
        }
    }
}

impl Movement {
    /// From its name, from the operator that its copies and fills are parts of, or from a source that a copy repeats.
    pub(crate) fn of(profile: &Profile, operation: &Operation) -> Option<Movement> {
        let name = operation.short_name(profile);
        let is_copy = ElementwiseKind::base_name(name) == "copy";
        if !is_copy && !is_fill(name) {
            return Movement::of_name(name);
        }
        let call = operation.first()?.event;
        let around = operators_around(profile, call).next();
        around.and_then(Movement::of_name).or_else(|| {
            let arguments = operation.arguments(profile).filter(|_| is_copy)?;
            let (to, from) = (arguments.tensor(0)?, arguments.tensor(1)?);
            let repeats = from.is_expanded() && !to.is_expanded();
            let is_plain = copy(&arguments) == ElementwiseKind::Baseline;
            (repeats && is_plain).then_some(Movement::Repetition)
        })
    }
}

/// The names of the operators around a call, innermost first.
fn operators_around(profile: &Profile, call: EventId) -> impl Iterator<Item = &str> {
    let trace = &profile.trace;
    let ops = profile.tree.ops_around(trace, call);
    ops.map(|op| trace.name(op))
}

/// Whether an operation fills a tensor as part of an operator that makes a tensor of one value.
pub(crate) fn is_made_constant(profile: &Profile, operation: &Operation) -> bool {
    let mut calls = operation.first().into_iter();
    is_fill(operation.short_name(profile))
        && calls.any(|call| operators_around(profile, call.event).any(makes_constant))
}

/// Whether an operation fills a tensor because the model says so: no other operator needs the values.
pub(crate) fn is_fill_alone(profile: &Profile, operation: &Operation) -> bool {
    let is_alone = |event| {
        let mut around = operators_around(profile, event);
        around.all(|name| is_fill(name) || makes_constant(name))
    };
    let first = operation.first();
    is_fill(operation.short_name(profile)) && first.is_some_and(|call| is_alone(call.event))
}

/// Whether an operation fills a tensor as it is allocated, which PyTorch does for deterministic algorithms alone.
pub(crate) fn fills_new_memory(profile: &Profile, operation: &Operation) -> bool {
    const ALLOCATING: &[&str] = &[
        "aten::empty",
        "aten::empty_like",
        "aten::empty_strided",
        "aten::new_empty",
        "aten::resize_",
    ];
    let is_inside = |event| {
        let mut around = operators_around(profile, event);
        around.any(|name| ALLOCATING.contains(&name))
    };
    let first = operation.first();
    is_fill(operation.short_name(profile)) && first.is_some_and(|call| is_inside(call.event))
}

/// `copy_(to, from)`.
fn copy(input: &OpInput) -> ElementwiseKind {
    let (Some(to), Some(from)) = (input.tensor(0), input.tensor(1)) else {
        return ElementwiseKind::Baseline;
    };
    let is_reordered = match (to.strides, from.strides) {
        (Some(to_strides), Some(from_strides)) if to.shape == from.shape => {
            order(to.shape, to_strides, from_strides) != order(to.shape, from_strides, to_strides)
        }
        _ => false,
    };
    match (is_reordered, to.dtype != from.dtype) {
        (true, _) => ElementwiseKind::Layout,
        (false, true) => ElementwiseKind::Cast,
        (false, false) => ElementwiseKind::Baseline,
    }
}

/// Whether all tensors except scalars have the same shape and memory order, and none is expanded.
fn are_alike(input: &OpInput) -> bool {
    let mut tensors = input.tensors().filter(|tensor| tensor.n() > 1.0);
    let Some(first) = tensors.next() else {
        return true;
    };
    let is_expanded = |sizes: &[i64], strides: &[i64]| {
        let mut dims = sizes.iter().zip(strides);
        dims.any(|(size, stride)| *size > 1 && *stride == 0)
    };
    tensors.all(|other| match (first.strides, other.strides) {
        _ if first.shape != other.shape => false,
        (Some(a), Some(b)) => {
            let shape = first.shape;
            order(shape, a, b) == order(shape, b, a)
                && !is_expanded(shape, a)
                && !is_expanded(shape, b)
        }
        _ => true,
    })
}

/// Whether an operation has a tensor of FP64, other than single numbers.
pub(crate) fn has_double(profile: &Profile, operation: &Operation) -> bool {
    let mut tensors = operation.tensors(profile).into_iter();
    tensors.any(|tensor| tensor.dtype == "double" && tensor.n() > 1.0)
}

/// Whether the tensors differ in element type or any of them has gaps in memory.
pub(crate) fn could_be_dense(input: &OpInput) -> bool {
    let tensors: Vec<_> = input.tensors().filter(|tensor| tensor.n() > 1.0).collect();
    let mut types = tensors.iter().map(|tensor| tensor.dtype);
    let first = types.next();
    let has_gaps = |sizes: &[i64], strides: &[i64]| {
        let dims = strides
            .iter()
            .zip(sizes)
            .filter(|(_, size)| **size > 1)
            .map(|(stride, size)| (*stride, *size))
            .arranged_by_key(|dim| *dim);
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

/// Dimensions in memory order, outermost first. Leaves out dimensions of size one and those that either tensor repeats
/// (stride zero). Of dimensions with equal strides, the first counts as the outer one.
fn order(sizes: &[i64], strides: &[i64], others: &[i64]) -> Vec<usize> {
    let dims = sizes
        .iter()
        .zip(strides.iter().zip(others))
        .enumerate()
        .filter(|(_, (size, (stride, other)))| **size > 1 && **stride != 0 && **other != 0)
        .map(|(dim, (_, (stride, _)))| (*stride, dim))
        .arranged_by_key(|(stride, dim)| (std::cmp::Reverse(*stride), *dim));
    dims.into_iter().map(|(_, dim)| dim).collect()
}

#[cfg(test)]
mod tests {
    use super::ElementwiseKind::*;
    use super::*;
    use crate::testing::Timetable;

    fn kind(op: &str, args: &str) -> ElementwiseKind {
        let profile = Timetable::new()
            .call(op, args, "elementwise_kernel", 20..30)
            .profile();
        ElementwiseKind::of(&profile, &profile.operations()[0])
    }

    #[test]
    fn names_tell_the_kind() {
        let cases = [
            ("aten::add_", Baseline),
            ("aten::mul", Baseline),
            ("aten::div", Arithmetic),
            ("aten::gelu_backward", Activation),
            ("sgl_kernel::silu_and_mul", Activation),
            ("aten::rsqrt", Math),
            ("aten::masked_fill_", Mask),
            ("aten::_foreach_addcdiv_", Optimizer),
            ("aten::cat", Movement),
            ("aten::roll", Movement),
            ("aten::sigmoid_backward", Activation),
        ];
        for (op, expected) in cases {
            assert_eq!(
                kind(op, r#""Input Dims": [[8]], "Input type": ["float"]"#),
                expected,
                "{op}"
            );
        }
    }

    #[test]
    fn plain_sums_have_operands_of_one_shape_and_order() {
        let add = |shape: &str, strides: &str| {
            kind(
                "aten::add",
                &format!(
                    r#""Input Dims": [[8, 4, 16], {shape}, []], "Input type": ["float", "float", "Scalar"], "Input Strides": [[64, 16, 1], {strides}, []]"#
                ),
            )
        };
        let cases = [
            ("[8, 4, 16]", "[64, 16, 1]", Baseline),
            // A number, and a one-element tensor.
            ("[]", "[]", Baseline),
            ("[1]", "[1]", Baseline),
            // Transposed, expanded, broadcast.
            ("[8, 4, 16]", "[1, 128, 8]", Uneven),
            ("[8, 4, 16]", "[0, 16, 1]", Uneven),
            ("[8, 4, 1]", "[4, 1, 1]", Uneven),
        ];
        for (shape, strides, expected) in cases {
            assert_eq!(add(shape, strides), expected, "{shape} {strides}");
        }
    }

    #[test]
    fn arguments_tell_what_a_copy_is_for() {
        let copy = |to: (&str, &str), from: (&str, &str)| {
            kind(
                "aten::copy_",
                &format!(
                    r#""Input Dims": [[8, 4, 16], [8, 4, 16], []], "Input type": ["{}", "{}", "Scalar"], "Input Strides": [{}, {}, []]"#,
                    to.0, from.0, to.1, from.1
                ),
            )
        };
        let dense = ("float", "[64, 16, 1]");
        let cases = [
            (dense, dense, Baseline),
            // Transposed in the first two dimensions.
            (dense, ("float", "[16, 128, 1]"), Layout),
            (("c10::Half", "[64, 16, 1]"), dense, Cast),
            (
                ("c10::Half", "[64, 16, 1]"),
                ("float", "[16, 128, 1]"),
                Layout,
            ),
            // A slice of a larger tensor keeps the order.
            (dense, ("float", "[640, 160, 1]"), Baseline),
            // The source is expanded: its elements are repeated.
            (dense, ("float", "[0, 16, 1]"), Movement),
        ];
        for (to, from, expected) in cases {
            assert_eq!(copy(to, from), expected, "{to:?} {from:?}");
        }
    }
}
