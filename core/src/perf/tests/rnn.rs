//! Recurrent networks.

use super::check;

#[test]
fn recurrent_networks() {
    // LSTM: 2 steps of 3 samples of 4, width 5, one layer in one direction. Weights: 4·5·(4 + 5) =
    // 180; 2·6·180 operations; 6·(4 + 5) + 180 elements.
    let values = [
        "", "", "", "", "", "2", "5", "0", "1", "False", "0.", "True", "False",
    ];
    let shapes = "2x3x4, , , , , , , , , , , , , ";
    check("aten::_cudnn_rnn", shapes, &values, 2160.0, 2.0 * 234.0);
    // Two layers in both directions, a GRU: 2·3·5·(4 + 5) weights, and 2·3·5·(10 + 5) above.
    let values = [
        "", "", "", "", "", "3", "5", "0", "2", "False", "0.", "True", "True",
    ];
    let weights = 270.0 + 450.0;
    let elements = 6.0 * (4.0 + 10.0) + weights;
    check(
        "aten::_cudnn_rnn",
        shapes,
        &values,
        12.0 * weights,
        2.0 * elements,
    );
    let values = [
        "", "", "", "", "2", "5", "1", "False", "0.", "True", "False",
    ];
    let shapes = "2x3x4, , , , , , , , , , , ";
    check("aten::miopen_rnn", shapes, &values, 2160.0, 2.0 * 234.0);
    // Backward: two products for each.
    let values = [
        "", "", "", "", "", "", "", "", "", "2", "5", "1", "False", "0.", "True", "False",
    ];
    let shapes = "2x3x4, , , , , , , , , , , , , , , , ";
    check(
        "aten::miopen_rnn_backward",
        shapes,
        &values,
        4320.0,
        4.0 * 234.0,
    );
    let values = [
        "", "", "", "", "", "", "", "", "", "2", "5", "0", "1", "False", "0.", "True", "False",
    ];
    let shapes = "2x3x4, , , , , , , , , , , , , , , , , ";
    check(
        "aten::_cudnn_rnn_backward",
        shapes,
        &values,
        4320.0,
        4.0 * 234.0,
    );
    // One cell of 2 × 3: nine operations for each of 6 and one for each of 24 gates.
    check(
        "aten::_thnn_fused_lstm_cell",
        "2x12, 2x12, 2x3",
        &[],
        78.0,
        2.0 * 90.0,
    );
}
