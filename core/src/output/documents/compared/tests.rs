use super::*;
use crate::compare::Pair;
use crate::compare::testing::sides;
use crate::output::document::{Block, markdown, plain};
use crate::output::documents::check::Verdict;
use crate::output::title::of_comparison as title;
use crate::testing::Timetable;

const MM: &str = r#""Input Dims": [[4096, 4096], [4096, 4096]], "Input type": ["c10::BFloat16", "c10::BFloat16"]"#;

/// GEMMs of 137 GFLOP, which take 0.14 ms on an H100 and 0.19 ms on an MI300X at roofline, and
/// a copy of the result.
fn run(us: i32, copy_us: i32) -> Timetable {
    Timetable::new()
        .op("aten::mm", 0..10)
        .args(MM)
        .launch(1, 1..2)
        .op("aten::to", 10..20)
        .launch(2, 11..12)
        .kernel(1, "gemm<a|b>", 100..100 + us)
        .copy(2, "Memcpy DtoH", 100 + us..100 + us + copy_us)
}

fn compared(reference: &Timetable, target: &Timetable, gpus: Option<(&str, &str)>) -> Comparison {
    sides(reference, target, gpus, |sides| {
        Comparison::new(sides.reference, sides.target)
    })
}

/// A comparison with findings.
pub(in crate::output::documents) fn slow() -> Comparison {
    compared(&run(200, 10), &run(600, 310), Some(("H100", "MI300X")))
}

fn headings(document: &Document, level: u8) -> Vec<String> {
    document
        .headings()
        .filter(|(of, ..)| *of == level)
        .map(|(_, text, _)| text.to_owned())
        .collect()
}

#[test]
fn the_fair_document_has_its_sections_in_order() {
    let comparison = compared(&run(200, 10), &run(900, 300), Some(("H100", "MI300X")));
    let document = fair(&comparison);
    assert_eq!(
        headings(&document, 1),
        ["Workload Performance Comparison: NVIDIA H100 SXM vs AMD Instinct MI300X"]
    );
    assert_eq!(
        headings(&document, 2),
        [
            "Executive Summary",
            "Warnings",
            "Recommendations for AMD Instinct MI300X",
            "Detailed Comparison",
            "Appendix",
        ]
    );
    let cards = headings(&document, 3);
    let cards: Vec<&String> = cards
        .iter()
        .filter(|text| text.contains("Priority"))
        .collect();
    assert_eq!(
        cards,
        [
            "🔴 Priority 1: `aten::mm` 4096 × 4096, 4096 × 4096 bf16: slower than the hardware explains",
            "🟡 Priority 2: More exposed memory copies",
        ]
    );
}

#[test]
fn a_card_has_gap_action_and_impact_and_leads_to_its_details() {
    let comparison = compared(&run(200, 10), &run(900, 10), Some(("H100", "MI300X")));
    let document = fair(&comparison);
    let section = document
        .section("🔴 Priority 1: `aten::mm` 4096 × 4096, 4096 × 4096 bf16: slower than the hardware explains")
        .unwrap();
    let lines: Vec<String> = section
        .iter()
        .map(|block| match block {
            Block::Text(spans) => plain(spans),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        lines[0],
        "Gap: The target takes 900 µs on aten::mm, 350 % more than the reference's 200 µs; from the \
         hardware 39.7 % more would follow."
    );
    assert!(lines[1].starts_with("Action: Model: ") && lines[1].contains(" Kernel: "));
    // 200 µs · 989.4 ÷ 708 = 279.5 µs are expected; the roofline is 2·4096³ ÷ 708 TFLOPS = 194 µs.
    assert_eq!(
        lines[2],
        "Impact: 621 µs, 68.2 % of the run of the target, when it takes as long as predicted; up to \
         706 µs at the roofline of the target. Severity: Critical. Details"
    );
    let slugs: Vec<String> = document.headings().map(|(.., slug)| slug).collect();
    for block in &document.blocks {
        if let Block::Text(spans) = block {
            for span in spans {
                if let crate::output::document::Span::Link { slug, .. } = span {
                    assert!(slugs.contains(slug), "{slug}");
                }
            }
        }
    }
}

#[test]
fn a_trace_against_itself_has_no_difference() {
    let comparison = compared(&run(200, 10), &run(200, 10), Some(("H100", "H100")));
    assert!(comparison.is_same());
    assert_eq!(comparison.parts.waterfall(5), []);
    assert!(comparison.gaps.ranked.is_empty());
    let text = markdown(&fair(&comparison));
    assert!(text.contains("No difference: both traces hold the same work and take the same time."));
    assert!(text.contains("No difference, so there is nothing to recommend."));
    assert!(markdown(&rough(&comparison)).contains("(Rough)"));
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
    for reference in all {
        for target in all {
            for gpus in [None, Some(("H100", "MI300X"))] {
                let comparison = compared(reference, target, gpus);
                for check in checks(&comparison) {
                    assert!(!matches!(check.verdict, Verdict::Fail(_)), "{check:?}");
                }
                for document in [
                    fair(&comparison),
                    illustrated(&comparison),
                    rough(&comparison),
                ] {
                    let text = markdown(&document);
                    assert!(!text.contains("NaN") && !text.contains("inf "), "{text}");
                    let page = crate::output::document::html::html(&document);
                    assert!(!page.contains("NaN") && !page.contains("<1>"), "{page}");
                }
                let total = comparison.parts.total;
                let parts = &comparison.parts.parts;
                let sum = parts
                    .iter()
                    .map(|part| part.times)
                    .fold(Pair::default(), Pair::plus);
                assert_eq!(sum.plus(comparison.parts.rest), total);
            }
        }
    }
}

#[test]
fn what_a_trace_lacks_is_said() {
    let cpu_only = Timetable::new().op("aten::mm", 0..10);
    let says = |reference: &Timetable, target: &Timetable, words: &str| {
        let text = markdown(&fair(&compared(reference, target, None)));
        assert!(text.contains(words), "{text}");
    };
    says(&run(200, 10), &cpu_only, "The target has no GPU activity");
    says(
        &cpu_only,
        &run(200, 10),
        "The reference has no GPU activity",
    );
    says(&cpu_only, &cpu_only, "Neither trace has GPU activity");
    says(
        &run(200, 10),
        &run(300, 10),
        "no GPU profile is known for either trace",
    );
}

#[test]
fn too_little_to_compare_is_said() {
    let shapeless = |us: i32| {
        Timetable::new()
            .op("aten::mm", 0..10)
            .launch(1, 1..2)
            .kernel(1, "gemm", 100..100 + us)
    };
    let text = markdown(&fair(&compared(
        &run(200, 10),
        &shapeless(380),
        Some(("H100", "H100")),
    )));
    assert!(
        text.contains("Too little can be compared to find anything"),
        "{text}"
    );
    assert!(text.contains("The target has no shapes"), "{text}");
    // Two models that have nothing in common.
    let other = Timetable::new()
        .op("my::other", 0..10)
        .launch(1, 1..2)
        .kernel(1, "other", 100..900);
    let text = markdown(&fair(&compared(&run(200, 10), &other, None)));
    assert!(
        text.contains("savings are what other work takes longer"),
        "{text}"
    );
    assert!(!text.contains("All together save"), "{text}");
}

#[test]
fn nothing_about_the_gpu_is_said_of_a_trace_of_the_host() {
    let host = Timetable::new().op("aten::mm", 0..1_000);
    for (reference, target) in [(&run(200, 10), &host), (&host, &run(200, 10))] {
        let comparison = compared(reference, target, Some(("H100", "")));
        assert!(comparison.gaps.ranked.is_empty());
        assert!(comparison.parts.parts.is_empty() && comparison.kernels.is_empty());
        let text = markdown(&fair(&comparison));
        for words in [
            " only (",
            "Where the difference comes from",
            "choose one",
            "Idle |",
        ] {
            assert!(!text.contains(words), "{words}: {text}");
        }
        assert!(text.contains("Operators by CPU self time"), "{text}");
    }
}

#[test]
fn more_calls_are_no_part_of_the_verdict_on_a_call() {
    let twice = run(200, 10)
        .op("aten::mm", 30..40)
        .args(MM)
        .launch(5, 31..32)
        .kernel(5, "gemm<a|b>", 400..600);
    let text = markdown(&fair(&compared(
        &run(200, 10),
        &twice,
        Some(("H100", "H100")),
    )));
    assert!(
        text.contains("A call takes the same time on both. The target makes 2 calls against 1."),
        "{text}"
    );
    assert!(
        text.contains("| Time | 200 µs | 400 µs | +100 % |  |"),
        "{text}"
    );
    assert!(
        text.contains("| Time of a call | 200 µs | 200 µs | 0 % | Yes: 0 % |"),
        "{text}"
    );
}

#[test]
fn a_model_names_the_document_only_where_both_traces_are_of_it() {
    let titled = |reference: Option<&str>, target: Option<&str>| {
        let mut comparison = slow();
        comparison.sides.reference.model = reference.map(str::to_owned);
        comparison.sides.target.model = target.map(str::to_owned);
        title(&comparison)
    };
    assert!(titled(Some("Bert"), Some("Bert")).starts_with("Bert Performance Comparison: "));
    for (reference, target) in [(None, Some("Bert")), (Some("Bert"), None), (None, None)] {
        let title = titled(reference, target);
        assert!(
            title.starts_with("Workload Performance Comparison: "),
            "{title}"
        );
    }
}
