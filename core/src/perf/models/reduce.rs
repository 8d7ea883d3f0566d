//! Reductions: sums, means, extremes, norms, running sums.
//!
//! One operation for each element read. The input is read and the result written, once each. The result keeps the
//! dimensions that are not reduced; TraceLens assumes a single element.

use super::elementwise;
use crate::perf::input::{Tensor, product};
use crate::perf::params::{self, Param};
use crate::perf::{Modeled, OpInput, dtype, on_vectors};

/// Argument positions of an op.
#[derive(Clone, Copy)]
struct Layout {
    /// The dimensions to reduce; none means all.
    dims: usize,
    /// The result's type, if the caller specified one.
    dtype: Option<usize>,
    /// Integers are summed in 64 bits.
    widens: bool,
    /// Additional bytes written per result: 8 for an index.
    index_bytes: f64,
}

const LAYOUT: Layout = Layout {
    dims: 1,
    dtype: None,
    widens: false,
    index_bytes: 0.0,
};

const MEAN: Layout = Layout {
    dtype: Some(3),
    ..LAYOUT
};

/// `sum(x, dims, keepdim, dtype)`, `sum(x, dtype)`.
pub(super) fn sum(input: &OpInput) -> Option<Modeled> {
    let layout = Layout {
        widens: true,
        ..MEAN
    };
    reduce(input, layout)
}

/// `mean(x, dims, keepdim, dtype)`, `mean(x, dtype)`.
pub(super) fn mean(input: &OpInput) -> Option<Modeled> {
    reduce(input, MEAN)
}

/// `amin(x, dims, keepdim)`, `logsumexp`, `std`, `var`.
pub(super) fn by_dims(input: &OpInput) -> Option<Modeled> {
    reduce(input, LAYOUT)
}

/// `norm(x, p, dims, keepdim)`, `linalg_norm`.
pub(super) fn norm(input: &OpInput) -> Option<Modeled> {
    reduce(input, Layout { dims: 2, ..LAYOUT })
}

/// `max(x)`, `max(x, dim)` which also returns indices, and element-wise `max(x, y)`.
pub(super) fn extreme(input: &OpInput) -> Option<Modeled> {
    if input.tensor(1).is_some() {
        return Some(elementwise::pointwise(input)?.with(params(input, 1.0)));
    }
    let has_dim = input.integer_dims(1).is_some();
    let layout = Layout {
        index_bytes: if has_dim { 8.0 } else { 0.0 },
        ..LAYOUT
    };
    reduce(input, layout)
}

/// `argmax(x, dim, keepdim)`, which writes an 8-byte index, and `any(x, dim)`, which writes a flag.
pub(super) fn to_size(input: &OpInput, bytes: f64) -> Option<Modeled> {
    let x = input.tensor(0)?;
    Some(work(&x, n_out(input, &x, 1)?, Some(bytes)))
}

/// `cumsum(x, dim, dtype)`, `cumprod`: as many results as elements.
pub(super) fn running(input: &OpInput) -> Option<Modeled> {
    let x = input.tensor(0)?;
    let size = dtype::bytes_of_code(input.value(2)).or_else(|| widened(&x, true));
    Some(work(&x, x.n(), size).with(params(input, x.n())))
}

impl OpInput<'_> {
    /// Dimensions to reduce: `[-1]`, or a single `1`; `None` for all of them.
    pub(crate) fn integer_dims(&self, position: usize) -> Option<Vec<i64>> {
        match self.has_type_for_dims() {
            true => None,
            false => self.integers(position),
        }
    }

    /// Whether the argument in the position of the dimensions is the result's type: `sum(x, dtype)` and `mean(x,
    /// dtype)`, whose dimensions are always a list, and `prod(x, dtype)`, which takes no dimensions.
    fn has_type_for_dims(&self) -> bool {
        let takes_type = match self.name {
            "aten::sum" | "aten::mean" => true,
            "aten::prod" => self.n_args() == 2,
            _ => false,
        };
        takes_type && self.number(1).is_some()
    }
}

fn reduce(input: &OpInput, layout: Layout) -> Option<Modeled> {
    let x = input.tensor(0)?;
    let n_out = n_out(input, &x, layout.dims)?;
    let chosen = layout
        .dtype
        .map(|at| if input.has_type_for_dims() { 1 } else { at })
        .and_then(|at| dtype::bytes_of_code(input.value(at)));
    let size = chosen
        .or_else(|| widened(&x, layout.widens))
        .map(|size| size + layout.index_bytes);
    Some(work(&x, n_out, size).with(params(input, 1.0)))
}

fn widened(x: &Tensor, widens: bool) -> Option<f64> {
    if widens && dtype::is_integer(x.dtype) {
        return Some(8.0);
    }
    x.element_bytes()
}

/// Elements of the result: the product of the sizes that are not reduced.
fn n_out(input: &OpInput, x: &Tensor, dims_at: usize) -> Option<f64> {
    let n_dims = x.shape.len() as i64;
    let dims = match input.has_type_for_dims() {
        true => Vec::new(),
        false => input.integers_or_none(dims_at)?,
    };
    if dims.is_empty() {
        return Some(1.0);
    }
    let reduced = |dim: i64| {
        dims.iter()
            .any(|d| *d == dim || d.saturating_add(n_dims) == dim)
    };
    let kept: Vec<i64> = (0..)
        .zip(x.shape)
        .filter(|(dim, _)| !reduced(*dim))
        .map(|(_, size)| *size)
        .collect();
    Some(product(&kept))
}

fn work(x: &Tensor, n_out: f64, size_out: Option<f64>) -> Modeled {
    let bytes = || Some(x.bytes()? + n_out * size_out?);
    on_vectors(x.dtype, x.n(), bytes())
}

fn params(input: &OpInput, n_out: f64) -> params::Params {
    let kinds = ["mean", "max", "min", "norm"];
    let kind = kinds.iter().find(|kind| input.name.contains(**kind));
    vec![
        (
            "num_input_elems",
            Param::Int(product(input.shape(0).unwrap_or_default())),
        ),
        ("num_output_elems", Param::Int(n_out)),
        (
            "dtype_in_out",
            params::dtypes(&[Some(input.dtype(0)), None]),
        ),
        ("reduce_type", params::text(kind.copied().unwrap_or("sum"))),
    ]
}

/// `_cummax_helper(x, values, places, dim)`: each tensor moves once. Not in TraceLens.
pub(super) fn running_extreme(input: &OpInput) -> Option<Modeled> {
    let x = input.tensor(0)?;
    let size = x.element_bytes().map(|size| size + 8.0);
    Some(work(&x, x.n(), size))
}
