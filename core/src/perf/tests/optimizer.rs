//! Lists of tensors.

use super::{call, check, modelled};

#[test]
fn lists_copied_from_one_type_to_another() {
    let shapes = "[[[10],[2,3]],[[10],[2,3]],[]]";
    let types = r#"["TensorList","TensorList","Scalar"]"#;
    let copied = |types_of_kernel: &str| {
        let kernel = format!(
            "multi_tensor_apply_kernel<CopyFunctor<{types_of_kernel}, 2, 1, 1>, at::native::Copy<{types_of_kernel}> >"
        );
        let args = [shapes, types, "", r#"["","","False"]"#];
        let copied = call("aten::_foreach_copy_", args, &[&kernel]);
        copied.and_then(|copied| copied.work.bytes)
    };
    // 16 numbers, four bytes read and two written.
    assert_eq!(copied("c10::BFloat16, float"), Some(96.0));
    assert_eq!(copied("float, float"), Some(128.0));
    assert_eq!(
        copied("c10::complex<float>, c10::complex<double>"),
        Some(384.0)
    );
}

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
    // Without momentum the parameter alone is written.
    check("aten::_fused_sgd_", "[10 2x3], [10 2x3], ", &[], 32.0, 96.0);
    // AMSGrad: the largest second moments are a list of their own.
    check(
        "aten::_fused_adamw_",
        "[10 2x3], [10 2x3], [10 2x3], [10 2x3], [10 2x3]",
        &[],
        208.0,
        288.0,
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
