//! Matrix kernels from templates of `torch.compile`.

use super::{check, counted};

#[test]
fn products_from_templates() {
    // 2·2·3·4, whichever way the second buffer lies.
    check("triton_tem_fused_mm_0", "2x3, 3x4, 2x4", &[], 48.0, 52.0);
    check("triton_tem_fused_mm_0", "2x3, 4x3, 2x4", &[], 48.0, 52.0);
    // A bias before the operands.
    check(
        "triton_tem_fused_addmm_gelu_1",
        "4, 2x3, 4x3, 2x4",
        &[],
        48.0,
        60.0,
    );
    // Five products of 2 × 3 with 3 × 4.
    let bytes = 2.0 * (30.0 + 60.0 + 40.0);
    check(
        "triton_tem_fused_bmm_2",
        "5x2x3, 5x3x4, 5x2x4",
        &[],
        240.0,
        bytes,
    );
    // 20 results of windows of 2·3.
    let bytes = 2.0 * (16.0 + 30.0 + 20.0);
    check(
        "triton_tem_fused_convolution_3",
        "1x2x8, 5x2x3, 1x5x4",
        &[],
        240.0,
        bytes,
    );
    assert_eq!(counted("triton_tem_fused_mm_0", "2x3, 5x7, 2x4", &[]), None);
}

#[test]
fn flexible_attention() {
    // 16 scores of 8 + 8; log-sum-exps of 4 bytes; a block mask of one block.
    let name = "triton_tem_fused_flex_attention_0";
    let tensors = "1x1x4x8, 1x1x4x8, 1x1x4x8, 1x1x4:float";
    let dense = format!("{tensors}, 1x1x1:int, 1x1x1x1:int, 1x1x4x8");
    check(name, &dense, &[], 512.0, 256.0 + 16.0 + 8.0);
    // Which of four blocks are computed stands in values.
    let masked = format!("{tensors}, 1x1x2:int, 1x1x2x2:int, 1x1x4x8");
    assert_eq!(counted(name, &masked, &[]), None);
}
