//! One result for each element.

use super::{check, modelled};

#[test]
fn element_wise() {
    check("aten::silu", "2x5", &[], 10.0, 40.0);
    // 10 and 5 elements in, 10 out.
    check("aten::mul", "2x5, 5", &[], 10.0, 50.0);
    // A number counts four bytes.
    check("aten::div", "2x5, ", &["49"], 10.0, 44.0);
    check("aten::sub", "2x5, 2x5, ", &["1"], 10.0, 60.0);
    check("aten::where", "2x5, 2x5, 2x5", &[], 10.0, 80.0);
    // Powers and bounds that are tensors are read; a number to the power of a tensor.
    check("aten::pow", "2x5, ", &["2"], 10.0, 40.0);
    check("aten::pow", "2x5, 2x5", &[], 10.0, 60.0);
    check("aten::pow", ", 2x5", &["2"], 10.0, 40.0);
    check("aten::clamp_min", "2x5, 2x5", &[], 10.0, 60.0);
    check("aten::clamp_min", "2x5, ", &["0"], 10.0, 40.0);
    // A flag for each result.
    check("aten::eq", "2x5, ", &["0"], 10.0, 30.0);
    check("aten::masked_fill_", "2x5, 2x5, ", &["0"], 10.0, 60.0);
    check("aten::fill_", "2x5, ", &["0"], 0.0, 20.0);
    // 20 results from 10 elements.
    check("aten::upsample_nearest1d", "1x2x5, ", &["[10]"], 20.0, 60.0);
    check(
        "aten::replication_pad1d",
        "1x2x5, ",
        &["[1, 2]"],
        16.0,
        52.0,
    );
    // Half of the input is the gate.
    check("_C::silu_and_mul", "2x5, 2x10", &[], 50.0, 60.0);
    // 0, 2, 4, 6, 8.
    check("aten::arange", ", , , 0", &["0", "10", "2"], 5.0, 10.0);
}

/// Ten elements: what the result is written to is not read.
#[test]
fn results_that_the_caller_names_are_written_alone() {
    check("aten::exp", "2x5, 2x5", &[], 10.0, 40.0);
    check("aten::sub", "2x5, 2x5, , 2x5", &["1"], 10.0, 60.0);
    check("aten::clamp", "2x5, , , 2x5", &["0", "1"], 10.0, 40.0);
    check("aten::where", "2x5:bool, 2x5, 2x5, 2x5", &[], 10.0, 70.0);
    check("aten::eq", "2x5, 2x5, 2x5:bool", &[], 10.0, 50.0);
    // Still empty.
    check("aten::maximum", "2x5, 2x5, 0", &[], 10.0, 60.0);
}

/// A real number of a whole and a real one, whatever their widths; a magnitude is half as wide.
#[test]
fn results_are_of_the_higher_kind() {
    check("aten::sub", "2x5:long int, 2x5, ", &["1"], 10.0, 120.0);
    check("aten::maximum", "2x5:int, 2x5:bool", &[], 10.0, 90.0);
    check("aten::abs", "2x5:c10::complex<float>", &[], 10.0, 120.0);
    check("aten::abs", "2x5", &[], 10.0, 40.0);
    check("aten::isposinf", "2x5", &[], 10.0, 30.0);
}

#[test]
fn copies_take_the_sizes_of_both_types() {
    let copy = modelled(
        "aten::copy_",
        "[[8],[8],[]]",
        r#"["float","bool","Scalar"]"#,
        r#"["","","False"]"#,
    );
    assert_eq!(copy.unwrap().work.bytes, Some(8.0 * 4.0 + 8.0));
}

#[test]
fn element_wise_with_results_of_other_sizes() {
    // A flag for each element beside the result.
    check(
        "aten::native_dropout",
        "2x5, , ",
        &["0.1", "True"],
        20.0,
        50.0,
    );
    check(
        "aten::native_dropout_backward",
        "2x5, 2x5:bool, ",
        &["1.1"],
        10.0,
        50.0,
    );
    check("aten::glu", "2x10, ", &["-1"], 10.0, 60.0);
    check("aten::glu_backward", "2x5, 2x10, ", &["-1"], 20.0, 100.0);
    check("aten::complex", "2x5:float, 2x5:float", &[], 10.0, 160.0);
    check("aten::gelu_backward", "2x5, 2x5, ", &["none"], 10.0, 60.0);
    check(
        "aten::_thnn_fused_gru_cell",
        "2x6, 2x6, 2x2",
        &[],
        12.0,
        56.0,
    );
}
