//! One result for each element.

use super::check;

#[test]
fn element_wise() {
    check(
        "
        aten::silu(2x5) -> 10 | 40
        # 10 and 5 elements in, 10 out.
        aten::mul(2x5, 5) -> 10 | 50
        # A number counts four bytes.
        aten::div(2x5, =49) -> 10 | 44
        aten::sub(2x5, 2x5, =1) -> 10 | 60
        aten::where(2x5*3) -> 10 | 80
        # Powers and bounds that are tensors are read; a number to the power of a tensor.
        aten::pow(2x5, =2) -> 10 | 40
        aten::pow(2x5, 2x5) -> 10 | 60
        aten::pow(=2, 2x5) -> 10 | 40
        aten::clamp_min(2x5, 2x5) -> 10 | 60
        aten::clamp_min(2x5, =0) -> 10 | 40
        # A flag for each result.
        aten::eq(2x5, =0) -> 10 | 30
        aten::masked_fill_(2x5, 2x5, =0) -> 10 | 60
        aten::fill_(2x5, =0) -> 0 | 20
        # 20 results from 10 elements.
        aten::upsample_nearest1d(1x2x5, =[10]) -> 20 | 60
        aten::replication_pad1d(1x2x5, =[1, 2]) -> 16 | 52
        # Half of the input is the gate.
        _C::silu_and_mul(2x5, 2x10) -> 50 | 60
        # 0, 2, 4, 6, 8.
        aten::arange(=0, =10, =2, 0) -> 5 | 10
        ",
    );
}

/// Ten elements: what the result is written to is not read.
#[test]
fn results_that_the_caller_names_are_written_alone() {
    check(
        "
        aten::exp(2x5, 2x5) -> 10 | 40
        aten::sub(2x5, 2x5, =1, 2x5) -> 10 | 60
        aten::clamp(2x5, =0, =1, 2x5) -> 10 | 40
        aten::where(2x5:bool, 2x5*3) -> 10 | 70
        aten::eq(2x5, 2x5, 2x5:bool) -> 10 | 50
        # Still empty.
        aten::maximum(2x5, 2x5, 0) -> 10 | 60
        ",
    );
}

/// A real number of a whole and a real one, whatever their widths; a magnitude is half as wide.
#[test]
fn results_are_of_the_higher_kind() {
    check(
        "
        aten::sub(2x5:long int, 2x5, =1) -> 10 | 120
        aten::maximum(2x5:int, 2x5:bool) -> 10 | 90
        aten::abs(2x5:c10::complex<float>) -> 10 | 120
        aten::abs(2x5) -> 10 | 40
        aten::isposinf(2x5) -> 10 | 30
        ",
    );
}

#[test]
fn copies_take_the_sizes_of_both_types() {
    check("aten::copy_(8:float, 8:bool, =False) -> 8 | 8*4 + 8");
}

#[test]
fn element_wise_with_results_of_other_sizes() {
    check(
        "
        # A flag for each element beside the result.
        aten::native_dropout(2x5, =0.1, =True) -> 20 | 50
        aten::native_dropout_backward(2x5, 2x5:bool, =1.1) -> 10 | 50
        aten::glu(2x10, =-1) -> 10 | 60
        aten::glu_backward(2x5, 2x10, =-1) -> 20 | 100
        aten::complex(2x5:float, 2x5:float) -> 10 | 160
        aten::gelu_backward(2x5, 2x5, =none) -> 10 | 60
        aten::_thnn_fused_gru_cell(2x6, 2x6, 2x2) -> 12 | 56
        ",
    );
}
