//! Hyper-connections.

use super::check;

#[test]
fn streams_of_residuals() {
    // Two tokens, 4 streams of 8: a product of 2 × 32 with 32 × 24, and 2·32 squares added.
    let bytes = 4.0 * (48.0 + 2.0) + 2.0 * 64.0 + 4.0 * 768.0;
    let shapes = "2x24:float, 2:float, 2x32, 24x32:float";
    check(
        "aiter::mhc_pre_gemm_sqrsum",
        shapes,
        &[],
        3072.0 + 128.0,
        bytes,
    );
    // 64 results of one product and four products with their sums.
    let shapes = "2x4x8, 2x8, 2x4x8, 2x4:float, 2x4x4:float";
    let bytes = 2.0 * (64.0 + 16.0 + 64.0) + 4.0 * (8.0 + 32.0);
    check("aiter::mhc_post", shapes, &[], 576.0, bytes);
    // The weighted sum of 64, a norm of 16.
    let shapes = "2x4:float, 2x4x4:float, 2x8, 2x24:float, 2:float, 2x4x8, 8";
    let bytes = 4.0 * (8.0 + 32.0 + 48.0 + 2.0) + 2.0 * (16.0 + 64.0 + 8.0);
    check(
        "aiter::mhc_pre_big_fuse_rmsnorm",
        shapes,
        &[],
        128.0 + 64.0,
        bytes,
    );
    // The end of one layer and the product of the next.
    let shapes = "2x24:float, 2:float, 2x4x8, 2x8, 2x4x8, 24x32:float";
    let bytes = 4.0 * (48.0 + 2.0 + 768.0) + 2.0 * (64.0 + 16.0 + 64.0);
    let name = "aiter::mhc_fused_post_pre_gemm_sqrsum";
    check(name, shapes, &[], 576.0 + 3072.0 + 128.0, bytes);
}
