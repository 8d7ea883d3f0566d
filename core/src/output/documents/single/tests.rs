//! The documents of small traces.

use pulldown_cmark::{Event, Options, Parser, Tag};

use super::*;
use crate::output::documents::Documents;
use crate::output::markup::markdown;
use crate::report::ReportOptions;
use crate::report::cards::{Light, asides};
use crate::testing::{Timetable, options_on};

const MM: &str =
    r#""Input Dims": [[512, 512], [512, 512]], "Input type": ["c10::BFloat16", "c10::BFloat16"]"#;
const VECTOR: &str = r#""Input Dims": [[8]], "Input type": ["float"]"#;

type Write = fn(&Input) -> Document;

fn text(profile: &Profile, options: &ReportOptions, write: Write) -> String {
    let report = Report::new(profile, options);
    markdown(&write(&Input::new(profile, &report)))
}

/// The fair document, for an H100.
fn written(timetable: Timetable) -> String {
    text(&timetable.profile(), &options_on("H100"), |input| {
        input.fair()
    })
}

fn assert_contains(text: &str, all: &[&str]) {
    for one in all {
        assert!(text.contains(one), "{one}: {text}");
    }
}

fn says_nothing_of(text: &str, all: &[&str]) {
    for one in all {
        assert!(!text.contains(one), "{one}: {text}");
    }
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
        .args(MM)
        .launched("sm90_gemm", 1..2, 100..3_000)
        .launched("sm90_gemm", 3..4, 3_000..6_000)
        .work(
            "aten::copy_",
            "Memcpy HtoD (Pinned -> Device)",
            6_100..6_200,
        )
}

#[test]
fn the_summary_comes_first() {
    let report = written(small());
    let lines: Vec<&str> = report.lines().collect();
    assert_eq!(lines[0], "# Workload - NVIDIA H100 SXM Standalone Analysis");
    assert_eq!(lines[2], "## Executive Summary");
    let first = "The GPU is busy 98.4 % of 6.10 ms; GEMM takes 98.3 % of the busy time.";
    assert!(lines[4].starts_with(first), "{}", lines[4]);
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
    assert_contains(&report, &["| 1 | `aten::mm` | 5.90 ms | 100 % |"]);
    // The basis of hardware figures is printed.
    let appendix = section(&report, "Appendix");
    assert_contains(appendix, &["| BF16 matrix | 989 TFLOPS | peak |"]);
}

#[test]
fn a_recommendation_has_both_paths_and_leads_to_its_details() {
    let profile = small().profile();
    let report = Report::new(&profile, &options_on("H100"));
    let document = Input::new(&profile, &report).fair();
    let text = markdown(&document);
    let card = section(&text, "Recommendations");
    let issue = ["### 🔴 Priority 1: ", "**Issue:** ", "**Action:** Model: "];
    assert_contains(card, &issue);
    assert_contains(card, &[" Kernel: ", "**Impact:** "]);
    let target = card.split("[Details](#").nth(1).unwrap();
    let target = &target[..target.find(')').unwrap()];
    let mut headings = document.headings();
    assert!(headings.any(|(_, _, slug)| slug == target), "{target}");
    let findings = report.analyses.findings.ranked.iter();
    for ranked in findings {
        let icon = Light::of(ranked.finding.priority).icon;
        let heading = format!(
            "### {icon} Priority {}: {}",
            ranked.number, ranked.finding.title
        );
        assert_contains(&text, &[&heading]);
    }
    assert_eq!(asides(&profile, &report).nothing, None);
    let empty = Timetable::new().op("aten::mm", 0..100).profile();
    let report = Report::new(&empty, &options_on("H100"));
    assert_eq!(
        asides(&empty, &report).nothing.as_deref(),
        Some("No GPU activity was recorded, so there is nothing to recommend for it.")
    );
}

#[test]
fn without_gpu_activity_the_cpu_side_is_written() {
    let report = written(Timetable::new().op("aten::mm", 0..100));
    assert_contains(
        &report,
        &[
            "No GPU activity was recorded;",
            "| 1 | `aten::mm` | 100 µs | 100 % |",
        ],
    );
    assert_contains(
        section(&report, "Appendix"),
        &[
            "Record with ProfilerActivity.CUDA, or ProfilerActivity.XPU for Intel GPUs, to see the GPU.",
        ],
    );
}

#[test]
fn a_rule_of_thumb_is_called_one() {
    let report = written(Timetable::new().call("my::op", VECTOR, "my_kernel", 100..3_100));
    assert_contains(
        section(&report, "Recommendations"),
        &["**Impact:** By rule of thumb 0.450–1.35 ms, 15.0–45.0 % of the run"],
    );
}

#[test]
fn of_another_gpu_than_the_recorded_one_the_summary_warns_first() {
    let json =
        small()
            .json()
            .replacen('{', r#"{"deviceProperties": [{"name": "NVIDIA H200"}],"#, 1);
    let profile = Profile::new(crate::import::import(json.as_bytes()).unwrap());
    let other = text(&profile, &options_on("MI300X"), |input| input.fair());
    let words =
        "Recorded on the NVIDIA H200 SXM, compared with the roofline of the AMD Instinct MI300X:";
    let first = |heading| section(&other, heading).lines().nth(2).unwrap();
    assert!(first("Executive Summary").starts_with(words), "{other}");
    assert!(
        first("Warnings").starts_with(&format!("- {words}")),
        "{other}"
    );
    let not_here = "on which this run was not recorded";
    let savings =
        format!("Savings from a roofline are those on the AMD Instinct MI300X, {not_here}");
    assert_contains(section(&other, "Recommendations"), &[&savings]);
    says_nothing_of(
        &text(&profile, &options_on("H200"), |input| input.fair()),
        &[not_here],
    );
}

#[test]
fn without_gpu_times_nothing_is_said_to_be_absent() {
    let profile = Timetable::new()
        .frame("nn.Module: Linear_3", 0..100)
        .op("aten::linear", 1..91)
        .op("aten::mm", 20..80)
        .profile();
    let rough = text(&profile, &options_on("H100"), |input| input.rough());
    says_nothing_of(&rough, &["No GEMM operations", "No operation has a place"]);
    assert_contains(
        &rough,
        &["`aten::mm`, called by `aten::linear` ← `Linear_3`"],
    );
    assert_contains(&rough, &["Not analyzed. No GPU activity was recorded."]);
    let fair = text(&profile, &options_on("H100"), |input| input.fair());
    assert_contains(
        section(&fair, "Detailed Analysis"),
        &["| GEMM | 90.0 µs | 100 % |"],
    );
    says_nothing_of(section(&fair, "Appendix"), &["GPU activity counts"]);
}

/// Names that would be markup, or would break a table.
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
        let profile = Timetable::new().work(name, name, 20..50).profile();
        let writes: [Write; 2] = [|input| input.fair(), |input| input.rough()];
        for write in writes {
            let text = text(&profile, &options_on("H100"), write);
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
            let flat = format::middle_ellipsis(&flat, 60);
            assert!(shown.contains(&flat), "{name}: {text}");
        }
    }
}

/// A kernel without a launching call; its name starts with 60 characters that say nothing.
#[test]
fn kernels_are_told_apart_and_what_a_sheet_leaves_out_is_said() {
    let long = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)";
    let known = || small().op("aten::mm", 20..30).args(MM);
    let both: [Write; 2] = [|input| input.fair(), |input| input.rough()];
    let [fair, rough] = both.map(|write| {
        let profile = known().kernel(900, long, 6_300..16_300).profile();
        text(&profile, &options_on("H100"), write)
    });
    let short = "`vectorized_elementwise_kernel<4, CUDAFunctor_add<float>>`";
    assert_contains(&fair, &[&format!("- {short}: 10.0 ms in 1 call")]);
    assert_contains(
        &fair,
        &["- `aten::mm` (512×512, 512×512 bf16): 5.90 ms in 1 call"],
    );
    let part = "This sheet only counts GPU activity of known launching calls";
    assert_contains(&rough, &[&format!("| {short} | 10.0 ms |"), part]);
    let rough = text(&known().profile(), &options_on("H100"), |input| {
        input.rough()
    });
    says_nothing_of(&rough, &[part]);
}

/// 2 · 512³ operations on 3 · 512² · 2 bytes are 171 per byte.
#[test]
fn without_a_gpu_the_intensity_suggests_what_bounds_an_operation() {
    let row = |options: &ReportOptions| {
        let rough = text(&small().profile(), options, |input| input.rough());
        let mut rows = rough
            .lines()
            .filter(|line| line.starts_with("| `aten::mm` |"));
        rows.find(|line| line.contains("| 5.90 ms |"))
            .unwrap()
            .to_owned()
    };
    assert_contains(
        &row(&ReportOptions::default()),
        &["| 171 | – | rather compute |"],
    );
    says_nothing_of(&row(&options_on("H100")), &["compute |"]);
}

/// Finding out how much work an operation does saves nothing by itself, no matter how long it runs.
#[test]
fn what_is_not_known_is_not_the_first_thing_to_do() {
    let with_unknown = |timetable: Timetable| {
        written(timetable.call("my::op", VECTOR, "my_kernel", 6_300..106_300))
    };
    let alone = with_unknown(Timetable::new());
    assert_contains(&alone, &["`my::op`: no FLOP/byte model"]);
    says_nothing_of(&alone, &["First to do"]);
    let among_others = with_unknown(small());
    let (_, first) = among_others.split_once("First to do: ").unwrap();
    assert!(!first.starts_with("`my::op`"), "{first}");
}
