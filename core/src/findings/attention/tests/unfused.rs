//! Attention in separate operations.

use super::*;

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
            ("unfused: GEMM", 2),
            ("unfused: GEMM", 2),
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
fn without_a_gpu_what_is_no_gemm_counts() {
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
    // All but the GEMM of a layer that follows.
    assert_eq!(unfused(&backward).unwrap().time_ns, 600_000);
    assert_eq!(
        outcome_of("sdpa_fwd", &profile, &options).status,
        Status::NoData
    );
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
        ("GEMM", "2"),
        ("scaling", "2"),
        ("mask", "1"),
        ("dropout", "1"),
    ];
    let expected = expected.map(|(part, n)| (part.to_owned(), n.to_owned()));
    assert_eq!(parts, expected);
}
