//! Lists of tensors.

use super::{check, modelled};

#[test]
fn optimizers_walk_lists() {
    let adam = modelled(
        "aten::_fused_adamw_",
        "[[[10],[2,3]],[[10],[2,3]]]",
        r#"["TensorList","TensorList"]"#,
        r#"["",""]"#,
    );
    let adam = adam.unwrap().work;
    // 16 parameters of two bytes, seven passes.
    assert_eq!((adam.flops, adam.bytes), (192.0, Some(224.0)));
    let unrecorded = modelled(
        "aten::_foreach_add_",
        "[[],[]]",
        r#"["TensorList","TensorList"]"#,
        r#"["",""]"#,
    );
    assert_eq!(unrecorded, None);
}

#[test]
fn lists_of_tensors() {
    // 16 elements of two bytes: copies read one list and write the other.
    check(
        "aten::_foreach_copy_",
        "[10 2x3], [10 2x3], ",
        &["False"],
        0.0,
        64.0,
    );
    check(
        "aten::_foreach_add_",
        "[10 2x3], [10 2x3], ",
        &["1"],
        32.0,
        96.0,
    );
    check(
        "aten::_foreach_addcdiv_",
        "[10 2x3], [10 2x3], [10 2x3], ",
        &["1"],
        48.0,
        128.0,
    );
    check("aten::_foreach_norm", "[10 2x3], ", &["2"], 32.0, 32.0);
    check(
        "aten::_fused_sgd_",
        "[10 2x3], [10 2x3], [10 2x3]",
        &[],
        64.0,
        160.0,
    );
    check(
        "aten::_fused_adagrad_",
        "[10 2x3], [10 2x3], [10 2x3]",
        &[],
        80.0,
        160.0,
    );
    let name = "aten::_amp_foreach_non_finite_check_and_unscale_";
    check(name, "[10 2x3], 1:float, 1:float", &[], 32.0, 64.0);
    // One that no row names: a list and a number.
    check("aten::_foreach_frac_", "[10 2x3]", &[], 16.0, 64.0);
}
