//! Each pattern from a trace with one such convolution.

use super::super::finding::{Impact, Priority};
use super::super::samples::{Calls, found};
use super::*;
use crate::report::{Report, ReportOptions};
use crate::testing::{Timetable, options_on};

/// One `aten::convolution` with a kernel of `us`, groups and type as given.
fn convolution(x: &str, w: &str, settings: &str, dtype: &str, kernel: &str, us: f64) -> Timetable {
    Timetable::new()
        .op("aten::convolution", 0..10)
        .args(&format!(
            r#""Input Dims": [{x}, {w}, [], [], [], [], [], [], []], "Input type": ["{dtype}", "{dtype}", "", "ScalarList", "ScalarList", "ScalarList", "Scalar", "ScalarList", "Scalar"], "Concrete Inputs": ["", "", "", {settings}]"#
        ))
        .launch(1, 1..2)
        .kernel(1, kernel, 100.0..100.0 + us)
}

fn outcome_of(timetable: &Timetable, options: &ReportOptions) -> Outcome {
    let report = Report::new(&timetable.profile(), options);
    report.analyses.outcome("convolution").unwrap().clone()
}

fn patterns(outcome: &Outcome) -> Vec<&'static str> {
    let findings = outcome.findings.iter();
    findings.map(|finding| finding.pattern).collect()
}

/// Stride, padding, dilation, transposed, output padding, groups.
const SAME: &str = r#""[1, 1]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1""#;
const BF16: &str = "c10::BFloat16";

#[test]
fn each_pattern_is_seen() {
    let depthwise = SAME.replace(r#""1""#, r#""256""#);
    let cases = [
        // 3 × 3 on large images.
        (
            "[32, 256, 56, 56]",
            "[256, 256, 3, 3]",
            SAME,
            BF16,
            "igemm_fwd",
            "below_usual_efficiency",
        ),
        (
            "[32, 256, 56, 56]",
            "[256, 256, 3, 3]",
            SAME,
            "float",
            "igemm_fwd",
            "wide_precision",
        ),
        (
            "[32, 3, 224, 224]",
            "[64, 3, 3, 3]",
            SAME,
            BF16,
            "igemm_fwd",
            "few_input_channels",
        ),
        (
            "[32, 256, 56, 56]",
            "[256, 1, 3, 3]",
            depthwise.as_str(),
            BF16,
            "conv_depthwise2d",
            "depthwise",
        ),
        (
            "[4, 512, 7, 7]",
            "[512, 512, 3, 3]",
            SAME,
            BF16,
            "igemm_fwd",
            "small_spatial",
        ),
        (
            "[32, 256, 56, 56]",
            "[256, 256, 3, 3]",
            SAME,
            BF16,
            "naive_conv_fwd_nchw",
            "fallback_kernel",
        ),
    ];
    for (x, w, settings, dtype, kernel, expected) in cases {
        let timetable = convolution(x, w, settings, dtype, kernel, 100_000.0);
        let outcome = outcome_of(&timetable, &options_on("MI300X"));
        assert_eq!(patterns(&outcome), [expected], "{x} {w}");
    }
}

/// A convolution whose arguments say nothing is reported all the same, as work without a model.
#[test]
fn convolutions_of_unknown_shape_are_not_forgotten() {
    let timetable = Timetable::new()
        .op("my::conv_bias_relu", 0..10)
        .args(r#""Input Dims": [[8, 3], [4]], "Input type": ["float", "float"]"#)
        .launch(1, 1..2)
        .kernel(1, "my_kernel", 100..10_100);
    let outcome = outcome_of(&timetable, &options_on("MI300X"));
    assert_eq!(patterns(&outcome), ["unmodelled_significant"]);
}

#[test]
fn inside_its_band_it_is_no_finding_and_a_little_below_a_note() {
    // 2 · 9 · 256 · 32 · 256 · 56² operations at 708 TFLOPS: 167.2 µs.
    let at = |share: f64| {
        let timetable = convolution(
            "[32, 256, 56, 56]",
            "[256, 256, 3, 3]",
            SAME,
            BF16,
            "igemm_fwd",
            167.2 / share,
        );
        outcome_of(&timetable, &options_on("MI300X"))
    };
    let usual = at(0.55);
    assert!((usual.efficiency_percent().unwrap() - 55.0).abs() < 0.1);
    assert!(usual.findings.is_empty());
    let note = at(0.45);
    assert_eq!(patterns(&note), ["below_usual_efficiency"]);
    assert_eq!(note.findings[0].priority, Priority::Low);
    let bottleneck = at(0.25);
    assert_eq!(bottleneck.findings[0].priority, Priority::Critical);
    // From 25 to 60 % of roofline, the middle of 50–70 %.
    let mid = bottleneck.findings[0].impact.unwrap().mid_ns as f64;
    assert!(
        (mid - 167.2e3 / 0.25 * (1.0 - 25.0 / 60.0)).abs() < 200.0,
        "{mid}"
    );
    assert_eq!(bottleneck.rows[0].class, "3×3");
}

#[test]
fn layout_changes_inside_are_worth_what_they_take() {
    let inside = |kernel: &str, us: f64| {
        convolution(
            "[32, 256, 56, 56]",
            "[256, 256, 3, 3]",
            SAME,
            BF16,
            "igemm_fwd",
            300.0,
        )
        .launch(2, 3..4)
        .kernel(2, kernel, 400.0..400.0 + us)
    };
    let options = ReportOptions::default();
    // 100 of 400 µs.
    let outcome = outcome_of(&inside("batched_transpose_32x32_half", 100.0), &options);
    assert_eq!(patterns(&outcome), ["layout_changes"]);
    assert_eq!(outcome.findings[0].impact, Some(Impact::measured(100_000)));
    assert_eq!(outcome.findings[0].priority, Priority::High);
    assert_eq!(outcome.get("transpose_count"), Some(&Value::Count(1)));
    assert_eq!(
        outcome.get("transpose_overhead"),
        Some(&Value::Percent(25.0))
    );
    // 30 of 330 µs are 9.1 %.
    assert!(
        outcome_of(&inside("batched_transpose_32x32_half", 30.0), &options)
            .findings
            .is_empty()
    );
    // A transposed convolution is no change of layout.
    let transposed = inside("conv_transpose2d_kernel", 100.0);
    assert_eq!(
        outcome_of(&transposed, &options).get("transpose_count"),
        Some(&Value::Count(0))
    );
}

#[test]
fn copies_beside_a_convolution_count_as_layout_changes() {
    let copy = r#""Input Dims": [[32, 256, 56, 56], [32, 256, 56, 56], []], "Input type": ["c10::BFloat16", "c10::BFloat16", "Scalar"], "Input Strides": [[802816, 1, 14336, 256], [802816, 3136, 56, 1], []]"#;
    let timetable = convolution(
        "[32, 256, 56, 56]",
        "[256, 256, 3, 3]",
        SAME,
        BF16,
        "igemm_fwd",
        300.0,
    )
    .op("aten::copy_", 20..30)
    .args(copy)
    .launch(2, 21..22)
    .op("aten::copy_", 40..50)
    .args(&copy.replace("[802816, 1, 14336, 256]", "[802816, 3136, 56, 1]"))
    .launch(3, 41..42)
    .kernel(2, "copy", 400..500)
    .kernel(3, "copy", 500..600);
    let outcome = outcome_of(&timetable, &ReportOptions::default());
    // The second is neither beside it nor does it change anything.
    assert_eq!(
        outcome.get("adjacent_layout_copy_time"),
        Some(&Value::Ns(100_000))
    );
    assert_eq!(patterns(&outcome), ["layout_changes"]);
    assert_eq!(outcome.findings[0].impact, Some(Impact::measured(100_000)));
}

#[test]
fn the_channels_last_format_is_that_of_the_rank() {
    let advised = |x: &str, w: &str, ones: &str| {
        let settings = SAME
            .replace("[1, 1]", ones)
            .replace("[0, 0]", &ones.replace('1', "0"));
        let timetable = convolution(x, w, &settings, BF16, "igemm_fwd", 300.0)
            .launch(2, 3..4)
            .kernel(2, "batched_transpose_32x32_half", 400.0..500.0);
        let outcome = outcome_of(&timetable, &ReportOptions::default());
        assert_eq!(patterns(&outcome), ["layout_changes"], "{x}");
        outcome.findings[0].model.clone()
    };
    let cases = [
        (
            "[8, 64, 56, 56]",
            "[64, 64, 3, 3]",
            "[1, 1]",
            "memory_format=torch.channels_last)",
        ),
        (
            "[8, 64, 16, 56, 56]",
            "[64, 64, 3, 3, 3]",
            "[1, 1, 1]",
            "memory_format=torch.channels_last_3d)",
        ),
        // One dimension has no such format.
        (
            "[8, 64, 4096]",
            "[64, 64, 3]",
            "[1]",
            "as `Conv2d` with a height of one",
        ),
    ];
    for (x, w, ones, expected) in cases {
        let model = advised(x, w, ones);
        assert!(model.contains(expected), "{x}: {model}");
    }
}

#[test]
fn only_types_that_the_gpu_has_and_does_not_use_are_advised() {
    let advised = |gpu: &str, kernel: &str| {
        let timetable = convolution(
            "[32, 256, 56, 56]",
            "[256, 256, 3, 3]",
            SAME,
            "float",
            kernel,
            100_000.0,
        );
        let outcome = outcome_of(&timetable, &options_on(gpu));
        assert_eq!(patterns(&outcome), ["wide_precision"], "{gpu}");
        outcome.findings[0].model.clone()
    };
    assert_eq!(
        advised("A100-80GB", "implicit_convolve_sgemm"),
        "run it in BF16 or FP16 (autocast), or allow TF32 where the accuracy suffices."
    );
    // It runs in TF32 already.
    let tf32 = "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw";
    assert_eq!(
        advised("A100-80GB", tf32),
        "run it in BF16 or FP16 (autocast)."
    );
    // No TF32, and no BF16 either.
    assert_eq!(
        advised("MI210", "igemm_fwd"),
        "run it in BF16 or FP16 (autocast)."
    );
    assert_eq!(
        advised("V100-32GB", "implicit_convolve_sgemm"),
        "run it in FP16 (autocast)."
    );
}

#[test]
fn double_precision_is_not_called_fp32() {
    let timetable = convolution(
        "[32, 256, 56, 56]",
        "[256, 256, 3, 3]",
        SAME,
        "double",
        "implicit_convolve_dgemm",
        100_000.0,
    );
    let outcome = outcome_of(&timetable, &options_on("A100-80GB"));
    let finding = &outcome.findings[0];
    assert!(!finding.title.contains("32"), "{}", finding.title);
    assert_eq!(
        finding.model,
        "run it in FP32, or in BF16 or FP16, where the accuracy suffices."
    );
}

#[test]
fn channels_last_is_advised_where_channels_lie_apart() {
    let advised = |strides: &str| {
        let depthwise = SAME.replace(r#""1""#, r#""256""#);
        let none = "[], [], [], [], [], [], []";
        let args = format!(
            r#""Input Dims": [[32, 256, 56, 56], [256, 1, 3, 3], {none}], "Input Strides": [{strides}, [9, 9, 3, 1], {none}], "Input type": ["{BF16}", "{BF16}", "", "ScalarList", "ScalarList", "ScalarList", "Scalar", "ScalarList", "Scalar"], "Concrete Inputs": ["", "", "", {depthwise}]"#
        );
        let calls = Calls::new();
        let outcome = calls
            .call("aten::convolution", &args, "conv_depthwise2d", 100_000)
            .outcome("convolution");
        found(&outcome, "depthwise").model.clone()
    };
    let apart = advised("[802816, 3136, 56, 1]");
    assert!(apart.contains("`torch.channels_last`"), "{apart}");
    let last = advised("[802816, 1, 14336, 256]");
    assert!(!last.contains("channels_last"), "{last}");
}

/// Without operators a name may tell the pass, and may not.
#[test]
fn kernels_that_both_passes_run_belong_to_none() {
    let timetable = [
        "igemm_fwd_gtcx3_nhwc_bf16",
        "igemm_bwd_gtcx3_nhwc_bf16",
        "batched_transpose_32x32_half",
    ]
    .into_iter()
    .zip(1..)
    .fold(Timetable::new(), |timetable, (kernel, id)| {
        let start = id * 100;
        timetable.kernel(id, kernel, start..start + 50)
    });
    let outcome = outcome_of(&timetable, &ReportOptions::default());
    let table = outcome
        .tables
        .iter()
        .find(|table| table.key == "directions");
    let rows: Vec<[String; 2]> = table
        .unwrap()
        .rows
        .iter()
        .map(|row| [row[0].text(), row[1].text()])
        .collect();
    let expected = ["forward", "backward", "unknown"].map(|pass| [pass, "1"].map(str::to_owned));
    assert_eq!(rows, expected);
}

/// Patches that do not overlap are one GEMM, and no reason to pad channels.
#[test]
fn patches_are_a_gemm() {
    let settings = r#""[16, 16]", "[0, 0]", "[1, 1]", "False", "[0, 0]", "1""#;
    let (x, w) = ("[128, 3, 224, 224]", "[768, 3, 16, 16]");
    let timetable = convolution(x, w, settings, BF16, "igemm_fwd", 100_000.0);
    let outcome = outcome_of(&timetable, &options_on("MI300X"));
    let finding = found(&outcome, "few_input_channels");
    assert!(finding.model.contains("one GEMM"), "{}", finding.model);
    assert!(!finding.model.contains("pad"), "{}", finding.model);
}

/// Two kernel sizes in one finding, each with what is usual for it.
#[test]
fn each_kernel_size_has_its_band() {
    let args = |w: &str, padding: u64| {
        format!(
            r#""Input Dims": [[64, 256, 56, 56], {w}, [], [], [], [], [], [], []], "Input type": ["{BF16}", "{BF16}", "", "ScalarList", "ScalarList", "ScalarList", "Scalar", "ScalarList", "Scalar"], "Concrete Inputs": ["", "", "", "[1, 1]", "[{padding}, {padding}]", "[1, 1]", "False", "[0, 0]", "1"]"#
        )
    };
    let outcome = Calls::new()
        .call(
            "aten::convolution",
            &args("[256, 256, 7, 7]", 3),
            "igemm_fwd",
            200_000,
        )
        .call(
            "aten::convolution",
            &args("[256, 256, 1, 1]", 0),
            "igemm_fwd",
            100_000,
        )
        .outcome("convolution");
    let issue = &found(&outcome, "below_usual_efficiency").issue;
    let expected = "where 60–80 % is usual for kernel size 7×7 and 40–60 % for kernel size 1×1";
    assert!(issue.contains(expected), "{issue}");
}

/// 32 groups of 8 channels: these are at a low % of roofline, not kernel size 3×3 as such.
#[test]
fn narrow_groups_are_named() {
    let groups = |n: u32, each: u32| {
        let settings = SAME.replace(r#""1""#, &format!("\"{n}\""));
        let timetable = convolution(
            "[64, 256, 56, 56]",
            &format!("[256, {each}, 3, 3]"),
            &settings,
            BF16,
            "igemm_fwd",
            100_000.0,
        );
        let outcome = outcome_of(&timetable, &options_on("H100"));
        (patterns(&outcome)[0], outcome.findings[0].clone())
    };
    let (pattern, finding) = groups(32, 8);
    assert_eq!(pattern, "narrow_groups");
    assert!(
        finding.issue.contains("a group has 8 channels"),
        "{}",
        finding.issue
    );
    assert_eq!(finding.impact, None);
    let (pattern, finding) = groups(2, 128);
    assert_eq!(pattern, "below_usual_efficiency");
    // They are.
    assert!(
        !finding.model.contains("multiples of 8"),
        "{}",
        finding.model
    );
}
