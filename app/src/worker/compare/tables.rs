//! The rows of a comparison as sheets, so that they are filtered and sorted as any other table.

use dormer_core::base::format;
use dormer_core::compare::{Comparison, KernelUse, LoneOp, MatchedOp, Named, Pair, Tally, Timed};
use dormer_core::names::Family;
use dormer_core::report::sheet::{Cell, Column, Sheet, Unit};

use crate::protocol::{ComparedTable, column, sheet};
use crate::worker::columns::RowKind;

/// A sheet with what its rows are.
pub(super) struct CompareTable {
    pub(super) sheet: Sheet,
    /// One for each row.
    pub(super) kinds: Vec<RowKind>,
}

/// Every table, also those without rows.
pub(super) fn tables(comparison: &Comparison) -> Vec<CompareTable> {
    let operations = &comparison.operations;
    vec![
        matched(&operations.matched),
        lone(sheet::TARGET_ONLY, &operations.lone.target),
        lone(sheet::REFERENCE_ONLY, &operations.lone.reference),
        named(sheet::CATEGORIES, &comparison.categories, |family| {
            (family.label().to_owned(), *family)
        }),
        named(sheet::KERNELS, &comparison.kernels, |name| {
            (name.clone(), dormer_core::names::family_of_kernel(name))
        }),
        modules(comparison),
        named(sheet::COLLECTIVES, &comparison.collectives, |key| {
            (key.label(), Family::Communication)
        }),
        named(sheet::CPU, &comparison.host, |name| {
            let label = dormer_core::names::op_category(name, None);
            let family = dormer_core::names::family_of_op(label, name, None);
            (name.clone(), family)
        }),
    ]
}

/// Those that have rows.
pub(super) fn list(tables: &[CompareTable]) -> Vec<ComparedTable> {
    let tables = tables.iter().filter(|table| !table.sheet.rows.is_empty());
    tables
        .map(|table| ComparedTable {
            key: table.sheet.name.to_owned(),
            count: format::count(table.sheet.rows.len() as u64),
        })
        .collect()
}

pub(super) const fn text(label: &'static str, doc: &'static str) -> Column {
    Column {
        label,
        unit: Unit::Text,
        doc,
    }
}

const fn time(label: &'static str, doc: &'static str) -> Column {
    Column {
        label,
        unit: Unit::Ms,
        doc,
    }
}

pub(super) const fn count(label: &'static str, doc: &'static str) -> Column {
    Column {
        label,
        unit: Unit::Count,
        doc,
    }
}

const fn number(label: &'static str, doc: &'static str) -> Column {
    Column {
        label,
        unit: Unit::Number,
        doc,
    }
}

pub(super) const REFERENCE: Column = time(column::REFERENCE, "Total time in the reference.");
pub(super) const TARGET: Column = time(column::TARGET, "Total time in the target.");
pub(super) const DIFFERENCE: Column = time(
    column::DIFFERENCE,
    "Target minus reference: positive means the target is slower.",
);

pub(super) fn ms(ns: i64) -> Cell {
    Cell::Float(ns as f64 / 1e6)
}

fn maybe(number: Option<f64>) -> Cell {
    number.map_or(Cell::Empty, Cell::Float)
}

pub(super) fn words(text: impl Into<String>) -> Cell {
    let text: String = text.into();
    match text.is_empty() {
        true => Cell::Empty,
        false => Cell::Text(text),
    }
}

pub(super) fn integer(count: u64) -> Cell {
    Cell::Int(i64::try_from(count).unwrap_or(i64::MAX))
}

fn kernels(kernels: &[KernelUse]) -> Cell {
    let lines = kernels.iter().map(|kernel| {
        format!(
            "{} ({}, {})",
            format::kernel_name(&kernel.name),
            format::time_ns(kernel.ns),
            format::counted(kernel.count, "time")
        )
    });
    words(lines.collect::<Vec<String>>().join(", "))
}

fn matched(operations: &[MatchedOp]) -> CompareTable {
    let columns = vec![
        text(
            column::NAME,
            "The operation, or the kernel if it belongs to no operation.",
        ),
        text(
            "name in the reference",
            "Its name in the reference, if different.",
        ),
        text(column::SHAPES, "Shapes and types of its arguments."),
        text(
            column::VERDICT,
            "Whether the hardware explains the difference.",
        ),
        text("not judged because", "Why there is no prediction."),
        REFERENCE,
        TARGET,
        DIFFERENCE,
        number(
            column::RATIO,
            "Time per call in the target divided by that in the reference.",
        ),
        number(
            column::EXPECTED,
            "The ratio that the rooflines of both GPUs predict.",
        ),
        number(
            column::EXCESS,
            "Measured ratio divided by expected ratio: 1 means the hardware explains the difference.",
        ),
        number(
            "expected ratio by peaks",
            "The expected ratio by data sheet peaks.",
        ),
        text(
            column::PEAK_VERDICT,
            "Whether the hardware explains the difference, by data sheet peaks.",
        ),
        count(column::REFERENCE_COUNT, "Calls in the reference."),
        count(column::TARGET_COUNT, "Calls in the target."),
        text("matched by", "What matches in both traces."),
        text(
            "kernels in the reference",
            "Its longest kernels in the reference.",
        ),
        text(
            "kernels in the target",
            "Its longest kernels in the target.",
        ),
    ];
    let rows = operations.iter().map(|op| {
        let Pair { reference, target } = &op.sides;
        let judgement = &op.judgement;
        let why = match judgement.verdict {
            dormer_core::compare::Verdict::NotJudged(why) => why.label(),
            _ => "",
        };
        vec![
            words(&*op.name),
            op.reference_name.as_deref().map_or(Cell::Empty, words),
            words(&*op.shapes),
            words(judgement.verdict.label()),
            words(why),
            ms(reference.time_ns),
            ms(target.time_ns),
            ms(op.times().difference()),
            maybe(judgement.actual),
            maybe(judgement.expected),
            maybe(judgement.excess),
            maybe(judgement.peak_expected),
            words(judgement.peak_verdict.label()),
            integer(reference.calls),
            integer(target.calls),
            words(op.level.label()),
            kernels(&reference.kernels),
            kernels(&target.kernels),
        ]
    });
    CompareTable {
        kinds: operations
            .iter()
            .map(|op| RowKind {
                family: op.family,
                class: op.judgement.verdict.key(),
            })
            .collect(),
        sheet: Sheet {
            name: sheet::OPERATIONS,
            columns,
            rows: rows.collect(),
        },
    }
}

fn lone(name: &'static str, operations: &[LoneOp]) -> CompareTable {
    let columns = vec![
        text(
            column::NAME,
            "The operation, or the kernel if it belongs to no operation.",
        ),
        text(column::SHAPES, "Shapes and types of its arguments."),
        time(column::TIME, "Total kernel time."),
        Column {
            label: column::SHARE,
            unit: Unit::Percent,
            doc: "Share of the computation time of its trace.",
        },
        count(column::COUNT, "Calls."),
        text("kernels", "Its longest kernels."),
    ];
    let rows = operations.iter().map(|op| {
        vec![
            words(&*op.name),
            words(&*op.shapes),
            ms(op.side.time_ns),
            maybe(op.side.percent_of_compute),
            integer(op.side.calls),
            kernels(&op.side.kernels),
        ]
    });
    CompareTable {
        kinds: operations
            .iter()
            .map(|op| RowKind {
                family: op.family,
                class: "",
            })
            .collect(),
        sheet: Sheet {
            name,
            columns,
            rows: rows.collect(),
        },
    }
}

/// Rows that are told by their name.
fn named<K>(
    name: &'static str,
    rows: &[Named<K, Tally>],
    known_as: impl Fn(&K) -> (String, Family),
) -> CompareTable {
    let rows = rows.iter().map(|row| {
        let (label, family) = known_as(&row.key);
        // What has a time and was not counted: a category on the CPU.
        let counted = |side: &Option<Tally>| side.filter(|tally| tally.count > 0);
        let count =
            |side: &Option<Tally>| counted(side).map_or(Cell::Empty, |tally| integer(tally.count));
        let counts = row.sides.as_ref().map(count);
        (label, family, times(row), counts)
    });
    of_names(name, rows.collect())
}

fn modules(comparison: &Comparison) -> CompareTable {
    let rows = comparison.modules.iter().map(|row| {
        let counts = row.sides.as_ref().map(|side| {
            let calls = side.as_ref().and_then(|time| time.n_calls);
            calls.map_or(Cell::Empty, integer)
        });
        (row.key.clone(), Family::Other, times(row), counts)
    });
    of_names(sheet::MODULES, rows.collect())
}

/// The time in each trace that has the row.
fn times<K, T: Timed>(row: &Named<K, T>) -> Pair<Option<i64>> {
    row.sides.as_ref().map(|side| side.as_ref().map(Timed::ns))
}

type NamedRow = (String, Family, Pair<Option<i64>>, Pair<Cell>);

fn of_names(name: &'static str, rows: Vec<NamedRow>) -> CompareTable {
    let columns = vec![
        text(column::NAME, "What it is."),
        REFERENCE,
        TARGET,
        DIFFERENCE,
        number(
            column::RATIO,
            "Time in the target divided by that in the reference.",
        ),
        count(column::REFERENCE_COUNT, "Count in the reference."),
        count(column::TARGET_COUNT, "Count in the target."),
    ];
    let mut kinds = Vec::new();
    let cells = rows.into_iter().map(|(label, family, times, counts)| {
        kinds.push(RowKind::of(family));
        let time = |ns: Option<i64>| ns.map_or(Cell::Empty, ms);
        let both = times.both();
        // What one trace lacks takes no time there.
        let difference = times.map(Option::unwrap_or_default).difference();
        vec![
            words(label),
            time(times.reference),
            time(times.target),
            ms(difference),
            maybe(both.and_then(Pair::ratio)),
            counts.reference,
            counts.target,
        ]
    });
    let rows = cells.collect();
    CompareTable {
        kinds,
        sheet: Sheet {
            name,
            columns,
            rows,
        },
    }
}
