//! What to do, in order: each finding as a card of a few lines, with a link to its details.

use super::Source;
use super::words::{Light, Worth, action, confidence, detail_heading, impact_sentence};
use crate::base::format;
use crate::base::interval::{percent_of, sum};
use crate::findings::{Row, Tier};
use crate::output::document::{Block, Document, Span, field, slug};
use crate::profile::Profile;
use crate::report::Report;

pub(super) fn write(document: &mut Document, source: &Source) {
    document.heading(2, "Recommendations");
    let findings = &source.report.analyses.findings;
    if let Some(nothing) = nothing(source.profile, source.report) {
        document.text(&nothing);
        return;
    }
    if let Some(together) = together(source.report) {
        document.text(&together);
    }
    let hardware = &source.report.overview.hardware;
    if let (Some(gpu), Some(_)) = (&hardware.gpu, &hardware.mismatch) {
        document.text(&format!(
            "Savings that follow from a roof hold this run against the {}, on which it did not run.",
            gpu.name
        ));
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
pub(super) fn nothing(profile: &Profile, report: &Report) -> Option<String> {
    if !report.analyses.findings.ranked.is_empty() {
        return None;
    }
    let has_gpu = report.overview.hardware.gpu.is_some();
    Some(match (profile.has_gpu_events(), has_gpu) {
        (false, _) => {
            let why = profile.without_gpu().trim_end_matches('.');
            format!("{why}, so there is nothing to recommend for it.")
        }
        (true, false) => {
            "Nothing was found. How far operations are from the roof is not known without a GPU profile: choose one."
                .to_owned()
        }
        (true, true) => within_reach(report),
    })
}

/// That nothing was found, and of how much of the time that says something: of the rest an
/// efficiency is not known, cannot be believed, or is low for reasons that are no finding.
fn within_reach(report: &Report) -> String {
    let thresholds = &report.options.thresholds;
    let computing = || {
        let outcomes = report.analyses.outcomes.iter();
        outcomes.filter(|outcome| outcome.kind.tier == Tier::Compute)
    };
    let all_ns = sum(computing().map(|outcome| outcome.time_ns));
    let rows = || computing().flat_map(|outcome| &outcome.rows);
    let percent = |is_it: &dyn Fn(&&Row) -> bool| {
        let ns = sum(rows().filter(is_it).map(|row| row.time_ns));
        percent_of(ns, all_ns).unwrap_or(0.0)
    };
    let is_known = |row: &&Row| row.efficiency_percent.is_some() && !row.is_anomaly;
    let is_low = |row: &&Row| {
        let low = thresholds.gate_efficiency_percent;
        is_known(row) && row.efficiency_percent.is_some_and(|percent| percent < low)
    };
    if all_ns == 0 {
        return "Nothing was found: nothing is computed.".to_owned();
    }
    let rest = [
        (
            percent(&|row| row.efficiency_percent.is_none()),
            "is of unknown work".to_owned(),
        ),
        (
            percent(&|row| row.is_anomaly),
            "is faster than its roof, which is not believed".to_owned(),
        ),
        (
            percent(&is_low),
            format!(
                "is below {} of its roof, too short or too small a part of the run to be ranked",
                format::percent(thresholds.gate_efficiency_percent)
            ),
        ),
    ];
    let named: Vec<String> = rest
        .iter()
        .filter(|(percent, _)| *percent >= thresholds.finding_percent_of_total)
        .map(|(percent, what)| format!("{} {what}", format::percent(*percent)))
        .collect();
    let idle = below_the_line(report);
    let near = 100.0 - rest.iter().map(|(percent, _)| percent).sum::<f64>();
    let found = match (near > 50.0, named.is_empty()) {
        (true, true) => {
            "Nothing was found: what takes time is within reach of its roof.".to_owned()
        }
        (true, false) => format!(
            "Nothing was found: most of what takes time is within reach of its roof. Of the kernel time of \
             all that computes, {}.",
            named.join("; ")
        ),
        (false, _) => format!(
            "Nothing was found, which does not say that all is well: of the kernel time of all that \
             computes, {}.",
            named.join("; ")
        ),
    };
    format!("{found}{idle}")
}

/// That the GPU idles for a part of the run, where that is too little for its causes to be findings.
fn below_the_line(report: &Report) -> String {
    let thresholds = &report.options.thresholds;
    let whole = report.timelines.whole.as_ref();
    let idle = whole.and_then(|whole| percent_of(whole.idle_ns, whole.total_ns()));
    match idle.filter(|idle| *idle >= thresholds.finding_percent_of_total) {
        Some(idle) if idle <= thresholds.idle_flag_percent => format!(
            " The GPU is idle for {} of the run, below the {} above which causes are findings.",
            format::percent(idle),
            format::percent(thresholds.idle_flag_percent)
        ),
        _ => String::new(),
    }
}
