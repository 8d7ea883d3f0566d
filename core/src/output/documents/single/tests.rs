//! The documents of small traces.

use pulldown_cmark::{Event, Options, Parser, Tag};

use super::*;
use crate::base::format;
use crate::output::document::markdown;
use crate::report::ReportOptions;
use crate::testing::{Timetable, options_on};

fn written(timetable: Timetable) -> String {
    let profile = timetable.profile();
    let report = Report::new(&profile, &options_on("H100"));
    markdown(&fair(&profile, &report)).replace('\u{202F}', "_")
}

fn section<'a>(report: &'a str, heading: &str) -> &'a str {
    let start = report.find(&format!("## {heading}\n")).unwrap();
    let rest = &report[start..];
    let end = rest[3..].find("\n## ").map_or(rest.len(), |end| end + 3);
    rest[..end].trim_end()
}

fn small() -> Timetable {
    Timetable::new()
        .op("aten::mm", 0..10)
        .args(r#""Input Dims": [[512, 512], [512, 512]], "Input type": ["c10::BFloat16", "c10::BFloat16"]"#)
        .launch(1, 1..2)
        .launch(2, 3..4)
        .op("aten::copy_", 10..20)
        .launch(3, 11..12)
        .kernel(1, "sm90_gemm", 100..3_000)
        .kernel(2, "sm90_gemm", 3_000..6_000)
        .copy(3, "Memcpy HtoD (Pinned -> Device)", 6_100..6_200)
}

#[test]
fn the_summary_comes_first() {
    let report = written(small());
    let lines: Vec<&str> = report.lines().collect();
    assert_eq!(lines[0], "# Workload - NVIDIA H100 SXM Standalone Analysis");
    assert_eq!(lines[2], "## Executive Summary");
    assert!(
        lines[4]
            .starts_with("The GPU is busy 98.4 % of 6.10 ms; GEMM takes 98.3 % of the busy time."),
        "{}",
        lines[4]
    );
    assert_eq!(
        lines[6..15],
        [
            "| Metric | Value |",
            "| --- | ---: |",
            "| Total Compute Time | 5.90 ms |",
            "| GPU Utilization | 96.7 % |",
            "| Exposed Communication | 0 % |",
            "| Exposed Memory Copies | 1.6 % |",
            "| Idle Time | 1.6 % |",
            "| Total Time | 6.10 ms |",
            "| Top Bottleneck Category | GEMM (100 % of compute) |",
        ]
    );
    assert!(report.contains("| 1 | `aten::mm` | 5.90 ms | 100 % |"));
}

#[test]
fn a_recommendation_has_both_paths_and_leads_to_its_details() {
    let report = written(small());
    let card = section(&report, "Recommendations");
    assert!(card.contains("### 🔴 Priority 1: "), "{card}");
    for part in [
        "**Issue:** ",
        "**Action:** Model: ",
        " Kernel: ",
        "**Impact:** ",
    ] {
        assert!(card.contains(part), "{part}: {card}");
    }
    let target = card.split("[Details](#").nth(1).unwrap();
    let target = &target[..target.find(')').unwrap()];
    let profile = small().profile();
    let document = fair(&profile, &Report::new(&profile, &options_on("H100")));
    assert!(
        document.headings().any(|(_, _, slug)| slug == target),
        "{target}"
    );
}

#[test]
fn cards_say_what_the_report_says() {
    let profile = small().profile();
    let report = Report::new(&profile, &options_on("H100"));
    let text = markdown(&fair(&profile, &report));
    let cards = cards(&profile, &report);
    assert!(!cards.cards.is_empty() && cards.nothing.is_none());
    for card in &cards.cards {
        let heading = format!(
            "### {} Priority {}: {}",
            card.light.icon(),
            card.ranked.number,
            card.ranked.finding.title
        );
        assert!(text.contains(&heading), "{heading}");
        assert!(text.contains(card.basis), "{}", card.basis);
    }
    let empty = Timetable::new().op("aten::mm", 0..100).profile();
    let report = Report::new(&empty, &options_on("H100"));
    assert_eq!(
        super::cards(&empty, &report).nothing.as_deref(),
        Some("No GPU activity was recorded, so there is nothing to recommend for it.")
    );
}

#[test]
fn the_basis_of_hardware_figures_is_printed() {
    let report = written(small());
    let appendix = section(&report, "Appendix");
    assert!(appendix.contains("| BF16 matrix | 989 TFLOPS | peak |"));
}

#[test]
fn without_gpu_activity_the_cpu_side_is_written() {
    let report = written(Timetable::new().op("aten::mm", 0..100));
    assert!(report.contains("No GPU activity was recorded;"));
    assert!(
        report.contains("| 1 | `aten::mm` | 0.100 ms | 100 % |")
            || report.contains("| 1 | `aten::mm` | 100 µs | 100 % |")
    );
    assert!(section(&report, "Appendix").contains(
        "Record with ProfilerActivity.CUDA, or ProfilerActivity.XPU for Intel GPUs, to see the GPU."
    ));
}

#[test]
fn a_rule_of_thumb_is_called_one() {
    let args = r#""Input Dims": [[8]], "Input type": ["float"]"#;
    let shaped = Timetable::new()
        .op("my::op", 0..10)
        .args(args)
        .launch(1, 1..2)
        .kernel(1, "my_kernel", 100..3_100);
    let report = written(shaped);
    let card = section(&report, "Recommendations");
    assert!(
        card.contains("**Impact:** By rule of thumb 0.450–1.35 ms, 15.0–45.0 % of the run"),
        "{card}"
    );
}

#[test]
fn of_another_gpu_than_the_recorded_one_the_summary_warns_first() {
    let json = r#"{"deviceProperties": [{"name": "NVIDIA H200"}], "traceEvents": [
        {"ph": "X", "cat": "cpu_op", "name": "my::op", "pid": 1, "tid": 1, "ts": 0, "dur": 50, "args": {"External id": 1}},
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 10, "dur": 10, "args": {"correlation": 7}},
        {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 30, "dur": 9000, "args": {"correlation": 7, "stream": 7}}
    ]}"#;
    let profile = Profile::new(crate::import::import(json.as_bytes()).unwrap());
    let text = |gpu| markdown(&fair(&profile, &Report::new(&profile, &options_on(gpu))));
    let other = text("MI300X");
    let words =
        "Recorded on the NVIDIA H200 SXM, judged by the figures of the AMD Instinct MI300X:";
    let first = |heading| section(&other, heading).lines().nth(2).unwrap();
    assert!(first("Executive Summary").starts_with(words), "{other}");
    assert!(
        first("Warnings").starts_with(&format!("- {words}")),
        "{other}"
    );
    assert!(section(&other, "Recommendations").contains(
        "Savings from a roofline are those on the AMD Instinct MI300X, on which this run was not recorded"
    ));
    assert!(!text("H200").contains("on which this run was not recorded"));
}

#[test]
fn without_gpu_times_nothing_is_said_to_be_absent() {
    let profile = Timetable::new()
        .frame("nn.Module: Linear_3", 0..100)
        .op("aten::linear", 1..91)
        .op("aten::mm", 20..80)
        .profile();
    let report = Report::new(&profile, &options_on("H100"));
    let rough = markdown(&rough(&profile, &report));
    assert!(!rough.contains("No GEMM operations"), "{rough}");
    assert!(!rough.contains("No operation has a place"), "{rough}");
    assert!(
        rough.contains("`aten::mm`, called by `aten::linear` ← `Linear_3`"),
        "{rough}"
    );
    assert!(
        rough.contains("Not analyzed. No GPU activity was recorded."),
        "{rough}"
    );
    let fair = markdown(&fair(&profile, &report));
    let details = section(&fair, "Detailed Analysis");
    assert!(details.contains("| GEMM | 90.0 µs | 100 % |"), "{details}");
    assert!(
        !section(&fair, "Appendix").contains("GPU activity counts"),
        "{fair}"
    );
}

/// Names that would be markup, or would break the table.
const HOSTILE: &[&str] = &[
    "a|b",
    "a\\|b\\\\|c\\",
    "`",
    "``x`",
    "a`b``c",
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[click](javascript:alert(1))",
    "![x](http://example.com/x.png)",
    "**bold** _it_ ~~no~~ # head",
    "two\nlines\r\n| and | a | row |",
    "&lt;b&gt; \\",
    "http://example.com <http://example.com>",
];

#[test]
fn hostile_names_stay_text() {
    for name in HOSTILE {
        let timetable = || {
            Timetable::new()
                .op(name, 0..10)
                .launch(1, 1..2)
                .kernel(1, name, 20..50)
        };
        let profile = timetable().profile();
        let report = Report::new(&profile, &options_on("H100"));
        for document in [fair(&profile, &report), rough(&profile, &report)] {
            let text = markdown(&document);
            let mut shown = Vec::new();
            for event in Parser::new_ext(&text, Options::all()) {
                match event {
                    Event::Code(text) => shown.push(text.to_string()),
                    Event::Html(html) | Event::InlineHtml(html) => panic!("{name}: {html}"),
                    Event::Start(Tag::Image { .. }) => panic!("{name}"),
                    Event::Start(Tag::Link { dest_url, .. }) => {
                        assert!(dest_url.starts_with('#'), "{name}: {dest_url}");
                    }
                    _ => {}
                }
            }
            let flat = name.replace(|letter: char| letter.is_control(), " ");
            assert!(
                shown.contains(&format::middle_ellipsis(&flat, 60)),
                "{name}: {text}"
            );
        }
    }
}

/// 2 · 512³ operations on 3 · 512² · 2 bytes are 171 for each byte.
#[test]
fn without_a_gpu_the_intensity_suggests_what_bounds_an_operation() {
    let rough = |options: &ReportOptions| {
        let profile = small().profile();
        let report = Report::new(&profile, options);
        markdown(&super::rough(&profile, &report))
    };
    let without = rough(&ReportOptions::default());
    let row = without
        .lines()
        .find(|line| line.starts_with("| `aten::mm` |") && line.contains("| 5.90 ms |"));
    assert!(
        row.is_some_and(|row| row.contains("| 171 | – | rather compute |")),
        "{row:?}"
    );
    let with = rough(&options_on("H100"));
    let row = with
        .lines()
        .find(|line| line.starts_with("| `aten::mm` |") && line.contains("| 5.90 ms |"));
    assert!(row.is_some_and(|row| !row.contains("compute |")), "{row:?}");
}

/// To learn how much work an operation is saves nothing by itself, however long it runs.
#[test]
fn what_is_not_known_is_not_the_first_thing_to_do() {
    let with_unknown = |timetable: Timetable| {
        written(
            timetable
                .op("my::op", 20..30)
                .args(r#""Input Dims": [[8]], "Input type": ["float"]"#)
                .launch(9, 21..22)
                .kernel(9, "my_kernel", 6_300..106_300),
        )
    };
    let alone = with_unknown(Timetable::new());
    assert!(alone.contains("`my::op`: no FLOP/byte model"));
    assert!(!alone.contains("First to do"));
    let beside = with_unknown(small());
    let (_, first) = beside.split_once("First to do: ").unwrap();
    assert!(!first.starts_with("`my::op`"), "{first}");
}
