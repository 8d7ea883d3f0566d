//! Fourier transforms.

use super::check;

#[test]
fn fourier_transforms() {
    check(
        "
        # Two rows of 8 complex numbers of 8 bytes: 5·16·3 operations.
        aten::_fft_c2c(2x8:c10::complex<float>, =[1], =0, =True) -> 240 | 256
        # Over both dimensions 16 points: 5·16·4.
        aten::_fft_c2c(2x8:c10::complex<float>, =[0, 1], =0, =True) -> 320 | 256
        # Eight real numbers become five complex ones: 2.5·16·3.
        aten::_fft_r2c(2x8:float, =[1], =0, =True) -> 120 | 64 + 80
        # And back.
        aten::_fft_c2r(2x5:c10::complex<float>, =[1], =2, =8) -> 120 | 80 + 64
        ",
    );
}
