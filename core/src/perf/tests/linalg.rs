//! Factorisations and solvers.

use super::check;

#[test]
fn factorisations() {
    check(
        "
        # Two matrices of 3 × 3, read and written: 36 elements.
        aten::linalg_cholesky_ex(2x3x3:float, =False, =False) -> 18 | 144
        aten::linalg_lu_factor_ex(2x3x3:float, =True) -> 36 | 144
        aten::linalg_inv_ex(2x3x3:float, =False) -> 108 | 144
        # Four products of real numbers each, in eight bytes.
        aten::linalg_cholesky_ex(2x3x3:c10::complex<float>, =False, =False) -> 72 | 288
        # 2·9·(6 − 1).
        aten::linalg_qr(6x3:float, =reduced) -> 90 | 144
        # Three unknowns for four right-hand sides: 12·3; half of 9, and twice 12 elements.
        aten::linalg_solve_triangular(3x3:float, 3x4:float, =True) -> 36 | 114
        aten::triangular_solve(3x4:float, 3x3:float, =True) -> 36 | 114
        ",
    );
}
