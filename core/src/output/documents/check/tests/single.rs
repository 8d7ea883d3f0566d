//! Every check passes on correct documents about one trace, and catches its defect.

use super::*;
use crate::findings::{Finding, Impact, Outcome, Priority};
use crate::output::documents::Documents;
use crate::output::documents::single::Input;
use crate::profile::Profile;
use crate::profile::window::find_step;
use crate::report::Report;
use crate::testing::{Timetable, options_on};

const BMM: &str = r#""Input Dims": [[37632, 8, 64], [37632, 64, 8]], "Input type": ["c10::BFloat16", "c10::BFloat16"]"#;
const MM: &str = r#""Input Dims": [[4096, 4096], [4096, 4096]], "Input type": ["c10::BFloat16", "c10::BFloat16"]"#;

/// Two findings about GEMMs, an element-wise operation, a copy.
fn small() -> Profile {
    Timetable::new()
        .call("aten::bmm", BMM, "Cijk_batched", 100..5_100)
        .call("aten::mm", MM, "Cijk_gemm", 5_100..9_100)
        .work(
            "aten::copy_",
            "Memcpy HtoD (Pinned -> Device)",
            9_200..9_300,
        )
        .profile()
}

fn host_only() -> Profile {
    Timetable::new().op("aten::mm", 0..100).profile()
}

fn of(profile: &Profile, gpu: &str) -> Report {
    Report::new(profile, &options_on(gpu))
}

#[test]
fn good_documents_pass() {
    // 2 · 4096³ operations in 10 µs are above the roofline.
    let anomalous = Timetable::new().call("aten::mm", MM, "Cijk_gemm", 100..110);
    let kernels_alone = Timetable::new().kernel(1, "gemm", 0..100);
    let none = Timetable::new();
    let made = [anomalous, kernels_alone, none].map(|timetable| timetable.profile());
    for profile in made.iter().chain([&small(), &host_only()]) {
        for gpu in ["H100", "MI300X"] {
            let report = of(profile, gpu);
            let checks = Input::new(profile, &report).checks();
            assert!(failed(&checks).is_empty(), "on {gpu}: {checks:?}");
        }
    }
}

/// A range of the user's program, without GPU activity, whose name looks like a JSON key.
#[test]
fn the_name_of_a_window_is_no_key() {
    let name = "hccl:all_reduce";
    let whole = Timetable::new()
        .call("aten::mm", MM, "Cijk_gemm", 100..4_100)
        .annotation(name, 20_000..21_000)
        .op("aten::mm", 20_100..20_200)
        .profile();
    let part = whole.window(&find_step(&whole, name).unwrap());
    let report = of(&part, "MI300X");
    let input = Input::new(&part, &report);
    assert!(report.overview.headline.contains(name));
    assert!(failed(&input.checks()).is_empty(), "{:?}", input.checks());
}

#[test]
fn what_there_is_nothing_of_is_not_applicable() {
    let profile = host_only();
    let checks = Input::new(&profile, &of(&profile, "H100")).checks();
    let not_applicable = |check: &&Check| matches!(check.verdict, Verdict::NotApplicable(_));
    let ids = checks.iter().filter(not_applicable).map(|check| check.id);
    assert_eq!(ids.collect::<Vec<_>>(), ["V4", "V6", "V7", "V8"]);
}

#[test]
fn the_rough_document_says_how_it_was_checked() {
    let profile = small();
    let rough = Input::new(&profile, &of(&profile, "MI300X")).rough();
    let section = rough.section("Checks").unwrap().iter();
    let lines: Vec<String> = section.flat_map(read::lines_of).collect();
    // A sentence, the column heads, and one row each.
    assert_eq!(lines.len(), 2 + RULES.len());
    assert!(lines[2].ends_with(" | pass"), "{}", lines[2]);
    assert!(lines[7].starts_with("V6 | "), "{}", lines[7]);
}

fn remove(document: &mut Document, start: &str) {
    let n = document.blocks.len();
    let starts = |block: &Block| {
        let lines = read::lines_of(block);
        lines.iter().any(|line| line.starts_with(start))
    };
    document.blocks.retain(|block| !starts(block));
    assert!(document.blocks.len() < n, "there is no “{start}”");
}

fn finding(report: &mut Report, number: usize) -> &mut Finding {
    &mut report.analyses.findings.ranked[number - 1].finding
}

#[rustfmt::skip]
const DEFECTS: &[Defect<Report>] = &[
    ("V1", "a section is missing", as_found, |all| remove(&mut all.fair, "Appendix")),
    ("V1", "a section has another name", as_found, |all| replace(&mut all.fair, "Detailed Analysis", "Details")),
    ("V1", "warnings of nothing", as_found, |all| all.fair.blocks.insert(1, Block::Heading { level: 2, text: "Warnings".to_owned() })),
    ("V1", "categories are misnumbered", as_found, |all| replace(&mut all.fair, "1. GPU", "3. GPU")),
    ("V1", "the hardware is missing", as_found, |all| remove(&mut all.fair, "Hardware Reference")),
    ("V1", "a step is missing", as_found, |all| remove(&mut all.rough, "Step 4: ")),
    ("V1", "gaps are missing", as_found, |all| remove(&mut all.rough, "Analysis Gaps")),
    ("V1", "a findings file has no notes", as_found, |all| remove(gemm(all), "Additional Notes")),
    ("V1", "a findings file has no status", as_found, |all| remove(gemm(all), "Status:")),
    ("V2", "a row is missing", as_found, |all| replace(&mut all.fair, "Idle Time", "Idle")),
    ("V2", "a value is missing", as_found, |all| replace(&mut all.fair, "9.00 ms", "")),
    ("V2", "a placeholder is left", as_found, |all| all.fair.text("It takes X ms.")),
    ("V2", "a value of code is left", as_found, |all| all.rough.text("It takes Some(3).")),
    ("V3", "a recommendation is missing", as_found, |all| remove(&mut all.fair, "🔴 Priority 2: ")),
    ("V3", "recommendations are swapped", as_found, |all| { replace(&mut all.fair, "Priority 1: ", "Priority 3: "); replace(&mut all.fair, "Priority 2: ", "Priority 1: ") }),
    ("V3", "a title is another", as_found, |all| replace(&mut all.fair, "Priority 1: ", "Priority 1: Other ")),
    ("V3", "a saving is another", as_found, |all| replace(&mut all.fair, "4.98 ms", "4.48 ms")),
    ("V3", "a severity is another", as_found, |all| replace(&mut all.fair, "Severity: Critical", "Severity: Low")),
    ("V3", "details are under another category", as_found, |all| replace(&mut all.fair, ". GEMM", ". Convolution")),
    ("V4", "operations are swapped", as_found, |all| replace(&mut all.fair, "aten::bmm", "aten::mm")),
    ("V4", "a time is another", as_found, |all| replace(&mut all.fair, "5.00 ms", "5.50 ms")),
    ("V4", "the table is missing", as_found, |all| remove(&mut all.fair, "Rank | ")),
    ("V5", "an issue is missing", as_found, |all| remove(&mut all.fair, "Issue:")),
    ("V5", "a path is missing", as_found, |all| replace(&mut all.fair, " Kernel: ", " ")),
    ("V5", "a path is empty", |report| finding(report, 1).model = String::new(), as_written),
    ("V5", "a link leads nowhere", as_found, |all| replace(&mut all.fair, "p1-", "p9-")),
    ("V5", "details have no reasoning", |report| finding(report, 2).reasoning = Vec::new(), as_written),
    ("V7", "a category is missing", |report| report.analyses.outcomes.iter_mut().for_each(|outcome| outcome.time_ns /= 2), as_written),
    ("V7", "a finding is longer than all computation", |report| finding(report, 1).time_ns = 20_000_000, as_written),
    ("V8", "a share is another", as_found, |all| replace(&mut all.fair, "97.8 %", "96.2 %")),
    ("V8", "a time is another", as_found, |all| replace(&mut all.fair, "9.20 ms", "9.90 ms")),
    ("V9", "a number is left out", |report| report.analyses.findings.ranked[1].number = 3, as_written),
    ("V9", "the second is worth more", |report| report.analyses.findings.ranked[0].finding.impact = None, as_written),
    ("V9", "it overlaps with itself", |report| report.analyses.findings.ranked[1].overlaps = vec![2], as_written),
    ("V9", "a row is missing", |report| outcome(report).rows.truncate(1), as_written),
    ("V9", "rows are not sorted", |report| outcome(report).rows.reverse(), as_written),
    ("V10", "low is above high", |report| impact(report).low_ns = impact(report).high_ns + 1, as_written),
    ("V10", "more is saved than measured", |report| impact(report).high_ns = 6_000_000, as_written),
    ("V10", "one finding saves more than the run takes", |report| { finding(report, 1).time_ns = 20_000_000; impact(report).high_ns = 10_000_000 }, as_written),
    ("V10", "more is saved than an operation takes", |report| finding(report, 1).savings = vec![(0, 5_000_001)], as_written),
    ("V10", "an operation is not there", |report| finding(report, 1).savings = vec![(99, 1)], as_written),
    ("V10", "more is saved than the run takes", |report| together(report).high_ns = 9_300_000, as_written),
    ("V11", "an anomaly is not marked", |report| outcome(report).rows[0].efficiency_percent = Some(111.0), as_written),
    ("V11", "an anomaly is ranked", |report| { let row = &mut outcome(report).rows[0]; row.efficiency_percent = Some(111.0); row.is_anomaly = true }, as_written),
    ("V11", "a mark is missing", |report| { let row = &mut outcome(report).rows[0]; row.efficiency_percent = Some(111.0); row.is_anomaly = true; report.analyses.findings.ranked.clear() }, |all| replace(&mut all.fair, " [ANOMALY]", "")),
    ("V12", "a kernel is misquoted", as_found, |all| replace(&mut all.fair, "Cijk_gemm", "Cijk_gemv")),
    ("V13", "a number is in the card alone", as_found, |all| issue_says(all, "It runs 1234 times.")),
    ("V14", "a library is named", as_found, |all| all.fair.text("Tune the cuBLAS kernel.")),
    ("V14", "kernels are named by a vendor", as_found, |all| all.rough.text("Two CUDA kernels run.")),
    ("V14", "collectives are named by a vendor", as_found, |all| gemm(all).text("NCCL waits.")),
    ("V14", "somebody wins", as_found, |all| all.fair.text("The other GPU outperforms it.")),
    ("V15", "a claim on caches", as_found, |all| all.fair.text("Cache hits are rare.")),
    ("V15", "a claim beside a disclaimer", as_found, |all| all.fair.text("A trace does not show why. Occupancy is low.")),
    ("V15", "what a roof means", as_found, |all| all.rough.text("It gets faster closer to the roof.")),
    ("V15", "a key of a file", as_found, |all| all.fair.text("Then exposed_comm_time falls.")),
    ("V16", "a long summary", |report| report.overview.headline = "Long. ".repeat(150), as_written),
    ("V16", "a long recommendation", |report| finding(report, 1).kernel = "long ".repeat(200), as_written),
    ("V16", "an issue of two sentences", |report| finding(report, 1).issue.push_str(" Two."), as_written),
];

fn gemm<'b>(all: &'b mut Written) -> &'b mut Document {
    let mut files = all.files.iter_mut();
    &mut files.find(|file| file.key == "gemm").unwrap().document
}

fn outcome(report: &mut Report) -> &mut Outcome {
    let mut outcomes = report.analyses.outcomes.iter_mut();
    outcomes.find(|outcome| outcome.kind.key == "gemm").unwrap()
}

fn impact(report: &mut Report) -> &mut Impact {
    finding(report, 1).impact.as_mut().unwrap()
}

fn together(report: &mut Report) -> &mut Impact {
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
    let profile = small();
    let good = of(&profile, "MI300X");
    let ranked = good.analyses.findings.ranked.iter();
    let keys: Vec<&str> = ranked.map(|one| one.finding.pattern).collect();
    assert_eq!(keys, ["tiny_batched", "compute_bound_gap"]);
    assert_eq!(
        good.analyses.findings.ranked[0].finding.priority,
        Priority::Critical
    );
    for (id, name, change_report, change_documents) in DEFECTS {
        let mut report = good.clone();
        change_report(&mut report);
        let source = Input::new(&profile, &report);
        let mut all = Written::new(&source);
        change_documents(&mut all);
        assert_caught(&all.checks(), id, name);
    }
}

#[test]
fn every_check_has_a_defect() {
    for (rule, ..) in RULES {
        let is_never_applied = *rule == "V6";
        let has_defect = DEFECTS.iter().any(|(id, ..)| id == rule);
        assert!(has_defect != is_never_applied, "{rule}");
    }
}
