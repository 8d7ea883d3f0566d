//! What to do about the target, in order: each gap as a card of a few lines, with a link to its
//! details.

use super::detail::gap_heading;
use crate::base::format;
use crate::compare::comparison::Comparison;
use crate::compare::findings::{Gap, Saving};
use crate::compare::pair::Which;
use crate::compare::words;
use crate::output::document::{Block, Document, Span, field, slug};
use crate::output::standalone::Light;

pub(super) fn write(document: &mut Document, comparison: &Comparison) {
    let target = super::called(comparison, Which::Target);
    document.heading(2, &format!("Recommendations for {target}"));
    let gaps = &comparison.gaps;
    if gaps.ranked.is_empty() {
        document.text(&comparison.nothing_found());
    }
    if !gaps.ranked.is_empty() && comparison.has_few_partners() {
        // Their sum would be what two different runs differ by.
        document.text(
            "Little of what the target does is done by the reference too: savings are what other work \
             takes longer.",
        );
    } else if gaps.ranked.len() > 1 {
        document.text(&format!(
            "All together save {}{} when the target takes as long as predicted; savings assume that the \
             GPU is what the run waits for.",
            if gaps.is_at_most() { "at most " } else { "" },
            worth(comparison, gaps.together_ns)
        ));
    }
    for gap in &gaps.ranked {
        document.heading(
            3,
            &format!(
                "{} Priority {}: {}",
                Light::of(gap.number).icon(),
                gap.number,
                gap.title
            ),
        );
        document.field("Gap", &gap.gap);
        document.field("Action", &gap.action());
        let mut impact = field("Impact", &impact(comparison, gap));
        impact.push(Span::Text(format!(" Severity: {}. ", gap.priority.label())));
        impact.push(Span::Link {
            text: "Details".to_owned(),
            slug: slug(&gap_heading(gap)),
        });
        document.blocks.push(Block::Text(impact));
    }
    if gaps.n_small > 0 {
        document.text(&format!(
            "{} worth less than {} of the run of the target {} left out.",
            format::counted(gaps.n_small as u64, "finding"),
            format::percent(comparison.thresholds.finding_percent_of_total),
            if gaps.n_small == 1 { "is" } else { "each are" }
        ));
    }
}

/// "12.9 ms, 10.6 % of the run of the target".
fn worth(comparison: &Comparison, ns: i64) -> String {
    let total_ns = comparison.parts.total.target;
    format!(
        "{}, {} of the run of the target",
        format::time_ns(ns),
        format::percent(words::percent_of(ns, total_ns))
    )
}

/// What following a gap saves, in a sentence or two.
pub(super) fn impact(comparison: &Comparison, gap: &Gap) -> String {
    let Some(Saving {
        matching_ns,
        roof_ns,
    }) = gap.saving
    else {
        return "Not quantifiable: nothing tells what the hardware explains.".to_owned();
    };
    let matching = worth(comparison, matching_ns);
    match roof_ns {
        Some(roof_ns) => format!(
            "{matching}, when it takes as long as predicted; at most {} at the roof of the target.",
            format::time_ns(roof_ns)
        ),
        None => format!("At most {matching}."),
    }
}
