//! The tables of the whole: the difference in parts, kinds of work, the operations of both traces and
//! of one alone, and what goes by a name.

use super::SIDES;
use super::summary::part_name;
use crate::base::format;
use crate::compare::comparison::Comparison;
use crate::compare::named::{Named, Timed};
use crate::compare::ops::{LoneOp, MatchedOp};
use crate::compare::pair::{Pair, Which};
use crate::compare::words;
use crate::output::document::{DocTable, Line, code, dash, text};
use crate::output::documents::parts::more;
use crate::output::documents::{Part, part};

/// Parts of the difference that are shown one by one.
pub(super) const N_STEPS: usize = 12;

/// Rows of a table; the rest is in the sheets.
pub(super) const MAX_ROWS: usize = 12;

/// Where the rest is.
const PLACE: &str = "in the files of the comparison";

/// Both times and their difference.
pub(super) fn times(times: Pair<i64>) -> [String; 3] {
    [
        format::time_ns(times.reference),
        format::time_ns(times.target),
        format::signed_time_ns(times.difference()),
    ]
}

/// From the time of the reference to that of the target.
pub(super) fn waterfall(comparison: &Comparison) -> Option<Part> {
    let parts = &comparison.parts;
    if comparison.is_same() {
        return Some(part("Difference", |document| {
            document.text("No difference in any part of the time, any operation or any kernel.");
        }));
    }
    if parts.total == Pair::default() || !comparison.has_gpu_times() {
        return None;
    }
    let steps = parts.waterfall(N_STEPS).into_iter();
    let steps = steps.map(|step| (part_name(comparison, &step), step.times));
    let all = steps.chain([("All parts".to_owned(), parts.total)]);
    let rows = all.map(|(label, of_part)| {
        let [reference, target, change] = times(of_part);
        [label, reference, target, change]
    });
    Some(part("Where the difference comes from", |document| {
        document.rows(["Part", ">Reference", ">Target", ">Δ"], rows);
        let mut text =
            "Parts do not overlap and sum up to the time from the first GPU activity to \
                        the last. Kernels that overlap share the time evenly; parts that do not \
                        differ are left out, but for the sum."
                .to_owned();
        if let Some(percent) = parts.matched_percent() {
            text.push_str(&format!(
                " {} of the difference in computation is in operations of both traces.",
                format::percent(percent)
            ));
        }
        document.text(&text);
    }))
}

pub(super) fn categories(comparison: &Comparison) -> Option<Part> {
    let rows = comparison.categories.iter();
    let rows = rows.map(|row| with_times(text(row.key.label()), row));
    (!comparison.categories.is_empty()).then(|| {
        part("Categories", |document| {
            document.rows(heads("Category"), rows);
            document.text("Time in which such kernels run; categories that overlap both count.");
        })
    })
}

fn heads(first: &str) -> [&str; 5] {
    [first, ">Reference", ">Target", ">Δ", ">Δ %"]
}

/// A row with its times: "–" in a trace that has no such row.
fn with_times<K, T: Timed>(label: Line, row: &Named<K, T>) -> [Line; 5] {
    let sides = row.sides.as_ref();
    let shown = sides.map(|side| dash(side.as_ref(), |side| format::time_ns(side.ns())));
    let times = row.times();
    let change = times.change_percent().filter(|_| row.is_matched());
    [
        label,
        text(shown.reference),
        text(shown.target),
        text(format::signed_time_ns(times.difference())),
        text(words::signed_percent(change)),
    ]
}

/// All operations of both traces in one table.
pub(super) fn operations(comparison: &Comparison) -> Option<Part> {
    const MAX_OPERATIONS: usize = 30;
    let matched = &comparison.operations.matched;
    (!matched.is_empty()).then(|| {
        part("Operations of both traces", |document| {
            document.table(verdict_table(matched.iter().take(MAX_OPERATIONS)));
            document.texts(more(matched.len(), MAX_OPERATIONS, PLACE));
        })
    })
}

/// Operations with what was expected of them.
pub(super) fn verdict_table<'a>(ops: impl Iterator<Item = &'a MatchedOp>) -> DocTable {
    let rows = ops.map(|op| {
        let (times, judgement) = (op.times(), &op.judgement);
        let mark = match judgement.is_more_than_twice {
            true => " (more than twice)",
            false => "",
        };
        // The shapes of the target, and those of the reference where they are other ones.
        let shapes = match &op.reference_shapes {
            Some(reference) => format!("{reference} → {}", op.shapes),
            None => op.shapes.clone(),
        };
        [
            code(&op.name, 60),
            text(shapes),
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
        ]
    });
    #[rustfmt::skip]
    let heads = ["Operation", "Shapes", ">Reference", ">Target", ">Δ", ">Actual", ">Expected", ">Excess", "Verdict"];
    DocTable::of(heads, rows)
}

/// Operations of one trace alone.
pub(super) fn lone(comparison: &Comparison) -> Vec<Part> {
    let lone = |which: Which| {
        let ops = comparison.operations.lone.get(which);
        let title = format!("Operations of the {} alone", which.label());
        (!ops.is_empty()).then(|| {
            part(title, |document| {
                document.table(lone_table(ops.iter().take(MAX_ROWS)));
                document.texts(more(ops.len(), MAX_ROWS, PLACE));
            })
        })
    };
    SIDES.into_iter().filter_map(lone).collect()
}

pub(super) fn lone_table<'a>(ops: impl Iterator<Item = &'a LoneOp>) -> DocTable {
    let rows = ops.map(|op| {
        let kernel = op.side.kernels.first();
        let kernel = kernel.map(|kernel| code(&format::kernel_name(&kernel.name), 60));
        [
            code(&op.name, 60),
            text(op.shapes.clone()),
            text(format::count(op.side.calls)),
            text(format::time_ns(op.side.time_ns)),
            kernel.unwrap_or_default(),
        ]
    });
    DocTable::of(
        ["Operation", "Shapes", ">Calls", ">Time", "Longest kernel"],
        rows,
    )
}

/// Collectives, modules, kernels, operators on the CPU.
pub(super) fn named(comparison: &Comparison) -> Vec<Part> {
    let collectives = comparison.collectives.iter();
    let modules = comparison.modules.iter();
    let kernels = comparison.kernels.iter();
    let timelines = comparison.sides.as_ref().map(|side| side.timeline);
    let on_cpu = comparison.host.iter();
    let on_cpu = on_cpu.filter(|_| timelines.both().is_none());
    let tables: [(&str, &str, Vec<[Line; 5]>); 4] = [
        (
            "Collectives",
            "Collective",
            collectives
                .map(|row| with_times(text(row.key.label()), row))
                .collect(),
        ),
        (
            "Modules by GPU self time",
            "Module",
            modules
                .map(|row| with_times(code(&row.key, 80), row))
                .collect(),
        ),
        (
            "Kernels by name",
            "Kernel",
            kernels
                .map(|row| with_times(code(&format::kernel_name(&row.key), 80), row))
                .collect(),
        ),
        (
            "Operators by CPU self time",
            "Operator",
            on_cpu
                .map(|row| with_times(code(&row.key, 80), row))
                .collect(),
        ),
    ];
    let written = tables.into_iter().filter(|(.., rows)| !rows.is_empty());
    written
        .map(|(title, head, rows)| {
            part(title, |document| {
                let n_rows = rows.len();
                document.rows(heads(head), rows.into_iter().take(MAX_ROWS));
                document.texts(more(n_rows, MAX_ROWS, PLACE));
            })
        })
        .collect()
}
