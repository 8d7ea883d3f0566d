//! Kernels that `torch.compile` writes.

use super::check;

#[test]
fn compiled_kernels() {
    check(
        "
        # 8 points; mul 1, silu 4; two tensors.
        triton_poi_fused_mul_silu_3(2x4, 8, =8) -> 40 | 32
        # The loops are 2 × 4; of the larger tensor only as many elements as points are read.
        triton_poi_fused_add_0(2x4, 100, =2, =4) -> 8 | 32
        # The bias and GELU of a product, in place: 8 elements read and written, 4 of the bias.
        triton_poi_fused_addmm_gelu_2(2x4, 4, =8) -> 64 | 40
        # A size of a dynamic shape before the loops: 16 points are all there are.
        triton_red_fused_mean_1(4x4, 4, =64, =4, =4) -> 16 | 40
        triton_poi_fused_add_0(8:float, =8) -> 8 | 32 | vector_fp32
        ",
    );
}
