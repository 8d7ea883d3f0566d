//! Normalizations and what precedes or follows them.

use super::*;

/// Asserts the upper end of a finding's saving for each of `n` instances, in microseconds.
#[track_caller]
fn saves(finding: &Finding, n: f64, expected_us: f64) {
    let saved_us = finding.impact.unwrap().high_ns as f64 / n / 1e3;
    assert!((saved_us - expected_us).abs() < 0.5, "{saved_us}");
}

#[test]
fn a_norm_of_six_kernels_in_each_instance() {
    let outcome = instances(20, "LlamaRMSNorm", &RMS_NORM);
    let finding = only(&outcome, "rms_norm");
    // 20 · (20 + 10 + 2 + 2 + 20 + 20) µs, each kernel once.
    assert_eq!(finding.time_ns, 20 * 74_000);
    // x in, 4 096 weights in, the result out: 2 · 1024 · 4096 · 4 + 4096 · 4 bytes at 5.3 TB/s take 6.33 µs; the second
    // use of x, which a trace cannot distinguish from the first, counts as internal.
    saves(finding, 20.0, 67.5);
    let impact = finding.impact.unwrap();
    assert!(impact.low_ns < impact.mid_ns && impact.high_ns < finding.time_ns);
    let saved: i64 = finding.savings.iter().map(|(_, ns)| ns).sum();
    assert!((impact.mid_ns - saved).abs() < 10, "{saved}");
    let said = ["120 kernels in 20 instances", "`LlamaRMSNorm`"];
    assert_contains(&finding.issue, &said);
    assert_eq!(finding.confidence, Some(Confidence::High));
    assert_eq!(finding.tables[0].rows.len(), 6);
}

/// Four residual blocks: the first calls and each activation are modules of their own, the addition is in the block
/// itself.
fn blocks(first: &str, calls: &[Call]) -> Outcome {
    let residual: Call = ("aten::add_", "64x256x56x56:float*2, =1", 300);
    let relu: Call = ("aten::clamp_min_", "64x256x56x56:float, _:Scalar", 200);
    let block = |all: Calls, nth| {
        all.module(&format!("BasicBlock_{nth}"), |block| {
            let block = block.module(&format!("{first}_{nth}"), |all| run(all, calls));
            let block = run(block, &[residual]);
            block.module(&format!("ReLU_{nth}"), |all| run(all, &[relu]))
        })
    };
    outcome(&(0..4).fold(Calls::new(), block))
}

/// A group norm has statistics of its own for each image.
#[test]
fn a_group_norm_folds_into_no_convolution() {
    let norm: Call = (
        "aten::native_group_norm",
        "64x256x56x56:float, 256:float*2, =64, =256, =3136, =32, =1e-05",
        500,
    );
    let outcome = blocks("GroupNorm", &[norm]);
    let model = &only(&outcome, "norm_epilogue").model;
    assert_contains(model, &["activation and residual"]);
    assert_contains_none(model, &["batch norm"]);
}

#[test]
fn a_batch_norm_takes_addition_and_activation_along() {
    let norm: Call = (
        "aten::batch_norm",
        "64x256x56x56:float, 256:float*4, =True, =0.1, =1e-05, =True",
        500,
    );
    let outcome = blocks("BatchNorm2d", &[norm]);
    let finding = only(&outcome, "norm_epilogue");
    assert!(finding.title.ends_with("` right after a normalization"));
    assert_eq!(finding.time_ns, 4 * 500_000);
    assert_contains(
        &finding.issue,
        &["kernels of their own: 8 kernels in 4 instances"],
    );
    let advice = ["activation and residual", "a batch norm can be folded"];
    assert_contains(&finding.model, &advice);
    assert_eq!(finding.confidence, Some(Confidence::High));
    // 64 · 256 · 56 · 56 elements of 4 bytes of the residual at 5.3 TB/s take 38.8 of 500 µs.
    saves(finding, 4.0, 461.2);
}

/// The steps after a norm decide what it should absorb; only a batch norm can be folded.
#[test]
fn a_row_norm_takes_scale_and_shift_along() {
    let norm: Call = (
        "aten::layer_norm",
        "1024x4096:float, =[4096], _*2, =1e-5, =True",
        200,
    );
    let model = |calls: &[Call]| {
        let outcome = module("AdaNorm_0", calls);
        assert_eq!(outcome.findings[0].pattern, "norm_epilogue");
        outcome.findings[0].model.clone()
    };
    let affine = model(&[norm, MUL, ADD]);
    assert!(affine.contains("scale and shift") && !affine.contains("batch norm"));
    let residual = model(&[norm, ADD, unary("aten::relu")]);
    assert_contains(&residual, &["activation and residual"]);
}

#[test]
fn an_addition_takes_the_activation_along() {
    let outcome = blocks("Other", &[("aten::sort", X, 5)]);
    let finding = only(&outcome, "bias_activation");
    // Two tensors in, one out: 3 · 38.8 of 500 µs.
    saves(finding, 4.0, 383.7);
}

/// Casts are part of the chain, as in the RMS norm of most models.
#[test]
fn casts_fuse_and_layout_copies_do_not() {
    let cast_up: Call = ("aten::copy_", "1024x4096:float, 1024x4096", 22);
    let cast_down: Call = ("aten::copy_", "1024x4096, 1024x4096:float", 15);
    let weight: Call = ("aten::mul", "4096, 1024x4096", 19);
    let [pow, mean, add, rsqrt, mul, _] = RMS_NORM;
    let norm = [cast_up, pow, mean, add, rsqrt, mul, cast_down, weight];
    let outcome = instances(20, "Qwen2RMSNorm", &norm);
    let finding = &outcome.findings[0];
    assert_eq!(finding.pattern, "rms_norm");
    assert!(finding.title.ends_with("in 8 kernels"));
    // 22 + 20 + 10 + 2 + 2 + 20 + 15 + 19 µs in each instance.
    assert_eq!(finding.time_ns, 20 * 110_000);
}

#[test]
fn one_other_place_and_one_instance_are_in_the_singular() {
    let norm = |calls: Calls, name| calls.module(name, |calls| run(calls, &long_norm()));
    let one = norm(Calls::new(), "LlamaRMSNorm_0");
    let both = norm(one.clone(), "T5RMSNorm_0");
    let issue = |calls: Calls| outcome(&calls).findings[0].issue.clone();
    assert_contains(&issue(one), &["6 kernels in 1 instance of the same steps"]);
    assert_contains(&issue(both), &[" and 1 other place: "]);
}
