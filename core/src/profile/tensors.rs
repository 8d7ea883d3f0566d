//! The tensors among the arguments of an operation.

use super::Profile;
use super::operations::Operation;
use crate::base::format;
use crate::names::Family;
use crate::trace::Dims;

/// A tensor argument of an operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TensorArg<'a> {
    /// Its sizes.
    pub(crate) shape: &'a [i64],
    /// As the profiler writes it: "c10::BFloat16".
    pub(crate) dtype: &'a str,
    pub(crate) strides: Option<&'a [i64]>,
}

impl TensorArg<'_> {
    /// Number of elements; of impossible sizes 0.
    pub(crate) fn elements(&self) -> u64 {
        let mut sizes = self.shape.iter().map(|size| u64::try_from(*size).ok());
        let product = sizes.try_fold(1_u64, |all, size| all.checked_mul(size?));
        product.unwrap_or(0)
    }

    /// Whether some of its elements are the same memory: a dimension that was expanded.
    pub(crate) fn is_expanded(&self) -> bool {
        let strides = self.strides.unwrap_or_default();
        let dims = self.shape.iter().zip(strides);
        dims.into_iter()
            .any(|(size, stride)| *size > 1 && *stride == 0)
    }
}

/// The tensors among the arguments of an operation, in order; those of a list are left out. None of
/// kernels of GPU graphs: what calls a graph takes the tensors of all of it.
pub(crate) fn of<'a>(profile: &'a Profile, operation: &Operation) -> Vec<TensorArg<'a>> {
    let args = operation.args(profile);
    let Some(args) = args.filter(|_| !operation.is_in_graph(profile)) else {
        return Vec::new();
    };
    let trace = &profile.trace;
    let one = |dims: Option<&Dims>| match dims {
        Some(Dims::One(shape)) => Some(trace.args.shape(*shape)),
        _ => None,
    };
    let dims = args.dims.as_deref().unwrap_or_default().iter();
    dims.enumerate()
        .filter_map(|(at, dims)| {
            let dtype = trace.strings.get(*args.types.as_deref()?.get(at)?);
            let shape = one(Some(dims)).filter(|shape| !shape.is_empty())?;
            format::dtype(dtype)?;
            Some(TensorArg {
                shape,
                dtype,
                strides: one(args.strides.as_deref().and_then(|strides| strides.get(at))),
            })
        })
        .collect()
}

/// Whether an operation does nothing but copy a tensor on the GPU.
pub(crate) fn is_copy(profile: &Profile, operation: &Operation) -> bool {
    const OPS: &[&str] = &[
        "aten::copy_",
        "aten::clone",
        "aten::contiguous",
        "aten::_to_copy",
        "aten::to",
        "aten::reshape",
        "aten::_reshape_copy",
        "aten::repeat",
    ];
    if operation.is_kernel() {
        let name = operation.short_name(profile);
        return name.contains("copy_kernel") || name.contains("CopyKernel");
    }
    OPS.contains(&operation.short_name(profile))
}

/// Whether a copy keeps the type: casts are no changes of layout.
pub(crate) fn keeps_type(tensors: &[TensorArg]) -> bool {
    tensors
        .first()
        .is_some_and(|first| tensors.iter().all(|tensor| tensor.dtype == first.dtype))
}

/// What an operation copies, if that is all it does and the type stays: the elements, and whether some
/// of them are repeated.
pub(crate) fn layout_copy(profile: &Profile, operation: &Operation) -> Option<(u64, bool)> {
    if operation.family != Family::Elementwise || !is_copy(profile, operation) {
        return None;
    }
    let tensors = of(profile, operation);
    let largest = tensors.iter().map(TensorArg::elements).max()?;
    let repeats = tensors.iter().any(TensorArg::is_expanded);
    (keeps_type(&tensors) && largest > 0).then_some((largest, repeats))
}
