//! Products of matrices.

use super::{check, counted};
use crate::perf::python_dict;

#[test]
fn products_of_matrices() {
    check(
        "
        # 2·2·3·4 operations; 6 + 12 + 8 elements.
        aten::mm(2x3, 3x4) -> 48 | 52
        # One more for each of 8 results, and a row of 4.
        aten::addmm(4, 2x3, 3x4, =1, =1) -> 56 | 60
        aten::bmm(5x2x3, 5x3x4) -> 5*48 | 5*52
        # What is added is as large as the result, or one row of it.
        aten::baddbmm(5x2x4, 5x2x3, 5x3x4, =1, =1) -> 5*56 | 5*68
        aten::baddbmm(4, 5x2x3, 5x3x4) -> 5*56 | 5*52 + 8
        # Nothing is read, and nothing added, where its factor is zero.
        aten::baddbmm(5x2x4, 5x2x3, 5x3x4, =0, =0.125) -> 240 | 260
        aten::addmm_(2x4, 2x3, 3x4, =1, =1) -> 56 | 68
        aten::addmv(2, 2x3, 3, =1, =1) -> 14 | 26
        # Ten rows over three groups: 2·10·4·5; 10·4 + 3·4·5 + 10·5 elements.
        aten::_grouped_mm(10x4, 3x4x5) -> 400 | 300
        # Two rows belong to two groups at most: 2·4 + 2·4·5 read, 2·5 written.
        aten::_grouped_mm(2x4, 3x4x5) -> 80 | 116
        aten::mv(2x3, 3) -> 12 | 22
        ",
    );
}

/// 6 is PyTorch's number of `float`: results of four bytes, from operands of two.
#[test]
fn results_of_the_type_that_is_asked_for() {
    check(
        "
        aten::mm(2x3, 3x4, =6) -> 48 | 36 + 32
        aten::bmm(5x2x3, 5x3x4, =6) -> 240 | 5*68
        aten::addmm(4, 2x3, 3x4, =6, =1, =1) -> 56 | 68 + 8
        aten::addmm(4, 2x3, 3x4, =6, =0, =1) -> 48 | 68
        # A flag in the place of the second factor: the numbers are both factors.
        aten::_addmm_activation(4, 2x3, 3x4, =1, =1, =True) -> 56 | 60
        ",
    );
}

/// Five times the same 3 × 4, by a stride of zero.
#[test]
fn what_is_repeated_is_read_once() {
    check("aten::bmm(5x2x3@6x3x1, 5x3x4@0x4x1) -> 240 | 2*(30 + 12 + 40)");
}

#[test]
fn products_in_groups() {
    check(
        "
        # Three groups split ten rows of K: 2·4·10·5; 40 + 50 elements, and 4·5 for each group.
        aten::_grouped_mm(4x10, 10x5, 3) -> 400 | 300
        # The scales of 12 and 15 rows stand before the offsets.
        aten::_scaled_grouped_mm(4x10:c10::Float8_e4m3fn, 10x5:c10::Float8_e4m3fn, 12:float, 15:float, 3:int) -> 400 | 40 + 50 + 2*60
        # Its second form, with lists of scales, recipes and orders, and results of four bytes.
        aten::_scaled_grouped_mm_v2(4x10:c10::Float8_e4m3fn, 10x5:c10::Float8_e4m3fn, _*6, 3:int, _, =6) -> 400 | 40 + 50 + 4*60
        # The groups split the columns: 2·4·2·5; 3·4·2 + 2·5 + 4·5 elements.
        aten::_grouped_mm(3x4x2, 2x5, 3) -> 80 | 108
        # Two numbers in a byte: twice as many products.
        aten::_grouped_mm(10x4:c10::Float4_e2m1fn_x2, 3x4x5:c10::Float4_e2m1fn_x2) -> 800 | 40 + 60 + 2*50
        ",
    );
}

#[test]
fn complex_numbers_take_four_products() {
    check(
        "
        # 48 operations four times; 26 elements of eight bytes.
        aten::mm(2x3:c10::complex<float>, 3x4:c10::complex<float>) -> 192 | 208
        # Two sums for each of 8 results; 30 elements of sixteen bytes.
        aten::addmm(4:c10::complex<double>, 2x3:c10::complex<double>, 3x4:c10::complex<double>) -> 192 + 16 | 480
        ",
    );
}

#[test]
fn operands_of_different_types() {
    check(
        "
        # One byte for each of 18 operands, four for each of 8 results.
        aten::_int_mm(2x3:signed char, 3x4:signed char) -> 48 | 50 | matrix_int8
        aten::mm(2x3:c10::New, 3x4:c10::New) -> 48 | ? | none
        ",
    );
}

#[test]
fn the_reference_s_parameters_of_a_product() {
    let mm = "aten::mm(141x512@512x1, 512x64@1x512) by Cijk_Alik_Bljk_BBS";
    assert_eq!(
        python_dict(&counted(mm).unwrap().params),
        "{'M': 141, 'N': 64, 'K': 512, 'bias': False, 'stride_A': (512, 1), 'stride_B': (1, 512), \
         'dtype_A_B': ('c10::BFloat16', 'c10::BFloat16'), 'B': 1, 'transpose': (True, False)}"
    );
}

#[test]
fn products_added_up_and_halves() {
    check(
        "
        # Five products of 2 × 3 with 3 × 4 added to one; a bias of 2 × 4.
        aten::addbmm(2x4, 5x2x3, 5x3x4) -> 240 + 8 | 2*(90 + 8 + 8)
        aten::addr(2x3, 2, 3) -> 12 | 2*(6 + 5 + 6)
        aten::dot(5, 5) -> 10 | 22
        # Two of four numbers are kept: 2 × 2 of 2 × 4.
        aten::_sparse_semi_structured_mm(2x2, 2x1:short int, 4x4) -> 32 | 8 + 4 + 32 + 16
        # Six distances of four numbers.
        aten::_cdist_forward(2x4, 3x4, =2.) -> 72 | 2*(8 + 12 + 6)
        # dX and dW of 2·2·3·4 each, the bias of 8: x 2 × 3, dY 2 × 4, W 4 × 3.
        aten::linear_backward(2x3, 2x4, 4x3, =[True, True, True]) -> 104 | 2*(2*26 + 4)
        aten::linear(2x3, 4x3, 4) -> 56 | 60
        ",
    );
}
