//! Factorizations and solvers whose number of operations follows from the sizes. Not in TraceLens.
//!
//! Leading terms, for each matrix of a batch: Cholesky n³/3, LU 2·n³/3, inverse 2·n³, a triangular system n² for each
//! right-hand side, QR of m × n 2·n²·(m − n/3). Eigenvalues and singular values are found by iterations that traces do
//! not record, so they have no model. The matrix is read and the result written, once each. Complex numbers take four
//! times as many.

use crate::perf::input::product;
use crate::perf::{Modeled, OpInput, dtype, on_vectors, vectors};

/// One matrix or a batch of them, by the operations on each of m × n.
pub(super) fn factorised(input: &OpInput, flops: fn(f64, f64) -> f64) -> Option<Modeled> {
    let a = input.tensor(0)?;
    let [batch @ .., m, n] = a.shape else {
        return None;
    };
    let (complex, _) = dtype::complex_factors(a.dtype);
    let flops = complex * product(batch) * flops(*m as f64, *n as f64);
    Some(vectors(a.dtype, flops, 2.0 * a.n()))
}

/// `linalg_solve_triangular(A, B)`, `triangular_solve(B, A)`: the square operand is A, half of which is read.
pub(super) fn triangular(input: &OpInput) -> Option<Modeled> {
    let (one, other) = (input.tensor(0)?, input.tensor(1)?);
    let is_square = |shape: &[i64]| matches!(shape, [.., m, n] if m == n);
    let (a, b) = match is_square(one.shape) {
        true => (one, other),
        false => (other, one),
    };
    let n = *a.shape.last()? as f64;
    let bytes = || Some(a.bytes()? / 2.0 + 2.0 * b.bytes()?);
    let (complex, _) = dtype::complex_factors(a.dtype);
    is_square(a.shape).then(|| on_vectors(a.dtype, complex * b.n() * n, bytes()))
}
