//! Resizing and sampling images.

use super::check;

#[test]
fn images_are_resized() {
    check(
        "
        # 1 × 1 × 2 × 2 to 4 × 4: 16 results of four neighbours, seven operations each; 4 + 16 elements.
        aten::upsample_bilinear2d(1x1x2x2, =[4, 4], =False, _, _) -> 112 | 40
        aten::upsample_bicubic2d(1x1x2x2, =[4, 4], =False, _, _) -> 31*16 | 40
        aten::_upsample_nearest_exact2d(1x1x2x2, =[4, 4], _*3) -> 16 | 40
        # 4 × 4 to 1 × 1: one result reads its four neighbours.
        aten::upsample_bilinear2d(1x1x4x4, =[1, 1], =False, _, _) -> 7 | 2*5
        aten::upsample_bilinear2d_backward(1x1x4x4, =[4, 4], =[1, 1, 2, 2], =False) -> 112 | 40
        aten::upsample_bicubic2d_backward(1x1x4x4, =[4, 4], =[1, 1, 2, 2], =False) -> 496 | 40
        aten::upsample_nearest2d_backward(1x1x4x4, =[4, 4], =[1, 1, 2, 2], =False) -> 16 | 40
        ",
    );
}

#[test]
fn images_are_sampled() {
    check(
        "
        # Two channels at 3 × 3 places: 18 results; an image of 2·16, a grid of 18.
        aten::grid_sampler_2d(1x2x4x4, 1x3x3x2, =0, =0, =False) -> 126 | 2*(32 + 18 + 18)
        aten::grid_sampler_2d_backward(1x2x3x3, 1x2x4x4, 1x3x3x2, =0, =0, =False) -> 252 | 2*(18 + 64 + 36)
        # Three boxes, two channels, 2 × 2 each: 24 results of one bilinear sample; 32 + 24 + 15.
        torchvision::roi_align(1x2x4x4, 3x5, =1.0, =2, =2, =0, =False) -> 168 | 2*(32 + 24 + 15)
        ",
    );
}

#[test]
fn windows_become_columns() {
    check(
        "
        # Windows of 2 × 2 over 3 × 3 lie at 4 places.
        aten::im2col(1x1x3x3, =[2, 2], =[1, 1], =[0, 0], =[1, 1]) -> 0 | 2*(9 + 16)
        aten::col2im(1x4x4, =[3, 3], =[2, 2], =[1, 1], =[0, 0], =[1, 1]) -> 16 | 2*(16 + 9)
        ",
    );
}
