//! The tables of the whole: the difference in parts, kinds of work, the operations of both traces and
//! of one alone, and what goes by a name.

use super::MAX_ROWS;
use crate::base::format;
use crate::compare::comparison::Comparison;
use crate::compare::named::{Named, Timed};
use crate::compare::ops::{LoneOp, MatchedOp};
use crate::compare::pair::{Pair, Which};
use crate::compare::words;
use crate::output::comparison::summary::part_name;
use crate::output::document::{DocTable, Document, Span};

/// Parts of the difference that are shown one by one.
pub(in crate::output::comparison) const N_STEPS: usize = 12;

/// From the time of the reference to that of the target.
pub(super) fn waterfall(
    document: &mut Document,
    comparison: &Comparison,
    next: &mut dyn FnMut() -> usize,
) {
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

pub(super) fn categories(
    document: &mut Document,
    comparison: &Comparison,
    next: &mut dyn FnMut() -> usize,
) {
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

/// All operations of both traces in one table.
pub(super) fn operations(
    document: &mut Document,
    comparison: &Comparison,
    next: &mut dyn FnMut() -> usize,
) {
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
pub(in crate::output::comparison) fn verdict_table<'a>(
    ops: impl Iterator<Item = &'a MatchedOp>,
) -> DocTable {
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

/// The shapes of the target, and those of the reference where they are other ones.
fn shapes_of(op: &MatchedOp) -> String {
    match &op.reference_shapes {
        Some(reference) => format!("{reference} → {}", op.shapes),
        None => op.shapes.clone(),
    }
}

/// Operations of one trace alone.
pub(super) fn lone(
    document: &mut Document,
    comparison: &Comparison,
    next: &mut dyn FnMut() -> usize,
) {
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

pub(in crate::output::comparison) fn lone_table<'a>(
    ops: impl Iterator<Item = &'a LoneOp>,
) -> DocTable {
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
pub(super) fn named(
    document: &mut Document,
    comparison: &Comparison,
    next: &mut dyn FnMut() -> usize,
) {
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
