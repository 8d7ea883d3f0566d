//! Convolution.

use super::{check, modelled};

#[test]
fn convolution() {
    let settings = |transposed| ["", "[2]", "[1]", "[1]", transposed, "[0]", "1"];
    // (8 + 2 − 3) / 2 + 1 = 4 results of 2·(2·3) each, for 5 channels; 16 + 30 + 20 elements.
    check(
        "aten::convolution",
        "1x2x8, 5x2x3, , , , , , , ",
        &settings("False"),
        240.0,
        132.0,
    );
    // The bias: 20 operations, 5 elements.
    check(
        "aten::convolution",
        "1x2x8, 5x2x3, 5, , , , , , ",
        &settings("False")[1..],
        260.0,
        142.0,
    );
    // (8 − 1)·2 − 2 + 2 + 1 = 15 results; each of 16 inputs reaches 5·3 of them.
    check(
        "aten::convolution",
        "1x2x8, 2x5x3, , , , , , , ",
        &settings("True"),
        480.0,
        2.0 * (16.0 + 30.0 + 75.0),
    );
    // Two groups: a filter sees one of the two channels.
    check(
        "aten::convolution",
        "1x2x8, 4x1x3, , , , , , , ",
        &["", "[2]", "[1]", "[1]", "False", "[0]", "2"],
        96.0,
        2.0 * (16.0 + 12.0 + 16.0),
    );
}

#[test]
fn a_transposed_convolution_has_its_groups_channels() {
    let values = ["", "[1]", "[0]", "[1]", "True", "[0]", "2"];
    // Four channels in two groups, three out of each: 4 + 2 results of 6 channels; each of 16
    // inputs reaches 3·3 of them.
    let bytes = 2.0 * (16.0 + 36.0 + 36.0);
    check(
        "aten::convolution",
        "1x4x4, 4x3x3, , , , , , , ",
        &values,
        288.0,
        bytes,
    );
}

#[test]
fn gradients_of_a_convolution_that_are_asked_for() {
    let values = |mask| ["[5]", "[2]", "[1]", "[1]", "False", "[0]", "1", mask];
    let shapes = "1x5x4, 1x2x8, 5x2x3, , , , , , , , ";
    check(
        "aten::convolution_backward",
        shapes,
        &values("[True, True, False]"),
        480.0,
        264.0,
    );
    check(
        "aten::convolution_backward",
        shapes,
        &values("[False, True, False]"),
        240.0,
        132.0,
    );
    // The bias: 20 gradients added up to 5.
    check(
        "aten::convolution_backward",
        shapes,
        &values("[False, False, True]"),
        20.0,
        50.0,
    );
}

#[test]
fn convolutions_of_vendor_libraries() {
    // Padding before stride: as `convolution` above.
    let settings = ["[1]", "[2]", "[1]", "1"];
    check(
        "aten::cudnn_convolution",
        "1x2x8, 5x2x3, , , , ",
        &settings,
        240.0,
        132.0,
    );
    let shapes = "1x2x8, 5x2x3, 5, , , , ";
    check("aten::miopen_convolution", shapes, &settings, 260.0, 142.0);
    // The bias and ReLU: 20 operations each.
    let settings = ["[2]", "[1]", "[1]", "1"];
    check(
        "aten::cudnn_convolution_relu",
        shapes,
        &settings,
        280.0,
        142.0,
    );
    let shapes = "1x2x8, 5x2x3, 1x5x4, , 5, , , , ";
    let values = ["1.0", "[2]", "[1]", "[1]", "1"];
    check(
        "aten::cudnn_convolution_add_relu",
        shapes,
        &values,
        300.0,
        182.0,
    );
    // 15 results of 5 channels, as the transposed one above.
    let values = ["[1]", "[0]", "[2]", "[1]", "1"];
    let bytes = 2.0 * (16.0 + 30.0 + 75.0);
    let shapes = "1x2x8, 2x5x3, , , , , ";
    check(
        "aten::cudnn_convolution_transpose",
        shapes,
        &values,
        480.0,
        bytes,
    );
    // Each of two channels has a filter of 3: 8 results of 2·3.
    let values = ["[3]", "[2]", "[1]", "[1]"];
    let shapes = "1x2x8, 2x1x3, , , , , ";
    let values = [values[0], "", values[1], values[2], values[3]];
    check(
        "aten::_conv_depthwise2d",
        shapes,
        &values,
        48.0,
        2.0 * (16.0 + 6.0 + 8.0),
    );
}

#[test]
fn convolutions_of_pytorch_itself() {
    // 4 results of 2·(2·3) for 5 channels, as `convolution` above.
    let values = ["[3]", "", "[2]", "[1]"];
    let shapes = "1x2x8, 5x2x3, , , , ";
    check("aten::_slow_conv2d_forward", shapes, &values, 240.0, 132.0);
    // (8 − 1)·2 − 2 + 2 + 1 = 15 results of 5 channels.
    let values = ["[3]", "", "[2]", "[1]", "[0]", "[1]"];
    let shapes = "1x2x8, 2x5x3, , , , , , ";
    let bytes = 2.0 * (16.0 + 30.0 + 75.0);
    check("aten::slow_conv_transpose2d", shapes, &values, 480.0, bytes);
}

#[test]
fn without_its_settings_nothing_tells_the_results() {
    let dims = "[[1,2,8],[5,2,3],[]]";
    let types = r#"["float","float",""]"#;
    assert_eq!(modelled("aten::convolution", dims, types, ""), None);
}

#[test]
fn padding_beyond_all_numbers_has_no_work() {
    let dims = "[[1,2,8],[5,2,3],[],[],[],[],[],[],[]]";
    let types = r#"["float","float","","ScalarList","ScalarList","ScalarList","Scalar","ScalarList","Scalar"]"#;
    for transposed in ["False", "True"] {
        let values =
            format!(r#"["","","","[1]","[9223372036854775807]","[1]","{transposed}","[0]","1"]"#);
        assert_eq!(modelled("aten::convolution", dims, types, &values), None);
    }
}
