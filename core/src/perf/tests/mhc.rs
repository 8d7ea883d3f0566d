//! Hyper-connections.

use super::check;

#[test]
fn streams_of_residuals() {
    check(
        "
        # Two tokens, 4 streams of 8: a product of 2 × 32 with 32 × 24, and 2·32 squares added.
        aiter::mhc_pre_gemm_sqrsum(2x24:float, 2:float, 2x32, 24x32:float) -> 3072 + 128 | (4*(48 + 2) + 2*64 + 4*768)
        # 64 results of one product and four products with their sums.
        aiter::mhc_post(2x4x8, 2x8, 2x4x8, 2x4:float, 2x4x4:float) -> 576 | (2*(64 + 16 + 64) + 4*(8 + 32))
        # The weighted sum of 64, a norm of 16.
        aiter::mhc_pre_big_fuse_rmsnorm(2x4:float, 2x4x4:float, 2x8, 2x24:float, 2:float, 2x4x8, 8) -> 128 + 64 | (4*(8 + 32 + 48 + 2) + 2*(16 + 64 + 8))
        # The end of one layer and the product of the next.
        aiter::mhc_fused_post_pre_gemm_sqrsum(2x24:float, 2:float, 2x4x8, 2x8, 2x4x8, 24x32:float) -> 576 + 3072 + 128 | (4*(48 + 2 + 768) + 2*(64 + 16 + 64))
        ",
    );
}
