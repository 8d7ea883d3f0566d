//! Indexing, scattering and concatenation. Not in TraceLens.
//!
//! Arithmetic is not counted. Only the selected part of the source moves; indices are read, the result is written.

use crate::perf::input::{Tensor, broadcast, product};
use crate::perf::{Modeled, OpInput, dtype, moved, on_vectors};

/// `index_select(x, dim, index)`: the result has the index's length in that dimension.
pub(super) fn index_select(input: &OpInput) -> Option<Modeled> {
    let (x, index) = (input.tensor(0)?, input.tensor(2)?);
    let dim = dimension(input.number(1)?, x.shape.len())?;
    let n_out = index.n() * product_without(x.shape, dim);
    Some(moved(picked(&x, &index, n_out)))
}

/// The bytes of a row, if `index_select(x, dim, index)` or `gather(x, dim, index)` selects as many rows as x has.
pub(crate) fn row_bytes_of_whole(input: &OpInput) -> Option<f64> {
    let (x, index) = (input.tensor(0)?, input.tensor(2)?);
    let dim = dimension(input.number(1)?, x.shape.len())?;
    let n_rows = *x.shape.get(dim)? as f64;
    let n_indices = match input.name {
        "aten::index_select" => index.n(),
        // An index for each element, the same within a row.
        "aten::gather" if index.shape == x.shape => index.n_distinct(),
        _ => return None,
    };
    let is_whole = (n_indices - n_rows).abs() < 0.5;
    (is_whole && n_rows > 1.0).then_some(x.bytes()? / n_rows)
}

/// Where the backward passes of embeddings and of bags have the number of rows of their table.
const ROWS_OF_EMBEDDING: usize = 2;
const ROWS_OF_BAGS: usize = 5;

/// The sizes of a table whose gradient a call writes as a whole, and the number of rows that its indices can select:
/// `embedding_dense_backward(dY, indices, n_rows, …)`, and that of embedding bags.
pub(crate) fn dense_gradient(input: &OpInput) -> Option<([i64; 2], u64)> {
    let n_rows = match input.name {
        "aten::embedding_dense_backward" => ROWS_OF_EMBEDDING,
        "aten::_embedding_bag_dense_backward" => ROWS_OF_BAGS,
        _ => return None,
    };
    let (gradient, indices) = (input.tensor(0)?, input.tensor(1)?);
    let rows = input.number(n_rows)? as i64;
    Some(([rows, *gradient.shape.last()?], indices.n() as u64))
}

/// `embedding(weight, indices, …)`: a row for each index.
pub(super) fn embedding(input: &OpInput) -> Option<Modeled> {
    let (weight, indices) = (input.tensor(0)?, input.tensor(1)?);
    let n_out = indices.n() * product_without(weight.shape, 0);
    Some(moved(picked(&weight, &indices, n_out)))
}

/// `embedding_dense_backward(dY, indices, n_rows, …)`: the whole table's gradient is written, each
/// row of dY added once.
pub(super) fn embedding_backward(input: &OpInput) -> Option<Modeled> {
    table_gradient(input, ROWS_OF_EMBEDDING, |gradient, _, _| gradient.n())
}

/// `flops` takes the gradient, the number of indices and the size of a row.
fn table_gradient(
    input: &OpInput,
    n_rows: usize,
    flops: fn(&Tensor, f64, f64) -> f64,
) -> Option<Modeled> {
    let (gradient, indices) = (input.tensor(0)?, input.tensor(1)?);
    let width = *gradient.shape.last()? as f64;
    let n_table = input.number(n_rows)? * width;
    let bytes = || Some(gradient.bytes()? + indices.bytes()? + n_table * gradient.element_bytes()?);
    let flops = flops(&gradient, indices.n(), width);
    Some(on_vectors(gradient.dtype, flops, bytes()))
}

/// `gather(x, dim, index)`, `take(x, index)`: an element for each index. An index that is expanded over a dimension is
/// read once.
pub(super) fn gather(input: &OpInput, index: usize) -> Option<Modeled> {
    let (x, index) = (input.tensor(0)?, input.tensor(index)?);
    Some(moved(picked(&x, &index, index.n())))
}

/// `scatter(x, dim, index, source)` in place: index and source are read, and as many elements written; `scatter_add_`
/// and `scatter_reduce_` take two passes, since they also read the existing values.
pub(super) fn scatter(input: &OpInput, passes: f64) -> Option<Modeled> {
    let (x, index) = (input.tensor(0)?, input.tensor(2)?);
    let source = input
        .tensor(3)
        .map_or(Some(0.0), |source| source.distinct_bytes());
    let bytes =
        || Some(index.distinct_bytes()? + source? + passes * index.n() * x.element_bytes()?);
    Some(moved(bytes()))
}

/// `index(x, indices)`: the indices' broadcast shape replaces the indexed dimensions.
pub(super) fn index(input: &OpInput) -> Option<Modeled> {
    let x = input.tensor(0)?;
    let n_out = n_indexed(input, &x)?;
    let n_indices = n_indices(input)?;
    let bytes = || Some(2.0 * n_out * x.element_bytes()? + n_indices * 8.0);
    Some(moved(bytes()))
}

/// `index_put_(x, indices, values)`: the values are read and written. If the indices were not recorded, as many
/// elements are written as there are values, unless the values may be broadcast.
pub(super) fn index_put(input: &OpInput) -> Option<Modeled> {
    let (x, values) = (input.tensor(0)?, input.tensor(2)?);
    let n_out = match n_indexed(input, &x) {
        Some(n) => n,
        None => (!may_stretch(values.shape, x.shape)).then(|| values.n())?,
    };
    let n_indices = n_indices(input).unwrap_or(0.0);
    let bytes = || Some(values.distinct_bytes()? + n_out * x.element_bytes()? + n_indices * 8.0);
    Some(moved(bytes()))
}

/// `index_copy_(x, dim, index, source)`: source and index are read, and as much as the source is written: two passes;
/// `index_add_` and `index_reduce_` take three, since they also read the existing values.
pub(super) fn index_copy(input: &OpInput, passes: f64) -> Option<Modeled> {
    let (index, source) = (input.tensor(2)?, input.tensor(3)?);
    let bytes = || Some(index.bytes()? + passes * source.bytes()?);
    Some(moved(bytes()))
}

/// `cat(tensors, dim)`, `stack`: everything is read and written. The trace has no type for a list; the kernel's name
/// gives the size of the elements.
pub(super) fn cat(input: &OpInput) -> Option<Modeled> {
    let n: f64 = input.tensor_list(0)?.into_iter().map(product).sum();
    let size = element_bytes_of_kernels(input.kernels);
    Some(moved(size.map(|size| 2.0 * n * size)))
}

/// `flip(x, dims)`, `roll`, `repeat`-like copies of one tensor of the same size.
pub(super) fn copy(input: &OpInput) -> Option<Modeled> {
    let x = input.tensor(0)?;
    Some(moved((|| Some(x.distinct_bytes()? + x.bytes()?))()))
}

/// `repeat(x, times)`, `tile`: x is read, and written as often as the times say.
pub(super) fn repeat(input: &OpInput) -> Option<Modeled> {
    repeated(&input.tensor(0)?, product(&input.integers(1)?))
}

/// `repeat_interleave(x, times, …)`, with the same number for each element.
pub(super) fn repeat_each(input: &OpInput) -> Option<Modeled> {
    repeated(&input.tensor(0)?, input.number(1)?)
}

fn repeated(x: &Tensor, times: f64) -> Option<Modeled> {
    let bytes = || Some(x.distinct_bytes()? + times * x.bytes()?);
    (times >= 1.0).then(|| moved(bytes()))
}

/// `nonzero(x)`: the flags are read; how many are set is not recorded.
pub(super) fn read_only(input: &OpInput) -> Option<Modeled> {
    Some(moved(input.tensor(0)?.distinct_bytes()))
}

/// `constant_pad_nd(x, pad, value)`: the padded result is written.
pub(super) fn constant_pad(input: &OpInput) -> Option<Modeled> {
    let x = input.tensor(0)?;
    let n_out = product(&padded(x.shape, &input.integers(1)?)?);
    Some(moved((|| Some((x.n() + n_out) * x.element_bytes()?))()))
}

/// A shape padded at both ends of each dimension; `pad` starts with the last dimension.
pub(super) fn padded(shape: &[i64], pad: &[i64]) -> Option<Vec<i64>> {
    let mut out = shape.to_vec();
    for (size, pair) in out.iter_mut().rev().zip(pad.chunks(2)) {
        *size = size.checked_add(pair.iter().sum())?;
    }
    Some(out)
}

/// `tril(x)`, `triu(x)`: about half is read, all is written.
pub(super) fn triangle(input: &OpInput) -> Option<Modeled> {
    Some(moved(input.tensor(0)?.bytes().map(|bytes| 1.5 * bytes)))
}

fn picked(from: &Tensor, index: &Tensor, n_out: f64) -> Option<f64> {
    let size = from.element_bytes()?;
    // An element that is selected several times is read once.
    Some(n_out.min(from.n_distinct()) * size + index.distinct_bytes()? + n_out * size)
}

fn n_indexed(input: &OpInput, x: &Tensor) -> Option<f64> {
    let indices = input.tensor_list(1)?;
    let kept = x.shape.get(indices.len()..)?;
    let mut shape = Vec::new();
    for index in indices {
        shape = broadcast(&shape, index)?;
    }
    Some(product(&shape) * product(kept))
}

/// Whether values may be broadcast: they have fewer dimensions than the target, or a size of one where the target's is
/// larger.
fn may_stretch(values: &[i64], to: &[i64]) -> bool {
    let mut pairs = values.iter().rev().zip(to.iter().rev());
    values.len() < to.len() || pairs.any(|(value, size)| *value == 1 && *size > 1)
}

fn n_indices(input: &OpInput) -> Option<f64> {
    Some(input.tensor_list(1)?.into_iter().map(product).sum())
}

/// A dimension; negative ones count from the end.
pub(super) fn dimension(dim: f64, n_dims: usize) -> Option<usize> {
    let dim = if dim < 0.0 { dim + n_dims as f64 } else { dim };
    (0.0..n_dims as f64).contains(&dim).then_some(dim as usize)
}

fn product_without(shape: &[i64], dim: usize) -> f64 {
    let others = shape.iter().enumerate().filter(|(at, _)| *at != dim);
    others.map(|(_, size)| *size as f64).product()
}

/// Bytes of an element from the template arguments of kernels: `OpaqueType<2u>`, or a type.
pub(super) fn element_bytes_of_kernels(kernels: &[&str]) -> Option<f64> {
    const WORDS: [(&str, f64); 10] = [
        ("OpaqueType<1", 1.0),
        ("OpaqueType<2", 2.0),
        ("OpaqueType<4", 4.0),
        ("OpaqueType<8", 8.0),
        ("OpaqueType<16", 16.0),
        ("c10::BFloat16", 2.0),
        ("c10::Half", 2.0),
        ("<double", 8.0),
        ("<float", 4.0),
        ("<long", 8.0),
    ];
    let matching = |name: &&str| WORDS.iter().find(|(word, _)| name.contains(word));
    // `OpaqueType<1u>` and `OpaqueType<16u>` have the same prefix.
    match kernels.iter().any(|name| name.contains("OpaqueType<16")) {
        true => Some(16.0),
        false => kernels.iter().find_map(matching).map(|(_, size)| *size),
    }
}

/// `_embedding_bag(weight, indices, offsets, …)`: a row for each index is read and added to its bag's, one bag per
/// offset.
pub(super) fn embedding_bag(input: &OpInput) -> Option<Modeled> {
    let (weight, indices, offsets) = (input.tensor(0)?, input.tensor(1)?, input.tensor(2)?);
    let width = product_without(weight.shape, 0);
    let n_read = (indices.n() * width).min(weight.n());
    let bytes = || {
        let rows = (n_read + offsets.n() * width) * weight.element_bytes()?;
        Some(rows + indices.bytes()? + offsets.bytes()?)
    };
    Some(on_vectors(weight.dtype, indices.n() * width, bytes()))
}

/// `split_embedding_codegen_lookup_…(…, D_offsets, total_D, max_D, hash sizes, bits, indices, offsets, …)` of FBGEMM:
/// bags of several tables in one call. `D_offsets` has one entry more than there are tables, whose widths add up to
/// `total_D`; how the indices are spread over tables of different widths is not recorded.
pub(super) fn table_batched(input: &OpInput) -> Option<Modeled> {
    let is_number = |at: usize| input.number(at).is_some();
    // What precedes it differs between versions.
    let first = (1..input.n_args()).find(|at| {
        let is_list = input.sized::<1>(*at).is_some() && dtype::is_integer(input.dtype(*at));
        is_list && is_number(at + 1) && is_number(at + 2)
    })?;
    let [ends] = input.sized(first)?;
    let (n_tables, total_width) = (ends - 1.0, input.number(first + 1)?);
    let (indices, offsets) = (input.tensor(first + 5)?, input.tensor(first + 6)?);
    // Tables that the CPU holds, and caches of them, are further operands.
    let tables = (0..first).filter_map(|at| input.tensor(at));
    let tables = tables.filter(|one| !dtype::is_integer(one.dtype));
    let weights = tables.max_by(|one, other| one.n().total_cmp(&other.n()))?;
    if n_tables < 1.0 {
        return None;
    }
    let n_added = indices.n() * total_width / n_tables;
    let n_out = (offsets.n() - 1.0).max(0.0) / n_tables * total_width;
    let bytes = || {
        let rows = (n_added.min(weights.n()) + n_out) * weights.element_bytes()?;
        Some(rows + indices.bytes()? + offsets.bytes()?)
    };
    Some(on_vectors(weights.dtype, n_added, bytes()))
}

/// `_embedding_bag_dense_backward(dY, indices, bag of each index, sizes, largest, n_rows[5], …)`.
pub(super) fn embedding_bag_backward(input: &OpInput) -> Option<Modeled> {
    table_gradient(input, ROWS_OF_BAGS, |_, n_indices, width| n_indices * width)
}

/// `index_fill_(x, dim, index, value)`: the indexed slices are written.
pub(super) fn index_fill(input: &OpInput) -> Option<Modeled> {
    let (x, index) = (input.tensor(0)?, input.tensor(2)?);
    let dim = dimension(input.number(1)?, x.shape.len())?;
    let n_out = index.n() * product_without(x.shape, dim);
    let bytes = || Some(index.bytes()? + n_out * x.element_bytes()?);
    Some(moved(bytes()))
}

/// `bucketize(x, bounds)`, `searchsorted(bounds, x)`: a binary search for each of the larger operand's values, with
/// log₂ of the number of bounds comparisons, and an 8-byte index each.
pub(super) fn search(input: &OpInput) -> Option<Modeled> {
    let (one, other) = (input.tensor(0)?, input.tensor(1)?);
    let (values, bounds) = match input.name.contains("searchsorted") {
        true => (other, one),
        false => (one, other),
    };
    let length = bounds.shape.last().map_or(1.0, |size| *size as f64);
    let bytes = || Some(values.bytes()? + bounds.bytes()? + 8.0 * values.n());
    Some(on_vectors(
        values.dtype,
        values.n() * (length + 1.0).log2().ceil(),
        bytes(),
    ))
}
