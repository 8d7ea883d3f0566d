//! The shapes of an operation's input and output tensors, and which output can be which input.

use crate::names::fusion::{ELEMENTWISE, REDUCTIONS, is_norm};
use crate::perf::{OpInput, element_bytes, product};
use crate::profile::Profile;
use crate::profile::operations::Operation;
use crate::trace::list_items;

/// The shape of a tensor and its size in memory. A size of -1 matches any size.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Shape {
    pub(crate) sizes: Vec<i64>,
    pub(crate) bytes: f64,
    /// Bytes per element; `None` where the type is not known, as for tensors in lists.
    pub(crate) element_bytes: Option<f64>,
}

/// An element of a tensor.
#[derive(Debug, Clone, Copy)]
struct Element {
    bytes: f64,
    /// Its type is not known.
    is_assumed: bool,
}

impl Element {
    /// For results whose type may be another one than that of the input.
    fn assumed(self) -> Element {
        Element {
            is_assumed: true,
            ..self
        }
    }

    fn wider(self, other: Element) -> Element {
        match other.bytes > self.bytes {
            true => other,
            false => self,
        }
    }
}

/// The tensors of an operation.
pub(crate) struct Shapes<'a> {
    arguments: Option<OpInput<'a>>,
    /// By argument: shapes and elements.
    tensors: Vec<Vec<(&'a [i64], Element)>>,
}

impl<'a> Shapes<'a> {
    pub(crate) fn new(profile: &'a Profile, operation: &'a Operation) -> Shapes<'a> {
        let arguments = operation.arguments(profile);
        let of = |input: &OpInput<'a>, at: usize| {
            let (bytes, is_assumed) = match input.dtype(at) {
                "Scalar" | "ScalarList" | "" => (None, false),
                // Tensor lists have no types; most tensors have two-byte elements.
                "TensorList" => (Some(2.0), true),
                dtype => (element_bytes(dtype), false),
            };
            let element = bytes.map(|bytes| Element { bytes, is_assumed });
            let shapes = input.tensor_list(at).unwrap_or_default().into_iter();
            let shapes = shapes.filter(|sizes| !sizes.is_empty());
            shapes.filter_map(|sizes| Some((sizes, element?))).collect()
        };
        let tensors = arguments.iter().flat_map(|input| {
            let all = 0..input.n_args();
            all.map(move |at| of(input, at))
        });
        Shapes {
            tensors: tensors.collect(),
            arguments,
        }
    }

    fn at(&self, at: usize) -> Option<(&'a [i64], Element)> {
        self.tensors.get(at)?.first().copied()
    }

    fn value(&self, at: usize) -> &'a str {
        self.arguments.map_or("", |input| input.value(at))
    }

    /// Shapes that it reads; `name` is the operator name without `aten::` and a trailing underscore.
    pub(crate) fn takes(&self, name: &str) -> Vec<Shape> {
        let skipped = usize::from(name == "copy");
        let read = self.tensors.iter().skip(skipped).flatten();
        read.map(|(sizes, element)| shape(sizes.to_vec(), *element))
            .collect()
    }

    /// The shape that it writes, if known from its name and shapes.
    pub(crate) fn gives(&self, name: &str) -> Option<Shape> {
        if name == "copy" {
            let (sizes, element) = self.at(0)?;
            return Some(shape(sizes.to_vec(), element));
        }
        if name == "cat" {
            return self.concatenated();
        }
        if REDUCTIONS.contains(&name) {
            return self.reduced();
        }
        let (first, element) = self.at(0)?;
        let sizes = match name {
            "mm" => vec![*first.first()?, *self.at(1)?.0.get(1)?],
            "bmm" => vec![*first.first()?, *first.get(1)?, *self.at(1)?.0.get(2)?],
            "addmm" => vec![*self.at(1)?.0.first()?, *self.at(2)?.0.get(1)?],
            "linear" => {
                let (_, rest) = first.split_last()?;
                let mut sizes = rest.to_vec();
                sizes.push(*self.at(1)?.0.first()?);
                sizes
            }
            // Height and width do not matter; the channels have to match.
            _ if name.contains("convolution") => {
                let mut sizes = vec![-1; first.len()];
                *sizes.first_mut()? = *first.first()?;
                *sizes.get_mut(1)? = *self.at(1)?.0.first()?;
                sizes
            }
            _ if is_norm(name) => return Some(shape(first.to_vec(), element.assumed())),
            _ if ELEMENTWISE.contains(&name) => {
                let all: Vec<&[i64]> = self.tensors.iter().flatten().map(|one| one.0).collect();
                let widest = self.tensors.iter().flatten().map(|one| one.1);
                return Some(shape(
                    broadcast(&all)?,
                    widest.fold(element, Element::wider),
                ));
            }
            _ => return None,
        };
        Some(shape(sizes, element))
    }

    fn concatenated(&self) -> Option<Shape> {
        let parts = self.tensors.first()?;
        let (first, element) = *parts.first()?;
        let dim = from_start(self.value(1), first.len())?;
        let mut sizes = first.to_vec();
        let along = parts.iter().map(|(sizes, _)| sizes.get(dim).copied());
        *sizes.get_mut(dim)? = along.sum::<Option<i64>>()?;
        Some(shape(sizes, element))
    }

    /// Reduces the dimensions in the second argument; the third is `keepdim`.
    fn reduced(&self) -> Option<Shape> {
        let (sizes, element) = self.at(0)?;
        let dims = list_items(self.value(1))?;
        let keeps = self.value(2).eq_ignore_ascii_case("true");
        let mut reduced = vec![false; sizes.len()];
        for dim in dims {
            *reduced.get_mut(from_start(dim, sizes.len())?)? = true;
        }
        let kept = sizes.iter().zip(reduced);
        let sizes = kept.filter_map(|(size, reduced)| match (reduced, keeps) {
            (false, _) => Some(*size),
            (true, true) => Some(1),
            (true, false) => None,
        });
        Some(shape(sizes.collect(), element.assumed()))
    }
}

/// A dimension as an index; negative ones count from the end.
pub(crate) fn from_start(dim: &str, n_dims: usize) -> Option<usize> {
    let dim: i64 = dim.parse().ok()?;
    let dim = if dim < 0 { dim + n_dims as i64 } else { dim };
    usize::try_from(dim).ok()
}

fn shape(sizes: Vec<i64>, element: Element) -> Shape {
    let n: f64 = sizes.iter().map(|size| size.abs() as f64).product();
    Shape {
        sizes,
        bytes: n * element.bytes,
        element_bytes: (!element.is_assumed).then_some(element.bytes),
    }
}

fn broadcast(shapes: &[&[i64]]) -> Option<Vec<i64>> {
    let n = shapes.iter().map(|sizes| sizes.len()).max()?;
    let mut out = vec![1; n];
    for sizes in shapes {
        for (out, size) in out.iter_mut().rev().zip(sizes.iter().rev()) {
            *out = (*out).max(*size);
        }
    }
    Some(out)
}

/// Whether one operation's output can be another's input: elements of the same size, and the same shape or a view of it
/// with the same row length.
pub(crate) fn can_be(given: &Shape, taken: &Shape) -> bool {
    let elements = given.element_bytes.zip(taken.element_bytes);
    if elements.is_some_and(|(given, taken)| (given - taken).abs() > f64::EPSILON) {
        return false;
    }
    let (a, b) = (&given.sizes, &taken.sizes);
    let fits = |(a, b): (&i64, &i64)| *a == -1 || a == b;
    if a.len() == b.len() && a.iter().zip(b).all(fits) {
        return true;
    }
    let same_rows = a.last().is_some() && a.last() == b.last();
    same_rows && !a.contains(&-1) && product(a) > 1.0 && (product(a) - product(b)).abs() < 0.5
}

/// Whether a shape can be a slice of another: smaller along at most one dimension.
pub(crate) fn can_be_slice(whole: &Shape, part: &Shape) -> bool {
    let sizes = || whole.sizes.iter().zip(&part.sizes);
    whole.sizes.len() == part.sizes.len()
        && sizes().all(|(whole, part)| part <= whole)
        && sizes().filter(|(whole, part)| part < whole).count() <= 1
}
