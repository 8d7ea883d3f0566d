//! The executive summary: one paragraph, the figures, the operations that take the most time; and
//! warnings, where there is something to warn of.

use super::Source;
use super::bottlenecks::{self, Bottleneck};
use super::cards::failed;
use super::words::{inner, percent, share};
use crate::base::format;
use crate::base::interval::sum;
use crate::findings::compute::varies;
use crate::findings::{Row, Status, Tier};
use crate::output::document::{DocTable, Document, Span};
use crate::profile::Profile;
use crate::report::Report;
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
    let mut sentences: Vec<String> = overview.hardware.mismatch.clone().into_iter().collect();
    sentences.push(overview.headline.clone());
    let computation = overview
        .split
        .iter()
        .find(|part| part.kind == SplitKind::Computation);
    if let Some(computation) = computation
        && computation.percent < GOOD_COMPUTATION_PERCENT
        && !source.profile.is_idle_untold()
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
    let mut ranked = findings.ranked.iter();
    if let Some(first) = ranked.find(|ranked| ranked.finding.says_what_to_do()) {
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
    let table = match source.report.overview.measure {
        Measure::Gpu => longest_on_gpu(source),
        Measure::Host => longest_on_host(source),
    };
    if !table.rows.is_empty() {
        document.heading(3, "Top Bottlenecks");
        document.table(table);
    }
}

/// The operators and kernels that compute for the longest.
pub(super) fn longest(source: &Source) -> Vec<Bottleneck> {
    let mut longest = bottlenecks::longest(source.profile, source.report.timelines.events);
    longest.truncate(N_BOTTLENECKS);
    longest
}

/// An operation or a kernel of [`top_operations`].
#[derive(Debug, Clone, PartialEq)]
pub struct TopOperation {
    /// Its name; of a kernel without what says nothing. The middle of a long one is left out.
    pub name: String,
    /// It runs while activations are computed again.
    pub is_recompute: bool,
    /// How often it is called, or how often the kernel runs.
    pub n: u64,
    /// Its time in kernels, in nanoseconds.
    pub ns: i64,
    /// Share of the kernel time of all that computes; `None` where nothing does.
    pub percent_of_compute: Option<f64>,
}

/// The rows of Top Bottlenecks; none without GPU time.
pub fn top_operations(profile: &Profile, report: &Report) -> Vec<TopOperation> {
    let source = Source::new(profile, report);
    let compute_ns = report.timelines.compute_ns();
    let rows = longest(&source).into_iter().map(|one| TopOperation {
        name: name_of(&source, &one),
        is_recompute: one.is_recompute,
        n: one.n,
        ns: one.ns,
        percent_of_compute: share(one.ns, compute_ns),
    });
    rows.collect()
}

/// The name of an operator, or of a kernel without what says nothing.
pub(super) fn name_of(source: &Source, one: &Bottleneck) -> String {
    let name = source.profile.trace.strings.get(one.name);
    match one.is_kernel {
        true => format::middle_ellipsis(&format::kernel_name(name), 60),
        false => format::middle_ellipsis(name, 60),
    }
}

fn longest_on_gpu(source: &Source) -> DocTable {
    let longest = longest(source);
    let head = match longest.iter().all(|one| one.is_kernel) {
        true => "Kernel",
        false => "Operation",
    };
    let compute_ns = source.report.timelines.compute_ns();
    let mut table = DocTable::new(&[">Rank", head, ">Time", ">% Compute"]);
    for one in &longest {
        let name = Span::Code(name_of(source, one));
        push(&mut table, name, one.is_recompute, one.ns, compute_ns);
    }
    table
}

fn longest_on_host(source: &Source) -> DocTable {
    let whole = sum(source.profile.host_ops.iter().map(|op| op.self_ns));
    let mut table = DocTable::new(&[">Rank", "Operation", ">Time", ">% of Operators"]);
    let operations = source.report.overview.operations.iter();
    for operation in operations.take(N_BOTTLENECKS) {
        let name = Span::Code(format::middle_ellipsis(&operation.name, 60));
        push(&mut table, name, false, operation.ns, Some(whole));
    }
    table
}

fn push(table: &mut DocTable, name: Span, is_recompute: bool, ns: i64, whole: Option<i64>) {
    let text = |text: String| vec![Span::Text(text)];
    let mut name = vec![name];
    if is_recompute {
        name.push(Span::Text(" (recomputed)".to_owned()));
    }
    table.rows.push(vec![
        text((table.rows.len() + 1).to_string()),
        name,
        text(format::time_ns(ns)),
        text(percent(share(ns, whole))),
    ]);
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
            items.push(crate::output::document::line(&format!(
                "{}{detail}",
                line.sentence
            )));
        }
    }
    for caveat in caveats(source) {
        items.push(crate::output::document::line(&caveat));
    }
    if !items.is_empty() {
        document.heading(2, "Warnings");
        document.bullets(items);
    }
}

/// Operations whose durations vary much.
fn caveats(source: &Source) -> Vec<String> {
    let thresholds = &source.report.options.thresholds;
    let rows = source
        .report
        .analyses
        .outcomes
        .iter()
        .filter(|outcome| outcome.kind.tier == Tier::Compute)
        .flat_map(|outcome| &outcome.rows);
    let least = thresholds.medium_percent_of_compute;
    let sentence = |row: &Row| {
        let ratio = varies(source.profile, row, thresholds, least)?;
        let operation = source.profile.operations().get(row.operation)?;
        let name = format::kernel_name(operation.short_name(source.profile));
        Some(format!(
            "Durations of `{}` vary much: their deviation is {} of their mean over {}.",
            format::middle_ellipsis(&name, 60),
            format::percent(ratio * 100.0),
            format::counted(row.n_calls, "call"),
        ))
    };
    rows.filter_map(sentence).collect()
}
