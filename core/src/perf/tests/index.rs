//! Picking, placing, joining.

use super::{call, check, counted, modelled};

#[test]
fn picking_and_joining() {
    // Three rows of 4: read, written; three indices, here of two bytes.
    check("aten::embedding", "100x4, 3", &[], 0.0, 54.0);
    check("aten::index_select", "100x4, , 3", &["0"], 0.0, 54.0);
    check("aten::gather", "100x4, , 3x4", &["0"], 0.0, 72.0);
    let cat = modelled(
        "aten::cat",
        "[[[2,4],[3,4]],[]]",
        r#"["TensorList","Scalar"]"#,
        r#"["","0"]"#,
    );
    // 20 elements read and written; the kernel's name says two bytes.
    assert_eq!(cat.unwrap().work.bytes, Some(80.0));
    let unknown = call(
        "aten::cat",
        ["[[[2,4],[3,4]],[]]", r#"["TensorList","Scalar"]"#, "", "[]"],
        &["k"],
    );
    assert_eq!(unknown.unwrap().work.bytes, None);
}

/// The indices of `index_put_` are not recorded: values may fill more places than they are.
#[test]
fn values_that_may_be_stretched_say_nothing() {
    let put = |values: &str| {
        let shapes = format!("100x4, , {values}, ");
        let put = counted("aten::index_put_", &shapes, &["", "False"]);
        put.and_then(|put| put.work.bytes)
    };
    // Three rows of 4, two bytes each, read and placed.
    assert_eq!(put("3x4"), Some(48.0));
    for values in ["()", "4", "1x4", "3x1"] {
        assert_eq!(put(values), None, "{values}");
    }
}

#[test]
fn bags_and_searches() {
    // Three rows of 4 make two bags: 12 numbers read, 8 written, offsets and indices of 8 bytes.
    let shapes = "100x4, 3:long int, 2:long int";
    check(
        "aten::_embedding_bag",
        shapes,
        &[],
        12.0,
        24.0 + 16.0 + 24.0 + 16.0,
    );
    let shapes = "2x4, 3:long int, 3:long int, 2:long int, 2:long int, ";
    let bytes = 16.0 + 24.0 + 800.0;
    check(
        "aten::_embedding_bag_dense_backward",
        shapes,
        &["100"],
        12.0,
        bytes,
    );
    check(
        "aten::embedding_dense_backward",
        "3x4, 3:long int, ",
        &["100"],
        12.0,
        24.0 + 24.0 + 800.0,
    );
    check(
        "aten::index_fill_",
        "5x4, , 2:long int, ",
        &["0", "1"],
        0.0,
        16.0 + 16.0,
    );
    check("aten::take", "100, 3:long int", &[], 0.0, 6.0 + 24.0 + 6.0);
    check(
        "aten::scatter_add_",
        "9x4, , 3x4:long int, 3x4",
        &["0"],
        0.0,
        96.0 + 24.0 + 2.0 * 24.0,
    );
    check(
        "aten::scatter_",
        "9x4, , 3x4:long int, 3x4",
        &["0"],
        0.0,
        96.0 + 24.0 + 24.0,
    );
    // What is added to is read as well.
    check(
        "aten::index_add_",
        "9x4, , 3:long int, 3x4, ",
        &["0", "1"],
        0.0,
        24.0 + 3.0 * 24.0,
    );
    check(
        "aten::index_copy_",
        "9x4, , 3:long int, 3x4",
        &["0"],
        0.0,
        24.0 + 2.0 * 24.0,
    );
    // Seven bounds are searched in three steps.
    check(
        "aten::bucketize",
        "5:float, 7:float",
        &[],
        15.0,
        20.0 + 28.0 + 40.0,
    );
    check(
        "aten::searchsorted",
        "7:float, 5:float",
        &[],
        15.0,
        20.0 + 28.0 + 40.0,
    );
    check(
        "aten::constant_pad_nd",
        "2x3, , ",
        &["[1, 0]", "0"],
        0.0,
        2.0 * (6.0 + 8.0),
    );
    check("aten::roll", "2x3, , ", &["[1]", "[0]"], 0.0, 24.0);
    check("aten::tril", "4x4, ", &["0"], 0.0, 48.0);
    check("aten::nonzero", "2x3:bool", &[], 0.0, 6.0);
}
