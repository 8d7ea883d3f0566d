//! The details: the difference in parts, kinds of work, each gap with its figures, the longest
//! operations, and what has no partner.

use super::super::caveats::verdict_sentence;
use super::super::comparison::Comparison;
use super::super::findings::{Gap, Subject};
use super::super::named::{Named, Timed};
use super::super::ops::{LoneOp, MatchedOp};
use super::super::pair::{Pair, Which};
use super::super::words;
use super::recommendations::impact;
use super::summary::part_name;
use crate::analysis::finding::projections;
use crate::document::{DocTable, Document, Span};
use crate::format;
use crate::sort::Arrange;

/// Parts of the difference that are shown one by one.
pub(super) const N_STEPS: usize = 12;
/// Operations with a section of their own, beside those of gaps.
const N_OPERATIONS: usize = 6;
/// Rows of a table; the rest is in the sheets.
pub(super) const MAX_ROWS: usize = 12;

pub(super) fn write(document: &mut Document, comparison: &Comparison) {
    document.heading(2, "Detailed Comparison");
    let mut number = 0;
    let mut next = || {
        number += 1;
        number
    };
    if comparison.is_same() {
        document.text("No difference in any part of the time, any operation or any kernel.");
    }
    waterfall(document, comparison, &mut next);
    categories(document, comparison, &mut next);
    for gap in &comparison.gaps.ranked {
        write_gap(document, comparison, gap, next());
    }
    for op in longest(comparison) {
        document.heading(3, &format!("{}. {}", next(), heading_of(op)));
        document.table(figures(comparison, op));
        document.text(&verdict_sentence(op));
    }
    operations(document, comparison, &mut next);
    lone(document, comparison, &mut next);
    named(document, comparison, &mut next);
}

/// The heading of a gap among the details, without its number. Unique: the gap's number is.
pub(super) fn gap_heading(gap: &Gap) -> String {
    format!("P{} {}", gap.number, gap.title)
}

/// The shapes of the target, and those of the reference where they are other ones.
fn shapes_of(op: &MatchedOp) -> String {
    match &op.reference_shapes {
        Some(reference) => format!("{reference} → {}", op.shapes),
        None => op.shapes.clone(),
    }
}

fn heading_of(op: &MatchedOp) -> String {
    match op.shapes.is_empty() {
        true => words::quoted(&op.name),
        false => format!("{} {}", words::quoted(&op.name), op.shapes),
    }
}

/// From the time of the reference to that of the target.
fn waterfall(document: &mut Document, comparison: &Comparison, next: &mut dyn FnMut() -> usize) {
    let parts = &comparison.parts;
    if parts.total == Pair::default() || !comparison.has_gpu_times() {
        return;
    }
    document.heading(3, &format!("{}. Where the difference comes from", next()));
    let mut table = DocTable::new(&["Part", ">Reference", ">Target", ">Δ"]);
    for step in parts.waterfall(N_STEPS) {
        table.row(&[
            &part_name(comparison, &step),
            &format::time_ns(step.times.reference),
            &format::time_ns(step.times.target),
            &format::signed_time_ns(step.times.difference()),
        ]);
    }
    table.row(&[
        "All parts",
        &format::time_ns(parts.total.reference),
        &format::time_ns(parts.total.target),
        &format::signed_time_ns(parts.total.difference()),
    ]);
    document.table(table);
    let mut text =
        "Parts do not overlap and sum up to the time from the first GPU activity to the \
                    last. Where kernels run at once they share the time evenly; parts that do not \
                    differ are left out, but for the sum."
            .to_owned();
    if let Some(percent) = parts.matched_percent() {
        text.push_str(&format!(
            " Of what differs in computation, {} is in operations of both traces.",
            format::percent(percent)
        ));
    }
    document.text(&text);
}

fn categories(document: &mut Document, comparison: &Comparison, next: &mut dyn FnMut() -> usize) {
    if comparison.categories.is_empty() {
        return;
    }
    document.heading(3, &format!("{}. Kinds of work", next()));
    let mut table = DocTable::new(&["Category", ">Reference", ">Target", ">Δ", ">Δ %"]);
    for row in &comparison.categories {
        table.row(
            &with_times(row.key.label(), row)
                .each_ref()
                .map(String::as_str),
        );
    }
    document.table(table);
    document.text("Time in which work of a kind runs; kinds that run at once both count.");
}

/// A row with its times: "–" in a trace that has no such row.
fn with_times<K, T: Timed>(label: &str, row: &Named<K, T>) -> [String; 5] {
    let text = row.sides.as_ref().map(|side| {
        let ns = side.as_ref().map(Timed::ns);
        ns.map_or("–".to_owned(), format::time_ns)
    });
    let times = row.times();
    let change = row.is_matched().then(|| times.change_percent()).flatten();
    [
        label.to_owned(),
        text.reference,
        text.target,
        format::signed_time_ns(times.difference()),
        words::signed_percent(change),
    ]
}

fn write_gap(document: &mut Document, comparison: &Comparison, gap: &Gap, number: usize) {
    document.heading(3, &format!("{number}. {}", gap_subject(comparison, gap)));
    document.heading(4, &gap_heading(gap));
    document.field("Identification", &gap.gap);
    if let Subject::Operations(rows) = &gap.subject {
        let matched = &comparison.operations.matched;
        for op in rows.iter().take(MAX_ROWS).filter_map(|at| matched.get(*at)) {
            if rows.len() > 1 {
                document.text(&heading_of(op));
            }
            document.table(figures(comparison, op));
        }
        if let Some(op) = rows.first().and_then(|at| matched.get(*at)) {
            document.table(kernels(op));
            document.text(&verdict_sentence(op));
        }
    }
    document.field("Reasoning", &gap.reasoning.join(" "));
    document.field("Model", &gap.model);
    document.field("Kernel", &gap.kernel);
    document.field("Impact estimate", &impact(comparison, gap));
    projection(document, comparison, gap);
    if let Some(replay) = &gap.replay {
        let word = match replay.is_recommended {
            true => "recommended",
            false => "offered",
        };
        document.field("Reproducer", &format!("{word}: {}.", replay.reason));
    }
}

fn gap_subject(comparison: &Comparison, gap: &Gap) -> String {
    match &gap.subject {
        Subject::Operations(rows) => {
            let op = rows
                .first()
                .and_then(|at| comparison.operations.matched.get(*at));
            op.map_or(String::new(), |op| match rows.len() {
                1 => heading_of(op),
                n => format!("{} with {n} sets of arguments", words::quoted(&op.name)),
            })
        }
        Subject::Lone(_) => "Operations of the target alone".to_owned(),
        Subject::ExposedCommunication => "Exposed communication".to_owned(),
        Subject::ExposedCopies => "Exposed memory copies".to_owned(),
        Subject::Idle => "Idle time".to_owned(),
    }
}

/// What is known of an operation of both traces.
fn figures(comparison: &Comparison, op: &MatchedOp) -> DocTable {
    let mut table = DocTable::new(&["Metric", ">Reference", ">Target", ">Δ", "Expected?"]);
    let judgement = &op.judgement;
    let is_expected = match judgement.verdict.is_expected() {
        _ if op.is_same() => "No difference",
        Some(true) => "Yes",
        Some(false) => "No",
        None => "–",
    };
    let times = op.times();
    let calls = op.calls();
    // What is expected is expected of a call: of the sum only where both make as many.
    let of_all = match calls.reference == calls.target {
        true => is_expected,
        false => "",
    };
    table.row(&[
        "Time",
        &format::time_ns(times.reference),
        &format::time_ns(times.target),
        &words::signed_percent(times.change_percent()),
        of_all,
    ]);
    let change_of_calls = (calls.target as f64 / calls.reference.max(1) as f64 - 1.0) * 100.0;
    let change_of_calls = match calls.reference == calls.target {
        true => String::new(),
        false => words::signed_percent(Some(change_of_calls)),
    };
    table.row(&[
        "Calls",
        &format::count(calls.reference),
        &format::count(calls.target),
        &change_of_calls,
        "",
    ]);
    let per_call = op.sides.as_ref().map(|side| side.ns_per_call() / 1e3);
    let change = judgement.actual.map(|ratio| (ratio - 1.0) * 100.0);
    table.row(&[
        "Time of a call",
        &format::time_us(per_call.reference),
        &format::time_us(per_call.target),
        &words::signed_percent(change),
        &judgement.expected.map_or("–".to_owned(), |expected| {
            let expected = words::signed_percent(Some((expected - 1.0) * 100.0));
            match op.is_same() {
                true => is_expected.to_owned(),
                false => format!("{is_expected}: {expected}"),
            }
        }),
    ]);
    let share = op.sides.as_ref().map(|side| {
        side.percent_of_compute
            .map_or("–".to_owned(), format::percent)
    });
    table.row(&["% of compute", &share.reference, &share.target, "", ""]);
    let roofs = judgement.roofs;
    if roofs.reference.is_some() || roofs.target.is_some() {
        let roof = roofs.map(|roof| {
            roof.map_or("–".to_owned(), |roof| {
                format!(
                    "{} ({})",
                    format::time_us(roof.us_per_call),
                    words::bound(roof.bound)
                )
            })
        });
        table.row(&["Roof of a call", &roof.reference, &roof.target, "", ""]);
        let of_roof = roofs.zip(per_call).map(|(roof, us)| {
            let percent = roof
                .filter(|_| us > 0.0)
                .map(|roof| roof.us_per_call / us * 100.0);
            let percent = percent.map(|percent| {
                let anomaly = percent > comparison.thresholds.anomaly_percent;
                let mark = if anomaly { " [ANOMALY]" } else { "" };
                format!("{}{mark}", format::percent(percent))
            });
            percent.unwrap_or("–".to_owned())
        });
        table.row(&["Of the roof", &of_roof.reference, &of_roof.target, "", ""]);
    }
    table
}

/// The kernels of both sides of an operation.
fn kernels(op: &MatchedOp) -> DocTable {
    let mut table = DocTable::new(&["Side", "Kernel", ">Count", ">Time"]);
    for which in [Which::Reference, Which::Target] {
        for kernel in &op.sides.get(which).kernels {
            table.row(&[
                which.label(),
                &words::kernel(&kernel.name),
                &format::count(kernel.count),
                &format::time_ns(kernel.ns),
            ]);
        }
    }
    table
}

/// What some efficiencies are worth, for a gap about one operation.
fn projection(document: &mut Document, comparison: &Comparison, gap: &Gap) {
    let Subject::Operations(rows) = &gap.subject else {
        return;
    };
    let [row] = rows[..] else { return };
    let Some(op) = comparison.operations.matched.get(row) else {
        return;
    };
    let us = op.sides.target.ns_per_call() / 1e3;
    let Some(roof) = op.judgement.roofs.target.filter(|_| us > 0.0) else {
        return;
    };
    let mut table = DocTable::new(&["Target efficiency", ">Time", ">Gain of the run"]);
    let efficiency = roof.us_per_call / us * 100.0;
    let total_ns = comparison.parts.total.target;
    let target = &op.sides.target;
    for row in projections(target.time_ns, target.run_ns, efficiency, total_ns) {
        let target = format!("{} of the roof", format::percent(row.target_percent));
        match row.outcome {
            Some((left_ns, percent)) => {
                table.row(&[
                    &target,
                    &format::time_ns(left_ns),
                    &format::percent(percent),
                ]);
            }
            None => table.row(&[&target, "already met", "–"]),
        }
    }
    document.field("Impact projection", "");
    document.table(table);
}

/// The longest operations of either trace that no gap is about.
fn longest(comparison: &Comparison) -> Vec<&MatchedOp> {
    let gaps = comparison.gaps.ranked.iter();
    let known: Vec<usize> = gaps
        .flat_map(|gap| match &gap.subject {
            Subject::Operations(rows) => rows.clone(),
            _ => Vec::new(),
        })
        .collect();
    let all = comparison.operations.matched.iter().enumerate();
    let mut others: Vec<&MatchedOp> = all
        .filter(|(at, _)| !known.contains(at))
        .map(|(_, op)| op)
        .collect();
    others.arrange_by_key(|op| {
        let times = op.times();
        std::cmp::Reverse(times.reference.max(times.target))
    });
    others.truncate(N_OPERATIONS);
    others
}

/// All operations of both traces in one table.
fn operations(document: &mut Document, comparison: &Comparison, next: &mut dyn FnMut() -> usize) {
    const MAX_OPERATIONS: usize = 30;
    let matched = &comparison.operations.matched;
    if matched.is_empty() {
        return;
    }
    document.heading(3, &format!("{}. Operations of both traces", next()));
    document.table(verdict_table(matched.iter().take(MAX_OPERATIONS)));
    more(document, matched.len(), MAX_OPERATIONS);
}

/// Operations with what was expected of them.
pub(super) fn verdict_table<'a>(ops: impl Iterator<Item = &'a MatchedOp>) -> DocTable {
    let mut table = DocTable::new(&[
        "Operation",
        "Shapes",
        ">Reference",
        ">Target",
        ">Δ",
        ">Actual",
        ">Expected",
        ">Excess",
        "Verdict",
    ]);
    for op in ops {
        let (times, judgement) = (op.times(), &op.judgement);
        let mark = if judgement.is_more_than_twice {
            " (more than twice)"
        } else {
            ""
        };
        let text = |text: String| vec![Span::Text(text)];
        table.rows.push(vec![
            vec![Span::Code(format::middle_ellipsis(&op.name, 60))],
            text(shapes_of(op)),
            text(format::time_ns(times.reference)),
            text(format::time_ns(times.target)),
            text(words::signed_percent(times.change_percent())),
            text(words::maybe_times(judgement.actual)),
            text(words::maybe_times(judgement.expected)),
            text(words::maybe_times(judgement.excess)),
            text(match op.is_same() {
                true => "no difference".to_owned(),
                false => format!("{}{mark}", judgement.verdict.label()),
            }),
        ]);
    }
    table
}

/// Operations of one trace alone.
fn lone(document: &mut Document, comparison: &Comparison, next: &mut dyn FnMut() -> usize) {
    for which in [Which::Reference, Which::Target] {
        let ops = comparison.operations.lone.get(which);
        if ops.is_empty() {
            continue;
        }
        document.heading(
            3,
            &format!("{}. Operations of the {} alone", next(), which.label()),
        );
        document.table(lone_table(ops.iter().take(MAX_ROWS)));
        more(document, ops.len(), MAX_ROWS);
    }
}

pub(super) fn lone_table<'a>(ops: impl Iterator<Item = &'a LoneOp>) -> DocTable {
    let mut table = DocTable::new(&["Operation", "Shapes", ">Calls", ">Time", "Longest kernel"]);
    for op in ops {
        let kernel = op.side.kernels.first();
        table.rows.push(vec![
            vec![Span::Code(format::middle_ellipsis(&op.name, 60))],
            vec![Span::Text(op.shapes.clone())],
            vec![Span::Text(format::count(op.side.calls))],
            vec![Span::Text(format::time_ns(op.side.time_ns))],
            kernel.map_or(Vec::new(), |kernel| {
                let name = format::kernel_name(&kernel.name);
                vec![Span::Code(format::middle_ellipsis(&name, 60))]
            }),
        ]);
    }
    table
}

/// Collectives, modules, kernels, operators on the host.
fn named(document: &mut Document, comparison: &Comparison, next: &mut dyn FnMut() -> usize) {
    let mut write = |title: &str, head: &str, rows: Vec<(Span, [String; 5])>| {
        if rows.is_empty() {
            return;
        }
        document.heading(3, &format!("{}. {title}", next()));
        let mut table = DocTable::new(&[head, ">Reference", ">Target", ">Δ", ">Δ %"]);
        let n_rows = rows.len();
        for (name, [_, cells @ ..]) in rows.into_iter().take(MAX_ROWS) {
            let cells = cells.map(|text| vec![Span::Text(text)]);
            table
                .rows
                .push([vec![name]].into_iter().chain(cells).collect());
        }
        document.table(table);
        more(document, n_rows, MAX_ROWS);
    };
    let code = |name: &str| Span::Code(format::middle_ellipsis(name, 80));
    let rows = comparison.collectives.iter().map(|row| {
        let label = Span::Text(row.key.label());
        (label, with_times("", row))
    });
    write("Collectives", "Collective", rows.collect());
    let rows = comparison.modules.iter();
    let rows = rows.map(|row| (code(&row.key), with_times("", row)));
    write("Modules by their own GPU time", "Module", rows.collect());
    let rows = comparison.kernels.iter().map(|row| {
        let name = code(&format::kernel_name(&row.key));
        (name, with_times("", row))
    });
    write("Kernels by name", "Kernel", rows.collect());
    if comparison
        .sides
        .as_ref()
        .map(|side| side.timeline)
        .both()
        .is_none()
    {
        let rows = comparison.host.iter();
        let rows = rows.map(|row| (code(&row.key), with_times("", row)));
        write("Operators on the host", "Operator", rows.collect());
    }
}

fn more(document: &mut Document, n_rows: usize, shown: usize) {
    if n_rows > shown {
        document.text(&format!(
            "{} more are in the files of the comparison.",
            format::count((n_rows - shown) as u64)
        ));
    }
}
