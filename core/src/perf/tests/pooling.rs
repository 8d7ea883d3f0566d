//! Pooling, sorting, losses.

use super::check;

#[test]
fn pooling_sorting_losses() {
    check(
        "
        # Two by two over 4 × 4: 4 results of 4 each; 16 in, 4 out with places.
        aten::max_pool2d_with_indices(1x1x4x4, =[2, 2], =[2, 2]) -> 16 | 32 + 40
        aten::avg_pool2d(1x1x4x4, =[2, 2], =[]) -> 16 | 40
        aten::_adaptive_avg_pool2d(1x1x4x4, =[1, 1]) -> 16 | 34
        # log₂ 8 = 3 comparisons each.
        aten::sort(2x8, =-1, =False) -> 48 | 64 + 128
        aten::topk(2x8, =3, =-1) -> 16 | 32 + 60
        aten::mse_loss(2x5, 2x5, =1) -> 30 | 40
        # Not added up, each term is written.
        aten::mse_loss(2x5, 2x5, =0) -> 30 | 60
        aten::binary_cross_entropy(2x5, 2x5, _, =0) -> 30 | 60
        CrossEntropyFunction(2x5, 2) -> 50 | 44
        ",
    );
}

#[test]
fn pooling_backward_and_adaptive() {
    check(
        "
        # Four gradients with places, sixteen written.
        aten::max_pool2d_with_indices_backward(1x1x2x2, 1x1x4x4, =[2, 2], =[2, 2], =[0, 0], =[1, 1], =False, 1x1x2x2:long int) -> 4 | 8 + 32 + 32
        aten::avg_pool2d_backward(1x1x2x2, 1x1x4x4, =[2, 2]) -> 16 | 40
        aten::adaptive_max_pool2d(1x1x4x4, =[1, 1]) -> 16 | 32 + 10
        aten::reflection_pad2d_backward(1x1x6x6, 1x1x2x2, =[2, 2, 2, 2]) -> 36 | 80
        ",
    );
}

#[test]
fn losses() {
    check(
        "
        aten::nll_loss_forward(2x5, 2:long int) -> 2 | 16 + 4
        aten::nll_loss_backward((), 2x5, 2:long int) -> 2 | 16 + 20
        aten::smooth_l1_loss_backward(2x5*3) -> 10 | 80
        aten::binary_cross_entropy_backward(2x5*3) -> 10 | 80
        # Three steps of one sample with two targets: five states each.
        aten::_ctc_loss(3x1x9:float, 1x2:long int) -> 90 | 60 + 60 + 16
        aten::_ctc_loss_backward(1:float, 3x1x9:float, 1x2:long int) -> 117 | 216 + 120 + 16
        ",
    );
}
