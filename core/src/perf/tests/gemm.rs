//! Products of matrices.

use super::{call, check, modelled};
use crate::perf::{ComputeSpec, python_dict};

#[test]
fn products_of_matrices() {
    // 2·2·3·4 operations; 6 + 12 + 8 elements.
    check("aten::mm", "2x3, 3x4", &[], 48.0, 52.0);
    // One more for each of 8 results, and a row of 4.
    check("aten::addmm", "4, 2x3, 3x4, , ", &["1", "1"], 56.0, 60.0);
    check("aten::bmm", "5x2x3, 5x3x4", &[], 5.0 * 48.0, 5.0 * 52.0);
    // What is added is as large as the result, or one row of it.
    let flops = 5.0 * 56.0;
    let shapes = "5x2x4, 5x2x3, 5x3x4, , ";
    check("aten::baddbmm", shapes, &["1", "1"], flops, 5.0 * 68.0);
    check(
        "aten::baddbmm",
        "4, 5x2x3, 5x3x4",
        &[],
        flops,
        5.0 * 52.0 + 8.0,
    );
    // Nothing is read, and nothing added, where its factor is zero.
    check("aten::baddbmm", shapes, &["0", "0.125"], 240.0, 260.0);
    check("aten::addmm_", "2x4, 2x3, 3x4, , ", &["1", "1"], 56.0, 68.0);
    check("aten::addmv", "2, 2x3, 3, , ", &["1", "1"], 14.0, 26.0);
    // Ten rows over three groups: 2·10·4·5; 10·4 + 3·4·5 + 10·5 elements.
    check("aten::_grouped_mm", "10x4, 3x4x5", &[], 400.0, 300.0);
    // Two rows belong to two groups at most: 2·4 + 2·4·5 read, 2·5 written.
    check("aten::_grouped_mm", "2x4, 3x4x5", &[], 80.0, 116.0);
    check("aten::mv", "2x3, 3", &[], 12.0, 22.0);
}

/// 6 is PyTorch's number of `float`: results of four bytes, from operands of two.
#[test]
fn results_of_the_type_that_is_asked_for() {
    check("aten::mm", "2x3, 3x4, ", &["6"], 48.0, 36.0 + 32.0);
    check("aten::bmm", "5x2x3, 5x3x4, ", &["6"], 240.0, 5.0 * 68.0);
    let shapes = "4, 2x3, 3x4, , , ";
    check("aten::addmm", shapes, &["6", "1", "1"], 56.0, 68.0 + 8.0);
    check("aten::addmm", shapes, &["6", "0", "1"], 48.0, 68.0);
    // A flag in the place of the second factor: the numbers are both factors.
    let activation = "aten::_addmm_activation";
    check(activation, shapes, &["1", "1", "True"], 56.0, 60.0);
}

/// Five times the same 3 × 4, by a stride of zero.
#[test]
fn what_is_repeated_is_read_once() {
    let args = [
        "[[5,2,3],[5,3,4]]",
        r#"["c10::BFloat16","c10::BFloat16"]"#,
        "[[6,3,1],[0,4,1]]",
        r#"["",""]"#,
    ];
    let work = call("aten::bmm", args, &[]).unwrap().work;
    let bytes = 2.0 * (30.0 + 12.0 + 40.0);
    assert_eq!((work.flops, work.bytes), (240.0, Some(bytes)));
}

#[test]
fn products_in_groups() {
    // Three groups split ten rows of K: 2·4·10·5; 40 + 50 elements, and 4·5 for each group.
    check("aten::_grouped_mm", "4x10, 10x5, 3", &[], 400.0, 300.0);
    // The scales of 12 and 15 rows stand before the offsets.
    check(
        "aten::_scaled_grouped_mm",
        "4x10:c10::Float8_e4m3fn, 10x5:c10::Float8_e4m3fn, 12:float, 15:float, 3:int",
        &[],
        400.0,
        40.0 + 50.0 + 2.0 * 60.0,
    );
    // Its second form, with lists of scales, recipes and orders, and results of four bytes.
    check(
        "aten::_scaled_grouped_mm_v2",
        "4x10:c10::Float8_e4m3fn, 10x5:c10::Float8_e4m3fn, , , , , , , 3:int, , ",
        &["", "", "", "", "", "", "", "6"],
        400.0,
        40.0 + 50.0 + 4.0 * 60.0,
    );
    // The groups split the columns: 2·4·2·5; 3·4·2 + 2·5 + 4·5 elements.
    check("aten::_grouped_mm", "3x4x2, 2x5, 3", &[], 80.0, 108.0);
    // Two numbers in a byte: twice as many products.
    check(
        "aten::_grouped_mm",
        "10x4:c10::Float4_e2m1fn_x2, 3x4x5:c10::Float4_e2m1fn_x2",
        &[],
        800.0,
        40.0 + 60.0 + 2.0 * 50.0,
    );
}

#[test]
fn complex_numbers_take_four_products() {
    let single = "2x3:c10::complex<float>, 3x4:c10::complex<float>";
    // 48 operations four times; 26 elements of eight bytes.
    check("aten::mm", single, &[], 192.0, 208.0);
    let biased = "4:c10::complex<double>, 2x3:c10::complex<double>, 3x4:c10::complex<double>";
    // Two sums for each of 8 results; 30 elements of sixteen bytes.
    check("aten::addmm", biased, &[], 192.0 + 16.0, 480.0);
}

#[test]
fn operands_of_different_types() {
    let int8 = modelled(
        "aten::_int_mm",
        "[[2,3],[3,4]]",
        r#"["signed char","signed char"]"#,
        r#"["",""]"#,
    )
    .unwrap()
    .work;
    // One byte for each of 18 operands, four for each of 8 results.
    assert_eq!((int8.flops, int8.bytes), (48.0, Some(50.0)));
    assert_eq!(int8.compute.map(ComputeSpec::label).unwrap(), "matrix_int8");
    let unknown = modelled(
        "aten::mm",
        "[[2,3],[3,4]]",
        r#"["c10::New","c10::New"]"#,
        "[]",
    )
    .unwrap()
    .work;
    assert_eq!((unknown.bytes, unknown.compute), (None, None));
}

#[test]
fn the_reference_s_parameters_of_a_product() {
    let args = [
        "[[141,512],[512,64]]",
        r#"["c10::BFloat16","c10::BFloat16"]"#,
        "[[512,1],[1,512]]",
        r#"["",""]"#,
    ];
    let params = call("aten::mm", args, &["Cijk_Alik_Bljk_BBS"])
        .unwrap()
        .params;
    assert_eq!(
        python_dict(&params),
        "{'M': 141, 'N': 64, 'K': 512, 'bias': False, 'stride_A': (512, 1), 'stride_B': (1, 512), \
         'dtype_A_B': ('c10::BFloat16', 'c10::BFloat16'), 'B': 1, 'transpose': (True, False)}"
    );
}

#[test]
fn products_added_up_and_halves() {
    // Five products of 2 × 3 with 3 × 4 added to one; a bias of 2 × 4.
    let bytes = 2.0 * (90.0 + 8.0 + 8.0);
    check("aten::addbmm", "2x4, 5x2x3, 5x3x4", &[], 240.0 + 8.0, bytes);
    check(
        "aten::addr",
        "2x3, 2, 3",
        &[],
        12.0,
        2.0 * (6.0 + 5.0 + 6.0),
    );
    check("aten::dot", "5, 5", &[], 10.0, 22.0);
    // Two of four numbers are kept: 2 × 2 of 2 × 4.
    let shapes = "2x2, 2x1:short int, 4x4";
    check(
        "aten::_sparse_semi_structured_mm",
        shapes,
        &[],
        32.0,
        8.0 + 4.0 + 32.0 + 16.0,
    );
    // Six distances of four numbers.
    check(
        "aten::_cdist_forward",
        "2x4, 3x4, ",
        &["2."],
        72.0,
        2.0 * (8.0 + 12.0 + 6.0),
    );
    // dX and dW of 2·2·3·4 each, the bias of 8: x 2 × 3, dY 2 × 4, W 4 × 3.
    let bytes = 2.0 * (2.0 * 26.0 + 4.0);
    let mask = ["[True, True, True]"];
    check(
        "aten::linear_backward",
        "2x3, 2x4, 4x3, ",
        &mask,
        104.0,
        bytes,
    );
    check("aten::linear", "2x3, 4x3, 4", &[], 56.0, 60.0);
}
