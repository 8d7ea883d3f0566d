//! Checks of what stands where.

use super::read::{Part, headings, is_close, numbers, parts, prose};
use super::{Verdict, Written};
use crate::base::format;
use crate::findings::compute::varies;
use crate::findings::{RankedFinding, Status, Tier};
use crate::import::warning::WarningKind;
use crate::output::document::{Block, Document, Span, plain, slug};
use crate::output::export::findings_json;
use crate::output::standalone::multi_kernel;
use crate::output::standalone::summary::{longest, name_of};
use crate::report::overview::{Level, Measure};

/// V1.
pub(super) fn sections(written: &Written) -> Verdict {
    let mut defects = Vec::new();
    fair_sections(written, &mut defects);
    rough_sections(written, &mut defects);
    for (outcome, document) in &written.findings {
        let system = outcome.kind.tier != Tier::Compute;
        let expected: &[&str] = match (&outcome.status, system) {
            (Status::Done, _) if outcome.kind.key == multi_kernel::KEY => &multi_kernel::SECTIONS,
            (Status::Done, true) => &["Overview", "Summary", "Recommendations", "Additional Notes"],
            (Status::Done, false) => &[
                "Overview",
                "Operations Breakdown",
                "Key Bottlenecks",
                "Additional Notes",
            ],
            _ => &[],
        };
        let key = outcome.kind.key;
        compare(key, &headings(&document.blocks, 2), expected, &mut defects);
        let status = match outcome.status {
            Status::Error(_) => "ERROR",
            Status::NoData if !written.source.profile.has_gpu_events() => "NO_DATA",
            Status::Done | Status::NoData => "SUCCESS",
        };
        let parts = parts(&document.blocks, 1);
        let field = |name| parts.first().and_then(|part| part.field(name));
        if field("Status").as_deref() != Some(status) {
            defects.push(format!("{key}: the status is not {status}"));
        }
        if system && field("Analysis Tier").as_deref() != Some("System-Level") {
            defects.push(format!("{key}: the tier is missing"));
        }
    }
    Verdict::of(defects)
}

fn compare(document: &str, found: &[&str], expected: &[&str], defects: &mut Vec<String>) {
    if found != expected {
        defects.push(format!(
            "{document}: sections are “{}”, not “{}”",
            found.join(", "),
            expected.join(", ")
        ));
    }
}

fn fair_sections(written: &Written, defects: &mut Vec<String>) {
    let fair = &written.fair;
    let title = written.source.title();
    compare("fair", &headings(&fair.blocks, 1), &[&title], defects);
    let mut expected = vec!["Executive Summary"];
    if needs_warnings(written) {
        expected.push("Warnings");
    }
    expected.extend(["Recommendations", "Detailed Analysis", "Appendix"]);
    compare("fair", &headings(&fair.blocks, 2), &expected, defects);
    let below = |section: &str| headings(fair.section(section).unwrap_or_default(), 3);
    let overview = &written.source.report.overview;
    let has_bottlenecks = match overview.measure {
        Measure::Gpu => !longest(written.source).is_empty(),
        Measure::Host => !overview.operations.is_empty(),
    };
    let summary: &[&str] = match has_bottlenecks {
        true => &["Top Bottlenecks"],
        false => &[],
    };
    compare("fair", &below("Executive Summary"), summary, defects);
    for (at, heading) in below("Detailed Analysis").into_iter().enumerate() {
        if !heading.starts_with(&format!("{}. ", at + 1)) {
            defects.push(format!("fair: “{heading}” is section {}", at + 1));
        }
    }
    let appendix = below("Appendix");
    for needed in ["Hardware Reference", "Replay Artifacts"] {
        if !appendix.contains(&needed) {
            defects.push(format!("fair: the appendix has no {needed}"));
        }
    }
}

/// Whether an analysis failed, data was repaired or lost, an operation is faster than its roof, the
/// GPU is another than the recorded one, or durations of a long operation vary much.
fn needs_warnings(written: &Written) -> bool {
    let report = written.source.report;
    let thresholds = &report.options.thresholds;
    let outcomes = &report.analyses.outcomes;
    let is_failed = |status: &Status| matches!(status, Status::Error(_));
    let mut computing = outcomes
        .iter()
        .filter(|outcome| outcome.kind.tier == Tier::Compute)
        .flat_map(|outcome| &outcome.rows);
    outcomes.iter().any(|outcome| is_failed(&outcome.status))
        || report
            .overview
            .quality
            .lines
            .iter()
            .any(|line| line.level >= Level::Warn)
        || computing.any(|row| {
            let least = thresholds.medium_percent_of_compute;
            varies(written.source.profile, row, thresholds, least).is_some()
        })
}

fn rough_sections(written: &Written, defects: &mut Vec<String>) {
    let rough = &written.rough;
    let title = format!("{} (Rough)", written.source.title());
    compare("rough", &headings(&rough.blocks, 1), &[&title], defects);
    let expected = [
        "Analysis Process Summary",
        "Raw Data Exploration",
        "Tree Analysis",
        "Analysis Gaps",
        "Questions for Further Investigation",
        "Checks",
    ];
    compare("rough", &headings(&rough.blocks, 2), &expected, defects);
    let steps = headings(
        rough
            .section("Analysis Process Summary")
            .unwrap_or_default(),
        3,
    );
    let is_step =
        |(at, heading): (usize, &&str)| heading.starts_with(&format!("Step {}: ", at + 1));
    if steps.len() != 9 || !steps.iter().enumerate().all(is_step) {
        defects.push("rough: the nine steps are not in order".to_owned());
    }
}

/// Texts that were to be replaced by figures.
const PLACEHOLDERS: &[&str] = &[
    "X ms",
    "X.X",
    "XX %",
    "X %",
    "X%",
    "Y ms",
    "Y %",
    "Y%",
    "<Brief",
    "<brief",
    "<Model",
    "<model",
    "<Platform",
    "<platform",
    "<Title",
    "<Name",
    "<op>",
    "TODO",
    "TBD",
    "FIXME",
    "{}",
    "{:",
    "NaN",
    "Some(",
    "None)",
];

/// V2.
pub(super) fn rows(written: &Written) -> Verdict {
    let mut defects = Vec::new();
    let overview = &written.source.report.overview;
    let table = first_table(&written.fair, "Executive Summary");
    if overview.measure == Measure::Gpu {
        const ROWS: [&str; 6] = [
            "Total Compute Time",
            "GPU Utilization",
            "Exposed Communication",
            "Exposed Memory Copies",
            "Idle Time",
            "Total Time",
        ];
        let found: Vec<&str> = table.iter().map(|(label, _)| label.as_str()).collect();
        if found.get(..ROWS.len()) != Some(&ROWS) {
            defects.push(format!("fair: the rows are “{}”", found.join(", ")));
        }
    }
    let empty = table.iter().filter(|(_, value)| value.trim().is_empty());
    defects.extend(empty.map(|(label, _)| format!("fair: {label} has no value")));
    for (name, document) in written.documents() {
        for text in prose(document, &written.names()) {
            // A warning of the import names what it found.
            let text = text.replace(WarningKind::NotANumber.sentence(), "");
            if let Some(found) = PLACEHOLDERS.iter().find(|word| has_token(&text, word)) {
                defects.push(format!("{name}: “{found}” in “{}”", short(&text)));
            }
        }
    }
    Verdict::of(defects)
}

/// Whether a text has a token that no letter or digit stands beside: "X ms" is not in "MAX ms".
fn has_token(text: &str, token: &str) -> bool {
    let touches = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
    text.match_indices(token).any(|(at, _)| {
        let before = text.get(..at).and_then(|head| head.chars().next_back());
        let after = text
            .get(at + token.len()..)
            .and_then(|tail| tail.chars().next());
        let ends_open = token.ends_with(|letter: char| letter.is_alphanumeric());
        !(touches(before) || ends_open && touches(after))
    })
}

/// The start of a text, for a message.
pub(super) fn short(text: &str) -> String {
    format::middle_ellipsis(text, 80)
}

/// The first two cells of each row of the first table of a section.
pub(super) fn first_table(document: &Document, section: &str) -> Vec<(String, String)> {
    let blocks = document.section(section).unwrap_or_default();
    let table = blocks.iter().find_map(|block| match block {
        Block::Table(table) => Some(table),
        _ => None,
    });
    let rows = table.map_or(&[][..], |table| &table.rows);
    rows.iter()
        .filter_map(|row| Some((plain(row.first()?), plain(row.get(1)?))))
        .collect()
}

/// The recommendations as they are written, each with its finding.
pub(super) fn pairs<'a>(written: &'a Written) -> Vec<(Part<'a>, &'a RankedFinding)> {
    let cards = parts(
        written.fair.section("Recommendations").unwrap_or_default(),
        3,
    );
    let ranked = &written.source.report.analyses.findings.ranked;
    cards.into_iter().zip(ranked).collect()
}

/// V3.
pub(super) fn cards(written: &Written) -> Verdict {
    let mut defects = Vec::new();
    let (profile, report) = (written.source.profile, written.source.report);
    let ranked = &report.analyses.findings.ranked;
    let titles = headings(
        written.fair.section("Recommendations").unwrap_or_default(),
        3,
    );
    let details = written
        .fair
        .section("Detailed Analysis")
        .unwrap_or_default();
    if titles.len() != ranked.len() {
        defects.push(format!(
            "{} for {}",
            titles.len(),
            format::counted(ranked.len() as u64, "finding")
        ));
    }
    for (card, one) in pairs(written) {
        let number = one.number;
        if !card
            .heading
            .ends_with(&format!(" Priority {number}: {}", one.finding.title))
        {
            defects.push(format!("“{}” stands at {number}", short(card.heading)));
        }
        // Under the heading of its analysis.
        let of_analysis = parts(details, 3).into_iter().filter(|part| {
            let title = part.heading.split_once(". ").map(|(_, title)| title);
            title == Some(one.analysis.title)
        });
        let detail = format!("P{number} {}", one.finding.title);
        if !of_analysis
            .into_iter()
            .any(|part| headings(part.blocks, 4).contains(&detail.as_str()))
        {
            defects.push(format!(
                "P{number} is not among the details of {}",
                one.analysis.title
            ));
        }
        // The numbers that programs read.
        let json = findings_json::finding(profile, report, one);
        let exact = |key: &str| {
            json.get("impact")
                .and_then(|impact| impact.get(key)?.as_f64())
        };
        let impact = card.field("Impact").unwrap_or_default();
        let shown: Vec<f64> = numbers(&impact)
            .iter()
            .filter_map(|number| number.ms())
            .collect();
        let ends = (shown.first().copied(), shown.last().copied());
        let is_same = match (exact("low_ms").zip(exact("high_ms")), ends) {
            (Some((low, high)), (Some(first), Some(last))) => {
                let names_most_alone = shown.len() == 1 && low <= 0.0;
                (is_close(first, low) || names_most_alone) && is_close(last, high)
            }
            (None, (None, None)) => true,
            _ => false,
        };
        if !is_same {
            defects.push(format!(
                "P{number} says “{}”, the file for programs does not",
                short(&impact)
            ));
        }
        let severity = format!("Severity: {}.", one.finding.priority.label());
        if !impact.contains(&severity) {
            defects.push(format!("P{number} does not say “{severity}”"));
        }
    }
    Verdict::of(defects)
}

/// V4.
pub(super) fn bottlenecks(written: &Written) -> Verdict {
    let source = written.source;
    if source.report.overview.measure != Measure::Gpu {
        return Verdict::NotApplicable("no GPU time was recorded".to_owned());
    }
    let expected = longest(source);
    let blocks = written.fair.section("Top Bottlenecks").unwrap_or_default();
    let table = blocks.iter().find_map(|block| match block {
        Block::Table(table) => Some(table),
        _ => None,
    });
    let rows = table.map_or(&[][..], |table| &table.rows);
    let mut defects = Vec::new();
    if rows.len() != expected.len() {
        defects.push(format!("{} rows for {}", rows.len(), expected.len()));
    }
    for (at, (row, one)) in rows.iter().zip(&expected).enumerate() {
        let cell = |at: usize| row.get(at).map(|cell| plain(cell)).unwrap_or_default();
        let shown_ms = numbers(&cell(2)).first().and_then(|number| number.ms());
        let name = name_of(source, one);
        let has_name = row.get(1).and_then(|cell| cell.first()) == Some(&Span::Code(name.clone()));
        if !has_name || !shown_ms.is_some_and(|shown| is_close(shown, one.ns as f64 / 1e6)) {
            defects.push(format!("row {} is not {}", at + 1, short(&name)));
        }
        let share = numbers(&cell(3))
            .first()
            .and_then(|number| number.percent());
        if share.is_some_and(|percent| percent > 100.0) {
            defects.push(format!("row {} is more than all that computes", at + 1));
        }
    }
    Verdict::of(defects)
}

/// V5.
pub(super) fn labels(written: &Written) -> Verdict {
    let mut defects = Vec::new();
    let slugs: Vec<String> = written.fair.headings().map(|(.., slug)| slug).collect();
    for (card, one) in pairs(written) {
        let number = one.number;
        let has = |part: &Part, name: &str| part.field(name).is_some_and(|text| !text.is_empty());
        for name in ["Issue", "Action", "Impact"] {
            if !has(&card, name) {
                defects.push(format!("P{number} has no {name}"));
            }
        }
        let action = card.field("Action").unwrap_or_default();
        let paths = action
            .strip_prefix("Model: ")
            .and_then(|rest| rest.split_once(" Kernel: "));
        if !paths
            .is_some_and(|(model, kernel)| !model.trim().is_empty() && !kernel.trim().is_empty())
        {
            defects.push(format!("the action of P{number} has not both paths"));
        }
        let target = card
            .spans("Impact")
            .unwrap_or_default()
            .iter()
            .find_map(|span| match span {
                Span::Link { slug, .. } => Some(slug),
                _ => None,
            });
        let n_found = slugs.iter().filter(|slug| Some(*slug) == target).count();
        if n_found != 1 {
            defects.push(format!(
                "the link of P{number} leads to {}",
                format::counted(n_found as u64, "heading")
            ));
        }
        let Some(detail) = detail(&written.fair, one) else {
            defects.push(format!("P{number} has no details"));
            continue;
        };
        for name in [
            "Identification",
            "Data",
            "Reasoning",
            "Model",
            "Kernel",
            "Impact estimate",
        ] {
            if !has(&detail, name) {
                defects.push(format!("the details of P{number} have no {name}"));
            }
        }
        if target != Some(&slug(detail.heading)) {
            defects.push(format!(
                "the link of P{number} does not lead to its details"
            ));
        }
    }
    Verdict::of(defects)
}

/// The details of a finding.
pub(super) fn detail<'a>(fair: &'a Document, one: &RankedFinding) -> Option<Part<'a>> {
    let heading = format!("P{} {}", one.number, one.finding.title);
    let details = fair.section("Detailed Analysis")?;
    parts(details, 4)
        .into_iter()
        .find(|part| part.heading == heading)
}

/// V6.
pub(super) fn markers(_: &Written) -> Verdict {
    Verdict::NotApplicable("these documents have none: programs read findings.json".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placeholder_stands_alone() {
        let cases = [
            ("It takes X ms.", "X ms", true),
            ("MAX ms", "X ms", false),
            ("about Y% of it", "Y%", true),
            ("TODOS", "TODO", false),
        ];
        for (text, token, expected) in cases {
            assert_eq!(has_token(text, token), expected, "{text}");
        }
    }
}
