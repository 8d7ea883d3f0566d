//! Findings about the steps of serving engines and diffusion pipelines, in real traces.

use dormer_core::findings::Finding;
use dormer_core::profile::Profile;
use dormer_core::report::Report;

use crate::serving::captured;
use crate::support::opened::{profile, report};
use crate::support::shared;

/// The reports of a trace without and with its capture.
fn both(name: &str) -> Option<[Report; 2]> {
    let alone = profile(shared::serving(name)?);
    let merged = captured(name)?;
    Some([&alone, &merged].map(|profile: &Profile| report(profile)))
}

fn found<'a>(report: &'a Report, pattern: &str) -> Option<&'a Finding> {
    let ranked = report.analyses.findings.ranked.iter();
    let mut all = ranked.map(|one| &one.finding);
    all.find(|one| one.pattern == pattern)
}

/// The time of a finding and its maximum saving, in microseconds; 0 if unknown.
fn figures(report: &Report, pattern: &str) -> Option<(i64, i64)> {
    let finding = found(report, pattern)?;
    let most_ns = finding.impact.map_or(0, |impact| impact.high_ns);
    Some(((finding.time_ns + 500) / 1_000, (most_ns + 500) / 1_000))
}

#[track_caller]
fn says(report: &Report, pattern: &str, parts: &[&str]) {
    let finding = found(report, pattern).unwrap_or_else(|| panic!("no {pattern}"));
    let text = [&*finding.issue, &finding.model, &finding.reasoning.concat()].join(" ");
    let text = text.replace('\u{202f}', " ");
    for part in parts {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
}

/// No finding saves more than the run, or than the time that it is about.
#[track_caller]
fn holds_to_its_times(report: &Report) {
    let total_ns = report.overview.total_ns.unwrap();
    for one in &report.analyses.findings.ranked {
        let Some(impact) = one.finding.impact else {
            continue;
        };
        let most_ns = one.finding.time_ns.min(total_ns);
        assert!(impact.high_ns <= most_ns, "{}", one.finding.title);
        assert!(impact.low_ns <= impact.mid_ns && impact.mid_ns <= impact.high_ns);
    }
    let mids = report.analyses.findings.ranked.iter();
    let mids: Vec<i64> = mids
        .map(|one| one.finding.impact.map_or(-1, |impact| impact.mid_ns))
        .collect();
    assert!(mids.is_sorted_by(|one, next| one >= next), "{mids:?}");
    let rooflines = report.evaluations.iter().filter_map(|one| one.achieved);
    for achieved in rooflines {
        assert!(achieved.percent_of_roofline <= 100.0, "{achieved:?}");
    }
    let all = report.analyses.findings.ranked.iter();
    for one in all {
        let said = format!("{}{}", one.finding.issue, one.finding.reasoning.concat());
        assert!(!said.contains("99.8"), "{said}");
    }
}

#[test]
fn what_a_decode_step_could_do_better() {
    let Some([alone, merged]) = both("vllm_decode_full") else {
        return;
    };
    for report in [&alone, &merged] {
        holds_to_its_times(report);
        // 421 · 4.4 µs; 955 µs in 24 layers, each of which keeps one kernel.
        assert_eq!(figures(report, "fixed_kernel_cost").unwrap().0, 1_852);
        let said = [
            "421 kernels",
            "4.40 µs",
            "up to 1.85 ms for 421 kernels, 17.8 % of the replays",
        ];
        says(report, "fixed_kernel_cost", &said);
        assert_eq!(figures(report, "moe_routing_chain"), Some((955, 850)));
        says(
            report,
            "moe_routing_chain",
            &["955 µs", "24 in a graph replay"],
        );
        // The LM head.
        assert_eq!(figures(report, "nothing_to_gain"), Some((277, 0)));
        says(report, "nothing_to_gain", &["4.23 TB/s", "79.9 %"]);
        for pattern in ["graph_padding", "slow_graph_launch", "piecewise_decode"] {
            assert_eq!(figures(report, pattern), None, "{pattern}");
        }
    }
    let flag = "`--profiler-config.capture_torch_profiler True";
    let unsure = ["unknown_in_graphs", "shapes_without_capture"];
    let reported = unsure.iter().find(|key| found(&alone, key).is_some());
    says(&alone, reported.unwrap(), &[flag, "`--capture`"]);
    for key in unsure {
        assert_eq!(figures(&merged, key), None);
    }
    // All but one of 23 conversions of 12.7 µs.
    assert_eq!(figures(&merged, "batch_independent_work"), Some((292, 280)));
    says(
        &merged,
        "batch_independent_work",
        &["131072×64", "23 calls of 12.7 µs"],
    );
    // 2.80 of 10.74 ms.
    let floor = found(&merged, "decode_memory_floor").unwrap();
    let [percent, most_ms] = [
        floor.efficiency_percent.unwrap(),
        floor.impact.unwrap().high_ns as f64 / 1e6,
    ];
    assert!((25.9..26.3).contains(&percent), "{percent}");
    // Of 7.95 ms above that, other findings save at least 3.26.
    assert!((4.6..4.8).contains(&most_ms), "{most_ms}");
    says(
        &merged,
        "decode_memory_floor",
        &[
            "14.8 GB",
            "weights 13.4 GB",
            "KV cache 1.47 GB",
            "2.80 ms",
            "10.7 ms",
        ],
    );
    let first = &merged.analyses.findings.ranked[0].finding;
    assert_eq!(first.pattern, "decode_memory_floor");
    // 2.12 ms are 19.7 % of the step.
    let slower = figures(&merged, "slower_expert_gemm").unwrap().1;
    assert!((2_115..2_125).contains(&slower), "{slower}");
    // 3072 · 2944 for 2880 · 2880: 9.0 % more, a twelfth of 7.03 ms.
    let padded = [
        "padded to hidden size 3072 and inner size 2944",
        "9.0 % more bytes",
    ];
    says(&merged, "padded_expert_weights", &padded);
    let padded = figures(&merged, "padded_expert_weights").unwrap().1;
    assert!((580..588).contains(&padded), "{padded}");
    // The first expert GEMM reads weights: fusing both would save almost nothing.
    assert_eq!(figures(&merged, "unfused_experts"), None);
    // All savings together are less than the step's time above its floor.
    let together = merged.analyses.findings.together.unwrap();
    assert!(together.high_ns < 7_946_000, "{together:?}");
}

#[test]
fn what_a_diffusion_pipeline_could_do_better() {
    let Some([alone, merged]) = both("xdit_flux_sage") else {
        return;
    };
    for report in [&alone, &merged] {
        holds_to_its_times(report);
        let said = ["1 653 kernels take less than 6.00 µs", "7.82 ms (4.6 %)"];
        says(report, "fixed_kernel_cost", &said);
        // 684 · 4.52 µs, three in each of 57 blocks.
        assert_eq!(figures(report, "one_element_kernels"), Some((3_093, 3_093)));
        says(
            report,
            "one_element_kernels",
            &["684 calls of 4.52 µs", "171 in a graph replay"],
        );
        // The text encoders.
        says(
            report,
            "cpu_bound_beside_graphs",
            &["25.2 ms (11.1 % of the run)", "24.9 ms of 50.1 ms"],
        );
        let (idle_us, _) = figures(report, "cpu_bound_beside_graphs").unwrap();
        assert!((24_900..25_200).contains(&idle_us), "{idle_us}");
        assert_eq!(figures(report, "launch_bound"), None);
        // 14.5 and 10.0 ms.
        assert_eq!(figures(report, "costly_quantization"), Some((24_508, 0)));
        says(
            report,
            "costly_quantization",
            &["63.7 µs", "43.8 µs", "228 calls"],
        );
        assert_eq!(figures(report, "decode_memory_floor"), None);
    }
    says(&alone, "unknown_in_graphs", &["`--profile_capture_phase`"]);
    says(&merged, "one_element_kernels", &["one element"]);
    // 76 in each step: 10.73 ms at 48 and 42 % of the memory bandwidth.
    let (time_us, most_us) = figures(&merged, "gemv_of_one_input").unwrap();
    assert_eq!(time_us, 10_735);
    assert!(most_us < time_us / 2, "{most_us}");
    says(&merged, "gemv_of_one_input", &["1×18432×3072", "304 calls"]);
}

/// Traces without graphs have no findings about graphs.
#[test]
fn eager_traces_have_no_findings_of_graphs() {
    let Some(folder) = shared::folder() else {
        return;
    };
    for name in ["sglang_prefilldecode", "xdit_sd35"] {
        let report = report(&profile(shared::trace(&folder, name)));
        for pattern in [
            "fixed_kernel_cost",
            "slow_graph_launch",
            "cpu_bound_beside_graphs",
        ] {
            assert_eq!(figures(&report, pattern), None, "{name}: {pattern}");
        }
    }
}
