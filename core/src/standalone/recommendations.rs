//! What to do, in order: each finding as a card of a few lines, with a link to its details.

use super::Source;
use super::words::{Light, Worth, action, confidence, detail_heading, impact_sentence};
use crate::document::{Block, Document, Span, field, slug};
use crate::format;
use crate::profile::Profile;
use crate::report::Report;

pub(super) fn write(document: &mut Document, source: &Source) {
    document.heading(2, "Recommendations");
    let findings = &source.report.analyses.findings;
    if let Some(nothing) = nothing(source.profile, source.report) {
        document.text(nothing);
        return;
    }
    if let Some(together) = together(source.report) {
        document.text(&together);
    }
    for ranked in &findings.ranked {
        let finding = &ranked.finding;
        document.heading(
            3,
            &format!(
                "{} Priority {}: {}",
                Light::of(ranked.number).icon(),
                ranked.number,
                finding.title
            ),
        );
        document.field("Issue", &finding.issue);
        document.field("Action", &action(finding));
        let mut impact = field("Impact", &impact_sentence(source, finding));
        impact.push(Span::Text(format!(
            " Severity: {}. ",
            finding.priority.label()
        )));
        if let Some(confidence) = confidence(finding) {
            impact.push(Span::Text(format!("Confidence: {confidence}. ")));
        }
        impact.push(Span::Link {
            text: "Details".to_owned(),
            slug: slug(&detail_heading(ranked)),
        });
        document.blocks.push(Block::Text(impact));
    }
    if let Some(small) = small(source.report) {
        document.text(&small);
    }
}

/// What all findings save together; `None` where that says no more than the findings do.
pub(super) fn together(report: &Report) -> Option<String> {
    let findings = &report.analyses.findings;
    let together = findings.together.as_ref()?;
    (findings.ranked.len() > 1).then(|| {
        format!(
            "All together: {}; what two of them save of the same operation counts once. What kernels \
             save while the run waits for the host is won only once it launches in time.",
            Worth::new(report, together).sentence()
        )
    })
}

/// That findings were left out; `None` where none was.
pub(super) fn small(report: &Report) -> Option<String> {
    let n_small = report.analyses.findings.n_small;
    (n_small > 0).then(|| {
        format!(
            "{} worth less than {} of the run {} left out.",
            format::counted(n_small as u64, "finding"),
            format::percent(report.options.thresholds.finding_percent_of_total),
            if n_small == 1 { "is" } else { "each are" }
        )
    })
}

/// Why there is nothing to do; `None` where there is something.
pub(super) fn nothing(profile: &Profile, report: &Report) -> Option<&'static str> {
    if !report.analyses.findings.ranked.is_empty() {
        return None;
    }
    let has_gpu = report.overview.hardware.gpu.is_some();
    if profile.is_empty_window() {
        return Some(
            "No GPU work starts in this part of the time, so there is nothing to recommend for it.",
        );
    }
    Some(match (profile.has_gpu_events(), has_gpu) {
        (false, _) => "No GPU activity was recorded, so there is nothing to recommend for it.",
        (true, false) => {
            "Nothing was found. How far operations are from the roof is not known without a GPU profile: choose one."
        }
        (true, true) => "Nothing was found: what takes time is within reach of its roof.",
    })
}
