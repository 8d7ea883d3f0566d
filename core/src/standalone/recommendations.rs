//! What to do, in order: each finding as a card of a few lines, with a link to its details.

use super::Source;
use super::words::{action, detail_heading, icon, impact_sentence, worth};
use crate::document::{Block, Document, Span, field, slug};
use crate::format;

pub(super) fn write(document: &mut Document, source: &Source) {
    document.heading(2, "Recommendations");
    let findings = &source.report.analyses.findings;
    if findings.ranked.is_empty() {
        document.text(nothing(source));
        return;
    }
    if let Some(together) = &findings.together
        && findings.ranked.len() > 1
    {
        document.text(&format!(
            "All together: {}; what two of them save of the same operation counts once. Savings \
             assume that the GPU is what the run waits for.",
            worth(source, together)
        ));
    }
    for ranked in &findings.ranked {
        let finding = &ranked.finding;
        document.heading(
            3,
            &format!(
                "{} Priority {}: {}",
                icon(ranked.number),
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
        impact.push(Span::Link {
            text: "Details".to_owned(),
            slug: slug(&detail_heading(ranked)),
        });
        document.blocks.push(Block::Text(impact));
    }
    if findings.n_small > 0 {
        document.text(&format!(
            "{} worth less than {} of the run each {} left out.",
            format::counted(findings.n_small as u64, "finding"),
            format::percent(source.report.options.thresholds.finding_percent_of_total),
            if findings.n_small == 1 { "is" } else { "are" }
        ));
    }
}

fn nothing(source: &Source) -> &'static str {
    let has_gpu = source.report.overview.hardware.gpu.is_some();
    match (source.profile.has_gpu_events(), has_gpu) {
        (false, _) => "No GPU activity was recorded, so there is nothing to recommend for it.",
        (true, false) => {
            "Nothing was found. How far operations are from the roof is not known without a GPU profile: choose one."
        }
        (true, true) => "Nothing was found: what takes time is within reach of its roof.",
    }
}
