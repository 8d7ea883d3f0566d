//! Fourier transforms.

use super::check;

#[test]
fn fourier_transforms() {
    // Two rows of 8 complex numbers of 8 bytes: 5·16·3 operations.
    let complex = "2x8:c10::complex<float>, , , ";
    check(
        "aten::_fft_c2c",
        complex,
        &["[1]", "0", "True"],
        240.0,
        256.0,
    );
    // Over both dimensions 16 points: 5·16·4.
    check(
        "aten::_fft_c2c",
        complex,
        &["[0, 1]", "0", "True"],
        320.0,
        256.0,
    );
    // Eight real numbers become five complex ones: 2.5·16·3.
    let real = "2x8:float, , , ";
    check(
        "aten::_fft_r2c",
        real,
        &["[1]", "0", "True"],
        120.0,
        64.0 + 80.0,
    );
    // And back.
    let half = "2x5:c10::complex<float>, , , ";
    check(
        "aten::_fft_c2r",
        half,
        &["[1]", "2", "8"],
        120.0,
        80.0 + 64.0,
    );
}
