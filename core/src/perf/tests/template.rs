//! Matrix kernels from templates of `torch.compile`.

use super::check;

#[test]
fn products_from_templates() {
    check(
        "
        # 2·2·3·4, whichever way the second buffer lies.
        triton_tem_fused_mm_0(2x3, 3x4, 2x4) -> 48 | 52
        triton_tem_fused_mm_0(2x3, 4x3, 2x4) -> 48 | 52
        # A bias before the operands.
        triton_tem_fused_addmm_gelu_1(4, 2x3, 4x3, 2x4) -> 48 | 60
        # Five products of 2 × 3 with 3 × 4.
        triton_tem_fused_bmm_2(5x2x3, 5x3x4, 5x2x4) -> 240 | 2*(30 + 60 + 40)
        # 20 results of windows of 2·3.
        triton_tem_fused_convolution_3(1x2x8, 5x2x3, 1x5x4) -> 240 | 2*(16 + 30 + 20)
        triton_tem_fused_mm_0(2x3, 5x7, 2x4) -> none
        ",
    );
}

#[test]
fn flexible_attention() {
    check(
        "
        # 16 scores of 8 + 8; log-sum-exps of 4 bytes; a block mask of one block.
        triton_tem_fused_flex_attention_0(1x1x4x8*3, 1x1x4:float, 1x1x1:int, 1x1x1x1:int, 1x1x4x8) -> 512 | 256 + 16 + 8
        # Which of four blocks are computed stands in values.
        triton_tem_fused_flex_attention_0(1x1x4x8*3, 1x1x4:float, 1x1x2:int, 1x1x2x2:int, 1x1x4x8) -> none
        ",
    );
}
