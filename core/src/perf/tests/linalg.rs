//! Factorisations and solvers.

use super::check;

#[test]
fn factorisations() {
    // Two matrices of 3 × 3, read and written: 36 elements.
    check(
        "aten::linalg_cholesky_ex",
        "2x3x3:float, , ",
        &["False", "False"],
        18.0,
        144.0,
    );
    check(
        "aten::linalg_lu_factor_ex",
        "2x3x3:float, ",
        &["True"],
        36.0,
        144.0,
    );
    check(
        "aten::linalg_inv_ex",
        "2x3x3:float, ",
        &["False"],
        108.0,
        144.0,
    );
    // Four products of real numbers each, in eight bytes.
    let complex = "2x3x3:c10::complex<float>, , ";
    check(
        "aten::linalg_cholesky_ex",
        complex,
        &["False", "False"],
        72.0,
        288.0,
    );
    // 2·9·(6 − 1).
    check("aten::linalg_qr", "6x3:float, ", &["reduced"], 90.0, 144.0);
    // Three unknowns for four right-hand sides: 12·3; half of 9, and twice 12 elements.
    check(
        "aten::linalg_solve_triangular",
        "3x3:float, 3x4:float, ",
        &["True"],
        36.0,
        114.0,
    );
    check(
        "aten::triangular_solve",
        "3x4:float, 3x3:float, ",
        &["True"],
        36.0,
        114.0,
    );
}
