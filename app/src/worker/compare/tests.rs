use dormer_core::hardware;
use dormer_core::testing::{Timetable, options_on};
use dormer_core::{Profile, Report, ReportOptions};

use super::*;
use crate::protocol::{Sort, column, sheet};

const MM: &str = r#""Input Dims": [[4096, 4096], [4096, 4096]], "Input type": ["c10::BFloat16", "c10::BFloat16"], "Input Strides": [[4096, 1], [4096, 1]], "Concrete Inputs": ["", ""]"#;
const ADD: &str = r#""Input Dims": [[4096, 4096], [4096, 4096], []], "Input type": ["c10::BFloat16", "c10::BFloat16", "Scalar"], "Input Strides": [[4096, 1], [4096, 1], []], "Concrete Inputs": ["", "", "1"]"#;

/// A GEMM, an addition and one more operation, with the given microseconds.
fn trace(mm: u32, add: u32, other: &str) -> Profile {
    let ends = [1000 + mm, 1000 + mm + add, 1000 + mm + add + 10];
    Timetable::new()
        .call("aten::mm", MM, "gemm", 1000..ends[0])
        .call("aten::add", ADD, "add_kernel", ends[0]..ends[1])
        .work(other, "other_kernel", ends[1]..ends[2])
        .profile()
}

fn compared(reference: &Profile, target: &Profile, options: &ReportOptions) -> Compared {
    let reports = [reference, target].map(|profile| Report::new(profile, options));
    let [one, other] = &reports;
    Compared::new(
        Side::new("before", reference, one),
        Side::new("after", target, other),
    )
}

/// Both on an H100.
fn on_h100(reference: &Profile, target: &Profile) -> Compared {
    compared(reference, target, &options_on("H100"))
}

/// 200 + 100 + 10 microseconds, and 500 + 50 + 10.
fn before_and_after() -> Compared {
    on_h100(&trace(200, 100, "my::old"), &trace(500, 50, "my::new"))
}

fn rows(compared: &mut Compared, sheet: &str, columns: &[&str], only: &[&str]) -> Vec<Vec<String>> {
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    let query = RowsQuery {
        sheet: sheet.to_owned(),
        columns: texts(columns),
        only: texts(only),
        sort: Some(Sort {
            column: column::DIFFERENCE.to_owned(),
            descending: true,
        }),
        count: 100,
        ..RowsQuery::default()
    };
    let rows = compared.rows(&query).rows.into_iter();
    rows.map(|row| row.cells.into_iter().map(|cell| cell.text).collect())
        .collect()
}

#[test]
fn the_first_sentence_is_the_answer() {
    let compared = before_and_after();
    let facts = compared.facts();
    assert_eq!(
        facts.headline,
        "The target takes 560 µs, the reference 310 µs: +250 µs (+80.6 %)."
    );
    // On the same GPU, the same calls should take the same time: 300 µs.
    assert_eq!(
        facts.sentences[0],
        "Both ran on the same GPU, so the same call should take the same time: 2 operations take 550 µs where 300 µs is expected."
    );
    let sides = facts.sides.iter();
    let sides: Vec<String> = sides
        .map(|of| format!("{} {} {} {:.0}", of.role, of.name, of.total, of.percent))
        .collect();
    assert_eq!(
        sides,
        ["Reference before 310 µs 55", "Target after 560 µs 100"]
    );
}

#[test]
fn the_steps_lead_from_one_time_to_the_other() {
    let compared = before_and_after();
    let facts = compared.facts();
    let steps: Vec<(&str, &str, &str)> = facts
        .steps
        .iter()
        .map(|step| (&*step.label, &*step.kind, &*step.difference))
        .collect();
    // The first is about `aten::mm`, the first of the operations of both.
    assert_eq!(facts.steps[1].row, Some((sheet::OPERATIONS.to_owned(), 0)));
    assert_eq!(steps.first(), Some(&("Reference", "total", "310 µs")));
    assert_eq!(steps.last(), Some(&("Target", "total", "560 µs")));
    let by_kind = |kind: &str| -> Vec<&str> {
        let steps = steps.iter().filter(|step| step.1 == kind);
        steps.map(|step| step.2).collect()
    };
    assert_eq!(by_kind("slower"), ["+300 µs", "+10.0 µs"]);
    assert_eq!(by_kind("faster"), ["\u{2212}50.0 µs", "\u{2212}10.0 µs"]);
    // Each starts where the previous one ended; the scale starts at zero, because the steps are large.
    assert_eq!(facts.scale_from, None);
    let first = &facts.steps[1];
    assert_eq!(first.span.0.round() as u32, (310 * 100_u32).div_ceil(610));
    assert_eq!(first.span.1.round() as u32, 100);
}

#[test]
fn a_trace_against_itself_has_no_difference() {
    let trace = trace(200, 100, "my::op");
    let compared = on_h100(&trace, &trace);
    let facts = compared.facts();
    assert_eq!(facts.headline, "No difference: both traces take 310 µs.");
    assert_eq!(facts.sentences, Vec::<String>::new());
    assert_eq!(facts.steps, []);
    let unmatched = |sheet: &str| facts.tables.iter().any(|table| table.key == sheet);
    assert!(!unmatched(sheet::TARGET_ONLY) && !unmatched(sheet::REFERENCE_ONLY));
}

#[test]
fn operations_are_filtered_by_verdict_and_by_category() {
    let mut compared = before_and_after();
    let columns = [
        column::NAME,
        column::VERDICT,
        column::DIFFERENCE,
        column::EXPECTED,
    ];
    let all = rows(&mut compared, sheet::OPERATIONS, &columns, &[]);
    let all: Vec<String> = all.iter().map(|row| row.join(", ")).collect();
    assert_eq!(
        all,
        [
            "aten::mm, unexpected slowdown, 300 µs, 1.00",
            "aten::add, better than predicted, \u{2212}50.0 µs, 1.00"
        ]
    );
    let mut names = |only: &str| -> Vec<String> {
        rows(&mut compared, sheet::OPERATIONS, &columns[..1], &[only]).concat()
    };
    assert_eq!(names("better_than_predicted"), ["aten::add"]);
    assert_eq!(names("gemm"), ["aten::mm"]);
    assert_eq!(names("kernel_issue"), Vec::<String>::new());
    // Rows of one operator differ in them.
    let shapes = rows(
        &mut compared,
        sheet::OPERATIONS,
        &[column::SHAPES],
        &["gemm"],
    );
    assert_eq!(shapes, [["4096×4096, 4096×4096 bf16"]]);
    let verdicts = compared.facts().verdicts;
    let keys: Vec<&str> = verdicts.iter().map(|verdict| &*verdict.key).collect();
    // The most important finding comes first.
    assert_eq!(keys, ["unexpected_slowdown", "better_than_predicted"]);
}

#[test]
fn what_one_trace_alone_has_is_listed_on_its_side() {
    let mut compared = before_and_after();
    let columns = [column::NAME, column::TIME];
    let mut of = |sheet: &str| rows(&mut compared, sheet, &columns, &[]);
    assert_eq!(of(sheet::TARGET_ONLY), [["my::new", "10.0 µs"]]);
    assert_eq!(of(sheet::REFERENCE_ONLY), [["my::old", "10.0 µs"]]);
}

#[test]
fn places_where_the_call_trees_differ_are_described_by_what_either_trace_calls() {
    let (before, after) = (trace(200, 100, "my::old"), trace(200, 100, "my::new"));
    let mut compared = on_h100(&before, &after);
    let columns = [
        column::REFERENCE_CALLS,
        column::TARGET_CALLS,
        column::DIFFERENCE,
    ];
    let places = rows(&mut compared, sheet::PLACES, &columns, &[]);
    assert_eq!(places, [["my::old", "my::new", "0 µs"]]);
}

#[test]
fn without_a_gpu_nothing_is_predicted_on_another_device() {
    let (before, after) = (trace(200, 100, "my::op"), trace(500, 50, "my::op"));
    assert!(hardware::detect(&before.trace.devices).is_none());
    let compared = compared(&before, &after, &ReportOptions::default());
    let facts = compared.facts();
    let keys: Vec<&str> = facts.verdicts.iter().map(|one| &*one.key).collect();
    assert_eq!(keys, ["not_judged"]);
    // The reason is given.
    let sentences = facts.sentences.join(" ");
    assert!(sentences.contains("GPU"), "{sentences}");
}

#[test]
fn a_row_has_everything_in_its_details() {
    let compared = before_and_after();
    let fields = compared.row(sheet::OPERATIONS, 0);
    let value = |label: &str| {
        let known = fields.iter().find(|field| field.label == label);
        known.map(|field| field.value.as_str())
    };
    assert_eq!(value("Name"), Some("aten::mm"));
    assert_eq!(value("Matched by"), Some("all arguments"));
    let kernels = value("Kernels in the target");
    assert_eq!(kernels, Some("gemm (500 µs, 1 time)"));
}

#[test]
fn what_falls_behind_is_a_card_that_leads_to_the_operation() {
    let (before, after) = (trace(200, 100, "my::op"), trace(500, 50, "my::op"));
    let compared = on_h100(&before, &after);
    let findings = compared.facts().findings;
    let card = &findings.cards[0];
    assert_eq!(card.number, 1);
    assert!(card.title.contains("aten::mm"), "{}", card.title);
    // 300 of 560 microseconds, up to 361 if it reaches its roofline.
    let savings = card.savings.as_ref().unwrap();
    assert!(savings.time.starts_with("300–361 µs"), "{}", savings.time);
    let of_run = savings.of_run.as_ref().unwrap();
    assert!(of_run.share.starts_with("53.6–64.5 %"), "{}", of_run.share);
    assert!(
        of_run.speed_up.starts_with("2.15–2.82×"),
        "{}",
        of_run.speed_up
    );
    let evidence = &card.evidence[0];
    assert_eq!(evidence.time, "500 µs, reference 200 µs");
    assert_eq!(after.operations()[0].short_name(&after), "aten::mm");
    assert_eq!(evidence.row, Some(0));
    let same = trace(200, 100, "my::op");
    let compared = on_h100(&same, &same);
    let findings = compared.facts().findings;
    assert_eq!(findings.cards, []);
    assert!(
        findings
            .asides
            .nothing
            .unwrap()
            .starts_with("No difference")
    );
}
