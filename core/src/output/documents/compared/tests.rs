//! The documents of small comparisons.

use super::*;
use crate::compare::Pair;
use crate::compare::testing::compared;
use crate::output::documents::Documents;
use crate::output::documents::check::Verdict;
use crate::output::markup::{Block, html::html, markdown, plain};
use crate::output::title::of_comparison;
use crate::testing::Timetable;

const MM: &str = r#""Input Dims": [[4096, 4096], [4096, 4096]], "Input type": ["c10::BFloat16", "c10::BFloat16"]"#;

type Gpus = Option<(&'static str, &'static str)>;

/// GEMMs of 137 GFLOP, which take 0.14 ms on an H100 and 0.19 ms on an MI300X at roofline, and
/// a copy of the result.
fn run(us: i32, copy_us: i32) -> Timetable {
    let end = 100 + us;
    Timetable::new()
        .call("aten::mm", MM, "gemm<a|b>", 100..end)
        .work("aten::to", "Memcpy DtoH", end..end + copy_us)
}

fn host() -> Timetable {
    Timetable::new().op("aten::mm", 0..1_000)
}

fn written(reference: &Timetable, target: &Timetable, gpus: Gpus) -> String {
    markdown(&compared(reference, target, gpus).fair())
}

fn assert_contains(text: &str, all: &[&str]) {
    for one in all {
        assert!(text.contains(one), "{one}: {text}");
    }
}

const BOTH: Gpus = Some(("H100", "MI300X"));
const SAME: Gpus = Some(("H100", "H100"));

pub(in crate::output::documents) fn slow() -> Comparison {
    compared(&run(200, 10), &run(600, 310), BOTH)
}

const FIRST: &str =
    "🔴 Priority 1: `aten::mm` 4096×4096, 4096×4096 bf16: slower than the hardware explains";

#[test]
fn the_fair_document_has_its_sections_in_order() {
    let document = compared(&run(200, 10), &run(900, 300), BOTH).fair();
    let headings = |level: u8, word: &str| -> Vec<String> {
        let all = document.headings();
        let found = all.filter(|(of, text, _)| *of == level && text.contains(word));
        found.map(|(_, text, _)| text.to_owned()).collect()
    };
    assert_eq!(
        headings(1, ""),
        ["Workload Performance Comparison: NVIDIA H100 SXM vs AMD Instinct MI300X"]
    );
    assert_eq!(
        headings(2, ""),
        [
            "Executive Summary",
            "Warnings",
            "Recommendations for AMD Instinct MI300X",
            "Detailed Comparison",
            "Appendix",
        ]
    );
    let second = "🔴 Priority 2: More exposed memory copies";
    assert_eq!(headings(3, "Priority"), [FIRST, second]);
}

#[test]
fn a_card_has_gap_action_and_impact() {
    let document = compared(&run(200, 10), &run(900, 10), BOTH).fair();
    let blocks = document.section(FIRST).unwrap().iter();
    let lines: Vec<String> = blocks
        .map(|block| match block {
            Block::Text(spans) => plain(spans),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        lines[0],
        "Gap: The target takes 900 µs on aten::mm, 350 % more than the reference's 200 µs; the hardware predicts 24.3 % less."
    );
    assert!(lines[1].starts_with("Action: Model: ") && lines[1].contains(" Kernel: "));
    // 200 µs · 989.4 ÷ 1307.4 = 151.4 µs are expected by peaks; the roofline is 2·4096³ ÷ 708 TFLOPS = 194 µs.
    assert_eq!(
        lines[2],
        "Impact: Up to 706 µs, 77.6 % of the run of the target, at the roofline of the target. The \
         target cannot go below 194 µs on this hardware. Severity: Critical. Details"
    );
}

#[test]
fn a_trace_against_itself_has_no_difference() {
    let comparison = compared(&run(200, 10), &run(200, 10), SAME);
    assert!(comparison.is_same());
    assert_eq!(comparison.parts.waterfall(5), []);
    assert!(comparison.gaps.ranked.is_empty());
    assert_contains(
        &markdown(&comparison.fair()),
        &[
            "No difference: both traces take ",
            "No difference, so there is nothing to recommend.",
        ],
    );
    assert_contains(&markdown(&comparison.rough()), &["(Rough)"]);
}

/// Calls on another thread change nothing on the GPU.
#[test]
fn what_differs_on_the_cpu_alone_is_no_notable_difference() {
    let other = run(200, 10).thread(9).op("aten::stack", 0..50);
    let comparison = compared(&run(200, 10), &other, SAME);
    assert!(!comparison.is_same());
    let headline = comparison.headline("The target", "the reference");
    assert_eq!(headline, "Both traces take 210 µs. No notable difference.");
}

#[test]
fn whatever_the_traces_lack_the_documents_are_whole() {
    let cpu_only = Timetable::new()
        .op("aten::mm", 0..10)
        .op("aten::add", 20..25);
    let gpu_only = Timetable::new()
        .without_flows()
        .kernel(7, "k<1>", 0..50)
        .kernel(8, "l", 60..90);
    let none = Timetable::new();
    let all = [&run(200, 10), &cpu_only, &gpu_only, &none];
    let pairs = all.iter().flat_map(|one| all.map(|other| (*one, other)));
    for ((reference, target), gpus) in pairs.flat_map(|pair| [(pair, None), (pair, BOTH)]) {
        let comparison = compared(reference, target, gpus);
        for check in comparison.checks() {
            assert!(!matches!(check.verdict, Verdict::Fail(_)), "{check:?}");
        }
        let documents = [
            comparison.fair(),
            comparison.illustrated(),
            comparison.rough(),
        ];
        for document in documents {
            let text = markdown(&document);
            assert!(!text.contains("NaN") && !text.contains("inf "), "{text}");
            let page = html(&document);
            assert!(!page.contains("NaN") && !page.contains("<1>"), "{page}");
        }
        let parts = comparison.parts.parts.iter().map(|part| part.times);
        let sum = parts.fold(Pair::default(), Pair::plus);
        assert_eq!(sum.plus(comparison.parts.rest), comparison.parts.total);
    }
}

#[test]
fn what_a_trace_lacks_is_said() {
    let shapeless = Timetable::new().work("aten::mm", "gemm", 100..480);
    // Two models that have nothing in common.
    let other = Timetable::new().work("my::other", "other", 100..900);
    let full = run(200, 10);
    type Case<'a> = (&'a Timetable, &'a Timetable, Gpus, &'a [&'a str]);
    #[rustfmt::skip]
    let cases: &[Case] = &[
        (&full, &host(), None, &["The target has no GPU activity"]),
        (&host(), &full, None, &["The reference has no GPU activity"]),
        (&host(), &host(), None, &["Neither trace has GPU activity"]),
        (&full, &run(300, 10), None, &["no GPU profile is known for either trace"]),
        (&full, &shapeless, SAME, &["Too little can be compared to find anything", "The target has no shapes"]),
        (&full, &other, None, &["savings are what other work takes longer"]),
    ];
    for (reference, target, gpus, words) in cases {
        assert_contains(&written(reference, target, *gpus), words);
    }
    let text = written(&full, &other, None);
    assert!(!text.contains("All together save"), "{text}");
}

#[test]
fn nothing_about_the_gpu_is_said_of_a_trace_of_the_host() {
    for (reference, target) in [(run(200, 10), host()), (host(), run(200, 10))] {
        let comparison = compared(&reference, &target, Some(("H100", "")));
        assert!(comparison.gaps.ranked.is_empty());
        assert!(comparison.parts.parts.is_empty() && comparison.kernels.is_empty());
        let text = markdown(&comparison.fair());
        for words in [
            " only (",
            "Where the difference comes from",
            "choose one",
            "Idle |",
        ] {
            assert!(!text.contains(words), "{words}: {text}");
        }
        assert_contains(&text, &["Operators by CPU self time"]);
    }
}

#[test]
fn more_calls_are_no_part_of_the_verdict_on_a_call() {
    let twice = run(200, 10).call("aten::mm", MM, "gemm<a|b>", 400..600);
    assert_contains(
        &written(&run(200, 10), &twice, SAME),
        &[
            "A call takes the same time on both. The target makes 2 calls against 1.",
            "| Time | 200 µs | 400 µs | +100 % |  |",
            "| Time of a call | 200 µs | 200 µs | 0 % | Yes: 0 % |",
        ],
    );
}

#[test]
fn a_model_names_the_document_only_where_both_traces_are_of_it() {
    for (reference, target, expected) in [
        (Some("Bert"), Some("Bert"), "Bert Performance Comparison: "),
        (None, Some("Bert"), "Workload Performance Comparison: "),
        (Some("Bert"), None, "Workload Performance Comparison: "),
        (None, None, "Workload Performance Comparison: "),
    ] {
        let mut comparison = slow();
        comparison.sides.reference.model = reference.map(str::to_owned);
        comparison.sides.target.model = target.map(str::to_owned);
        let title = of_comparison(&comparison);
        assert!(title.starts_with(expected), "{title}");
    }
}

/// Findings whose order is not that of their priorities, different numbers of steps, and operations without a partner.
#[test]
fn the_documents_pass_their_checks_whatever_is_found() {
    const CAST: &str =
        r#""Input Dims": [[4096, 4096], [4096, 4096]], "Input type": ["c10::BFloat16", "float"]"#;
    const ROWS: &str = r#""Input Dims": [[4096, 4096], [], []], "Input type": ["c10::BFloat16", "Scalar", "Scalar"], "Concrete Inputs": ["", "-1", "False"]"#;
    let trace = |mm: u32, softmax: u32, steps: u32| {
        let table = Timetable::new()
            .call("aten::mm", MM, "gemm", 100..100 + mm)
            .call("aten::_softmax", ROWS, "softmax", 1_000..1_000 + softmax);
        (0..steps).fold(table, |table, step| {
            let name = format!("ProfilerStep#{step}");
            table.annotation(&name, step * 2_000..step * 2_000 + 1_900)
        })
    };
    let cast = trace(280, 100, 1).call("aten::copy_", CAST, "cast", 1_500..1_600);
    for target in [trace(280, 100, 1), trace(280, 100, 2), cast] {
        let comparison = compared(&trace(200, 40, 1), &target, BOTH);
        assert!(comparison.gaps.ranked.len() >= 2);
        for check in comparison.checks() {
            assert!(!matches!(check.verdict, Verdict::Fail(_)), "{check:?}");
        }
    }
}
