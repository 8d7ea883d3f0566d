//! The tensors among the arguments of operations.

use super::Operation;
use crate::base::format;
use crate::profile::Profile;
use crate::trace::Dims;

/// A tensor argument of an operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TensorArg<'a> {
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

impl Operation {
    /// The tensors among its arguments, in order; those of a list are left out. None of kernels of GPU
    /// graphs: what calls a graph takes the tensors of all of it.
    pub(crate) fn tensors<'a>(&self, profile: &'a Profile) -> Vec<TensorArg<'a>> {
        let args = self.args(profile);
        let Some(args) = args.filter(|_| !self.is_in_graph(profile)) else {
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
}
