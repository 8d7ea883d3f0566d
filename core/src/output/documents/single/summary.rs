//! The executive summary: one paragraph, the figures, the operations that take the most time; and
//! warnings, where there is something to warn of.

use super::{Source, percent, share};
use crate::base::format;
use crate::base::interval::{percent_of, sum};
use crate::findings::compute::varies;
use crate::findings::{Row, Tier};
use crate::output::document::{DocTable, Document, Line, Span, dash, line, text};
use crate::report::cards::cards;
use crate::report::overview::{Level, Measure, QualityLine, SplitKind};
use crate::report::top::{N_TOP, top, top_operations};

/// Below this share of computation the summary first says where the rest of the time is.
const GOOD_COMPUTATION_PERCENT: f64 = 95.0;

pub(super) fn write(source: &Source) -> Document {
    let mut document = Document::default();
    document.text(&paragraph(source));
    document.table(metrics(source));
    let longest = match source.report.overview.measure {
        Measure::Gpu => longest_on_gpu(source),
        Measure::Host => longest_on_cpu(source),
    };
    if !longest.rows.is_empty() {
        document.heading(3, "Top Bottlenecks");
        document.table(longest);
    }
    document
}

fn paragraph(source: &Source) -> String {
    let overview = &source.report.overview;
    let mut sentences: Vec<String> = overview.hardware.mismatch.clone().into_iter().collect();
    sentences.push(overview.headline.clone());
    let is_low = overview
        .split
        .iter()
        .any(|part| part.kind == SplitKind::Computation && part.percent < GOOD_COMPUTATION_PERCENT);
    if is_low && !source.profile.is_idle_untold() {
        let rest = overview.split.iter();
        let rest = rest.filter(|part| part.kind != SplitKind::Computation && part.ns > 0);
        let rest: Vec<String> = rest
            .map(|part| {
                let label = part.kind.label().to_lowercase();
                format!("{} {label}", format::percent(part.percent))
            })
            .collect();
        if !rest.is_empty() {
            sentences.push(format!("Outside computation: {}.", rest.join(", ")));
        }
    }
    let mut ranked = source.report.analyses.findings.ranked.iter();
    if let Some(first) = ranked.find(|ranked| ranked.finding.says_what_to_do()) {
        sentences.push(format!("First to do: {}.", inner(&first.finding.title)));
    }
    sentences.join(" ")
}

/// Names that titles begin with.
const NAMES: [&str; 1] = ["Adam"];

/// A title in the middle of a sentence: "Tiny batched GEMMs" is "tiny batched GEMMs", names and
/// abbreviations stay.
fn inner(title: &str) -> String {
    let first = title.split(' ').next();
    let mut letters = title.chars();
    match (letters.next(), letters.next()) {
        (Some(one), Some(two))
            if one.is_uppercase()
                && two.is_lowercase()
                && !first.is_some_and(|first| NAMES.contains(&first)) =>
        {
            let rest = title.get(one.len_utf8()..).unwrap_or_default();
            format!("{}{rest}", one.to_lowercase())
        }
        _ => title.to_owned(),
    }
}

/// A row of the table, the part of the run that it is about, and whether it is written as a time.
type Metric = (&'static str, SplitKind, bool);

const METRICS: [Metric; 5] = [
    ("Total Compute Time", SplitKind::Computation, true),
    ("GPU Utilization", SplitKind::Computation, false),
    (
        "Exposed Communication",
        SplitKind::ExposedCommunication,
        false,
    ),
    ("Exposed Memory Copies", SplitKind::ExposedCopies, false),
    ("Idle Time", SplitKind::Idle, false),
];

/// The rows that the table must have.
pub(super) fn rows(source: &Source) -> &'static [&'static str] {
    match source.report.overview.measure {
        Measure::Gpu => &[
            "Total Compute Time",
            "GPU Utilization",
            "Exposed Communication",
            "Exposed Memory Copies",
            "Idle Time",
            "Total Time",
        ],
        Measure::Host => &[],
    }
}

fn metrics(source: &Source) -> DocTable {
    let overview = &source.report.overview;
    let mut table = DocTable::new(&["Metric", ">Value"]);
    if overview.measure == Measure::Gpu {
        for (label, kind, is_time) in METRICS {
            let part = overview.split.iter().find(|part| part.kind == kind);
            let value = dash(part, |part| match is_time {
                true => format::time_ns(part.ns),
                false => format::percent(part.percent),
            });
            table.row(&[label, &value]);
        }
        table.row(&["Total Time", &dash(overview.total_ns, format::time_ns)]);
    } else {
        for (label, value) in &overview.facts {
            table.row(&[label, value]);
        }
    }
    if let Some(category) = top_category(source) {
        table.row(&["Top Bottleneck Category", &category]);
    }
    table
}

/// "GEMM (41.2 % of compute)".
fn top_category(source: &Source) -> Option<String> {
    let outcomes = source.report.analyses.outcomes.iter();
    let top = outcomes
        .filter(|outcome| outcome.kind.tier == Tier::Compute && outcome.time_ns > 0)
        .max_by_key(|outcome| outcome.time_ns)?;
    let share = percent_of(top.time_ns, source.report.timelines.compute_ns()?)?;
    Some(format!(
        "{} ({} of compute)",
        top.kind.title,
        format::percent(share)
    ))
}

fn longest_on_gpu(source: &Source) -> DocTable {
    let longest = top_operations(source.profile, source.report);
    let top = top(source.profile, source.report);
    let head = match top.iter().all(|one| one.is_kernel) {
        true => "Kernel",
        false => "Operation",
    };
    let rows = longest.into_iter().enumerate().map(|(at, one)| {
        let mut name = vec![Span::Code(one.name)];
        if one.is_recompute {
            name.push(Span::Text(" (recomputed)".to_owned()));
        }
        [
            text((at + 1).to_string()),
            name,
            text(format::time_ns(one.ns)),
            text(percent(one.percent_of_compute)),
        ]
    });
    DocTable::of([">Rank", head, ">Time", ">% Compute"], rows)
}

fn longest_on_cpu(source: &Source) -> DocTable {
    let whole = sum(source.profile.host_ops.iter().map(|op| op.self_ns));
    let operations = source.report.overview.operations.iter().take(N_TOP);
    let rows = operations.enumerate().map(|(at, operation)| {
        [
            text((at + 1).to_string()),
            crate::output::document::code(&operation.name, 60),
            text(format::time_ns(operation.ns)),
            text(share(operation.ns, Some(whole))),
        ]
    });
    DocTable::of([">Rank", "Operation", ">Time", ">% of Operators"], rows)
}

/// Analyses that failed, and what is wrong with the data.
pub(super) fn warnings(source: &Source) -> Vec<Line> {
    let failed = cards(source.profile, source.report).failed.into_iter();
    let quality = source.report.overview.quality.lines.iter();
    let quality = quality.filter(|line| line.level >= Level::Warn);
    failed
        .map(text)
        .chain(quality.map(quality_line))
        .chain(caveats(source).iter().map(|caveat| line(caveat)))
        .collect()
}

/// What is wrong with the data, how often and where.
pub(super) fn quality_line(quality: &QualityLine) -> Line {
    let detail = match quality.detail() {
        detail if detail.is_empty() => detail,
        detail => format!(" ({detail})"),
    };
    line(&format!("{}{detail}", quality.sentence))
}

/// Operations whose durations vary much.
fn caveats(source: &Source) -> Vec<String> {
    let thresholds = &source.report.options.thresholds;
    let outcomes = source.report.analyses.outcomes.iter();
    let outcomes = outcomes.filter(|outcome| outcome.kind.tier == Tier::Compute);
    let least = thresholds.medium_percent_of_compute;
    let sentence = |row: &Row| {
        let ratio = varies(source.profile, row, thresholds, least)?;
        let operation = source.profile.operations().get(row.operation)?;
        let name = format::kernel_name(operation.short_name(source.profile));
        Some(format!(
            "Durations of `{}` vary: their standard deviation is {} of their mean over {}.",
            format::middle_ellipsis(&name, 60),
            format::percent(ratio * 100.0),
            format::counted(row.n_calls, "call"),
        ))
    };
    let rows = outcomes.flat_map(|outcome| &outcome.rows);
    rows.filter_map(sentence).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_within_a_sentence() {
        for (title, expected) in [
            ("Tiny batched GEMMs", "tiny batched GEMMs"),
            ("FP32 GEMMs of BF16", "FP32 GEMMs of BF16"),
            ("`Kernel_A`: unknown", "`Kernel_A`: unknown"),
            ("Adam in list kernels", "Adam in list kernels"),
            ("", ""),
        ] {
            assert_eq!(inner(title), expected);
        }
    }
}
