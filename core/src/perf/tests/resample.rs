//! Resizing and sampling images.

use super::check;

#[test]
fn images_are_resized() {
    // 1 × 1 × 2 × 2 to 4 × 4: 16 results of four neighbours, seven operations each; 4 + 16 elements.
    let shapes = "1x1x2x2, , , , ";
    let values = ["[4, 4]", "False", "", ""];
    check("aten::upsample_bilinear2d", shapes, &values, 112.0, 40.0);
    check(
        "aten::upsample_bicubic2d",
        shapes,
        &values,
        31.0 * 16.0,
        40.0,
    );
    check(
        "aten::_upsample_nearest_exact2d",
        shapes,
        &values[..1],
        16.0,
        40.0,
    );
    // 4 × 4 to 1 × 1: one result reads its four neighbours.
    let small = ["[1, 1]", "False", "", ""];
    check(
        "aten::upsample_bilinear2d",
        "1x1x4x4, , , , ",
        &small,
        7.0,
        2.0 * 5.0,
    );
    let values = ["[4, 4]", "[1, 1, 2, 2]", "False"];
    let gradient = "1x1x4x4, , , ";
    check(
        "aten::upsample_bilinear2d_backward",
        gradient,
        &values,
        112.0,
        40.0,
    );
    check(
        "aten::upsample_bicubic2d_backward",
        gradient,
        &values,
        496.0,
        40.0,
    );
    check(
        "aten::upsample_nearest2d_backward",
        gradient,
        &values,
        16.0,
        40.0,
    );
}

#[test]
fn images_are_sampled() {
    // Two channels at 3 × 3 places: 18 results; an image of 2·16, a grid of 18.
    let values = ["0", "0", "False"];
    let bytes = 2.0 * (32.0 + 18.0 + 18.0);
    check(
        "aten::grid_sampler_2d",
        "1x2x4x4, 1x3x3x2, , , ",
        &values,
        126.0,
        bytes,
    );
    let shapes = "1x2x3x3, 1x2x4x4, 1x3x3x2, , , ";
    let bytes = 2.0 * (18.0 + 64.0 + 36.0);
    check(
        "aten::grid_sampler_2d_backward",
        shapes,
        &values,
        252.0,
        bytes,
    );
    // Three boxes, two channels, 2 × 2 each: 24 results of one bilinear sample; 32 + 24 + 15.
    let values = ["1.0", "2", "2", "0", "False"];
    let bytes = 2.0 * (32.0 + 24.0 + 15.0);
    check(
        "torchvision::roi_align",
        "1x2x4x4, 3x5, , , , , ",
        &values,
        168.0,
        bytes,
    );
}

#[test]
fn windows_become_columns() {
    // Windows of 2 × 2 over 3 × 3 lie at 4 places.
    let values = ["[2, 2]", "[1, 1]", "[0, 0]", "[1, 1]"];
    check(
        "aten::im2col",
        "1x1x3x3, , , , ",
        &values,
        0.0,
        2.0 * (9.0 + 16.0),
    );
    let values = ["[3, 3]", "[2, 2]", "[1, 1]", "[0, 0]", "[1, 1]"];
    check(
        "aten::col2im",
        "1x4x4, , , , , ",
        &values,
        16.0,
        2.0 * (16.0 + 9.0),
    );
}
