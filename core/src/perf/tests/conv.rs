//! Convolution.

use super::{check, without_values};

#[test]
fn convolution() {
    check(
        "
        # (8 + 2 − 3) / 2 + 1 = 4 results of 2·(2·3) each, for 5 channels; 16 + 30 + 20 elements.
        aten::convolution(1x2x8, 5x2x3, _, =[2], =[1], =[1], =False, =[0], =1) -> 240 | 132
        # The bias: 20 operations, 5 elements.
        aten::convolution(1x2x8, 5x2x3, 5, =[2], =[1], =[1], =False, =[0], =1) -> 260 | 142
        # (8 − 1)·2 − 2 + 2 + 1 = 15 results; each of 16 inputs reaches 5·3 of them.
        aten::convolution(1x2x8, 2x5x3, _, =[2], =[1], =[1], =True, =[0], =1) -> 480 | 2*(16 + 30 + 75)
        # Two groups: a filter sees one of the two channels.
        aten::convolution(1x2x8, 4x1x3, _, =[2], =[1], =[1], =False, =[0], =2) -> 96 | 2*(16 + 12 + 16)
        ",
    );
}

#[test]
fn a_transposed_convolution_has_its_groups_channels() {
    check(
        "
        # Four channels in two groups, three out of each: 4 + 2 results of 6 channels; each of 16
        # inputs reaches 3·3 of them.
        aten::convolution(1x4x4, 4x3x3, _, =[1], =[0], =[1], =True, =[0], =2) -> 288 | 2*(16 + 36 + 36)
        ",
    );
}

#[test]
fn gradients_of_a_convolution_that_are_asked_for() {
    check(
        "
        aten::convolution_backward(1x5x4, 1x2x8, 5x2x3, =[5], =[2], =[1], =[1], =False, =[0], =1, =[True, True, False]) -> 480 | 264
        aten::convolution_backward(1x5x4, 1x2x8, 5x2x3, =[5], =[2], =[1], =[1], =False, =[0], =1, =[False, True, False]) -> 240 | 132
        # The bias: 20 gradients added up to 5.
        aten::convolution_backward(1x5x4, 1x2x8, 5x2x3, =[5], =[2], =[1], =[1], =False, =[0], =1, =[False, False, True]) -> 20 | 50
        ",
    );
}

#[test]
fn convolutions_of_vendor_libraries() {
    check(
        "
        # Padding before stride: as `convolution` above.
        aten::cudnn_convolution(1x2x8, 5x2x3, =[1], =[2], =[1], =1) -> 240 | 132
        aten::miopen_convolution(1x2x8, 5x2x3, 5, =[1], =[2], =[1], =1) -> 260 | 142
        # The bias and ReLU: 20 operations each.
        aten::cudnn_convolution_relu(1x2x8, 5x2x3, 5, =[2], =[1], =[1], =1) -> 280 | 142
        aten::cudnn_convolution_add_relu(1x2x8, 5x2x3, 1x5x4, =1.0, 5, =[2], =[1], =[1], =1) -> 300 | 182
        # 15 results of 5 channels, as the transposed one above.
        aten::cudnn_convolution_transpose(1x2x8, 2x5x3, =[1], =[0], =[2], =[1], =1) -> 480 | 2*(16 + 30 + 75)
        # Each of two channels has a filter of 3: 8 results of 2·3.
        aten::_conv_depthwise2d(1x2x8, 2x1x3, =[3], _, =[2], =[1], =[1]) -> 48 | 2*(16 + 6 + 8)
        ",
    );
}

#[test]
fn convolutions_of_pytorch_itself() {
    check(
        "
        # 4 results of 2·(2·3) for 5 channels, as `convolution` above.
        aten::_slow_conv2d_forward(1x2x8, 5x2x3, =[3], _, =[2], =[1]) -> 240 | 132
        # (8 − 1)·2 − 2 + 2 + 1 = 15 results of 5 channels.
        aten::slow_conv_transpose2d(1x2x8, 2x5x3, =[3], _, =[2], =[1], =[0], =[1]) -> 480 | 2*(16 + 30 + 75)
        ",
    );
}

#[test]
fn without_its_settings_nothing_tells_the_results() {
    assert_eq!(without_values("aten::convolution(1x2x8, 5x2x3, _)"), None);
}

#[test]
fn padding_beyond_all_numbers_has_no_work() {
    check(
        "
        aten::convolution(1x2x8, 5x2x3, _, =[1], =[9223372036854775807], =[1], =False, =[0], =1) -> none
        aten::convolution(1x2x8, 5x2x3, _, =[1], =[9223372036854775807], =[1], =True, =[0], =1) -> none
        ",
    );
}
