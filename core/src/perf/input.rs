//! The input of a model: the arguments of one call.

use super::dtype;
use crate::trace::{Dims, EventId, OpArgs, StringId, Trace};

/// One call of an op.
#[derive(Debug, Clone, Copy)]
pub struct OpInput<'a> {
    /// Holds the texts and shapes of the arguments.
    pub trace: &'a Trace,
    /// The op's name.
    pub name: &'a str,
    /// Its arguments.
    pub args: &'a OpArgs,
    /// The names of its kernels, in time order.
    pub kernels: &'a [&'a str],
    /// Arguments of the event that Dormer does not read itself, as JSON text.
    pub extra_args: Option<&'a str>,
    /// Name of the annotation around the call in which a serving engine describes its batch.
    pub annotation: Option<&'a str>,
    /// Element type of the KV cache, if the kernel that writes it shows a type other than the model's.
    pub kv_type: Option<&'a str>,
}

/// Whether strides are placeholders: in a real tensor at most one dimension is contiguous.
pub(crate) fn are_placeholders(shape: &[i64], strides: &[i64]) -> bool {
    let dims = shape.iter().zip(strides);
    let dense = dims.filter(|(size, stride)| **size > 1 && **stride == 1);
    dense.count() > 1
}

/// A tensor argument.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tensor<'a> {
    pub(crate) shape: &'a [i64],
    /// As the profiler writes it: "c10::BFloat16".
    pub(crate) dtype: &'a str,
    pub(crate) strides: Option<&'a [i64]>,
}

impl Tensor<'_> {
    /// Number of elements.
    pub(crate) fn n(&self) -> f64 {
        product(self.shape)
    }

    /// Number of elements; 0 for impossible sizes.
    pub(crate) fn elements(&self) -> u64 {
        let mut sizes = self.shape.iter().map(|size| u64::try_from(*size).ok());
        let product = sizes.try_fold(1_u64, |all, size| all.checked_mul(size?));
        product.unwrap_or(0)
    }

    /// Whether some of its elements share memory, as in an expanded dimension.
    pub(crate) fn is_expanded(&self) -> bool {
        let mut dims = self.shape.iter().zip(self.strides.unwrap_or_default());
        dims.any(|(size, stride)| *size > 1 && *stride == 0)
    }

    pub(crate) fn element_bytes(&self) -> Option<f64> {
        dtype::bytes(self.dtype)
    }

    pub(super) fn bytes(&self) -> Option<f64> {
        Some(self.n() * self.element_bytes()?)
    }

    /// Number of distinct elements in memory: a dimension with stride zero repeats its elements.
    pub(super) fn n_distinct(&self) -> f64 {
        let Some(strides) = self.strides.filter(|s| s.len() == self.shape.len()) else {
            return self.n();
        };
        let sizes = self.shape.iter().zip(strides);
        sizes
            .filter(|(_, stride)| **stride != 0)
            .map(|(size, _)| *size as f64)
            .product()
    }

    /// Bytes of the elements in memory.
    pub(super) fn distinct_bytes(&self) -> Option<f64> {
        Some(self.n_distinct() * self.element_bytes()?)
    }
}

impl<'a> OpInput<'a> {
    /// A call without kernels, annotation or extra arguments.
    pub fn new(trace: &'a Trace, name: &'a str, args: &'a OpArgs) -> OpInput<'a> {
        OpInput {
            trace,
            name,
            args,
            kernels: &[],
            extra_args: None,
            annotation: None,
            kv_type: None,
        }
    }

    /// The same for a recorded call; `None` if its arguments were not recorded.
    pub(crate) fn of_call(trace: &'a Trace, call: EventId) -> Option<OpInput<'a>> {
        let args = trace.args.get(trace.events.op_args(call)?)?;
        Some(OpInput::new(trace, trace.name(call), args))
    }

    /// Number of arguments, absent ones included.
    pub(crate) fn n_args(&self) -> usize {
        let OpArgs {
            dims,
            types,
            concrete,
            ..
        } = self.args;
        let texts = [types, concrete].map(|texts| texts.as_ref().map_or(0, |texts| texts.len()));
        let n_dims = dims.as_ref().map_or(0, |dims| dims.len());
        texts.into_iter().fold(n_dims, usize::max)
    }

    /// The sizes of an argument; empty for a number or an absent one. `None` if there is no such argument, if it is a
    /// list of tensors, or if a size is negative.
    pub(crate) fn shape(&self, position: usize) -> Option<&'a [i64]> {
        let sizes = one(self.trace, self.args.dims.as_deref()?.get(position)?)?;
        sizes.iter().all(|size| *size >= 0).then_some(sizes)
    }

    /// The sizes of an argument that has at least one dimension.
    pub(crate) fn sizes(&self, position: usize) -> Option<&'a [i64]> {
        self.shape(position).filter(|sizes| !sizes.is_empty())
    }

    /// The sizes of an argument with exactly `N` dimensions.
    pub(super) fn sized<const N: usize>(&self, position: usize) -> Option<[f64; N]> {
        let sizes: [i64; N] = self.shape(position)?.try_into().ok()?;
        Some(sizes.map(|size| size as f64))
    }

    /// The sizes of an argument, as floats.
    pub(super) fn floats(&self, position: usize) -> Option<Vec<f64>> {
        let sizes = self.sizes(position)?.iter();
        Some(sizes.map(|size| *size as f64).collect())
    }

    /// The strides of an argument, as they were recorded.
    pub(crate) fn strides(&self, position: usize) -> Option<&'a [i64]> {
        one(self.trace, self.args.strides.as_deref()?.get(position)?)
    }

    /// The type of an argument; empty if there is none.
    pub(crate) fn dtype(&self, position: usize) -> &'a str {
        self.text(self.args.types.as_deref(), position)
    }

    /// The value of a non-tensor argument, as text; empty if there is none.
    pub(crate) fn value(&self, position: usize) -> &'a str {
        self.text(self.args.concrete.as_deref(), position)
    }

    fn text(&self, ids: Option<&[StringId]>, position: usize) -> &'a str {
        let id = ids.and_then(|ids| ids.get(position));
        id.map_or("", |id| self.trace.strings.get(*id))
    }

    /// The share of a tensor's elements that are distinct in memory; the others repeat them.
    pub(super) fn distinct_share(&self, position: usize) -> f64 {
        let tensor = self.tensor(position).filter(|tensor| tensor.n() > 0.0);
        tensor.map_or(1.0, |tensor| tensor.n_distinct() / tensor.n())
    }

    /// A tensor argument; `None` for numbers, lists and absent ones.
    pub(crate) fn tensor(&self, position: usize) -> Option<Tensor<'a>> {
        let dtype = self.dtype(position);
        if !dtype::is_tensor(dtype) {
            return None;
        }
        Some(Tensor {
            shape: self.shape(position)?,
            dtype,
            strides: self.strides(position).filter(|strides| {
                !are_placeholders(self.shape(position).unwrap_or_default(), strides)
            }),
        })
    }

    /// All tensor arguments.
    pub(crate) fn tensors(&self) -> impl Iterator<Item = Tensor<'a>> {
        (0..self.n_args()).filter_map(|position| self.tensor(position))
    }

    /// The tensor argument with the most elements, among those that satisfy a condition.
    pub(super) fn largest(&self, is_it: impl Fn(&Tensor) -> bool) -> Option<Tensor<'a>> {
        let tensors = self.tensors().filter(is_it);
        tensors.max_by(|a, b| a.n().total_cmp(&b.n()))
    }

    /// Bytes of all tensor arguments.
    pub(super) fn tensor_bytes(&self) -> Option<f64> {
        self.tensors().map(|tensor| tensor.bytes()).sum()
    }

    /// The shapes of an argument that is a list of tensors. A list of one is recorded like a
    /// tensor.
    pub(crate) fn tensor_list(&self, position: usize) -> Option<Vec<&'a [i64]>> {
        match self.args.dims.as_deref()?.get(position)? {
            Dims::Many(ids) => Some(ids.iter().map(|id| self.trace.args.shape(*id)).collect()),
            Dims::One(id) => {
                let sizes = self.trace.args.shape(*id);
                (!sizes.is_empty()).then(|| vec![sizes])
            }
        }
    }
}

fn one<'a>(trace: &'a Trace, dims: &Dims) -> Option<&'a [i64]> {
    match dims {
        Dims::One(id) => Some(trace.args.shape(*id)),
        Dims::Many(_) => None,
    }
}

/// Number of elements of a shape; 1 for a scalar.
pub(crate) fn product(sizes: &[i64]) -> f64 {
    sizes.iter().map(|size| *size as f64).product()
}

/// The shape of an element-wise result: sizes are aligned at the right, and 1 is broadcast.
pub(super) fn broadcast(a: &[i64], b: &[i64]) -> Option<Vec<i64>> {
    let n_dims = a.len().max(b.len());
    let size = |sizes: &[i64], dim: usize| {
        let from_right = n_dims - dim;
        let at = sizes.len().checked_sub(from_right);
        at.and_then(|at| sizes.get(at).copied()).unwrap_or(1)
    };
    (0..n_dims)
        .map(|dim| match (size(a, dim), size(b, dim)) {
            (x, y) if x == y => Some(x),
            (1, y) => Some(y),
            (x, 1) => Some(x),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_stretch_as_numpy_does() {
        let check = |a: &[i64], b: &[i64], expected: Option<&[i64]>| {
            assert_eq!(broadcast(a, b).as_deref(), expected);
        };
        check(&[8, 1, 6], &[7, 1], Some(&[8, 7, 6]));
        check(&[3], &[], Some(&[3]));
        check(&[], &[], Some(&[]));
        check(&[0, 4], &[1, 4], Some(&[0, 4]));
        check(&[2], &[3], None);
    }

    #[test]
    fn a_stride_of_zero_takes_no_memory() {
        let expanded = Tensor {
            shape: &[16, 1024, 1024],
            dtype: "c10::BFloat16",
            strides: Some(&[0, 1024, 1]),
        };
        assert_eq!(expanded.bytes(), Some(16.0 * 1024.0 * 1024.0 * 2.0));
        assert_eq!(expanded.distinct_bytes(), Some(1024.0 * 1024.0 * 2.0));
    }
}
