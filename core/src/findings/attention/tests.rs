//! Each pattern from a trace with one such attention.

use super::super::finding::{Estimate, Finding, Impact};
use super::super::samples::Calls;
use super::*;
use crate::report::{Report, ReportOptions};
use crate::testing::{Timetable, options_on};

/// The outcome of one of the two analyses.
fn outcome_of(key: &str, profile: &Profile, options: &ReportOptions) -> Outcome {
    let report = Report::new(profile, options);
    report.analyses.outcome(key).unwrap().clone()
}

fn patterns(outcome: &Outcome) -> Vec<&'static str> {
    let findings = outcome.findings.iter();
    findings.map(|finding| finding.pattern).collect()
}

fn verdict(outcome: &Outcome) -> String {
    outcome.tables[0].rows[0][7].text()
}

/// `aten::_scaled_dot_product_flash_attention` over `dims`, `us` long, on an MI300X.
fn flash(dims: [u64; 4], us: f64) -> Outcome {
    let [b, h, n, d] = dims;
    fused(
        "aten::_scaled_dot_product_flash_attention",
        &format!("[[{b}, {h}, {n}, {d}], [{b}, {h}, {n}, {d}], [{b}, {h}, {n}, {d}], [], []]"),
        "c10::BFloat16",
        us,
    )
}

fn fused(op: &str, dims: &str, dtype: &str, us: f64) -> Outcome {
    let profile = Timetable::new()
        .op(op, 0..10)
        .args(&format!(
            r#""Input Dims": {dims}, "Input type": ["{dtype}", "{dtype}", "{dtype}", "", "", "", ""], "Concrete Inputs": ["", "", "", "0.0", "False", "", ""]"#
        ))
        .launch(1, 1..2)
        .kernel(1, "attn_fwd", 100.0..100.0 + us)
        .profile();
    outcome_of("sdpa_fwd", &profile, &options_on("MI300X"))
}

#[test]
fn efficiency_is_measured_by_the_band_of_its_length() {
    // 8 · 16 · 4096² = 2 147 483 648 scores of 256 operations each take 776.5 µs at 708 TFLOPS.
    let at = |us: f64| flash([8, 16, 4096, 64], us);
    let usual = at(776.5 / 0.6);
    assert!((usual.efficiency_percent().unwrap() - 60.0).abs() < 0.01);
    assert_eq!(verdict(&usual), "as usual");
    assert_eq!(patterns(&usual), [""; 0]);
    let below = at(776.5 / 0.4);
    assert_eq!(verdict(&below), "below");
    assert_eq!(patterns(&below), ["below_usual_efficiency"]);
    // From 40 % to 50, 60 and 70 % of the roof: 1 − 40/50, 1 − 40/60, 1 − 40/70 of 1 941 µs.
    let impact = below.findings[0].impact.unwrap();
    assert_eq!(impact.estimate, Estimate::Usual);
    for (won, percent) in [
        (impact.low_ns, 50.0),
        (impact.mid_ns, 60.0),
        (impact.high_ns, 70.0),
    ] {
        let expected = 776.5e3 / 0.4 * (1.0 - 40.0 / percent);
        assert!((won as f64 - expected).abs() < 100.0, "{impact:?}");
    }
}

#[test]
fn short_sequences_are_no_bottleneck_unless_far_below() {
    // 64 · 16 · 512² = 268 435 456 scores, 256 operations each, 97.06 µs at 708 TFLOPS; memory:
    // 4 · 64 · 16 · 512 · 64 elements of 2 bytes at 5.3 TB/s are 50.7 µs.
    let at = |share: f64| flash([64, 16, 512, 64], 97.06 / share);
    assert_eq!(verdict(&at(0.06)), "as usual");
    assert!(at(0.06).findings.is_empty());
    let far_below = at(0.03);
    assert_eq!(patterns(&far_below), ["short_sequences"]);
    assert!(far_below.findings[0].issue.contains("3.0 %"));
}

#[test]
fn uncommon_heads_and_types_are_named() {
    assert_eq!(
        patterns(&flash([8, 16, 4096, 80], 4000.0)),
        ["head_dimension"]
    );
    let dims = "[[8, 16, 4096, 64], [8, 16, 4096, 64], [8, 16, 4096, 64], [], []]";
    let efficient = "aten::_scaled_dot_product_efficient_attention";
    let half = fused(efficient, dims, "c10::Half", 9000.0);
    assert_eq!(patterns(&half), ["not_flash"]);
    let float = fused(efficient, dims, "float", 9000.0);
    assert_eq!(patterns(&float), ["wide_precision"]);
    assert!(float.rows[0].class.starts_with("memory-efficient"));
}

#[test]
fn decoding_is_judged_by_the_memory() {
    let dims = "[[32, 32, 1, 128], [32, 8, 8192, 128], [32, 8, 8192, 128], [], []]";
    let op = "aten::_scaled_dot_product_flash_attention";
    // 2 · 32 · 8 · 8192 · 128 elements of 2 bytes are 1.07 GB: 203 µs at 5.3 TB/s.
    let slow = fused(op, dims, "c10::BFloat16", 1000.0);
    assert_eq!(patterns(&slow), ["decode"]);
    assert_eq!(
        slow.rows[0].class,
        "flash, decode, 4 heads for each key head"
    );
    assert_eq!(verdict(&slow), "by the memory bandwidth");
    let fast = fused(op, dims, "c10::BFloat16", 300.0);
    assert!(fast.findings.is_empty());
}

#[test]
fn copies_right_around_it_are_worth_what_they_take() {
    let copy = r#""Input Dims": [[8, 16, 4096, 64], [8, 16, 4096, 64], []], "Input type": ["c10::BFloat16", "c10::BFloat16", "Scalar"]"#;
    let cast = copy.replacen("c10::BFloat16", "float", 1);
    let attention = r#""Input Dims": [[8, 16, 4096, 64], [8, 16, 4096, 64], [8, 16, 4096, 64], [], []], "Input type": ["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "", ""]"#;
    let profile = Timetable::new()
        .op("aten::copy_", 0..2)
        .args(&cast)
        .launch(1, 1..2)
        .op("aten::copy_", 2..4)
        .args(copy)
        .launch(2, 3..4)
        .op("aten::copy_", 4..6)
        .args(copy)
        .launch(3, 5..6)
        .op("aten::_scaled_dot_product_flash_attention", 6..8)
        .args(attention)
        .launch(4, 7..8)
        .op("aten::copy_", 8..10)
        .args(copy)
        .launch(5, 9..10)
        .op("aten::copy_", 10..12)
        .args(copy)
        .launch(6, 11..12)
        .kernel(1, "copy", 100..200)
        .kernel(2, "copy", 200..300)
        .kernel(3, "copy", 300..410)
        .kernel(4, "attn_fwd", 410..1410)
        .kernel(5, "copy", 1410..1530)
        .kernel(6, "copy", 1530..1700)
        .profile();
    let outcome = outcome_of("sdpa_fwd", &profile, &ReportOptions::default());
    assert_eq!(patterns(&outcome), ["contiguous_copies"]);
    // Two before (the cast is none) and one after: 100 + 110 + 120 µs.
    assert_eq!(outcome.findings[0].impact, Some(Impact::measured(330_000)));
    assert_eq!(outcome.get("contiguous_copies"), Some(&Value::Ns(330_000)));
}

/// Two attentions in parts, each: copy of K, bmm, mul, softmax, bmm. `shapes`: as recorded.
fn in_parts(has_shapes: bool) -> Timetable {
    let half = "c10::BFloat16";
    let mut timetable = Timetable::new();
    for n in 0..2_u32 {
        let calls = [
            ("aten::copy_", "[[2, 4, 64, 256], [2, 4, 64, 256]]", 10),
            ("aten::bmm", "[[8, 256, 64], [8, 64, 256]]", 100),
            ("aten::mul", "[[2, 4, 256, 256], []]", 50),
            ("aten::_softmax", "[[2, 4, 256, 256], [], []]", 200),
            ("aten::bmm", "[[8, 256, 256], [8, 256, 64]]", 100),
            ("aten::relu", "[[2, 256, 512]]", 40),
        ];
        let mut at = 1000 * n;
        for (call, (name, dims, us)) in calls.into_iter().enumerate() {
            let (host, id) = (100 * n + 10 * call as u32, 10 * n + call as u32 + 1);
            timetable = timetable.op(name, host..host + 9);
            if has_shapes {
                let second = if dims.ends_with("[]]") {
                    "Scalar"
                } else {
                    half
                };
                timetable = timetable.args(&format!(
                    r#""Input Dims": {dims}, "Input type": ["{half}", "{second}", "Scalar"]"#
                ));
            }
            timetable = timetable.launch(id, host + 1..host + 2).kernel(
                id,
                &format!("kernel_{name}"),
                at..at + us,
            );
            at += us;
        }
    }
    timetable
}

fn unfused(outcome: &Outcome) -> Option<&Finding> {
    let mut findings = outcome.findings.iter();
    findings.find(|finding| finding.pattern == "unfused_attention")
}

#[test]
fn attention_in_parts_is_found_by_its_sizes() {
    let profile = in_parts(true).profile();
    let outcome = outcome_of("sdpa_fwd", &profile, &options_on("MI300X"));
    let finding = unfused(&outcome).unwrap();
    // 10 + 100 + 50 + 200 + 100 µs, twice; the relu behind is none of it.
    assert_eq!(finding.time_ns, 920_000);
    assert_eq!(outcome.get("unfused_attention"), Some(&Value::Ns(920_000)));
    assert_eq!(outcome.time_ns, 0);
    // Q, K, V and the result: 4 · 8 · 256 · 64 elements of 2 bytes at 5.3 TB/s are 198 ns;
    // 2 · 8 · 256² · 128 operations at 708 TFLOPS are 190 ns. Twice, at 5, 10 and 15 %.
    let impact = finding.impact.unwrap();
    let roof_ns = 4.0 * 8.0 * 256.0 * 64.0 * 2.0 / 5300.0;
    for (won, percent) in [
        (impact.low_ns, 5.0),
        (impact.mid_ns, 10.0),
        (impact.high_ns, 15.0),
    ] {
        let expected = 920_000.0 - 2.0 * roof_ns * 100.0 / percent;
        assert!((won as f64 - expected).abs() < 3.0, "{won} {expected}");
    }
    // What is saved is spread over the operations by their time, and no more than that.
    let saved: i64 = finding.savings.iter().map(|(_, ns)| ns).sum();
    assert!((saved - impact.mid_ns).abs() < 10);
    let classes: Vec<(&str, u64)> = outcome
        .rows
        .iter()
        .map(|row| (row.class.as_str(), row.n_calls))
        .collect();
    assert_eq!(
        classes,
        [
            ("unfused: softmax", 2),
            ("unfused: product", 2),
            ("unfused: product", 2),
            ("unfused: scaling", 2),
            ("unfused: copy", 2),
        ]
    );
    for name in [
        "`aten::_softmax`",
        "`aten::bmm`",
        "`aten::mul`",
        "`aten::copy_`",
        "2 times",
    ] {
        assert!(finding.issue.contains(name), "{}", finding.issue);
    }
}

/// The same beside one fused call of 1 ms: the time, the calls and the shares are those of what is
/// attention by itself.
#[test]
fn parts_count_in_no_figure_of_fused_attention() {
    let q = "[8, 16, 4096, 64]";
    let args = format!(
        r#""Input Dims": [{q}, {q}, {q}, [], []], "Input type": ["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "Scalar", "Scalar"], "Concrete Inputs": ["", "", "", "0.0", "False"]"#
    );
    let profile = in_parts(true)
        .op("aten::_scaled_dot_product_flash_attention", 900..910)
        .args(&args)
        .launch(90, 901..902)
        .kernel(90, "attn_fwd", 9_000..10_000)
        .profile();
    let outcome = outcome_of("sdpa_fwd", &profile, &options_on("MI300X"));
    assert_eq!((outcome.time_ns, outcome.n_calls), (1_000_000, 1));
    let shares: Vec<f64> = outcome
        .rows
        .iter()
        .map(|row| row.percent_of_category)
        .collect();
    // One call of 1 ms, and parts of 400, 200, 200, 100 and 20 µs.
    for (share, expected) in shares.iter().zip([100.0, 40.0, 20.0, 20.0, 10.0, 2.0]) {
        assert!((share - expected).abs() < 1e-9, "{shares:?}");
    }
    assert_eq!(shares.len(), 6);
}

#[test]
fn without_a_gpu_what_is_no_product_counts() {
    let profile = in_parts(true).profile();
    let outcome = outcome_of("sdpa_fwd", &profile, &ReportOptions::default());
    let impact = unfused(&outcome).unwrap().impact.unwrap();
    // 10 + 50 + 200 µs, twice, at most.
    assert_eq!(
        impact,
        Impact::at_most(260_000).plus(Impact::at_most(260_000))
    );
}

#[test]
fn without_shapes_the_order_tells() {
    let profile = in_parts(false).profile();
    let outcome = outcome_of("sdpa_fwd", &profile, &options_on("MI300X"));
    let finding = unfused(&outcome).unwrap();
    // The copy before the products may be anything's.
    assert_eq!(finding.time_ns, 900_000);
    assert_eq!(
        finding.impact,
        Some(Impact::heuristic(450_000).plus(Impact::heuristic(450_000)))
    );
}

#[test]
fn a_softmax_over_classes_is_no_attention() {
    let half = r#""Input type": ["c10::BFloat16", "c10::BFloat16", "Scalar"]"#;
    let profile = Timetable::new()
        .op("aten::mm", 0..9)
        .args(&format!(
            r#""Input Dims": [[256, 4096], [4096, 1000]], {half}"#
        ))
        .launch(1, 1..2)
        .op("aten::_softmax", 10..19)
        .args(&format!(r#""Input Dims": [[256, 1000], [], []], {half}"#))
        .launch(2, 11..12)
        .op("aten::mm", 20..29)
        .args(&format!(
            r#""Input Dims": [[256, 1000], [1000, 4096]], {half}"#
        ))
        .launch(3, 21..22)
        .kernel(1, "gemm", 100..200)
        .kernel(2, "softmax", 200..300)
        .kernel(3, "gemm", 300..400)
        .profile();
    let outcome = outcome_of("sdpa_fwd", &profile, &options_on("MI300X"));
    assert_eq!(outcome.status, Status::NoData);
}

#[test]
fn a_backward_pass_in_parts_is_found() {
    let half = r#""Input type": ["c10::BFloat16", "c10::BFloat16", "Scalar"]"#;
    let calls = [
        // dV = Pᵀ·dO, dP = dO·Vᵀ, softmax, scaling, dK and dQ.
        ("aten::bmm", "[[8, 256, 256], [8, 256, 64]]"),
        ("aten::bmm", "[[8, 256, 64], [8, 64, 256]]"),
        (
            "aten::_softmax_backward_data",
            "[[2, 4, 256, 256], [2, 4, 256, 256], []]",
        ),
        ("aten::mul", "[[2, 4, 256, 256], []]"),
        ("aten::bmm", "[[8, 64, 256], [8, 256, 256]]"),
        ("aten::bmm", "[[8, 256, 256], [8, 256, 64]]"),
        ("aten::mm", "[[512, 256], [256, 256]]"),
    ];
    let mut timetable = Timetable::new();
    for (call, (name, dims)) in calls.into_iter().enumerate() {
        let call = call as u32;
        timetable = timetable
            .op(name, 10 * call..10 * call + 9)
            .args(&format!(r#""Input Dims": {dims}, {half}"#))
            .launch(call + 1, 10 * call + 1..10 * call + 2)
            .kernel(call + 1, "k", 1000 + 100 * call..1100 + 100 * call);
    }
    let profile = timetable.profile();
    let options = options_on("MI300X");
    let backward = outcome_of("sdpa_bwd", &profile, &options);
    // All but the product of a layer behind.
    assert_eq!(unfused(&backward).unwrap().time_ns, 600_000);
    assert_eq!(
        outcome_of("sdpa_fwd", &profile, &options).status,
        Status::NoData
    );
}

#[test]
fn the_workload_of_a_serving_engine() {
    let annotation = r#"{"ph": "X", "cat": "user_annotation", "name": "execute_1_context_1(sq96sk96sqsq9216sqsk9216)_generation_4(sq4sk400sqsq4sqsk400)", "pid": 100, "tid": 1, "ts": 0, "dur": 50}"#;
    let served = |write_us: u32, attend_us: u32| {
        Timetable::new()
            .raw(annotation)
            .op("vllm::unified_attention_with_output", 1..10)
            .args(r#""Input Dims": [[100, 32, 128], [100, 8, 128], [100, 8, 128], [100, 4096]], "Input type": ["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "c10::BFloat16"]"#)
            .launch(1, 1..2)
            .launch(2, 3..4)
            .kernel(1, "void vllm::reshape_and_cache_flash_kernel<bf16>", 100..100 + write_us)
            .kernel(2, "kernel_unified_attention_2d", 120..120 + attend_us)
            .profile()
    };
    let profile = served(20, 80);
    let outcome = outcome_of("sdpa_fwd", &profile, &options_on("MI300X"));
    assert_eq!(outcome.get("total_ctx_tokens"), Some(&Value::Count(96)));
    assert_eq!(outcome.get("total_gen_tokens"), Some(&Value::Count(4)));
    assert_eq!(
        outcome.get("profile_type"),
        Some(&Value::Quoted("prefill_heavy".to_owned()))
    );
    // 20 of 100 µs write the cache.
    assert_eq!(
        outcome.get("avg_reshape_cache"),
        Some(&Value::Percent(20.0))
    );
    assert!(patterns(&outcome).contains(&"cache_writes"));
    // What is as short as its launch has few tokens to write.
    let short = outcome_of("sdpa_fwd", &served(9, 20), &options_on("MI300X"));
    assert!(!patterns(&short).contains(&"cache_writes"));
}

#[test]
fn a_backward_pass_is_expected_to_be_less_efficient() {
    let half = "c10::BFloat16";
    let dims = "[8, 4096, 16, 64]";
    let at = |us: f64| {
        let profile = Timetable::new()
            .op("flash_attn::_flash_attn_backward", 0..10)
            .args(&format!(
                r#""Input Dims": [{dims}, {dims}, {dims}, {dims}], "Input type": ["{half}", "{half}", "{half}", "{half}"], "Concrete Inputs": ["", "", "", "", "", "", "", "", "0.0", "", "False"]"#
            ))
            .launch(1, 1..2)
            .kernel(1, "flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel", 100.0..100.0 + us)
            .profile();
        outcome_of("sdpa_bwd", &profile, &options_on("MI300X"))
    };
    // Five products of 2 147 483 648 scores and a width of 64 take 1 941 µs at 708 TFLOPS; 75 % of
    // 50–70 % are 37.5–52.5 %.
    let usual = at(1941.0 / 0.4);
    assert!((usual.efficiency_percent().unwrap() - 40.0).abs() < 0.1);
    assert_eq!(usual.tables[0].rows[0][6].text(), "38–52 %");
    assert_eq!(verdict(&usual), "as usual");
    let below = at(1941.0 / 0.3);
    assert_eq!(patterns(&below), ["below_usual_efficiency"]);
    assert!(below.findings[0].title.ends_with("(backward)"));
}

#[test]
fn packed_sequences_go_by_their_mean_length() {
    let half = "c10::BFloat16";
    let profile = Timetable::new()
        .op("flash_attn::_flash_attn_varlen_forward", 0..10)
        .args(&format!(
            r#""Input Dims": [[8192, 32, 128], [8192, 8, 128], [8192, 8, 128], [9], [9]], "Input type": ["{half}", "{half}", "{half}", "int", "int"], "Concrete Inputs": ["", "", "", "", "", "1024", "1024", "0.0", "", "True"]"#
        ))
        .launch(1, 1..2)
        .kernel(1, "flash_fwd_kernel", 100..1100)
        .profile();
    let outcome = outcome_of("sdpa_fwd", &profile, &options_on("MI300X"));
    let row = &outcome.tables[0].rows[0];
    assert_eq!(row[1].text(), "1×32×8192×128, 8 sequences");
    // 8192 queries of 8 sequences: 1024 each.
    assert_eq!(row[6].text(), "20–40 %");
    assert_eq!(
        outcome.rows[0].class,
        "flash, causal, 4 heads for each key head"
    );
}

#[test]
fn a_kernel_that_pads_says_so_by_its_name() {
    let half = "c10::BFloat16";
    let dims = "[8, 16, 4096, 80]";
    let profile = Timetable::new()
        .op("aten::_scaled_dot_product_flash_attention", 0..10)
        .args(&format!(
            r#""Input Dims": [{dims}, {dims}, {dims}, [], []], "Input type": ["{half}", "{half}", "{half}", "", ""], "Concrete Inputs": ["", "", "", "0.0", "False"]"#
        ))
        .launch(1, 1..2)
        .kernel(1, "void flash_fwd_kernel<Flash_fwd_kernel_traits<96, 64, 64, 4>>", 100..9100)
        .profile();
    let outcome = outcome_of("sdpa_fwd", &profile, &options_on("MI300X"));
    // 16 of 96 are padding.
    let says = |text: &str| {
        let mut sentences = outcome.findings[0].reasoning.iter();
        sentences.any(|sentence| sentence.contains(text))
    };
    assert!(says("up to 96: 16.7 % of its arithmetic is on padding"));
}

#[test]
fn the_framework_s_own_unfused_path_is_told_apart() {
    let half = r#""Input type": ["c10::BFloat16", "c10::BFloat16", "Scalar"]"#;
    let calls = [
        // Q and K are scaled first; a mask is added, which no look-up or fill is.
        ("aten::mul", "[[2, 4, 256, 64], []]"),
        ("aten::mul", "[[2, 4, 64, 256], []]"),
        ("aten::bmm", "[[8, 256, 64], [8, 64, 256]]"),
        ("aten::gather", "[[2, 4, 256, 256], [2, 4, 256, 256]]"),
        ("aten::add_", "[[2, 4, 256, 256], [1, 1, 256, 256]]"),
        ("aten::_softmax", "[[2, 4, 256, 256], [], []]"),
        ("aten::native_dropout", "[[2, 4, 256, 256], []]"),
        ("aten::bmm", "[[8, 256, 256], [8, 256, 64]]"),
    ];
    let mut timetable = Timetable::new()
        .op("aten::scaled_dot_product_attention", 0..100)
        .op("aten::_scaled_dot_product_attention_math", 1..99);
    for (call, (name, dims)) in calls.into_iter().enumerate() {
        let call = call as u32;
        timetable = timetable
            .op(name, 10 * call + 2..10 * call + 9)
            .args(&format!(r#""Input Dims": {dims}, {half}"#))
            .launch(call + 1, 10 * call + 3..10 * call + 4)
            .kernel(call + 1, "k", 1000 + 100 * call..1100 + 100 * call);
    }
    let outcome = outcome_of("sdpa_fwd", &timetable.profile(), &options_on("MI300X"));
    let finding = unfused(&outcome).unwrap();
    assert!(
        finding.model.contains("takes its unfused path"),
        "{}",
        finding.model
    );
    let parts: Vec<(String, String)> = finding.tables[0]
        .rows
        .iter()
        .map(|row| (row[0].text(), row[1].text()))
        .collect();
    let expected = [
        ("softmax", "1"),
        ("matrix products", "2"),
        ("scaling", "2"),
        ("mask", "1"),
        ("dropout", "1"),
    ];
    let expected = expected.map(|(part, n)| (part.to_owned(), n.to_owned()));
    assert_eq!(parts, expected);
}

#[test]
fn a_gpu_without_flash_kernels_is_not_asked_for_one() {
    let dims = "[[8, 16, 4096, 64], [8, 16, 4096, 64], [8, 16, 4096, 64], [], []]";
    let found = |gpu: &str, dtype: &str| {
        let profile = Timetable::new()
            .op("aten::_scaled_dot_product_efficient_attention", 0..10)
            .args(&format!(
                r#""Input Dims": {dims}, "Input type": ["{dtype}", "{dtype}", "{dtype}", "", "", "", ""], "Concrete Inputs": ["", "", "", "0.0", "False", "", ""]"#
            ))
            .launch(1, 1..2)
            .kernel(1, "fmha_cutlassF", 100..90_100)
            .profile();
        let outcome = outcome_of("sdpa_fwd", &profile, &options_on(gpu));
        let finding = outcome.findings[0].clone();
        (finding.pattern, finding.model)
    };
    assert_eq!(found("A100-80GB", "c10::Half").0, "not_flash");
    assert_eq!(found("V100-32GB", "c10::Half").0, "below_usual_efficiency");
    // Nor for BF16, which it does not have.
    let (pattern, model) = found("V100-32GB", "float");
    assert_eq!(pattern, "wide_precision");
    assert!(model.starts_with("run it in FP16 (autocast)"), "{model}");
}

/// 256 requests decode over pages of a cache: how long they are is not in the trace.
#[test]
fn attention_over_pages_of_unknown_length_is_called_that() {
    let pages = "[5000, 16, 8, 128]";
    let profile = Timetable::new()
        .op("_C_cache_ops::reshape_and_cache_flash", 0..10)
        .args(&format!(
            r#""Input Dims": [[256, 8, 128], [256, 8, 128], {pages}, {pages}, [256]], "Input type": ["{0}", "{0}", "{0}", "{0}", "long int"]"#,
            "c10::BFloat16"
        ))
        .launch(1, 1..2)
        .op("_vllm_fa3_C::fwd", 10..20)
        .args(&format!(
            r#""Input Dims": [[256, 32, 128], {pages}, {pages}], "Input type": ["{0}", "{0}", "{0}"]"#,
            "c10::BFloat16"
        ))
        .launch(2, 11..12)
        .kernel(1, "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16>", 100..104)
        .kernel(2, "void cutlass::device_kernel<flash::enable_sm90<>>", 104..60_104)
        .profile();
    let outcome = outcome_of("sdpa_fwd", &profile, &options_on("H100"));
    assert_eq!(patterns(&outcome), ["unmodelled_significant"]);
    let finding = &outcome.findings[0];
    assert!(finding.issue.contains("cache"), "{}", finding.issue);
    assert_eq!(finding.impact, None);
    assert_eq!(
        outcome.get("flash_attention_detected"),
        Some(&Value::Flag(true))
    );
    // What writes the cache has a slot for each token, which are no sequences.
    let sizes: Vec<String> = outcome.tables[0]
        .rows
        .iter()
        .map(|row| row[1].text())
        .collect();
    assert!(
        sizes.iter().all(|sizes| !sizes.contains("255 sequences")),
        "{sizes:?}"
    );
}

/// Sixteen sequences of 512 in a batch of one: measured by their own length, and packed already.
#[test]
fn packed_sequences_in_a_batch_of_one() {
    let q = "[1, 8192, 16, 128]";
    let args = format!(
        r#""Input Dims": [{q}, {q}, {q}, [], [17], [17], [], [], [], [], [], []], "Input type": ["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "", "int", "int", "Scalar", "Scalar", "Scalar", "Scalar", "Scalar", "Scalar"], "Concrete Inputs": ["", "", "", "", "", "", "512", "512", "0.", "0", "False", "0.088"]"#
    );
    let name = "aten::_efficient_attention_forward";
    let of = |us: u32| Calls::new().call(name, &args, "fmha_cutlassF_bf16", us);
    let outcome = of(60_000).outcome_on("H100", "sdpa_fwd");
    let sizes = outcome.tables[0].rows[0][1].text();
    assert_eq!(sizes, "1×16×8192×128, 16 sequences");
    let finding = &outcome.findings[0];
    assert_eq!(finding.pattern, "not_flash");
    assert!(
        !finding.model.contains("packed sequences replace"),
        "{}",
        finding.model
    );
}

/// A decoding kernel whose name says that the keys are split: there is nothing to split.
#[test]
fn split_keys_are_not_advised() {
    let dims = "[[32, 32, 1, 128], [32, 8, 8192, 128], [32, 8, 8192, 128], [], []]";
    let args = format!(
        r#""Input Dims": {dims}, "Input type": ["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "Scalar", "Scalar"], "Concrete Inputs": ["", "", "", "0.", "False"]"#
    );
    let name = "aten::_scaled_dot_product_flash_attention";
    let kernel = |kernel: &str| {
        let calls = Calls::new().call(name, &args, kernel, 60_000);
        let outcome = calls.outcome_on("H100", "sdpa_fwd");
        outcome.findings[0].kernel.clone()
    };
    assert!(kernel("flash_fwd_kernel").starts_with("the keys should be split"));
    assert!(kernel("flash_fwd_splitkv_kernel").starts_with("the keys are split"));
}

/// FlashAttention-2 has the matrix instructions of the generation before Hopper.
#[test]
fn the_flash_kernel_of_the_generation_before_is_named() {
    let model = |gpu: &str, kernel: &str| {
        let args = r#""Input Dims": [[8, 16, 4096, 64], [8, 16, 4096, 64], [8, 16, 4096, 64], [], []], "Input type": ["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "", ""], "Concrete Inputs": ["", "", "", "0.0", "False"]"#;
        let outcome = Calls::new()
            .call(
                "aten::_scaled_dot_product_flash_attention",
                args,
                kernel,
                6_000,
            )
            .outcome_on(gpu, "sdpa_fwd");
        assert_eq!(patterns(&outcome), ["below_usual_efficiency"]);
        outcome.findings[0].model.clone()
    };
    let second = "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128, 128, 4>>";
    assert!(model("H100", second).contains("CUDNN_ATTENTION"));
    assert!(!model("A100-80GB", second).contains("CUDNN_ATTENTION"));
    assert!(!model("H100", "flash::FlashAttnFwdSm90").contains("CUDNN_ATTENTION"));
}
