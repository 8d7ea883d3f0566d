//! The executive summary: one paragraph, the figures, the operations with the most time, and warnings if there are any.

use super::{Input, percent, share};
use crate::base::format;
use crate::base::interval::percent_of;
use crate::findings::engine::compute::varies;
use crate::findings::{Row, Tier};
use crate::output::markup::{DocTable, Document, Line, Span, code, dash, line, text};
use crate::report::overview::{Level, LimitKind, Measure, QualityLine, SplitKind};
use crate::report::top::{N_TOP, TopOperation, top_operations};

pub(super) fn write(source: &Input) -> Document {
    let mut document = Document::default();
    document.text(&paragraph(source));
    document.table(metrics(source));
    let longest = match source.report.overview.measure {
        Measure::Gpu => longest_on_gpu(source),
        Measure::Cpu => longest_on_cpu(source),
    };
    if !longest.rows.is_empty() {
        document.heading(3, "Top Bottlenecks");
        document.table(longest);
    }
    document
}

fn paragraph(source: &Input) -> String {
    let overview = &source.report.overview;
    let mut sentences: Vec<String> = overview.hardware.mismatch.clone().into_iter().collect();
    sentences.push(overview.headline.clone());
    let limits = overview.limits.iter();
    // Notes are in the appendix; that it is another GPU was already said.
    let limits =
        limits.filter(|limit| limit.level > Level::Note && limit.kind != LimitKind::OtherGpu);
    let limits = format::joined(limits.map(|limit| format::in_sentence(&limit.label)), ", ");
    if !limits.is_empty() {
        sentences.push(format!("Limits: {limits}."));
    }
    let mut ranked = source.report.analyses.findings.ranked.iter();
    if let Some(first) = ranked.find(|ranked| ranked.finding.says_what_to_do()) {
        sentences.push(format!(
            "First to do: {}.",
            format::in_sentence(&first.finding.title)
        ));
    }
    sentences.join(" ")
}

/// The rows that the table must have.
const ROWS: [&str; 6] = [
    "Total Compute Time",
    "GPU Utilization",
    "Exposed Communication",
    "Exposed Memory Copies",
    "Idle Time",
    "Total Time",
];

/// The same if there are GPU times.
pub(super) fn rows(source: &Input) -> &'static [&'static str] {
    match source.report.overview.measure {
        Measure::Gpu => &ROWS,
        Measure::Cpu => &[],
    }
}

fn metrics(source: &Input) -> DocTable {
    let overview = &source.report.overview;
    let part = |kind: SplitKind| overview.split.iter().find(|part| part.kind == kind);
    let share = |kind: SplitKind| dash(part(kind), |part| format::percent(part.percent));
    let mut rows: Vec<(&str, Line)> = match overview.measure {
        Measure::Gpu => {
            let computation = part(SplitKind::Computation);
            let values = [
                dash(computation, |part| format::time_ns(part.ns)),
                share(SplitKind::Computation),
                share(SplitKind::ExposedCommunication),
                share(SplitKind::ExposedCopies),
                share(SplitKind::Idle),
                dash(overview.total_ns, format::time_ns),
            ];
            ROWS.into_iter().zip(values).collect()
        }
        Measure::Cpu => overview
            .facts
            .iter()
            .map(|(label, value)| (label.as_str(), line(value)))
            .collect(),
    };
    let top = top_category(source).map(text);
    rows.extend(top.map(|category| ("Top Bottleneck Category", category)));
    DocTable::of(rows)
        .text("Metric", |(label, _)| *label)
        .line(">Value", |(_, value)| value.clone())
        .into()
}

/// "GEMM (41.2 % of compute)".
fn top_category(source: &Input) -> Option<String> {
    let outcomes = source.report.analyses.outcomes.iter();
    let top = outcomes
        .filter(|outcome| outcome.kind.tier == Tier::Compute && outcome.time_ns > 0)
        .max_by_key(|outcome| outcome.time_ns)?;
    let share = percent_of(top.time_ns, source.report.timelines.compute_ns()?)?;
    let (title, share) = (top.kind.title, format::percent(share));
    Some(format!("{title} ({share} of compute)"))
}

fn longest_on_gpu(source: &Input) -> DocTable {
    let longest = top_operations(source.profile, source.report);
    let head = match longest.iter().all(|one| one.is_kernel) {
        true => "Kernel",
        false => "Operation",
    };
    let name = |one: &TopOperation| {
        let mark = if one.is_recompute {
            " (recomputed)"
        } else {
            ""
        };
        [vec![Span::Code(one.name.clone())], line(mark)].concat()
    };
    DocTable::of((1_u32..).zip(longest))
        .text(">Rank", |(rank, _)| rank.to_string())
        .line(head, |(_, one)| name(one))
        .time(">Time", |(_, one)| one.ns)
        .text(">% Compute", |(_, one)| percent(one.percent_of_compute))
        .into()
}

fn longest_on_cpu(source: &Input) -> DocTable {
    let whole = source.profile.cpu_self_ns();
    let operations = source.report.overview.operations.iter().take(N_TOP);
    DocTable::of((1_u32..).zip(operations))
        .text(">Rank", |(rank, _)| rank.to_string())
        .line("Operation", |(_, one)| code(&one.name, 60))
        .time(">Time", |(_, one)| one.ns)
        .text(">% of Operators", |(_, one)| share(one.ns, Some(whole)))
        .into()
}

pub(super) fn warnings(source: &Input) -> Vec<Line> {
    let quality = source.report.overview.quality.lines.iter();
    let quality = quality.filter(|line| line.level >= Level::Warn);
    quality
        .map(quality_line)
        .chain(caveats(source).iter().map(|caveat| line(caveat)))
        .collect()
}

/// What is wrong with the data, how often and where.
pub(super) fn quality_line(quality: &QualityLine) -> Line {
    line(&quality.with_detail())
}

fn caveats(source: &Input) -> Vec<String> {
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
