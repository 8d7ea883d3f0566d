//! Every check passes on good documents about one trace, and catches its defect.

use super::*;
use crate::findings::{Finding, Outcome, Priority};
use crate::output::document::{Block, Span};
use crate::output::documents::single::{self, Source};
use crate::profile::Profile;
use crate::report::Report;
use crate::testing::{Timetable, options_on};

/// Two findings about GEMMs, an element-wise operation, a copy.
fn small() -> Timetable {
    Timetable::new()
        .op("aten::bmm", 0..10)
        .args(r#""Input Dims": [[37632, 8, 64], [37632, 64, 8]], "Input type": ["c10::BFloat16", "c10::BFloat16"]"#)
        .launch(1, 1..2)
        .op("aten::mm", 10..20)
        .args(r#""Input Dims": [[4096, 4096], [4096, 4096]], "Input type": ["c10::BFloat16", "c10::BFloat16"]"#)
        .launch(2, 11..12)
        .op("aten::copy_", 20..30)
        .launch(3, 21..22)
        .kernel(1, "Cijk_batched", 100..5_100)
        .kernel(2, "Cijk_gemm", 5_100..9_100)
        .copy(3, "Memcpy HtoD (Pinned -> Device)", 9_200..9_300)
}

/// Above its roofline: 2 · 4096³ operations in 10 µs.
fn anomalous() -> Timetable {
    Timetable::new()
        .op("aten::mm", 0..10)
        .args(r#""Input Dims": [[4096, 4096], [4096, 4096]], "Input type": ["c10::BFloat16", "c10::BFloat16"]"#)
        .launch(1, 1..2)
        .kernel(1, "Cijk_gemm", 100..110)
}

fn of(profile: &Profile, gpu: &str) -> Report {
    Report::new(profile, &options_on(gpu))
}

fn failed(checks: &[Check]) -> Vec<String> {
    checks
        .iter()
        .filter_map(|check| match &check.verdict {
            Verdict::Fail(defects) => Some(format!("{}: {defects}", check.id)),
            _ => None,
        })
        .collect()
}

#[test]
fn good_documents_pass() {
    let profiles = [
        ("small", small().profile()),
        ("above its roof", anomalous().profile()),
        (
            "nothing on the GPU",
            Timetable::new().op("aten::mm", 0..100).profile(),
        ),
        (
            "kernels alone",
            Timetable::new().kernel(1, "gemm", 0..100).profile(),
        ),
        ("no events", Timetable::new().profile()),
    ];
    for (name, profile) in &profiles {
        for gpu in ["H100", "MI300X"] {
            let report = of(profile, gpu);
            let none: [String; 0] = [];
            assert_eq!(
                failed(&single::checks(profile, &report)),
                none,
                "{name} on {gpu}"
            );
        }
    }
}

#[test]
fn what_there_is_nothing_of_is_not_applicable() {
    let profile = Timetable::new().op("aten::mm", 0..100).profile();
    let checks = single::checks(&profile, &of(&profile, "H100"));
    let ids: Vec<&str> = checks
        .iter()
        .filter(|check| matches!(check.verdict, Verdict::NotApplicable(_)))
        .map(|check| check.id)
        .collect();
    assert_eq!(ids, ["V4", "V6", "V7", "V8"]);
}

#[test]
fn the_rough_document_says_how_it_was_checked() {
    let profile = small().profile();
    let rough = single::rough(&profile, &of(&profile, "MI300X"));
    let lines: Vec<String> = rough
        .section("Checks")
        .unwrap()
        .iter()
        .flat_map(read::lines_of)
        .collect();
    // A sentence, the heads, a row each.
    assert_eq!(lines.len(), 2 + RULES.len());
    assert!(lines[2].ends_with(" | pass"), "{}", lines[2]);
    assert!(lines[7].starts_with("V6 | "), "{}", lines[7]);
}

/// A defect: the check that catches it, how the report is changed before the documents are
/// written, and how they are changed after.
struct Defect {
    id: &'static str,
    name: &'static str,
    report: fn(&mut Report),
    documents: fn(&mut Written),
}

fn kept(_: &mut Report) {}
fn as_written(_: &mut Written) {}

/// Changes a text wherever it stands.
fn replace(document: &mut Document, from: &str, to: &str) {
    let mut n = 0;
    let mut change = |text: &mut String| {
        if text.contains(from) {
            *text = text.replace(from, to);
            n += 1;
        }
    };
    let mut change_all = |spans: &mut Vec<Span>| {
        for span in spans {
            match span {
                Span::Text(text) | Span::Bold(text) | Span::Code(text) => change(text),
                Span::Link { slug, .. } => change(slug),
            }
        }
    };
    for block in &mut document.blocks {
        match block {
            Block::Heading { text, .. } => {
                let mut spans = vec![Span::Text(std::mem::take(text))];
                change_all(&mut spans);
                *text = crate::output::document::plain(&spans);
            }
            Block::Text(spans) => change_all(spans),
            Block::Bullets(items) => items.iter_mut().for_each(&mut change_all),
            Block::Table(table) => table.rows.iter_mut().flatten().for_each(&mut change_all),
            Block::Picture { .. } => {}
        }
    }
    assert!(n > 0, "there is no “{from}”");
}

/// Takes out the blocks that read like this.
fn remove(document: &mut Document, start: &str) {
    let n = document.blocks.len();
    document.blocks.retain(|block| {
        !read::lines_of(block)
            .iter()
            .any(|line| line.starts_with(start))
    });
    assert!(document.blocks.len() < n, "there is no “{start}”");
}

/// Adds a sentence to the end of a document.
fn say(document: &mut Document, text: &str) {
    document.text(text);
}

fn finding(report: &mut Report, number: usize) -> &mut Finding {
    &mut report.analyses.findings.ranked[number - 1].finding
}

#[rustfmt::skip]
const DEFECTS: &[Defect] = &[
    Defect { id: "V1", name: "a section is missing", report: kept, documents: |all| remove(&mut all.fair, "Appendix") },
    Defect { id: "V1", name: "a section has another name", report: kept, documents: |all| replace(&mut all.fair, "Detailed Analysis", "Details") },
    Defect { id: "V1", name: "warnings of nothing", report: kept, documents: |all| all.fair.blocks.insert(1, Block::Heading { level: 2, text: "Warnings".to_owned() }) },
    Defect { id: "V1", name: "categories are misnumbered", report: kept, documents: |all| replace(&mut all.fair, "1. GPU", "3. GPU") },
    Defect { id: "V1", name: "the hardware is missing", report: kept, documents: |all| remove(&mut all.fair, "Hardware Reference") },
    Defect { id: "V1", name: "a step is missing", report: kept, documents: |all| remove(&mut all.rough, "Step 4: ") },
    Defect { id: "V1", name: "gaps are missing", report: kept, documents: |all| remove(&mut all.rough, "Analysis Gaps") },
    Defect { id: "V1", name: "a findings file has no notes", report: kept, documents: |all| remove(gemm(all), "Additional Notes") },
    Defect { id: "V1", name: "a findings file has no status", report: kept, documents: |all| remove(gemm(all), "Status:") },
    Defect { id: "V2", name: "a row is missing", report: kept, documents: |all| replace(&mut all.fair, "Idle Time", "Idle") },
    Defect { id: "V2", name: "a value is missing", report: kept, documents: |all| replace(&mut all.fair, "9.00 ms", "") },
    Defect { id: "V2", name: "a placeholder is left", report: kept, documents: |all| say(&mut all.fair, "It takes X ms.") },
    Defect { id: "V2", name: "a value of code is left", report: kept, documents: |all| say(&mut all.rough, "It takes Some(3).") },
    Defect { id: "V3", name: "a recommendation is missing", report: kept, documents: |all| remove(&mut all.fair, "🟡 Priority 2: ") },
    Defect { id: "V3", name: "recommendations are swapped", report: kept, documents: |all| { replace(&mut all.fair, "Priority 1: ", "Priority 3: "); replace(&mut all.fair, "Priority 2: ", "Priority 1: ") } },
    Defect { id: "V3", name: "a title is another", report: kept, documents: |all| replace(&mut all.fair, "Priority 1: ", "Priority 1: Other ") },
    Defect { id: "V3", name: "a saving is another", report: kept, documents: |all| replace(&mut all.fair, "4.98 ms", "4.48 ms") },
    Defect { id: "V3", name: "a severity is another", report: kept, documents: |all| replace(&mut all.fair, "Severity: Critical", "Severity: Low") },
    Defect { id: "V3", name: "details stand under another category", report: kept, documents: |all| replace(&mut all.fair, ". GEMM", ". Convolution") },
    Defect { id: "V4", name: "operations are swapped", report: kept, documents: |all| replace(&mut all.fair, "aten::bmm", "aten::mm") },
    Defect { id: "V4", name: "a time is another", report: kept, documents: |all| replace(&mut all.fair, "5.00 ms", "5.50 ms") },
    Defect { id: "V4", name: "the table is missing", report: kept, documents: |all| remove(&mut all.fair, "Rank | ") },
    Defect { id: "V5", name: "an issue is missing", report: kept, documents: |all| remove(&mut all.fair, "Issue:") },
    Defect { id: "V5", name: "a path is missing", report: kept, documents: |all| replace(&mut all.fair, " Kernel: ", " ") },
    Defect { id: "V5", name: "a path is empty", report: |report| finding(report, 1).model = String::new(), documents: as_written },
    Defect { id: "V5", name: "a link leads nowhere", report: kept, documents: |all| replace(&mut all.fair, "p1-", "p9-") },
    Defect { id: "V5", name: "details have no reasoning", report: |report| finding(report, 2).reasoning = Vec::new(), documents: as_written },
    Defect { id: "V7", name: "a category is missing", report: |report| report.analyses.outcomes.iter_mut().for_each(|outcome| outcome.time_ns /= 2), documents: as_written },
    Defect { id: "V7", name: "a finding is longer than all computation", report: |report| finding(report, 1).time_ns = 20_000_000, documents: as_written },
    Defect { id: "V8", name: "a share is another", report: kept, documents: |all| replace(&mut all.fair, "97.8 %", "96.2 %") },
    Defect { id: "V8", name: "a time is another", report: kept, documents: |all| replace(&mut all.fair, "9.20 ms", "9.90 ms") },
    Defect { id: "V9", name: "a number is left out", report: |report| report.analyses.findings.ranked[1].number = 3, documents: as_written },
    Defect { id: "V9", name: "the second is worth more", report: |report| report.analyses.findings.ranked[0].finding.impact = None, documents: as_written },
    Defect { id: "V9", name: "it overlaps with itself", report: |report| report.analyses.findings.ranked[1].overlaps = vec![2], documents: as_written },
    Defect { id: "V9", name: "a row is missing", report: |report| outcome(report).rows.truncate(1), documents: as_written },
    Defect { id: "V9", name: "rows are not sorted", report: |report| outcome(report).rows.reverse(), documents: as_written },
    Defect { id: "V10", name: "low is above high", report: |report| impact(report).low_ns = impact(report).high_ns + 1, documents: as_written },
    Defect { id: "V10", name: "more is saved than measured", report: |report| impact(report).high_ns = 6_000_000, documents: as_written },
    Defect { id: "V10", name: "one finding saves more than the run takes", report: |report| { finding(report, 1).time_ns = 20_000_000; impact(report).high_ns = 10_000_000 }, documents: as_written },
    Defect { id: "V10", name: "more is saved than an operation takes", report: |report| finding(report, 1).savings = vec![(0, 5_000_001)], documents: as_written },
    Defect { id: "V10", name: "an operation is not there", report: |report| finding(report, 1).savings = vec![(99, 1)], documents: as_written },
    Defect { id: "V10", name: "more is saved than the run takes", report: |report| together(report).high_ns = 9_300_000, documents: as_written },
    Defect { id: "V11", name: "an anomaly is not marked", report: |report| outcome(report).rows[0].efficiency_percent = Some(111.0), documents: as_written },
    Defect { id: "V11", name: "an anomaly is ranked", report: |report| { let row = &mut outcome(report).rows[0]; row.efficiency_percent = Some(111.0); row.is_anomaly = true }, documents: as_written },
    Defect { id: "V11", name: "a mark is missing", report: |report| { let row = &mut outcome(report).rows[0]; row.efficiency_percent = Some(111.0); row.is_anomaly = true; report.analyses.findings.ranked.clear() }, documents: |all| replace(&mut all.fair, " [ANOMALY]", "") },
    Defect { id: "V12", name: "a kernel is misquoted", report: kept, documents: |all| replace(&mut all.fair, "Cijk_gemm", "Cijk_gemv") },
    Defect { id: "V13", name: "a number is in the card alone", report: kept, documents: |all| issue_says(all, "It runs 1234 times.") },
    Defect { id: "V14", name: "a library is named", report: kept, documents: |all| say(&mut all.fair, "Tune the cuBLAS kernel.") },
    Defect { id: "V14", name: "kernels are named by a vendor", report: kept, documents: |all| say(&mut all.rough, "Two CUDA kernels run.") },
    Defect { id: "V14", name: "collectives are named by a vendor", report: kept, documents: |all| say(gemm(all), "NCCL waits.") },
    Defect { id: "V14", name: "somebody wins", report: kept, documents: |all| say(&mut all.fair, "The other GPU outperforms it.") },
    Defect { id: "V15", name: "a claim on caches", report: kept, documents: |all| say(&mut all.fair, "Cache hits are rare.") },
    Defect { id: "V15", name: "a claim beside a disclaimer", report: kept, documents: |all| say(&mut all.fair, "A trace does not show why. Occupancy is low.") },
    Defect { id: "V15", name: "what a roof means", report: kept, documents: |all| say(&mut all.rough, "It gets faster closer to the roof.") },
    Defect { id: "V15", name: "a key of a file", report: kept, documents: |all| say(&mut all.fair, "Then exposed_comm_time falls.") },
    Defect { id: "V16", name: "a long summary", report: |report| report.overview.headline = "Long. ".repeat(150), documents: as_written },
    Defect { id: "V16", name: "a long recommendation", report: |report| finding(report, 1).kernel = "long ".repeat(200), documents: as_written },
    Defect { id: "V16", name: "an issue of two sentences", report: |report| finding(report, 1).issue.push_str(" Two."), documents: as_written },
];

fn gemm<'b>(all: &'b mut Written) -> &'b mut Document {
    let mut files = all.files.iter_mut();
    &mut files.find(|file| file.key == "gemm").unwrap().document
}

fn outcome(report: &mut Report) -> &mut Outcome {
    let mut outcomes = report.analyses.outcomes.iter_mut();
    outcomes.find(|outcome| outcome.kind.key == "gemm").unwrap()
}

fn impact(report: &mut Report) -> &mut crate::findings::Impact {
    finding(report, 1).impact.as_mut().unwrap()
}

fn together(report: &mut Report) -> &mut crate::findings::Impact {
    report.analyses.findings.together.as_mut().unwrap()
}

fn issue_says(all: &mut Written, text: &str) {
    let issue = all.fair.blocks.iter_mut().find_map(|block| match block {
        Block::Text(spans) if spans.first() == Some(&Span::Bold("Issue:".to_owned())) => {
            Some(spans)
        }
        _ => None,
    });
    issue.unwrap().push(Span::Text(text.to_owned()));
}

#[test]
fn every_defect_is_caught() {
    let profile = small().profile();
    let good = of(&profile, "MI300X");
    let ranked = good.analyses.findings.ranked.iter();
    let keys: Vec<&str> = ranked.map(|one| one.finding.pattern).collect();
    assert_eq!(keys, ["tiny_batched", "compute_bound_gap"]);
    assert_eq!(
        good.analyses.findings.ranked[0].finding.priority,
        Priority::Critical
    );
    for defect in DEFECTS {
        let mut report = good.clone();
        (defect.report)(&mut report);
        let source = Source::new(&profile, &report);
        let mut all = Written::new(&source);
        (defect.documents)(&mut all);
        let caught = all.checks();
        let verdict = caught.iter().find(|check| check.id == defect.id);
        assert!(
            verdict.is_some_and(|check| matches!(check.verdict, Verdict::Fail(_))),
            "{}: {} is not caught",
            defect.id,
            defect.name
        );
    }
}

#[test]
fn every_check_has_a_defect() {
    for rule in RULES {
        let is_never_applied = rule.0 == "V6";
        let has_defect = DEFECTS.iter().any(|defect| defect.id == rule.0);
        assert!(has_defect != is_never_applied, "{}", rule.0);
    }
}
