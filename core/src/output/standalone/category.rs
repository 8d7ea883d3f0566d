//! The findings file of one analysis.

use super::Source;
use super::detail;
use super::multi_kernel;
use super::words::{action, confidence, impact_sentence, not_analysed, percent, share};
use crate::base::format;
use crate::base::interval::{percent_of, sum};
use crate::findings::{Outcome, RankedFinding, Status, Tier};
use crate::output::document::{Document, field};

/// Titles by key, where they are not "… Analysis Summary" after the analysis.
const TITLES: &[(&str, &str)] = &[
    ("sdpa_fwd", "SDPA Analysis Summary"),
    ("sdpa_bwd", "SDPA Backward Analysis Summary"),
    (multi_kernel::KEY, "Multi-Kernel Issue Analysis Findings"),
    ("cpu_idle", "CPU and Idle Time Analysis Findings"),
    ("kernel_fusion", "Kernel Fusion Analysis Findings"),
];

/// What there is none of, by key, where it is not named after the analysis.
const OPERATIONS: &[(&str, &str)] = &[("sdpa_fwd", "SDPA"), ("sdpa_bwd", "SDPA backward")];

fn by_key<'a>(table: &[(&str, &'a str)], key: &str) -> Option<&'a str> {
    let row = table.iter().find(|(known, _)| *known == key);
    row.map(|(_, text)| *text)
}

pub(super) fn write(source: &Source, outcome: &Outcome) -> Document {
    let kind = outcome.kind;
    let title = by_key(TITLES, kind.key)
        .map_or_else(|| format!("{} Analysis Summary", kind.title), str::to_owned);
    let mut document = Document::new(&title);
    let status = match &outcome.status {
        Status::Error(_) => "ERROR",
        Status::NoData if !source.profile.has_gpu_events() => "NO_DATA",
        Status::Done | Status::NoData => "SUCCESS",
    };
    document.field("Status", status);
    source.say_window(&mut document);
    if kind.tier != Tier::Compute {
        document.field("Analysis Tier", "System-Level");
    }
    match &outcome.status {
        Status::Error(why) => document.text(&format!("The analysis failed: {why}")),
        Status::NoData => {
            let operations = by_key(OPERATIONS, kind.key).unwrap_or(kind.title);
            document.text(&match source.profile.has_gpu_events() {
                true => format!("No {operations} operations found in trace."),
                false => not_analysed(source.profile),
            });
        }
        Status::Done if kind.key == multi_kernel::KEY => {
            multi_kernel::write(&mut document, source, outcome);
        }
        Status::Done if kind.tier == Tier::Compute => compute(&mut document, source, outcome),
        Status::Done => system(&mut document, source, outcome),
    }
    document
}

/// An analysis of one kind of GPU work.
fn compute(document: &mut Document, source: &Source, outcome: &Outcome) {
    document.heading(2, "Overview");
    document.text(&detail::overview(source, outcome));
    document.heading(2, "Operations Breakdown");
    detail::tables(document, source, outcome);
    document.heading(2, "Key Bottlenecks");
    bottlenecks(document, source, outcome);
    notes(document, outcome);
}

/// An analysis of the pipeline as a whole.
fn system(document: &mut Document, source: &Source, outcome: &Outcome) {
    document.heading(2, "Overview");
    document.text(&detail::overview(source, outcome));
    document.heading(2, "Summary");
    detail::tables(document, source, outcome);
    recommendations(document, source, outcome);
    notes(document, outcome);
}

/// What an analysis measured and could not do.
pub(super) fn notes(document: &mut Document, outcome: &Outcome) {
    document.heading(2, "Additional Notes");
    detail::figures(document, outcome);
    for note in &outcome.notes {
        document.text(note);
    }
}

/// What an analysis found, in the order of all findings; says so where that is nothing.
fn own<'a>(
    document: &mut Document,
    source: &'a Source,
    outcome: &Outcome,
) -> Vec<&'a RankedFinding> {
    let ranked = source.report.analyses.findings.ranked.iter();
    let own: Vec<_> = ranked
        .filter(|ranked| ranked.analysis == outcome.kind)
        .collect();
    let within = detail::within(source, outcome);
    if own.is_empty() && within.is_empty() {
        document.text(none(source, outcome));
    }
    within.iter().for_each(|sentence| document.text(sentence));
    own
}

/// Why an analysis has no finding. Nothing is said of a range where most of the time is of unknown
/// work.
fn none(source: &Source, outcome: &Outcome) -> &'static str {
    let known = outcome.rows.iter();
    let known = known.filter(|row| row.efficiency_percent.is_some());
    let known = percent_of(sum(known.map(|row| row.time_ns)), outcome.time_ns);
    let is_known = known.is_some_and(|percent| percent >= 50.0);
    match (
        outcome.kind.tier,
        source.report.overview.hardware.gpu.is_some(),
    ) {
        (Tier::Compute, false) => "None: without a GPU profile efficiencies are not known.",
        (Tier::Compute, true) if !is_known => {
            "None: how much work it is, is not known for most of this time."
        }
        _ => "None: what takes time here is within its expected range, or too small to matter.",
    }
}

fn bottlenecks(document: &mut Document, source: &Source, outcome: &Outcome) {
    let compute_ns = source.report.timelines.compute_ns();
    for (at, ranked) in own(document, source, outcome).into_iter().enumerate() {
        let finding = &ranked.finding;
        document.heading(3, &format!("{}. {}", at + 1, finding.title));
        let mut fields = vec![field(
            "Time",
            &format!(
                "{} ({} of compute)",
                format::time_ns(finding.time_ns),
                percent(share(finding.time_ns, compute_ns))
            ),
        )];
        let efficiency = finding.efficiency_percent.map(format::percent);
        fields.extend(
            efficiency.map(|percent| field("Efficiency", &format!("{percent} of the roof"))),
        );
        fields.extend([
            field("Issue", &finding.issue),
            field("Algorithmic", &finding.model),
            field("Kernel", &finding.kernel),
            field("Impact", &impact_sentence(source, finding)),
            field("Priority", finding.priority.label()),
        ]);
        if let Some(confidence) = confidence(finding) {
            fields.push(field("Confidence", confidence));
        }
        document.bullets(fields);
        for table in &finding.tables {
            document.table(table.into());
        }
    }
}

/// The recommendations of an analysis of the whole, under their numbers among all findings.
pub(super) fn recommendations(document: &mut Document, source: &Source, outcome: &Outcome) {
    document.heading(2, "Recommendations");
    for ranked in own(document, source, outcome) {
        let finding = &ranked.finding;
        document.heading(3, &format!("System P{}: {}", ranked.number, finding.title));
        document.field("Issue", &finding.issue);
        document.field("Action", &action(finding));
        document.field("Expected Impact", &impact_sentence(source, finding));
        document.field("Priority", finding.priority.label());
        if let Some(confidence) = confidence(finding) {
            document.field("Confidence", confidence);
        }
        for table in &finding.tables {
            document.table(table.into());
        }
    }
}
