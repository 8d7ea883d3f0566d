//! The executive summary: one paragraph, the figures, the operations that take the most time; and
//! warnings, where there is something to warn of.

use super::Source;
use super::cards::failed;
use super::words::{inner, percent, share};
use crate::analysis::{Status, Tier};
use crate::document::{DocTable, Document, Span};
use crate::format;
use crate::interval::sum;
use crate::report::overview::{Level, Measure, SplitKind};

/// Operations in the table: what fits a summary.
const N_BOTTLENECKS: usize = 5;

/// Below this share of computation the summary first says where the rest of the time is.
const GOOD_COMPUTATION_PERCENT: f64 = 95.0;

pub(super) fn write(document: &mut Document, source: &Source) {
    document.heading(2, "Executive Summary");
    document.text(&paragraph(source));
    document.table(metrics(source));
    bottlenecks(document, source);
    warnings(document, source);
}

fn paragraph(source: &Source) -> String {
    let overview = &source.report.overview;
    let mut sentences = vec![overview.headline.clone()];
    let computation = overview
        .split
        .iter()
        .find(|part| part.kind == SplitKind::Computation);
    if let Some(computation) = computation
        && computation.percent < GOOD_COMPUTATION_PERCENT
    {
        let rest: Vec<String> = overview
            .split
            .iter()
            .filter(|part| part.kind != SplitKind::Computation && part.ns > 0)
            .map(|part| {
                let label = part.kind.label().to_lowercase();
                format!("{} {label}", format::percent(part.percent))
            })
            .collect();
        if !rest.is_empty() {
            sentences.push(format!("Outside computation: {}.", rest.join(", ")));
        }
    }
    let findings = &source.report.analyses.findings;
    if let Some(first) = findings.ranked.first() {
        sentences.push(format!("First to do: {}.", inner(&first.finding.title)));
    }
    sentences.join(" ")
}

fn metrics(source: &Source) -> DocTable {
    let overview = &source.report.overview;
    let mut table = DocTable::new(&["Metric", ">Value"]);
    let part = |kind| overview.split.iter().find(|part| part.kind == kind);
    if overview.measure == Measure::Gpu {
        let labelled = [
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
        for (label, kind, is_time) in labelled {
            let value = part(kind).map(|part| match is_time {
                true => format::time_ns(part.ns),
                false => format::percent(part.percent),
            });
            table.row(&[label, &value.unwrap_or("–".to_owned())]);
        }
        let total = overview.total_ns.map(format::time_ns);
        table.row(&["Total Time", &total.unwrap_or("–".to_owned())]);
    } else {
        for fact in &overview.facts {
            table.row(&[fact.label, &fact.value]);
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
    let share = share(top.time_ns, source.report.timelines.compute_ns())?;
    Some(format!(
        "{} ({} of compute)",
        top.kind.title,
        format::percent(share)
    ))
}

fn bottlenecks(document: &mut Document, source: &Source) {
    let overview = &source.report.overview;
    if overview.operations.is_empty() {
        return;
    }
    document.heading(3, "Top Bottlenecks");
    // Launching calls are no operations: what they launch says more.
    if !source.profile.has_host_ops() {
        document.table(longest_kernels(source));
        return;
    }
    let (head, whole) = match overview.measure {
        Measure::Gpu => (">% Compute", source.report.timelines.compute_ns()),
        Measure::Host => (
            ">% of Operators",
            Some(sum(source.profile.host_ops.iter().map(|op| op.self_ns))),
        ),
    };
    let mut table = DocTable::new(&[">Rank", "Operation", ">Time", head]);
    for (rank, operation) in overview.operations.iter().take(N_BOTTLENECKS).enumerate() {
        let mut name = vec![Span::Code(format::middle_ellipsis(&operation.name, 60))];
        if operation.is_recompute {
            name.push(Span::Text(" (recomputed)".to_owned()));
        }
        let text = |text: String| vec![Span::Text(text)];
        table.rows.push(vec![
            text((rank + 1).to_string()),
            name,
            text(format::time_ns(operation.ns)),
            text(percent(share(operation.ns, whole))),
        ]);
    }
    document.table(table);
}

/// The kernels that take the most time, where no operators were recorded.
fn longest_kernels(source: &Source) -> DocTable {
    let whole = source.report.timelines.whole.as_ref();
    let computation_ns = whole.map(|whole| whole.computation_ns);
    let mut table = DocTable::new(&[">Rank", "Kernel", ">Time", ">% Compute"]);
    let kernels = source.report.overview.kernels.iter().take(N_BOTTLENECKS);
    for (rank, kernel) in kernels.enumerate() {
        let name = format::middle_ellipsis(&format::kernel_name(&kernel.name), 60);
        let text = |text: String| vec![Span::Text(text)];
        table.rows.push(vec![
            text((rank + 1).to_string()),
            vec![Span::Code(name)],
            text(format::time_ns(kernel.ns)),
            text(percent(share(kernel.ns, computation_ns))),
        ]);
    }
    table
}

/// Analyses that failed, and what is wrong with the data. No heading where there is neither.
fn warnings(document: &mut Document, source: &Source) {
    let mut items = Vec::new();
    for outcome in &source.report.analyses.outcomes {
        if let Status::Error(why) = &outcome.status {
            items.push(vec![Span::Text(failed(outcome.kind.title, why))]);
        }
    }
    for line in &source.report.overview.quality.lines {
        if line.level >= Level::Warn {
            let detail = match line.detail() {
                detail if detail.is_empty() => detail,
                detail => format!(" ({detail})"),
            };
            items.push(vec![Span::Text(format!("{}{detail}", line.sentence))]);
        }
    }
    for caveat in caveats(source) {
        items.push(crate::document::line(&caveat));
    }
    if !items.is_empty() {
        document.heading(2, "Warnings");
        document.bullets(items);
    }
}

/// Operations above their roof, and those whose durations vary much.
fn caveats(source: &Source) -> Vec<String> {
    let thresholds = &source.report.options.thresholds;
    let rows = || {
        let outcomes = source.report.analyses.outcomes.iter();
        outcomes
            .filter(|outcome| outcome.kind.tier == Tier::Compute)
            .flat_map(|outcome| &outcome.rows)
    };
    let name = |row: &crate::analysis::Row| {
        let operation = source.profile.operations().get(row.operation);
        let name = operation.map_or("?", |operation| operation.short_name(source.profile));
        format::middle_ellipsis(&format::kernel_name(name), 60)
    };
    let mut caveats = Vec::new();
    let anomalies: Vec<_> = rows().filter(|row| row.is_anomaly).collect();
    if let Some(first) = anomalies.first() {
        caveats.push(format!(
            "{} faster than the roof allows, `{}` first: figures of the GPU, shapes or times must be wrong, or the data is small enough to stay on the chip. They are shown and not ranked.",
            match anomalies.len() {
                1 => "One operation is".to_owned(),
                n => format!("{} operations are", format::count(n as u64)),
            },
            name(first)
        ));
    }
    let wild = rows().filter(|row| {
        let is_large = row
            .percent_of_total
            .is_some_and(|percent| percent >= thresholds.medium_percent_of_compute);
        is_large
            && row
                .variation
                .is_some_and(|ratio| ratio > thresholds.variance_ratio)
    });
    for row in wild {
        caveats.push(format!(
            "Durations of `{}` vary much: their deviation is {} of their mean over {}.",
            name(row),
            format::percent(row.variation.unwrap_or(0.0) * 100.0),
            format::counted(row.n_calls, "call"),
        ));
    }
    caveats
}
