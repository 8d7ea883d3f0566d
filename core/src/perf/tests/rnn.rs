//! Recurrent networks.

use super::check;

#[test]
fn recurrent_networks() {
    check(
        "
        # LSTM: 2 steps of 3 samples of 4, width 5, one layer in one direction. Weights: 4·5·(4 + 5) =
        # 180; 2·6·180 operations; 6·(4 + 5) + 180 elements.
        aten::_cudnn_rnn(2x3x4, _*5, =2, =5, =0, =1, =False, =0., =True, =False) -> 2160 | 2*234
        # Two layers in both directions, a GRU: 2·3·5·(4 + 5) weights, and 2·3·5·(10 + 5) above.
        aten::_cudnn_rnn(2x3x4, _*5, =3, =5, =0, =2, =False, =0., =True, =True) -> 12*(270 + 450) | 2*(6*(4 + 10) + (270 + 450))
        aten::miopen_rnn(2x3x4, _*4, =2, =5, =1, =False, =0., =True, =False) -> 2160 | 2*234
        # Backward: two products for each.
        aten::miopen_rnn_backward(2x3x4, _*9, =2, =5, =1, =False, =0., =True, =False) -> 4320 | 4*234
        aten::_cudnn_rnn_backward(2x3x4, _*9, =2, =5, =0, =1, =False, =0., =True, =False) -> 4320 | 4*234
        # One cell of 2 × 3: nine operations for each of 6 and one for each of 24 gates.
        aten::_thnn_fused_lstm_cell(2x12, 2x12, 2x3) -> 78 | 2*90
        ",
    );
}
