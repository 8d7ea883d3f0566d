//! Each rule on a trace with one such GEMM.

mod advice;
mod tiles;

use crate::findings::finding::Impact;
use crate::findings::samples::Calls;
use crate::report::{Report, ReportOptions};
use crate::testing::{Timetable, options_on};

/// One `aten::bmm` or `aten::mm` that takes 100 ms, and what is found of it on an MI300X.
fn found(op: &str, dims: &str, dtype: &str, kernel: &str) -> Vec<(&'static str, String)> {
    let profile = Timetable::new()
        .op(op, 0..10)
        .args(&format!(
            r#""Input Dims": {dims}, "Input type": ["{dtype}", "{dtype}"]"#
        ))
        .launch(1, 1..2)
        .kernel(1, kernel, 100..100_100)
        .profile();
    let options = options_on("MI300X");
    let report = Report::new(&profile, &options);
    let findings = &report.analyses.findings.ranked;
    findings
        .iter()
        .map(|ranked| (ranked.finding.pattern, ranked.finding.issue.clone()))
        .collect()
}

fn patterns(op: &str, dims: &str, dtype: &str, kernel: &str) -> Vec<&'static str> {
    let found = found(op, dims, dtype, kernel);
    found.into_iter().map(|(pattern, _)| pattern).collect()
}

const BF16: &str = "c10::BFloat16";

#[test]
fn each_pattern_is_seen() {
    let cases = [
        // 37 632 GEMMs of 8 × 64 by 64 × 8.
        (
            "aten::bmm",
            "[[37632, 8, 64], [37632, 64, 8]]",
            "Cijk_MT16x16x32",
            "tiny_batched",
        ),
        ("aten::mm", "[[1, 4096], [4096, 4096]]", "gemvx", "gemv"),
        // 65 536 is 128 times 512.
        (
            "aten::mm",
            "[[65536, 4096], [4096, 512]]",
            "gemm",
            "tall_skinny",
        ),
        // 4 tiles of 256 × 256 for 304 compute units.
        (
            "aten::mm",
            "[[512, 4096], [4096, 512]]",
            "Cijk_MT256x256x32",
            "few_output_tiles",
        ),
        // Rows of 1 022 elements are 2 044 bytes, no multiple of 16.
        (
            "aten::mm",
            "[[4096, 1022], [1022, 4096]]",
            "Cijk_MT16x16x32",
            "misaligned",
        ),
        // Large and regular: bound by arithmetic.
        (
            "aten::mm",
            "[[4096, 4096], [4096, 4096]]",
            "Cijk_MT128x128x32",
            "compute_bound_gap",
        ),
        // 8·64·(N + K) bytes for few FLOPs: memory-bound.
        (
            "aten::mm",
            "[[64, 4096], [4096, 4096]]",
            "Cijk_MT16x16x32",
            "memory_bound_gap",
        ),
    ];
    for (op, dims, kernel, expected) in cases {
        assert_eq!(patterns(op, dims, BF16, kernel), [expected], "{dims}");
    }
}

/// A column times a row writes 8 192² numbers and has no rows to pad; an expert without tokens does
/// nothing at all.
#[test]
fn outer_and_empty_gemms_are_not_misread() {
    let kernel = "Cijk_MT16x16x32";
    let outer = patterns("aten::mm", "[[8192, 1], [1, 8192]]", BF16, kernel);
    assert_eq!(outer, ["outer_product"]);
    // Nor is it one for other units, or to be split along what it has not.
    let single = patterns("aten::mm", "[[131072, 1], [1, 64]]", "float", kernel);
    assert_eq!(single, ["outer_product"]);
    let empty = patterns("aten::mm", "[[0, 4096], [4096, 128]]", BF16, kernel);
    assert_eq!(empty, [""; 0]);
}

#[test]
fn the_issue_names_operation_sizes_time_and_efficiency() {
    let found = found(
        "aten::bmm",
        "[[37632, 8, 64], [37632, 64, 8]]",
        BF16,
        "Cijk_MT16x16x32",
    );
    // 2 · 37 632 · (8·64 + 64·8 + 8·8) bytes at 5.3 TB/s take 15.5 µs of the 100 ms.
    let issue = &found[0].1;
    for part in [
        "`aten::bmm` (37\u{202F}632 of 8×8×64)",
        "100 ms (100 % of compute)",
        "<0.1 %",
    ] {
        assert!(issue.contains(part), "{issue}");
    }
}

#[test]
fn an_efficient_gemm_is_no_finding() {
    // 2 · 8 192³ operations at 708 TFLOPS take 1.55 ms; 2 ms are 78 % of roofline.
    let profile = Timetable::new()
        .op("aten::mm", 0..10)
        .args(r#""Input Dims": [[8192, 8192], [8192, 8192]], "Input type": ["c10::BFloat16", "c10::BFloat16"]"#)
        .launch(1, 1..2)
        .kernel(1, "Cijk_MT256x256x32", 100..2100)
        .profile();
    let options = options_on("MI300X");
    let report = Report::new(&profile, &options);
    assert!(report.analyses.findings.ranked.is_empty());
    let gemm = report.analyses.outcome("gemm").unwrap();
    assert_eq!(gemm.rows[0].class, "regular");
    assert!((gemm.efficiency_percent().unwrap() - 77.65).abs() < 0.01);
}

#[test]
fn a_layout_change_inside_is_worth_what_it_takes() {
    let profile = Timetable::new()
        .op("aten::mm", 0..10)
        .args(r#""Input Dims": [[8192, 8192], [8192, 8192]], "Input type": ["c10::BFloat16", "c10::BFloat16"]"#)
        .launch(1, 1..2)
        .launch(2, 3..4)
        .kernel(1, "batched_transpose_32x32_half", 100..600)
        .kernel(2, "Cijk_MT256x256x32", 600..2600)
        .profile();
    let report = Report::new(&profile, &ReportOptions::default());
    let finding = &report.analyses.findings.ranked[0].finding;
    assert_eq!(finding.pattern, "layout_change_inside");
    assert_eq!(finding.impact, Some(Impact::measured(500_000)));
}

/// What to do about one GEMM of 100 ms on a GPU: in the model, and in a kernel.
fn advice(gpu: &str, op: &str, dims: &str, dtype: &str, kernel: &str) -> (String, String) {
    let args = format!(r#""Input Dims": {dims}, "Input type": ["{dtype}", "{dtype}"]"#);
    let calls = Calls::new().call(op, &args, kernel, 100_000);
    let outcome = calls.outcome_on(gpu, "gemm");
    let [finding] = outcome.findings.as_slice() else {
        panic!("{:?}", outcome.findings);
    };
    (finding.model.clone(), finding.kernel.clone())
}

/// A GEMM of unknown sizes is not slow for being quantized.
#[test]
fn gemms_without_a_model_are_called_that() {
    let kernel = "void deep_gemm::sm90_fp8_gemm_1d2d_impl<0u, 2112u>";
    let outcome = Calls::new()
        .call("MyFunction", "", kernel, 100_000)
        .outcome("gemm");
    let [finding] = outcome.findings.as_slice() else {
        panic!("{:?}", outcome.findings);
    };
    assert_eq!(finding.pattern, "unmodelled_significant");
    assert_eq!(finding.replay, None);
    let texts = [&finding.title, &finding.issue, &finding.kernel];
    for text in texts.into_iter().chain(&finding.reasoning) {
        assert!(
            !text.contains("()") && !text.contains("reproducer"),
            "{text}"
        );
    }
    // Nothing says that it is regular.
    assert_eq!(outcome.rows[0].class, "");
    let outcome = Calls::new().graph(kernel, 10, 10_000).outcome("gemm");
    assert_eq!(outcome.rows[0].class, "quantized");
    assert!(outcome.findings.is_empty());
}

/// GEMMs without parameters of their own: by the shapes of their arguments.
#[test]
fn sizes_come_from_the_model_too() {
    let fp8 = "c10::Float8_e4m3fn";
    let class = |op: &str, args: &str| {
        let outcome = Calls::new().call(op, args, "gemm", 100_000).outcome("gemm");
        outcome.rows[0].class.clone()
    };
    let mv = format!(r#""Input Dims": [[8192, 8192], [8192]], "Input type": ["{BF16}", "{BF16}"]"#);
    assert_eq!(class("aten::mv", &mv), "matrix × vector");
    let scaled = format!(
        r#""Input Dims": [[64, 8192], [64, 4096], [4096, 8192], [64, 1], [1, 8192], []], "Input type": ["{BF16}", "{fp8}", "{fp8}", "float", "float", ""]"#
    );
    assert_eq!(
        class("_C::cutlass_scaled_mm", &scaled),
        "tall and skinny, quantized"
    );
    let grouped = format!(
        r#""Input Dims": [[4096, 1024], [8, 1024, 2048], [8], [], []], "Input type": ["{BF16}", "{BF16}", "int", "", ""]"#
    );
    assert_eq!(class("aten::_grouped_mm", &grouped), "regular");
    let outcome = Calls::new()
        .call("aten::_grouped_mm", &grouped, "gemm", 100_000)
        .outcome("gemm");
    let issue = &outcome.findings[0].issue;
    assert!(issue.contains("8 groups of 512×2048×1024"), "{issue}");
}

/// 4 µs each: they are no bottlenecks by their efficiency, and no kernel takes less than 2 µs.
#[test]
fn short_gemms_are_told_by_their_number() {
    let args =
        format!(r#""Input Dims": [[64, 256], [256, 256]], "Input type": ["{BF16}", "{BF16}"]"#);
    let outcome = Calls::new()
        .calls(
            1_500,
            "aten::mm",
            &args,
            "nvjet_tst_64x8_64x16_1x2_h_bz_NNN",
            4,
        )
        .outcome_on("H100", "gemm");
    let [finding] = outcome.findings.as_slice() else {
        panic!("{:?}", outcome.findings);
    };
    assert_eq!(finding.pattern, "many_small_products");
    assert_eq!(finding.impact.unwrap().high_ns, 3_000_000);
}
