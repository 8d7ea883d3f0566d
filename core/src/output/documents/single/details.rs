//! The details: how the time splits, then each category with its operations, figures and findings.

use super::{Source, share};
use crate::base::format;
use crate::findings::compute::shapes;
use crate::findings::outcome::Assessed;
use crate::findings::{
    Assessment, Estimate, Outcome, RankedFinding, Row, Status, Tier, is_launch_scale, run_time,
};
use crate::output::document::{DocTable, Document, Span, code, dash, text};
use crate::output::documents::card::Card;
use crate::output::documents::parts::{TIMELINE, figures, more, projection};
use crate::output::documents::{Part, Subject, part};

/// Operations in the table of a category; the rest is in the sheets.
pub(super) const MAX_ROWS: usize = 12;

pub(super) fn all(source: &Source) -> Vec<Part> {
    let mut parts = Vec::new();
    match source.profile.has_gpu_events() {
        true => parts.extend(timeline(source)),
        false => parts.push(cpu(source)),
    }
    let cards = source.cards();
    for tier in [Tier::System, Tier::Compute, Tier::Fusion] {
        let outcomes = source.report.analyses.outcomes.iter();
        let of_tier = outcomes.filter(|outcome| outcome.kind.tier == tier);
        parts.extend(
            of_tier
                .filter(|outcome| outcome.status != Status::NoData)
                .map(|outcome| category(source, outcome, &cards)),
        );
    }
    parts
}

/// How the time of the GPU splits.
fn timeline(source: &Source) -> Option<Part> {
    let whole = source.report.timelines.whole.as_ref()?;
    let rows = TIMELINE.iter().map(|(label, read)| {
        let ns = read(whole);
        let share = share(ns, Some(whole.total_ns()));
        [(*label).to_owned(), format::time_ns(ns), share]
    });
    Some(part("GPU time", |document| {
        document.rows(["Part", ">Time", ">Share of total"], rows);
        document.text(
            "The first four parts sum up to the total. All streams and devices are taken together. \
             Exposed is what nothing hides: communication while nothing computes, copies while \
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

/// Times on the CPU, where there are none on the GPU.
fn cpu(source: &Source) -> Part {
    part("CPU time", |document| {
        families(document, source, ">CPU time", ">Share of operators");
        document.text(&format!(
            "CPU self time: without the operators that an operator calls. {} So their GPU time is \
             not analyzed.",
            source.profile.without_gpu()
        ));
    })
}

fn families(document: &mut Document, source: &Source, time: &str, share: &str) {
    let families = source.report.overview.families.iter();
    let rows = families.map(|family| {
        [
            text(family.family.label()),
            text(format::time_ns(family.ns)),
            text(format::percent(family.percent)),
        ]
    });
    document.rows(["Category", time, share], rows);
}

/// One category with everything that is known of it.
fn category(source: &Source, outcome: &Outcome, cards: &[Card]) -> Part {
    part(outcome.kind.title, |document| {
        if let Status::Error(why) = &outcome.status {
            document.text(&format!("This analysis failed: {why}"));
        } else {
            document.text(&overview(source, outcome));
            tables(document, source, outcome);
            document.table(figures(&outcome.facts));
            document.texts(&outcome.notes);
        }
        let ranked = source.report.analyses.findings.ranked.iter();
        for (ranked, card) in ranked.zip(cards) {
            if ranked.analysis == outcome.kind {
                finding(document, source, ranked, card);
            }
        }
        document.texts(within(source, outcome));
    })
}

/// What an analysis found that goes with a finding of another place, a sentence each.
pub(super) fn within(source: &Source, outcome: &Outcome) -> Vec<String> {
    let within = source.report.analyses.findings.within.iter();
    within
        .filter(|within| within.analysis == outcome.kind)
        .map(|within| format!("{}: goes with P{}.", within.title, within.number))
        .collect()
}

/// The operations of an analysis, and its tables.
pub(super) fn tables(document: &mut Document, source: &Source, outcome: &Outcome) {
    document.table(operations(source, &outcome.rows));
    document.texts(more(
        outcome.rows.len(),
        MAX_ROWS,
        "in the sheet of operations",
    ));
    for table in outcome.tables.iter().filter(|table| !table.rows.is_empty()) {
        document.field(&table.title, "");
        document.table(table);
    }
}

/// Operations of an analysis: name, shapes, calls, time, share of the category, efficiency,
/// intensity, type.
fn operations(source: &Source, rows: &[Row]) -> DocTable {
    let operations = source.profile.operations();
    let input = source.report.analysis_input(source.profile);
    let rows = rows.iter().take(MAX_ROWS).filter_map(|row| {
        let operation = operations.get(row.operation)?;
        let judged = source.report.judged.get(row.operation);
        let intensity = judged.and_then(|judged| judged.work?.flops_per_byte());
        let mark = if row.is_anomaly { " [ANOMALY]" } else { "" };
        let efficiency = dash(row.efficiency_percent, |efficiency| {
            format!("{}{mark}", format::percent(efficiency))
        });
        let shapes = Some(shapes(&input, operation)).filter(|shapes| !shapes.is_empty());
        Some([
            code(operation.short_name(source.profile), 60),
            text(dash(shapes, |shapes| shapes)),
            text(format::count(row.n_calls)),
            text(format::number(row.time_ns as f64 / 1e6)),
            text(format::percent(row.percent_of_category)),
            text(efficiency),
            text(dash(row.assessment, Assessment::label)),
            text(dash(intensity, format::number)),
            text(dash(row.bound, crate::compare::words::bound)),
            text(row.class.clone()),
        ])
    });
    DocTable::of(
        [
            "Operation",
            "Shapes",
            ">Count",
            ">Time (ms)",
            ">% of Category",
            ">Efficiency",
            "Assessment",
            ">FLOPS/Byte",
            "Bound",
            "Type",
        ],
        rows,
    )
}

/// "GEMM operations take 12.3 ms, 41.2 % of compute time. Average efficiency: 63 % …"
pub(super) fn overview(source: &Source, outcome: &Outcome) -> String {
    let title = outcome.kind.title;
    if outcome.kind.tier != Tier::Compute {
        return match outcome.findings.len() as u64 {
            0 => format!("{title}: no findings; what was measured is small or as expected."),
            n => format!("{title}: {}.", format::counted(n, "finding")),
        };
    }
    if outcome.time_ns == 0 {
        return "No operations of this kind ran; the findings below are about other operations."
            .to_owned();
    }
    let mut sentences = format!(
        "{title} operations account for {} of compute time, {} in {}.",
        source.of_compute(outcome.time_ns),
        format::time_ns(outcome.time_ns),
        format::counted(outcome.n_calls, "call")
    );
    let averages = outcome
        .efficiency_percent()
        .zip(outcome.mean_efficiency_percent());
    if let Some((weighted, mean)) = averages {
        let known = match outcome.known_percent() {
            Some(percent) if percent < 100.0 => {
                format!(
                    " of the {} with a FLOP/byte model",
                    format::percent(percent)
                )
            }
            _ => String::new(),
        };
        sentences.push_str(&format!(
            " Average efficiency{known}: {} of roofline, weighted by time ({} unweighted).",
            format::percent(weighted),
            format::percent(mean)
        ));
    }
    let input = source.report.analysis_input(source.profile);
    let assessed = outcome.assessment(|row| is_launch_scale(&input, row));
    sentences.extend(assessed.map(assessment));
    sentences
}

/// What to think of a kind of work: nothing, where less than half of it is known.
fn assessment(assessed: Assessed) -> String {
    let Assessed {
        level,
        percent,
        known_percent,
    } = assessed;
    if known_percent < 50.0 {
        return format!(
            " The efficiency is known and meaningful for only {} of that time, too little to assess the whole.",
            format::percent(known_percent)
        );
    }
    let of = match percent > 50.0 {
        true => "most",
        false => "the largest part",
    };
    format!(
        " Assessment of {of} of that time ({}): {}; {}.",
        format::percent(percent),
        level.label(),
        level.focus()
    )
}

fn finding(document: &mut Document, source: &Source, ranked: &RankedFinding, card: &Card) {
    card.details(document, data(source, ranked), projected(source, ranked));
    if !ranked.overlaps.is_empty() {
        let others: Vec<String> = ranked.overlaps.iter().map(|n| format!("P{n}")).collect();
        document.text(&format!(
            "About some of the same operations as {}. Shared savings count once.",
            others.join(", ")
        ));
    }
}

/// What was measured: the time, the operations, tables, kernels of the longest operation.
fn data(source: &Source, ranked: &RankedFinding) -> Document {
    const MAX_KERNELS: usize = 4;
    let finding = &ranked.finding;
    let mut document = Document::default();
    let efficiency = finding.efficiency_percent.map_or(String::new(), |percent| {
        format!(", {} of roofline", format::percent(percent))
    });
    let time = format::time_ns(finding.time_ns);
    document.field("Data", &format!("{time} measured{efficiency}."));
    let operations = finding.operations.iter();
    let operations: Vec<_> = operations
        .filter_map(|at| source.profile.operations().get(*at))
        .collect();
    document.bullets(operations.iter().take(MAX_ROWS).map(|operation| {
        let mut line = code(operation.short_name(source.profile), 80);
        line.push(Span::Text(format!(
            ": {} in {}",
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
    let kernels = longest.kernels(source.profile).into_iter();
    let rows = kernels.take(MAX_KERNELS).map(|(name, n, ns)| {
        let name = format::kernel_name(source.profile.trace.strings.get(name));
        [
            code(&name, 80),
            text(format::count(n)),
            text(format::time_ns(ns)),
        ]
    });
    let kernels = DocTable::of(["Kernel", ">Count", ">Time"], rows);
    if operations.len() > 1 && !kernels.rows.is_empty() {
        let name = format::middle_ellipsis(longest.short_name(source.profile), 80);
        let name = name.replace('`', "'");
        document.text(&format!("Kernels of the longest, `{name}`:"));
    }
    document.table(kernels);
    document
}

/// What some efficiencies are worth. Of one efficiency only: several operations have several.
fn projected(source: &Source, ranked: &RankedFinding) -> Option<DocTable> {
    let finding = &ranked.finding;
    let estimate = finding.impact.map(|impact| impact.estimate);
    let run_ns = run_time::of_finding(source.profile, &source.report.judged, finding);
    Some(projection(
        finding.time_ns,
        run_ns,
        finding.efficiency_percent?,
        source.report.overview.total_ns?,
        estimate == Some(Estimate::UpperBound),
    ))
}
