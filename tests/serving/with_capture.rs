//! The operations of graph replays, from a capture of the graph.

use std::collections::BTreeSet;

use dormer_core::base::value::Value;
use dormer_core::report::details::{DetailsSubject, OpDetails};
use dormer_core::report::sheet::Cell;
use dormer_core::report::sheets::ops_summary::OperatorRows;
use dormer_core::trace::Dims;

use super::{captured, fact, is_near, known_percent};
use crate::support::opened::{profile, report};
use crate::support::shared;

/// An operator, sizes of its second argument, calls; mean time in microseconds, TB/s and % of roofline.
type Figures = (&'static str, &'static [i64], usize, f64, f64, f64);

/// The figures of a decode step's operations with a capture: times in microseconds, rates in TB/s.
#[test]
fn the_work_of_a_decode_step_with_its_capture() {
    let Some(profile) = captured("vllm_decode_full") else {
        return;
    };
    let report = report(&profile);
    #[rustfmt::skip]
    let expected: &[Figures] = &[
        ("pseudo_op::moe_triton_unfused_up", &[32, 32], 24, 136.36, 2.231, 42.1),
        ("pseudo_op::moe_triton_unfused_down", &[32, 32], 24, 156.75, 0.973, 18.4),
        ("vllm::unified_attention_with_output", &[32, 8, 64], 12, 46.88, 2.418, 45.6),
        ("vllm::rocm_unquantized_gemm", &[5120, 2880], 24, 16.13, 1.864, 35.2),
        ("vllm::rocm_unquantized_gemm", &[2880, 4096], 24, 15.26, 1.580, 29.8),
        ("vllm::rocm_unquantized_gemm", &[201_088, 2880], 1, 276.68, 4.234, 79.88),
        ("vllm::rocm_unquantized_gemm", &[32, 2880], 24, 8.36, 0.0446, 0.84),
    ];
    for (op, sizes, n, us, rate, percent) in expected {
        let mut all = profile.operations().iter().zip(&report.evaluations);
        let (operation, evaluation) = all
            .find(|(one, _)| {
                let second = one.dims(&profile).get(1);
                let second = second.map(|dims| match dims {
                    Dims::One(id) => profile.trace.args.shape(*id),
                    Dims::Many(_) => &[],
                });
                one.name(&profile) == *op && second == Some(*sizes)
            })
            .unwrap_or_else(|| panic!("no {op} of {sizes:?}"));
        assert_eq!(operation.calls.len(), *n, "{op} {sizes:?}");
        let mean_us = operation.kernel_ns as f64 / 1e3 / *n as f64;
        let bytes = evaluation.work.and_then(|work| work.bytes).unwrap();
        let seen_rate = bytes / mean_us / 1e6;
        let seen_percent = evaluation.achieved.unwrap().percent_of_roofline;
        let seen = [mean_us, seen_rate, seen_percent];
        let all = [*us, *rate, *percent];
        let agree = seen
            .iter()
            .zip(all)
            .all(|(one, other)| is_near(*one, other));
        assert!(agree, "{op} {sizes:?}: {seen:?} for {all:?}");
    }
    // The layers with sliding windows, half of all; the window is known from the confirmed model's sizes.
    let mut all = profile.operations().iter().zip(&report.evaluations);
    let (windowed, evaluation) = all.find(|(one, _)| one.sees_window).unwrap();
    let mean_us = windowed.kernel_ns as f64 / 1e3 / 12.0;
    assert!(
        windowed.calls.len() == 12 && is_near(mean_us, 13.48),
        "{mean_us}"
    );
    assert_eq!(evaluation.work.unwrap().bytes, Some(8_912_896.0));
    let percent = evaluation.achieved.unwrap().percent_of_roofline;
    assert!((percent - 12.5).abs() < 0.1, "{percent}");
    // Weights and KV cache at memory bandwidth.
    let serving = report.overview.serving.as_ref().unwrap();
    assert_eq!(fact(serving, "Model"), "gpt-oss-20b");
    assert_eq!(fact(serving, "Memory floor"), "2.80 ms, 26.0 % of the step");
    assert!(known_percent(&profile) >= 97.0);
    let traffic = fact(serving, "Memory traffic");
    for part in [
        "about 14.8 GB",
        "13.4 GB of weights",
        "1.47 GB in attention",
    ] {
        assert!(traffic.contains(part), "{traffic}");
    }
    assert!(fact(serving, "Launches").starts_with("full graph: 1 graph replay"));
    // At the rate of the first one, the second expert GEMM takes 2.12 ms less, a fifth of the step.
    let mut ranked = report.analyses.findings.ranked.iter();
    let slower = ranked.find(|one| one.finding.pattern == "slower_expert_gemm");
    let saved_ns = slower.unwrap().finding.impact.unwrap().high_ns;
    assert!(is_near(saved_ns as f64, 2.12e6), "{saved_ns}");
}

/// Shares of busy time, with and without a capture; the router's GEMM is among the experts.
#[test]
fn categories_of_a_decode_step_do_not_depend_on_its_capture() {
    let (Some(merged), Some(alone)) = (
        captured("vllm_decode_full"),
        shared::serving("vllm_decode_full"),
    ) else {
        return;
    };
    for profile in [merged, self::profile(alone)] {
        let report = report(&profile);
        // Tenths of a percent.
        let share = |key: &str| {
            let outcome = report.analyses.outcome(key).unwrap();
            let busy_ns = report.overview.busy_ns.unwrap();
            (outcome.time_ns * 1000 + busy_ns / 2) / busy_ns
        };
        let shares = ["moe", "sdpa_fwd", "gemm", "norm"].map(share);
        assert_eq!(shares, [745, 80, 96, 31]);
        let rope = fact(report.overview.serving.as_ref().unwrap(), "RoPE");
        for part in ["4.1 % of the busy time", "2.7 % in the 23 type conversions"] {
            assert!(rope.contains(part), "{rope}");
        }
        // The roles of MoE kernels, in microseconds, and their share of busy time.
        let moe = report.analyses.outcome("moe").unwrap();
        let roles = moe
            .tables
            .iter()
            .find(|table| table.key == "roles")
            .unwrap();
        let us = |value: &Value| match value {
            Value::Ns(ns) => (*ns as f64 / 100.0).round() / 10.0,
            _ => 0.0,
        };
        let rows = roles.rows.iter();
        let rows: Vec<(String, f64)> = rows.map(|row| (row[0].text(), us(&row[2]))).collect();
        let expected = [
            ("GEMM2 (down)", 3761.9),
            ("GEMM1 (gate-up)", 3272.7),
            ("sort and align", 375.1),
            ("router", 200.7),
            ("combine", 136.9),
            ("pad and quantize", 122.6),
            ("top-k", 119.8),
        ];
        assert_eq!(rows, expected.map(|(role, us)| (role.to_owned(), us)));
    }
}

/// With a capture, an operator has a row for each module around its calls: the details of a row cover only the calls of
/// that row.
#[test]
fn the_details_of_an_operator_are_about_the_calls_of_its_row() {
    let Some(profile) = captured("xdit_flux_sage") else {
        return;
    };
    let report = report(&profile);
    let sheet = report.sheet(&profile, "ops_summary").unwrap();
    let [name, count] = ["name", "Count"].map(|label| sheet.column(label).unwrap());
    let rows = OperatorRows::of(&profile);
    assert_eq!(rows.0.len(), sheet.rows.len());
    let mut names = BTreeSet::new();
    for (at, row) in sheet.rows.iter().enumerate() {
        let details = OpDetails::new(&profile, &report, DetailsSubject::Operator(at)).unwrap();
        assert_eq!(row[name], Cell::Text(details.name.clone()), "row {at}");
        assert_eq!(
            row[count],
            Cell::Int(rows.0[at].calls.len() as i64),
            "row {at}"
        );
        names.insert(details.name);
    }
    assert!(
        names.len() < sheet.rows.len(),
        "no operator has several rows"
    );
}
