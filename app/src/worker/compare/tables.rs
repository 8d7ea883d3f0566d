//! The rows of a comparison as sheets, so that they are filtered and sorted like any other table.

use dormer_core::base::format;
use dormer_core::compare::{
    Comparison, KernelUse, MatchedOp, MemorySize, Named, Pair, StepPair, Timed, UnmatchedOp,
    Verdict,
};
use dormer_core::names::Family;
use dormer_core::report::sheet::{Cell, Column, Sheet, Unit};

use crate::protocol::{ComparedTable, column, sheet};
use crate::worker::table::RowKind;
use dormer_core::base::tally::Tally;

/// A sheet with the kinds of its rows.
pub(super) struct CompareTable {
    pub(super) sheet: Sheet,
    pub(super) kinds: Vec<RowKind>,
}

/// A column: its label, the unit of its cells, its description, and its cell of a row.
pub(super) type TableColumn<T> = (&'static str, Unit, &'static str, fn(&T) -> Cell);

impl CompareTable {
    pub(super) fn new<T>(
        name: &'static str,
        columns: &[TableColumn<T>],
        rows: &[T],
        kind: impl Fn(&T) -> (Family, &'static str),
    ) -> CompareTable {
        let cells = |row| columns.iter().map(|(.., cell)| cell(row)).collect();
        let columns = columns.iter().map(|(label, unit, doc, _)| Column {
            label: *label,
            unit: *unit,
            doc: *doc,
        });
        let kind = |row| {
            let (family, class) = kind(row);
            RowKind { family, class }
        };
        CompareTable {
            sheet: Sheet {
                name,
                columns: columns.collect(),
                rows: rows.iter().map(cells).collect(),
            },
            kinds: rows.iter().map(kind).collect(),
        }
    }
}

/// Every table except that of places, including those without rows.
pub(super) fn tables(comparison: &Comparison) -> Vec<CompareTable> {
    let operations = &comparison.operations;
    let unmatched =
        |name, rows: &[UnmatchedOp]| CompareTable::new(name, UNMATCHED, rows, |op| (op.family, ""));
    let memory = comparison.memory.iter().flat_map(|memory| memory.rows());
    let memory: Vec<Size> = memory.map(|(part, size)| (part, size.clone())).collect();
    vec![
        CompareTable::new(sheet::OPERATIONS, MATCHED, &operations.matched, |op| {
            (op.family, op.judgment.verdict.key())
        }),
        unmatched(sheet::TARGET_ONLY, &operations.unmatched.target),
        unmatched(sheet::REFERENCE_ONLY, &operations.unmatched.reference),
        CompareTable::new(sheet::STEPS, STEPS, &comparison.steps, |_| {
            (Family::Other, "")
        }),
        named(
            sheet::CATEGORIES,
            &comparison.categories,
            counted,
            |family| (family.label().to_owned(), *family),
        ),
        named(sheet::KERNELS, &comparison.kernels, counted, |name| {
            (name.clone(), dormer_core::names::family_of_kernel(name))
        }),
        named(
            sheet::MODULES,
            &comparison.modules,
            |time| time.n_calls,
            |name| (name.clone(), Family::Other),
        ),
        named(
            sheet::COLLECTIVES,
            &comparison.collectives,
            counted,
            |key| (key.label(), Family::Communication),
        ),
        named(sheet::CPU, &comparison.cpu_ops, counted, |name| {
            let label = dormer_core::names::op_category(name, None);
            let family = dormer_core::names::family_of_op(label, name, None);
            (name.clone(), family)
        }),
        CompareTable::new(sheet::MEMORY, MEMORY, &memory, |_| (Family::Other, "")),
    ]
}

/// The tables that have rows.
pub(super) fn list(tables: &[CompareTable]) -> Vec<ComparedTable> {
    let tables = tables.iter().filter(|table| !table.sheet.rows.is_empty());
    tables
        .map(|table| ComparedTable {
            key: table.sheet.name.to_owned(),
            count: format::count(table.sheet.rows.len() as u64),
        })
        .collect()
}

pub(super) const DIFFERENCE: &str = "Target minus reference: positive means the target is slower.";
pub(super) const REFERENCE: &str = "Total time in the reference.";
pub(super) const TARGET: &str = "Total time in the target.";
const OPERATION: &str = "The operation, or the kernel if it belongs to no operation.";
const SHAPES: &str = "Shapes and types of its arguments.";

/// The verdict, marked if it depends on the basis.
fn verdict(op: &MatchedOp) -> String {
    let mark = if op.judgment.depends_on_basis() {
        "*"
    } else {
        ""
    };
    format!("{}{mark}", op.verdict_label())
}

#[rustfmt::skip]
const MATCHED: &[TableColumn<MatchedOp>] = &[
    (column::NAME, Unit::Text, OPERATION, |op| words(&*op.name)),
    ("name in the reference", Unit::Text, "Its name in the reference, if different.", |op| op.reference_name.as_deref().map_or(Cell::Empty, words)),
    (column::SHAPES, Unit::Text, SHAPES, |op| words(&*op.shapes)),
    (column::VERDICT, Unit::Text, "Whether the hardware explains the difference; * where the other basis of figures says otherwise.", |op| words(verdict(op))),
    ("no prediction because", Unit::Text, "Why there is no prediction.", |op| words(why(op.judgment.verdict))),
    (column::REFERENCE, Unit::Ms, REFERENCE, |op| ms(op.sides.reference.time_ns)),
    (column::TARGET, Unit::Ms, TARGET, |op| ms(op.sides.target.time_ns)),
    (column::DIFFERENCE, Unit::Ms, DIFFERENCE, |op| ms(op.times().difference())),
    (column::RATIO, Unit::Number, "Time per call in the target divided by that in the reference.", |op| maybe(op.judgment.actual)),
    (column::EXPECTED, Unit::Number, "The ratio that the rooflines of both GPUs predict.", |op| maybe(op.judgment.expected)),
    (column::EXCESS, Unit::Number, "Measured ratio divided by expected ratio: 1 means the hardware explains the difference.", |op| maybe(op.judgment.excess)),
    ("expected ratio by peaks", Unit::Number, "The expected ratio by data sheet peaks.", |op| maybe(op.judgment.by_peaks.expected)),
    ("expected ratio by achievable figures", Unit::Number, "The expected ratio by achievable figures, wherever they are known.", |op| maybe(op.judgment.by_achievable.expected)),
    (column::OTHER_VERDICT, Unit::Text, "Whether the hardware explains the difference, on the basis of figures that does not decide.", |op| words(op.judgment.on_other_basis().verdict.label())),
    (column::REFERENCE_COUNT, Unit::Count, "Calls in the reference.", |op| integer(op.sides.reference.calls)),
    (column::TARGET_COUNT, Unit::Count, "Calls in the target.", |op| integer(op.sides.target.calls)),
    ("matched by", Unit::Text, "What matches in both traces.", |op| words(op.level.label())),
    ("kernels in the reference", Unit::Text, "Its longest kernels in the reference.", |op| kernels(&op.sides.reference.kernels)),
    ("kernels in the target", Unit::Text, "Its longest kernels in the target.", |op| kernels(&op.sides.target.kernels)),
];

#[rustfmt::skip]
const UNMATCHED: &[TableColumn<UnmatchedOp>] = &[
    (column::NAME, Unit::Text, OPERATION, |op| words(&*op.name)),
    (column::SHAPES, Unit::Text, SHAPES, |op| words(&*op.shapes)),
    (column::TIME, Unit::Ms, "Total kernel time.", |op| ms(op.side.time_ns)),
    (column::SHARE, Unit::Percent, "Share of the computation time of its trace.", |op| maybe(op.side.percent_of_compute)),
    (column::COUNT, Unit::Count, "Calls.", |op| integer(op.side.calls)),
    ("kernels", Unit::Text, "Its longest kernels.", |op| kernels(&op.side.kernels)),
];

#[rustfmt::skip]
const STEPS: &[TableColumn<StepPair>] = &[
    (column::NAME, Unit::Text, "What the requests of the steps do, and the size of their batch.", |row| words(row.label())),
    (column::REFERENCE, Unit::Ms, "Time of a step in the reference, the median; for each token where batches differ.", |row| ms(row.ns.reference as i64)),
    (column::TARGET, Unit::Ms, "Time of a step in the target, the median; for each token where batches differ.", |row| ms(row.ns.target as i64)),
    (column::DIFFERENCE, Unit::Ms, DIFFERENCE, |row| ms((row.ns.target - row.ns.reference) as i64)),
    (column::RATIO, Unit::Number, "Time in the target divided by that in the reference.", |row| maybe(row.ratio())),
    (column::REFERENCE_COUNT, Unit::Count, "Steps in the reference.", |row| integer(row.n_steps.reference as u64)),
    (column::TARGET_COUNT, Unit::Count, "Steps in the target.", |row| integer(row.n_steps.target as u64)),
];

/// A memory size, with the group that it belongs to.
type Size = (&'static str, MemorySize);

#[rustfmt::skip]
const MEMORY: &[TableColumn<Size>] = &[
    (column::NAME, Unit::Text, "What is measured, or the operator that asked for it.", |(part, size)| words(format!("{part}{}", size.label))),
    (column::REFERENCE_MB, Unit::Number, "Megabytes in the reference.", |(_, size)| megabytes(size.bytes.reference)),
    (column::TARGET_MB, Unit::Number, "Megabytes in the target.", |(_, size)| megabytes(size.bytes.target)),
    (column::DIFFERENCE_MB, Unit::Number, "Target minus reference: positive means that the target needs more.", |(_, size)| maybe(size.difference().map(|bytes| bytes as f64 / 1e6))),
    (column::RATIO, Unit::Number, "Memory in the target divided by that in the reference.", |(_, size)| maybe(size.ratio())),
];

fn megabytes(bytes: Option<u64>) -> Cell {
    maybe(bytes.map(|bytes| bytes as f64 / 1e6))
}

/// A row identified by its name.
struct NamedRow {
    name: String,
    family: Family,
    /// The time in each trace that has it.
    times: Pair<Option<i64>>,
    counts: Pair<Option<u64>>,
}

#[rustfmt::skip]
const NAMED: &[TableColumn<NamedRow>] = &[
    (column::NAME, Unit::Text, "What it is.", |row| words(&*row.name)),
    (column::REFERENCE, Unit::Ms, REFERENCE, |row| row.times.reference.map_or(Cell::Empty, ms)),
    (column::TARGET, Unit::Ms, TARGET, |row| row.times.target.map_or(Cell::Empty, ms)),
    // What is missing in one trace takes no time there.
    (column::DIFFERENCE, Unit::Ms, DIFFERENCE, |row| ms(row.times.map(Option::unwrap_or_default).difference())),
    (column::RATIO, Unit::Number, "Time in the target divided by that in the reference.", |row| maybe(row.times.both().and_then(Pair::ratio))),
    (column::REFERENCE_COUNT, Unit::Count, "Count in the reference.", |row| row.counts.reference.map_or(Cell::Empty, integer)),
    (column::TARGET_COUNT, Unit::Count, "Count in the target.", |row| row.counts.target.map_or(Cell::Empty, integer)),
];

/// The count; `None` for what has a time but no count, such as a category on the CPU.
fn counted(tally: &Tally) -> Option<u64> {
    Some(tally.count).filter(|count| *count > 0)
}

fn named<K, T: Timed>(
    sheet: &'static str,
    rows: &[Named<K, T>],
    count: impl Fn(&T) -> Option<u64>,
    known_as: impl Fn(&K) -> (String, Family),
) -> CompareTable {
    let row = |row: &Named<K, T>| {
        let (name, family) = known_as(&row.key);
        NamedRow {
            name,
            family,
            times: row.sides.as_ref().map(|side| side.as_ref().map(Timed::ns)),
            counts: row.sides.as_ref().map(|side| count(side.as_ref()?)),
        }
    };
    let rows: Vec<NamedRow> = rows.iter().map(row).collect();
    CompareTable::new(sheet, NAMED, &rows, |row| (row.family, ""))
}

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

fn why(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::NotJudged(why) => why.label(),
        _ => "",
    }
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
