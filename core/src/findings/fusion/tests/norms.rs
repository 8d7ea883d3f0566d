//! Normalizations and what precedes or follows them.

use super::*;

#[test]
fn a_norm_of_six_kernels_in_each_instance() {
    let mut calls = Calls::new();
    for instance in 0..20 {
        calls = calls.module(&format!("LlamaRMSNorm_{instance}"), &RMS_NORM);
    }
    let outcome = outcome(&calls.profile());
    let [finding] = outcome.findings.as_slice() else {
        panic!("{:?}", outcome.findings);
    };
    assert_eq!(finding.pattern, "rms_norm");
    // 20 · (20 + 10 + 2 + 2 + 20 + 20) µs, each kernel once.
    assert_eq!(finding.time_ns, 20 * 74_000);
    // x in, 4 096 weights in, the result out: 2 · 1024 · 4096 · 4 + 4096 · 4 bytes at 5.3 TB/s are
    // 6.33 µs, and the second use of x, which a trace cannot tell from the first, counts as inside.
    let impact = finding.impact.unwrap();
    let high_us = impact.high_ns as f64 / 20e3;
    assert!((high_us - 67.5).abs() < 0.3, "{high_us}");
    assert!(impact.low_ns < impact.mid_ns && impact.high_ns < finding.time_ns);
    let saved: i64 = finding.savings.iter().map(|(_, ns)| ns).sum();
    assert!((impact.mid_ns - saved).abs() < 10, "{saved}");
    assert!(
        finding.issue.contains("120 kernels in 20 instances"),
        "{}",
        finding.issue
    );
    assert!(
        finding.issue.contains("`LlamaRMSNorm`"),
        "{}",
        finding.issue
    );
    assert_eq!(finding.confidence, Some(Confidence::High));
    assert_eq!(finding.tables[0].rows.len(), 6);
}

const BATCH_NORM: Call = (
    "aten::batch_norm",
    "[[64, 256, 56, 56], [256], [256], [256], [256], [], [], [], []]",
    r#"["float", "float", "float", "float", "float", "Scalar", "Scalar", "Scalar", "Scalar"]"#,
    r#"["", "", "", "", "", "True", "0.1", "1e-05", "True"]"#,
    500,
);
const RELU: Call = ("aten::clamp_min_", "[[64, 256, 56, 56], []]", FN, NO, 200);
const RESIDUAL: Call = (
    "aten::add_",
    "[[64, 256, 56, 56], [64, 256, 56, 56], []]",
    FFN,
    NO3,
    300,
);

/// A residual block: each norm and each activation is a module of its own, the addition stands in the
/// block itself.
fn block(calls: Calls, nth: u32, with_norm: bool) -> Calls {
    let start = calls.host_us;
    let mut calls = Calls {
        host_us: start + 1,
        ..calls
    };
    if with_norm {
        calls = calls.module(&format!("BatchNorm2d_{nth}"), &[BATCH_NORM]);
    } else {
        calls = calls.module(
            &format!("Other_{nth}"),
            &[("aten::sort", X, F, r#"[""]"#, 5)],
        );
    }
    calls = calls.calls(&[RESIDUAL]);
    calls = calls.module(&format!("ReLU_{nth}"), &[RELU]);
    let end = calls.host_us + 1;
    Calls {
        table: calls
            .table
            .frame(&format!("nn.Module: BasicBlock_{nth}"), start..end),
        host_us: end + 1,
        ..calls
    }
}

#[test]
fn a_batch_norm_takes_addition_and_activation_along() {
    let mut calls = Calls::new();
    for nth in 0..4 {
        calls = block(calls, nth, true);
    }
    let outcome = outcome(&calls.profile());
    let [finding] = outcome.findings.as_slice() else {
        panic!("{:?}", outcome.findings);
    };
    assert_eq!(finding.pattern, "norm_epilogue");
    assert!(finding.title.ends_with("in 3 kernels"));
    assert_eq!(finding.time_ns, 4 * 500_000);
    assert!(
        finding
            .issue
            .starts_with("8 kernels after it in 4 instances"),
        "{}",
        finding.issue
    );
    assert!(finding.model.contains("activation and residual"));
    assert!(finding.model.contains("a batch norm can be folded"));
    assert_eq!(finding.confidence, Some(Confidence::High));
    // 64 · 256 · 56 · 56 numbers of 4 bytes of the residual at 5.3 TB/s take 38.8 µs of 500.
    let saved_us = finding.impact.unwrap().high_ns as f64 / 4e3;
    assert!((saved_us - 461.2).abs() < 0.5, "{saved_us}");
}

/// The steps after a norm decide what it is to take along; only a batch norm can be folded.
#[test]
fn a_row_norm_takes_scale_and_shift_along() {
    let norm: Call = (
        "aten::layer_norm",
        "[[1024, 4096], [], [], [], [], []]",
        r#"["float", "ScalarList", "", "", "Scalar", "Scalar"]"#,
        r#"["", "[4096]", "", "", "1e-5", "True"]"#,
        200,
    );
    let mul: Call = ("aten::mul", TWO, FF, NO, 200);
    let add: Call = ("aten::add", TWO, FFN, NO3, 200);
    let relu: Call = ("aten::relu", X, F, r#"[""]"#, 200);
    let model = |calls: &[Call]| {
        let outcome = outcome(&Calls::new().module("AdaNorm_0", calls).profile());
        assert_eq!(outcome.findings[0].pattern, "norm_epilogue");
        outcome.findings[0].model.clone()
    };
    let affine = model(&[norm, mul, add]);
    assert!(affine.contains("scale and shift") && !affine.contains("batch norm"));
    assert!(model(&[norm, add, relu]).contains("activation and residual"));
}

#[test]
fn an_addition_takes_the_activation_along() {
    let mut calls = Calls::new();
    for nth in 0..4 {
        calls = block(calls, nth, false);
    }
    let outcome = outcome(&calls.profile());
    let [finding] = outcome.findings.as_slice() else {
        panic!("{:?}", outcome.findings);
    };
    assert_eq!(finding.pattern, "bias_activation");
    // Two tensors in, one out: 3 · 38.8 µs of 500.
    let saved_us = finding.impact.unwrap().high_ns as f64 / 4e3;
    assert!((saved_us - 383.7).abs() < 0.5, "{saved_us}");
}

/// Casts are part of the chain, as in the RMS norm of most models; the copy into another order of
/// memory is not.
#[test]
fn casts_fuse_and_layout_copies_do_not() {
    let cast_up: Call = ("aten::copy_", TWO, r#"["float", "c10::BFloat16"]"#, NO, 22);
    let cast_down: Call = ("aten::copy_", TWO, r#"["c10::BFloat16", "float"]"#, NO, 15);
    let weight: Call = (
        "aten::mul",
        "[[4096], [1024, 4096]]",
        r#"["c10::BFloat16", "c10::BFloat16"]"#,
        NO,
        19,
    );
    let [pow, mean, add, rsqrt, mul, _] = RMS_NORM;
    let norm = [cast_up, pow, mean, add, rsqrt, mul, cast_down, weight];
    let mut calls = Calls::new();
    for nth in 0..20 {
        calls = calls.module(&format!("Qwen2RMSNorm_{nth}"), &norm);
    }
    let found = outcome(&calls.profile());
    assert_eq!(found.findings[0].pattern, "rms_norm");
    assert!(found.findings[0].title.ends_with("in 8 kernels"));
    // 22 + 20 + 10 + 2 + 2 + 20 + 15 + 19 µs in each.
    assert_eq!(found.findings[0].time_ns, 20 * 110_000);

    let exp: Call = ("aten::exp", X, F, r#"[""]"#, 200);
    let copy: Call = ("aten::copy_", TWO, FF, NO, 200);
    let profile = Calls::new().module("Mixed_0", &[exp, copy, exp]).profile();
    assert_eq!(patterns(&profile), [""; 0]);
}

#[test]
fn one_other_place_and_one_instance_are_told_in_the_singular() {
    let norm = RMS_NORM.map(|call| (call.0, call.1, call.2, call.3, 10 * call.4));
    let issue = |calls: Calls| outcome(&calls.profile()).findings[0].issue.clone();
    let one = issue(Calls::new().module("LlamaRMSNorm_0", &norm));
    assert!(
        one.starts_with("6 kernels in 1 instance of the same steps"),
        "{one}"
    );
    let both = Calls::new()
        .module("LlamaRMSNorm_0", &norm)
        .module("T5RMSNorm_0", &norm);
    let both = issue(both);
    assert!(both.contains(" and 1 other place: "), "{both}");
}
