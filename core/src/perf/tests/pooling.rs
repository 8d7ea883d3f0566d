//! Pooling, sorting, losses.

use super::check;

#[test]
fn pooling_sorting_losses() {
    // Two by two over 4 × 4: 4 results of 4 each; 16 in, 4 out with places.
    check(
        "aten::max_pool2d_with_indices",
        "1x1x4x4, , ",
        &["[2, 2]", "[2, 2]"],
        16.0,
        32.0 + 40.0,
    );
    check(
        "aten::avg_pool2d",
        "1x1x4x4, , ",
        &["[2, 2]", "[]"],
        16.0,
        40.0,
    );
    check(
        "aten::_adaptive_avg_pool2d",
        "1x1x4x4, ",
        &["[1, 1]"],
        16.0,
        34.0,
    );
    // log₂ 8 = 3 comparisons each.
    check(
        "aten::sort",
        "2x8, , ",
        &["-1", "False"],
        48.0,
        64.0 + 128.0,
    );
    check("aten::topk", "2x8, , ", &["3", "-1"], 16.0, 32.0 + 60.0);
    check("aten::mse_loss", "2x5, 2x5, ", &["1"], 30.0, 40.0);
    // Not added up, each term is written.
    check("aten::mse_loss", "2x5, 2x5, ", &["0"], 30.0, 60.0);
    check(
        "aten::binary_cross_entropy",
        "2x5, 2x5, , ",
        &["", "0"],
        30.0,
        60.0,
    );
    check("CrossEntropyFunction", "2x5, 2", &[], 50.0, 44.0);
}

#[test]
fn pooling_backward_and_adaptive() {
    // Four gradients with places, sixteen written.
    let shapes = "1x1x2x2, 1x1x4x4, , , , , , 1x1x2x2:long int";
    let values = ["[2, 2]", "[2, 2]", "[0, 0]", "[1, 1]", "False"];
    let name = "aten::max_pool2d_with_indices_backward";
    check(name, shapes, &values, 4.0, 8.0 + 32.0 + 32.0);
    check(
        "aten::avg_pool2d_backward",
        "1x1x2x2, 1x1x4x4, ",
        &["[2, 2]"],
        16.0,
        40.0,
    );
    check(
        "aten::adaptive_max_pool2d",
        "1x1x4x4, ",
        &["[1, 1]"],
        16.0,
        32.0 + 10.0,
    );
    check(
        "aten::reflection_pad2d_backward",
        "1x1x6x6, 1x1x2x2, ",
        &["[2, 2, 2, 2]"],
        36.0,
        80.0,
    );
}

#[test]
fn losses() {
    check(
        "aten::nll_loss_forward",
        "2x5, 2:long int",
        &[],
        2.0,
        16.0 + 4.0,
    );
    check(
        "aten::nll_loss_backward",
        "(), 2x5, 2:long int",
        &[],
        2.0,
        16.0 + 20.0,
    );
    check(
        "aten::smooth_l1_loss_backward",
        "2x5, 2x5, 2x5",
        &[],
        10.0,
        80.0,
    );
    check(
        "aten::binary_cross_entropy_backward",
        "2x5, 2x5, 2x5",
        &[],
        10.0,
        80.0,
    );
    // Three steps of one sample with two targets: five states each.
    let shapes = "3x1x9:float, 1x2:long int";
    check("aten::_ctc_loss", shapes, &[], 90.0, 60.0 + 60.0 + 16.0);
    let shapes = "1:float, 3x1x9:float, 1x2:long int";
    check(
        "aten::_ctc_loss_backward",
        shapes,
        &[],
        117.0,
        216.0 + 120.0 + 16.0,
    );
}
