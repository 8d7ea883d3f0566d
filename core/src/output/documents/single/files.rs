//! The findings file of one analysis. The one about copies and communication has its own sections: one for each issue,
//! then the patterns, then the detailed measurements.

use super::{Input, details, transfers};
use crate::base::format;
use crate::base::interval::{percent_of, sum};
use crate::findings::{Confidence, Finding, Outcome, RankedFinding, Status, Tier};
use crate::output::documents::File;
use crate::output::documents::parts::figures;
use crate::output::markup::{Block, Document, Line, field};
use crate::report::cards::impact_sentence;

/// A section: its heading, and what writes its content.
type Section = (&'static str, fn(&mut Document, &Input, &Outcome));

const OF_COMPUTE: &[Section] = &[
    ("Overview", overview),
    ("Operations Breakdown", details::tables),
    ("Key Bottlenecks", bottlenecks),
    ("Additional Notes", notes),
];

const OF_SYSTEM: &[Section] = &[
    ("Overview", overview),
    ("Summary", details::tables),
    ("Recommendations", recommendations),
    ("Additional Notes", notes),
];

const OF_TRANSFERS: &[Section] = &[
    ("Summary", transfers::summary),
    ("Memory Copy Analysis", transfers::copies),
    ("Communication Blocking Analysis", transfers::communication),
    ("Detected Patterns", transfers::detected),
    ("Recommendations", recommendations),
    ("Technical Details", transfers::technical),
    ("Additional Notes", notes),
];

fn sections(outcome: &Outcome) -> &'static [Section] {
    match (&outcome.status, outcome.kind.tier) {
        (Status::NoData, _) => &[],
        (Status::Done, _) if outcome.kind.key == "multi_kernel" => OF_TRANSFERS,
        (Status::Done, Tier::Compute) => OF_COMPUTE,
        (Status::Done, _) => OF_SYSTEM,
    }
}

/// The file and the sections and fields that it must have.
pub(super) fn file(source: &Input, outcome: &Outcome) -> File {
    let mut fields = vec![("Status", status(source, outcome))];
    if outcome.kind.tier != Tier::Compute {
        fields.push(TIER);
    }
    File {
        key: outcome.kind.key,
        document: write(source, outcome),
        sections: sections(outcome).iter().map(|(title, _)| *title).collect(),
        fields,
    }
}

const TIER: (&str, &str) = ("Analysis Tier", "System-Level");

fn status(source: &Input, outcome: &Outcome) -> &'static str {
    match outcome.status {
        Status::NoData if !source.profile.has_gpu_events() => "NO_DATA",
        Status::Done | Status::NoData => "SUCCESS",
    }
}

pub(super) fn write(source: &Input, outcome: &Outcome) -> Document {
    let kind = outcome.kind;
    let (title, operations) = match kind.key {
        "sdpa_fwd" => ("SDPA Analysis Summary", "SDPA"),
        "sdpa_bwd" => ("SDPA Backward Analysis Summary", "SDPA backward"),
        "multi_kernel" => ("Multi-Kernel Issue Analysis Findings", kind.title),
        "cpu_idle" => ("CPU and Idle Time Analysis Findings", kind.title),
        "kernel_fusion" => ("Kernel Fusion Analysis Findings", kind.title),
        _ => (&*format!("{} Analysis Summary", kind.title), kind.title),
    };
    let mut document = Document::new(title);
    document.field("Status", status(source, outcome));
    let window = source.profile.window.as_ref();
    document.texts(window.map(|window| window.sentence()));
    if kind.tier != Tier::Compute {
        document.field(TIER.0, TIER.1);
    }
    match outcome.status {
        Status::NoData if !source.profile.has_gpu_events() => {
            document.text(&source.not_analyzed());
        }
        Status::NoData => document.text(&format!("No {operations} operations found in trace.")),
        Status::Done => {}
    }
    for (title, write) in sections(outcome) {
        document.heading(2, title);
        let mut section = Document::default();
        write(&mut section, source, outcome);
        document.append(section);
    }
    document
}

fn overview(document: &mut Document, source: &Input, outcome: &Outcome) {
    document.text(&details::overview(source, outcome));
}

fn notes(document: &mut Document, _: &Input, outcome: &Outcome) {
    document.table(figures(&outcome.facts));
    document.texts(outcome.note_texts());
}

/// The findings of an analysis, in the order of all findings, or a sentence if there are none.
fn own<'a>(
    document: &mut Document,
    source: &'a Input,
    outcome: &Outcome,
) -> Vec<&'a RankedFinding> {
    let ranked = source.report.analyses.findings.ranked.iter();
    let own: Vec<_> = ranked
        .filter(|ranked| ranked.analysis == outcome.kind)
        .collect();
    let within = details::within(source, outcome);
    if own.is_empty() && within.is_empty() {
        document.text(none(source, outcome));
    }
    document.texts(within);
    own
}

/// Why an analysis has no finding. The expected range is not mentioned if most of the time has no model.
fn none(source: &Input, outcome: &Outcome) -> &'static str {
    let known = outcome.rows.iter();
    let known = known.filter(|row| row.efficiency_percent.is_some());
    let known = percent_of(sum(known.map(|row| row.time_ns)), outcome.time_ns);
    let is_known = known.is_some_and(|percent| percent >= 50.0);
    let has_gpu = source.report.overview.hardware.gpu.is_some();
    match (outcome.kind.tier, has_gpu) {
        (Tier::Compute, false) => "None: without a GPU profile efficiencies are not known.",
        (Tier::Compute, true) if !is_known => "None: most of this time has no FLOP/byte model.",
        _ => "None: what takes time here is within its expected range, or too small to matter.",
    }
}

/// Severity and confidence of a finding.
fn priority(finding: &Finding) -> Vec<Line> {
    let confidence = finding.confidence.map(Confidence::label);
    let fields = [
        Some(field("Priority", finding.priority.label())),
        confidence.map(|confidence| field("Confidence", confidence)),
    ];
    fields.into_iter().flatten().collect()
}

fn bottlenecks(document: &mut Document, source: &Input, outcome: &Outcome) {
    for (at, ranked) in own(document, source, outcome).into_iter().enumerate() {
        let finding = &ranked.finding;
        document.heading(3, &format!("{}. {}", at + 1, finding.title));
        let time = format::time_ns(finding.time_ns);
        let share = source.of_compute(finding.time_ns);
        let mut fields = vec![field("Time", &format!("{time} ({share} of compute)"))];
        fields.extend(finding.efficiency_percent.map(|percent| {
            let efficiency = format!("{} of roofline", format::percent(percent));
            field("Efficiency", &efficiency)
        }));
        fields.extend([
            field("Issue", &finding.issue_with_causes()),
            field("Algorithmic", &finding.model),
            field("Kernel", &finding.kernel),
            field("Impact", &impact_sentence(source.report, finding)),
        ]);
        fields.extend(priority(finding));
        document.bullets(fields);
        for table in &finding.tables {
            document.table(table);
        }
    }
}

/// The recommendations of a system analysis, with their numbers among all findings.
fn recommendations(document: &mut Document, source: &Input, outcome: &Outcome) {
    for ranked in own(document, source, outcome) {
        let finding = &ranked.finding;
        document.heading(3, &format!("System P{}: {}", ranked.number, finding.title));
        document.field("Issue", &finding.issue_with_causes());
        let action = format!("Model: {} Kernel: {}", finding.model, finding.kernel);
        document.field("Action", &action);
        document.field("Expected Impact", &impact_sentence(source.report, finding));
        let fields = priority(finding).into_iter();
        document.blocks.extend(fields.map(Block::Text));
        for table in &finding.tables {
            document.table(table);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Input;
    use crate::output::markup::markdown;
    use crate::report::{Report, ReportOptions};
    use crate::testing::Timetable;

    /// 10 ms: 4 ms of computation, 5 ms of communication with 1 ms of it hidden, and 20 reads of a value by the CPU of
    /// 100 µs each.
    fn written() -> String {
        let mut timetable = Timetable::new()
            .without_flows()
            .op("aten::mm", 0..10)
            .launch(1, 1..2)
            .op("record_param_comms", 10..20)
            .launch(2, 11..12)
            .op("aten::_local_scalar_dense", 20..90);
        for id in 0..20 {
            let at = 21.0 + f64::from(id);
            timetable = timetable.runtime("cudaMemcpyAsync", 10 + id, at..at + 0.5);
        }
        timetable = timetable.kernel(1, "gemm", 0..4_000).stream(9).kernel(
            2,
            "ncclDevKernel_AllReduce_Sum_bf16",
            3_000..8_000,
        );
        for id in 0..20 {
            let at = 8_000 + 100 * id;
            timetable = timetable
                .copy(10 + id, "Memcpy DtoH (Device -> Pageable)", at..at + 100)
                .args(r#""bytes": 4"#);
        }
        let profile = timetable.profile();
        let report = Report::new(&profile, &ReportOptions::default());
        let outcome = report.analyses.outcome("multi_kernel").unwrap();
        markdown(&Input::new(&profile, &report).findings_file(outcome))
    }

    #[test]
    fn the_file_has_a_section_for_each_issue_with_its_figures() {
        let text = written();
        let headings: Vec<&str> = text
            .lines()
            .filter(|line| line.starts_with('#') && !line.starts_with("### System P"))
            .map(|line| line.trim_end_matches(" - CRITICAL"))
            .collect();
        assert_eq!(headings.len(), 19, "{headings:?}");
        assert_eq!(headings[0], "# Multi-Kernel Issue Analysis Findings");
        assert_eq!(headings[3], "### D2H (Device-to-Host) Transfers");
        assert_eq!(headings[18], "## Additional Notes");
        for expected in [
            "**Count:** 20 transfers",
            "**Total Time:** 2.00 ms (20.0 % of the run)",
            "20 of 20 come from `aten::_local_scalar_dense`",
            "**Exposed Communication Time:** 4.00 ms (40.0 % of the run)",
            "**Total Communication Time:** 5.00 ms",
            "**Overlap Ratio:** 20.0 % (target above 70.0 %)",
            "**Impact:** Can save up to 2.00 ms.",
        ] {
            assert!(text.contains(expected), "{expected}\n{text}");
        }
    }
}
