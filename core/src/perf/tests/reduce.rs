//! Many elements to few.

use super::{check, modelled};
use crate::perf::python_dict;

#[test]
fn reductions_keep_what_is_not_reduced() {
    check(
        "aten::mean",
        "16x559x1024, , ",
        &["[-1]", "True"],
        9_158_656.0,
        2.0 * (9_158_656.0 + 8944.0),
    );
    check("aten::sum", "2x5", &[], 10.0, 22.0);
    // Four rows: a value and an index of 8 bytes each.
    check(
        "aten::max",
        "4x8, , ",
        &["-1", "False"],
        32.0,
        64.0 + 4.0 * 10.0,
    );
    check("aten::max", "4x8, 4x8", &[], 32.0, 192.0);
    check(
        "aten::argmax",
        "4x8, , ",
        &["-1", "False"],
        32.0,
        64.0 + 32.0,
    );
    check("aten::cumsum", "4x8, ", &["0"], 32.0, 128.0);
    check("aten::norm", "4x8, , ", &["2", "[0]"], 32.0, 64.0 + 16.0);
    // The type of the result, 6 for single precision, is no dimension.
    check("aten::sum", "4x8, ", &["6"], 32.0, 64.0 + 4.0);
    check("aten::mean", "4x8, ", &["6"], 32.0, 64.0 + 4.0);
    check("aten::prod", "4x8, ", &["6"], 32.0, 64.0 + 4.0);
    check(
        "aten::prod",
        "4x8, , , ",
        &["1", "False", ""],
        32.0,
        64.0 + 4.0 * 2.0,
    );
    check(
        "aten::sum",
        "4x8, , , ",
        &["[]", "False", "6"],
        32.0,
        64.0 + 4.0,
    );
    // Whole numbers are summed up in 64 bits.
    let sum = modelled("aten::sum", "[[8]]", r#"["int"]"#, r#"[""]"#)
        .unwrap()
        .work;
    assert_eq!(sum.bytes, Some(8.0 * 4.0 + 8.0));
}

#[test]
fn reductions_keep_the_reference_s_view_in_the_parameters() {
    let mean = modelled(
        "aten::mean",
        "[[2,3],[],[]]",
        r#"["float","ScalarList","Scalar"]"#,
        r#"["","[-1]","True"]"#,
    );
    let params = python_dict(&mean.unwrap().params);
    assert_eq!(
        params,
        "{'num_input_elems': 6, 'num_output_elems': 1, 'dtype_in_out': ('float', None), 'reduce_type': 'mean'}"
    );
}

#[test]
fn running_and_flags() {
    check("aten::logcumsumexp", "4x8, ", &["0"], 32.0, 128.0);
    check(
        "aten::_cummax_helper",
        "4x8, 4x8, 4x8:long int, ",
        &["0"],
        32.0,
        64.0 + 32.0 * 10.0,
    );
    check("aten::any", "4x8:bool, ", &["1"], 32.0, 32.0 + 4.0);
    check(
        "aten::std",
        "4x8, , , ",
        &["[1]", "1", "False"],
        32.0,
        64.0 + 8.0,
    );
    check(
        "aten::logsumexp",
        "4x8, , ",
        &["[1]", "False"],
        32.0,
        64.0 + 8.0,
    );
}
