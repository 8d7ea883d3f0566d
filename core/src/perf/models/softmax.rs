//! Softmax and related ops. Not in TraceLens.
//!
//! Five operations for each element: compare for the maximum, subtract it, exponential, add to the sum, divide.
//! Log-softmax subtracts the sum's logarithm instead of dividing. The input is read and the result written, once each:
//! a row that fits on chip is not read again. Backward, dX = Y·(dY − Σ dY·Y): multiply, add, subtract, multiply; two
//! tensors read, one written.

use crate::perf::{Modeled, OpInput, dtype, on_vectors, vectors};

/// `_softmax(x, dim, half_to_float)`, `_log_softmax`. The flag converts FP16 to FP32.
pub(super) fn forward(input: &OpInput) -> Option<Modeled> {
    let x = input.tensor(0)?;
    let widens = input.flag_or(2, false)?;
    let size_out = if widens { Some(4.0) } else { x.element_bytes() };
    let bytes = || Some(x.bytes()? + x.n() * size_out?);
    Some(on_vectors(x.dtype, 5.0 * x.n(), bytes()))
}

/// `_softmax_backward_data(dY, Y, dim, input_dtype)`, `_log_softmax_backward_data`.
pub(super) fn backward(input: &OpInput) -> Option<Modeled> {
    let (gradient, result) = (input.tensor(0)?, input.tensor(1)?);
    let size_out = dtype::bytes_of_code(input.value(3)).or_else(|| gradient.element_bytes());
    let bytes = || Some(gradient.bytes()? + result.bytes()? + gradient.n() * size_out?);
    Some(on_vectors(gradient.dtype, 4.0 * gradient.n(), bytes()))
}

/// `ScaledUpperTriangMaskedSoftmax(x, scale)`, `ScaledMaskedSoftmax(x, mask, scale)` of apex and Megatron: one more
/// operation per element for the scale; a mask is read.
pub(super) fn scaled(input: &OpInput) -> Option<Modeled> {
    let x = input.tensor(0)?;
    let mask = input
        .tensor(1)
        .map_or(Some(0.0), |mask| mask.distinct_bytes());
    let bytes = || Some(2.0 * x.bytes()? + mask?);
    Some(on_vectors(x.dtype, 6.0 * x.n(), bytes()))
}

/// Its backward pass: two tensors read, one written.
pub(super) fn scaled_bwd(input: &OpInput) -> Option<Modeled> {
    let x = input.tensor(0)?;
    Some(vectors(x.dtype, 5.0 * x.n(), 3.0 * x.n()))
}
