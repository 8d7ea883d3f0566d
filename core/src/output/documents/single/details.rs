//! The details: how the time splits, then each category with its operations, figures and findings.

use super::{Input, share};
use crate::base::format;
use crate::compare::words::bound;
use crate::findings::engine::compute::shapes;
use crate::findings::engine::outcome::Assessed;
use crate::findings::engine::run_time;
use crate::findings::{
    Assessment, Estimate, Outcome, RankedFinding, Row, Status, Tier, is_launch_scale,
};
use crate::output::documents::card::Card;
use crate::output::documents::parts::{TIMELINE, figures, more, projection};
use crate::output::documents::{Documented, Part, part};
use crate::output::markup::{DocTable, Document, Line, Span, code, dash};
use crate::profile::operations::Operation;
use crate::trace::StringId;

/// Maximum operations in the table of a category; the sheets have all.
pub(super) const MAX_ROWS: usize = 12;

pub(super) fn all(source: &Input) -> Vec<Part> {
    let mut parts = Vec::new();
    match source.profile.has_gpu_events() {
        true => parts.extend(timeline(source)),
        false => parts.push(cpu(source)),
    }
    let cards = source.cards();
    for tier in [Tier::System, Tier::Compute, Tier::Fusion] {
        let outcomes = source.report.analyses.outcomes.iter();
        let of_tier = outcomes.filter(|outcome| outcome.kind.tier == tier);
        let with_data = of_tier.filter(|outcome| outcome.status != Status::NoData);
        parts.extend(with_data.map(|outcome| category(source, outcome, &cards)));
    }
    parts
}

fn timeline(source: &Input) -> Option<Part> {
    let whole = source.report.timelines.whole.as_ref()?;
    let total_ns = Some(whole.total_ns());
    Some(part("GPU time", |document| {
        document.table(
            DocTable::of(&TIMELINE)
                .text("Part", |(label, _)| *label)
                .time(">Time", |(_, read)| read(whole))
                .text(">Share of total", |(_, read)| share(read(whole), total_ns)),
        );
        document.text(
            "The first four parts sum up to the total. All streams and devices are taken together. \
             Exposed means not overlapped: communication while nothing computes, copies while \
             nothing computes or communicates.",
        );
        families(document, source, ">GPU time", ">Share of busy time");
        document.text(
            "A category here is the time in which its kernels run: kernels that overlap both \
             count, and so do copies and communication, so shares may exceed 100 %. The sections \
             below count operations instead, each with all its kernels in one category, so a \
             category can be longer or shorter there; their shares are of the sum of kernel times.",
        );
        let unfused = source.report.overview.unfused_attention.as_ref();
        document.texts(unfused.map(|unfused| unfused.sentence()));
    }))
}

/// CPU times, if there are none for the GPU.
fn cpu(source: &Input) -> Part {
    part("CPU time", |document| {
        families(document, source, ">CPU time", ">Share of operators");
        document.text(&format!(
            "CPU self time: without the operators that an operator calls. {} So their GPU time is \
             not analyzed.",
            source.profile.without_gpu()
        ));
    })
}

fn families(document: &mut Document, source: &Input, time_head: &str, share_head: &str) {
    document.table(
        DocTable::of(&source.report.overview.families)
            .text("Category", |family| family.family.label())
            .time(time_head, |family| family.ns)
            .text(share_head, |family| format::percent(family.percent)),
    );
}

fn category(source: &Input, outcome: &Outcome, cards: &[Card]) -> Part {
    part(outcome.kind.title, |document| {
        document.text(&overview(source, outcome));
        tables(document, source, outcome);
        document.table(figures(&outcome.facts));
        document.texts(outcome.note_texts());
        let ranked = source.report.analyses.findings.ranked.iter();
        for (ranked, card) in ranked.zip(cards) {
            if ranked.analysis == outcome.kind {
                finding(document, source, ranked, card);
            }
        }
        document.texts(within(source, outcome));
    })
}

/// Findings of an analysis that are part of a finding elsewhere, a sentence each.
pub(super) fn within(source: &Input, outcome: &Outcome) -> Vec<String> {
    let within = source.report.analyses.findings.within.iter();
    within
        .filter(|within| within.analysis == outcome.kind)
        .map(|within| format!("{}: goes with P{}.", within.title, within.number))
        .collect()
}

pub(super) fn tables(document: &mut Document, source: &Input, outcome: &Outcome) {
    document.table(operations(source, &outcome.rows));
    let n_rows = outcome.rows.len();
    document.texts(more(n_rows, MAX_ROWS, "in the sheet of operations"));
    for table in outcome.tables.iter().filter(|table| !table.rows.is_empty()) {
        document.field(&table.title, "");
        document.table(table);
    }
}

/// Operations of an analysis: name, shapes, calls, time, share of the category, efficiency,
/// intensity, type.
fn operations(source: &Input, rows: &[Row]) -> DocTable {
    let operations = source.profile.operations();
    let input = source.report.analysis_input(source.profile);
    let efficiency = |row: &Row| {
        let mark = if row.is_anomaly { " [ANOMALY]" } else { "" };
        let percent = row.efficiency_percent;
        dash(percent, |percent| {
            format!("{}{mark}", format::percent(percent))
        })
    };
    let intensity = |row: &Row| {
        let evaluation = source.report.evaluations.get(row.operation)?;
        evaluation.work?.flops_per_byte()
    };
    let rows = rows.iter().take(MAX_ROWS);
    DocTable::of(rows.filter_map(|row| Some((row, operations.get(row.operation)?))))
        .line("Operation", |(_, one)| code(&name_of(source, one), 60))
        .line("Shapes", |(_, one)| shapes_of(&input, one))
        .count(">Count", |(row, _)| row.n_calls)
        .text(">Time (ms)", |(row, _)| {
            format::number(row.time_ns as f64 / 1e6)
        })
        .text(">% of Category", |(row, _)| {
            format::percent(row.percent_of_category)
        })
        .line(">Efficiency", |(row, _)| efficiency(row))
        .line("Assessment", |(row, _)| {
            dash(row.assessment, Assessment::label)
        })
        .line(">FLOPS/Byte", |(row, _)| {
            dash(intensity(row), format::number)
        })
        .line("Bound", |(row, _)| dash(row.bound, bound))
        .text("Type", |(row, _)| row.class.as_str())
        .into()
}

/// The name of an operation; that of a kernel without what says nothing, so that kernels can be told apart.
pub(super) fn name_of(source: &Input, operation: &Operation) -> String {
    format::kernel_name(operation.short_name(source.profile))
}

pub(super) fn shapes_of(input: &crate::assess::Input, operation: &Operation) -> Line {
    let shapes = Some(shapes(input, operation));
    dash(shapes.filter(|shapes| !shapes.is_empty()), |shapes| shapes)
}

/// "GEMM operations take 12.3 ms, 41.2 % of compute time. Average efficiency: 63 % …"
pub(super) fn overview(source: &Input, outcome: &Outcome) -> String {
    let title = outcome.kind.title;
    if outcome.kind.tier != Tier::Compute {
        return match outcome.findings.len() as u64 {
            0 => outcome.nothing_found.clone().unwrap_or_else(|| {
                format!("{title}: no findings; what was measured is small or as expected.")
            }),
            n => format!("{title}: {}.", format::counted(n, "finding")),
        };
    }
    if outcome.time_ns == 0 {
        return "No operations of this kind ran; the findings below are about other operations."
            .to_owned();
    }
    let share = source.of_compute(outcome.time_ns);
    let time = format::time_ns(outcome.time_ns);
    let calls = format::counted(outcome.n_calls, "call");
    let mut sentences =
        format!("{title} operations account for {share} of compute time, {time} in {calls}.");
    let weighted = outcome.efficiency_percent().map(format::percent);
    let mean = outcome.mean_efficiency_percent().map(format::percent);
    if let Some((weighted, mean)) = weighted.zip(mean) {
        let known = outcome.known_percent().filter(|percent| *percent < 100.0);
        let known = known.map(format::percent);
        let known = known.map(|percent| format!(" of the {percent} with a FLOP/byte model"));
        let known = known.unwrap_or_default();
        sentences.push_str(&format!(
            " Average efficiency{known}: {weighted} of roofline, weighted by time ({mean} unweighted).",
        ));
    }
    let input = source.report.analysis_input(source.profile);
    let assessed = outcome.assessment(|row| is_launch_scale(&input, row));
    sentences.extend(assessed.map(assessment));
    sentences
}

/// The assessment of a kind of work; none if less than half of it is known.
fn assessment(assessed: Assessed) -> String {
    let level = assessed.level;
    if assessed.known_percent < 50.0 {
        return format!(
            " The efficiency is known and meaningful for only {} of that time, too little to assess the whole.",
            format::percent(assessed.known_percent)
        );
    }
    let of = match assessed.percent > 50.0 {
        true => "most",
        false => "the largest part",
    };
    let (percent, label) = (format::percent(assessed.percent), level.label());
    format!(
        " Assessment of {of} of that time ({percent}): {label}; {}.",
        level.focus()
    )
}

fn finding(document: &mut Document, source: &Input, ranked: &RankedFinding, card: &Card) {
    card.details(document, data(source, ranked), projected(source, ranked));
    if !ranked.overlaps.is_empty() {
        let others = format::joined(ranked.overlaps.iter().map(|n| format!("P{n}")), ", ");
        document.text(&format!(
            "About some of the same operations as {others}. Shared savings count once."
        ));
    }
}

/// The measurements: the time, the operations, tables, and the kernels of the longest operation.
fn data(source: &Input, ranked: &RankedFinding) -> Document {
    const MAX_KERNELS: usize = 4;
    let finding = &ranked.finding;
    let mut document = Document::default();
    let efficiency = finding.efficiency_percent.map_or(String::new(), |percent| {
        format!(", {} of roofline", format::percent(percent))
    });
    let measured = match finding.memory_bytes.filter(|_| finding.time_ns == 0) {
        Some(bytes) => format!("{} of GPU memory", format::bytes(bytes)),
        None => format!("{} measured", format::time_ns(finding.time_ns)),
    };
    document.field("Data", &format!("{measured}{efficiency}."));
    let all = source.profile.operations();
    let input = source.report.analysis_input(source.profile);
    let operations = finding.operations.iter();
    let operations: Vec<_> = operations.filter_map(|at| all.get(*at)).collect();
    document.bullets(operations.iter().take(MAX_ROWS).map(|operation| {
        let mut line = code(&name_of(source, operation), 80);
        let shapes = match shapes(&input, operation) {
            none if none.is_empty() => none,
            shapes => format!(" ({shapes})"),
        };
        line.push(Span::Text(format!(
            "{shapes}: {} in {}",
            format::time_ns(operation.kernel_ns),
            format::counted(operation.n_calls(), "call")
        )));
        line
    }));
    for table in &finding.tables {
        document.table(table);
    }
    let Some(longest) = operations.first() else {
        return document;
    };
    let name = |id: StringId| format::kernel_name(source.profile.trace.strings.get(id));
    let kernels = longest.kernels(source.profile).into_iter();
    let kernels: DocTable = DocTable::of(kernels.take(MAX_KERNELS))
        .line("Kernel", |(id, ..)| code(&name(*id), 80))
        .count(">Count", |(_, n, _)| *n)
        .time(">Time", |(.., ns)| *ns)
        .into();
    if operations.len() > 1 && !kernels.rows.is_empty() {
        let name = format::middle_ellipsis(&name_of(source, longest), 80);
        let name = name.replace('`', "'");
        document.text(&format!("Kernels of the longest, `{name}`:"));
    }
    document.table(kernels);
    document
}

/// The projected savings at some efficiencies. Only for a single efficiency: several operations have several.
fn projected(source: &Input, ranked: &RankedFinding) -> Option<DocTable> {
    let finding = &ranked.finding;
    let estimate = finding.impact.map(|impact| impact.estimate);
    let run_ns = run_time::of_finding(source.profile, &source.report.evaluations, finding);
    Some(projection(
        finding.time_ns,
        run_ns,
        finding.efficiency_percent?,
        source.report.overview.total_ns?,
        estimate == Some(Estimate::UpperBound),
    ))
}
