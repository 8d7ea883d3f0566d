//! The findings file of one analysis.

use super::Source;
use super::detail;
use super::words::{impact_sentence, percent};
use crate::analysis::{Outcome, Status, Tier};
use crate::document::Document;
use crate::format;

/// Titles by key, where they are not "… Analysis Summary".
const TITLES: &[(&str, &str)] = &[
    ("multi_kernel", "Multi-Kernel Issue Analysis Findings"),
    ("cpu_idle", "CPU and Idle Time Analysis Findings"),
    ("kernel_fusion", "Kernel Fusion Analysis Findings"),
];

pub(super) fn write(source: &Source, outcome: &Outcome) -> Document {
    let kind = outcome.kind;
    let title = TITLES.iter().find(|(key, _)| *key == kind.key);
    let title = title.map_or_else(
        || format!("{} Analysis Summary", kind.title),
        |(_, title)| (*title).to_owned(),
    );
    let mut document = Document::new(&title);
    let status = match &outcome.status {
        Status::Error(_) => "ERROR",
        Status::Done | Status::NoData => "SUCCESS",
    };
    document.field("Status", status);
    if kind.tier != Tier::Compute {
        document.field("Analysis Tier", "System-Level");
    }
    match &outcome.status {
        Status::Error(why) => {
            document.text(&format!("The analysis failed: {why}"));
            return document;
        }
        Status::NoData => {
            document.text(&format!("No {} operations found in trace.", kind.title));
            return document;
        }
        Status::Done => {}
    }
    document.heading(2, "Overview");
    document.text(&detail::overview(source, outcome));
    if kind.tier == Tier::Compute {
        document.heading(2, "Operations Breakdown");
    } else {
        document.heading(2, "Summary");
    }
    detail::tables(&mut document, source, outcome);
    bottlenecks(&mut document, source, outcome);
    document.heading(2, "Additional Notes");
    detail::figures(&mut document, outcome);
    for note in &outcome.notes {
        document.text(note);
    }
    document
}

fn bottlenecks(document: &mut Document, source: &Source, outcome: &Outcome) {
    let is_system = outcome.kind.tier != Tier::Compute;
    document.heading(
        2,
        if is_system {
            "Recommendations"
        } else {
            "Key Bottlenecks"
        },
    );
    let ranked = source.report.analyses.findings.ranked.iter();
    let own: Vec<_> = ranked
        .filter(|ranked| ranked.analysis == outcome.kind)
        .collect();
    if own.is_empty() {
        document.text(
            "None: what takes time here is within its expected range, or too small to matter.",
        );
    }
    let computation = source.report.timelines.whole.as_ref();
    for (at, ranked) in own.into_iter().enumerate() {
        let finding = &ranked.finding;
        if is_system {
            document.heading(3, &format!("System P{}: {}", ranked.number, finding.title));
            document.field("Issue", &finding.issue);
            document.field("Action", &super::words::action(finding));
            document.field("Expected Impact", &impact_sentence(source, finding));
            document.field("Priority", finding.priority.label());
        } else {
            document.heading(3, &format!("{}. {}", at + 1, finding.title));
            let share = computation
                .and_then(|whole| super::words::share(finding.time_ns, Some(whole.computation_ns)));
            document.bullets(vec![
                crate::document::field(
                    "Time",
                    &format!(
                        "{} ({} of compute)",
                        format::time_ns(finding.time_ns),
                        percent(share)
                    ),
                ),
                crate::document::field(
                    "Efficiency",
                    &format!("{} of the roof", percent(finding.efficiency_percent)),
                ),
                crate::document::field("Issue", &finding.issue),
                crate::document::field("Algorithmic", &finding.model),
                crate::document::field("Kernel", &finding.kernel),
                crate::document::field("Impact", &impact_sentence(source, finding)),
                crate::document::field("Priority", finding.priority.label()),
            ]);
        }
        for table in &finding.tables {
            document.table(table.into());
        }
    }
}
