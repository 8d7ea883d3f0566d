//! Normalization.

use super::check;

#[test]
fn norms() {
    check(
        "
        # n = 40, C = 4: 6·4 + 5·40; 2·40 + 6·4 elements.
        aten::layer_norm(10x4, =[4], 4, 4) -> 224 | 208
        aten::batch_norm(10x4, 4*4, =True) -> 224 | 208
        # Statistics are given: 6·4 + 2·40; 2·40 + 4·4 elements.
        aten::batch_norm(10x4, 4*4, =False) -> 104 | 192
        # Ten rows of 2·4 + 2, and 2·40; 2·40 + 4 elements.
        aten::_fused_rms_norm(10x4, =[4], 4) -> 180 | 168
        aiter::rmsnorm(10x4, 10x4, 4, =1e-6) -> 180 | 168
        # The residual: an addition each, read and written.
        aiter::add_rmsnorm(10x4*4, 4, =1e-6) -> 220 | 328
        # 4·40 + 5·40; 3·40 + 4·4 elements.
        aten::native_layer_norm_backward(10x4, 10x4, =[4], 10x1, 10x1, 4, 4, =[True, True, True]) -> 360 | 272
        ",
    );
}

#[test]
fn batch_norm_counts_what_is_there() {
    check(
        "
        # n = 40, C = 4, neither scale nor shift: 2·40 + 4·4 elements.
        aten::batch_norm(10x4, _, _, 4, 4, =True) -> 224 | 192
        # Backward, with scale: 4·40 + 5·40; 3·40 + 4·4 elements.
        aten::cudnn_batch_norm_backward(10x4, 10x4, 4*5, =1e-5, _) -> 360 | 272
        # Neither scale nor its gradient: 3·40 + 4 elements.
        aten::native_batch_norm_backward(10x4, 10x4, _*5, =True, =1e-5, =[True, False, False]) -> 360 | 248
        ",
    );
}

#[test]
fn norms_of_libraries() {
    check(
        "
        FusedLayerNormAffineFunction(10x4, 4, 4) -> 224 | 208
        aten::_native_batch_norm_legit(10x4, 4*4, =True) -> 224 | 208
        # Synchronised batch norm in parts.
        aten::batch_norm_stats(10x4, =1e-5) -> 120 | 80 + 32
        aten::batch_norm_elemt(10x4, 4*4, =1e-5) -> 80 | 160 + 32
        aten::batch_norm_backward_reduce(10x4, 10x4, 4*3) -> 160 | 160 + 64
        aten::batch_norm_backward_elemt(10x4, 10x4, 4*5) -> 200 | 240 + 40
        aten::_weight_norm_interface(10x4, 10x1, =0) -> 160 | 160 + 40
        aten::_weight_norm_interface_backward(10x4, 10x4, 10x1, 10x1, =0) -> 240 | 240 + 60
        ",
    );
}
