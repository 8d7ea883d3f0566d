//! Softmax.

use super::check;

#[test]
fn softmax() {
    check(
        "
        aten::_softmax(2x5, =-1, =False) -> 50 | 40
        aten::_softmax(2x5, =-1, =True) -> 50 | 60
        aten::_softmax_backward_data(2x5, 2x5, =-1, =15) -> 40 | 60
        ",
    );
}

#[test]
fn softmax_with_a_scale() {
    check(
        "
        ScaledUpperTriangMaskedSoftmax(2x5, =1.0) -> 60 | 40
        ScaledMaskedSoftmax(2x5, 2x5:bool, =1.0) -> 60 | 50
        ",
    );
}
