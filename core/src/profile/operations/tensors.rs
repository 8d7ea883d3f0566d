//! Operations that only copy a tensor.

use crate::names::elementwise::{ElementwiseKind, is_fill};
use crate::names::{Family, OtherKind};
use crate::perf::Tensor;
use crate::profile::Profile;
use crate::profile::operations::Operation;

/// Whether an operation does nothing but copy a tensor on the GPU.
pub(crate) fn is_copy(profile: &Profile, operation: &Operation) -> bool {
    #[rustfmt::skip]
    const OPS: &[&str] = &[
        "aten::copy_", "aten::clone", "aten::contiguous", "aten::_to_copy", "aten::to",
        "aten::reshape", "aten::_reshape_copy", "aten::repeat",
    ];
    if operation.is_kernel() {
        let name = operation.short_name(profile);
        return name.contains("copy_kernel") || name.contains("CopyKernel");
    }
    OPS.contains(&operation.short_name(profile))
}

/// Whether an operation computes nothing: it moves, converts or writes elements, and may select them by an index.
pub(crate) fn only_moves(profile: &Profile, operation: &Operation) -> bool {
    use ElementwiseKind::{Cast, Layout, Movement};
    let name = operation.short_name(profile);
    let is_named = || is_fill(name) || ElementwiseKind::base_name(name) == "copy";
    let kind = || ElementwiseKind::of(profile, operation);
    match OtherKind::of(name, operation.family) {
        OtherKind::LookUp => !name.contains("backward"),
        OtherKind::Miscellaneous => {
            operation.family == Family::Elementwise
                && (is_named() || matches!(kind(), Movement | Layout | Cast))
        }
        OtherKind::Scatter | OtherKind::Recurrent => false,
    }
}

/// Whether a copy keeps the type: casts are not layout changes.
pub(crate) fn keeps_type(tensors: &[Tensor]) -> bool {
    tensors
        .first()
        .is_some_and(|first| tensors.iter().all(|tensor| tensor.dtype == first.dtype))
}

/// The number of elements that an operation copies, if it only copies and keeps the type, and whether some of them are
/// repeated.
pub(crate) fn layout_copy(profile: &Profile, operation: &Operation) -> Option<(u64, bool)> {
    if operation.family != Family::Elementwise || !is_copy(profile, operation) {
        return None;
    }
    let tensors = operation.tensors(profile);
    let largest = tensors.iter().map(Tensor::elements).max()?;
    let repeats = tensors.iter().any(Tensor::is_expanded);
    (keeps_type(&tensors) && largest > 0).then_some((largest, repeats))
}
