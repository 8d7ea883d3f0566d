//! Building blocks of a job's sheets: each column next to the function that fills its cells.

use crate::base::stats::Stats;
use crate::report::sheet::{Cell, Column};
pub(super) use crate::report::{ms, us};

/// A column, and how its cell is computed from the row.
pub(super) struct Col<R> {
    pub(super) column: Column,
    pub(super) cell: fn(&R) -> Cell,
}

/// The columns of a sheet, one per line: label, unit, cell, meaning.
macro_rules! columns {
    ($of:ty: $($label:expr, $unit:ident, $cell:expr, $doc:expr;)+) => {
        vec![$($crate::job::sheets::table::Col::<$of> {
            column: $crate::report::sheet::column($label, $crate::report::sheet::Unit::$unit, $doc),
            cell: $cell,
        }),+]
    };
}
pub(super) use columns;

/// Mean, median, minimum and maximum of a number that each collective of a row has: columns `label_mean` and so on.
macro_rules! spread {
    ($of:ty: $label:literal, $unit:ident, $stats:expr, $doc:literal) => {
        $crate::job::sheets::table::columns![$of:
            concat!($label, "_mean"), $unit, |of| $crate::job::sheets::table::of_stats(of, $stats, |of| of.mean), concat!($doc, ", the mean.");
            concat!($label, "_median"), $unit, |of| $crate::job::sheets::table::of_stats(of, $stats, |of| of.median), "Its median.";
            concat!($label, "_min"), $unit, |of| $crate::job::sheets::table::of_stats(of, $stats, |of| of.min), "Minimum.";
            concat!($label, "_max"), $unit, |of| $crate::job::sheets::table::of_stats(of, $stats, |of| of.max), "Maximum.";
        ]
    };
}
pub(super) use spread;

/// Concatenates lists of columns.
pub(super) fn joined<R, const N: usize>(lists: [Vec<Col<R>>; N]) -> Vec<Col<R>> {
    lists.into_iter().flatten().collect()
}

/// Columns and rows of a sheet.
pub(super) struct Body<'a> {
    pub(super) columns: Vec<Column<String>>,
    /// Built on demand.
    pub(super) rows: Box<dyn Iterator<Item = Vec<Cell>> + 'a>,
}

/// A sheet with the same columns for every job, and with rows that fit in memory.
pub(super) fn body<R>(columns: &[Col<R>], rows: impl IntoIterator<Item = R>) -> Body<'static> {
    let rows: Vec<Vec<Cell>> = rows.into_iter().map(|row| cells(columns, &row)).collect();
    Body {
        columns: columns.iter().map(|one| one.column.owned()).collect(),
        rows: Box::new(rows.into_iter()),
    }
}

/// A sheet with a row for each collective. A large job has millions, so they are built one by one.
pub(super) fn long_body<'a, R: 'a>(
    columns: Vec<Col<R>>,
    rows: impl IntoIterator<Item = R, IntoIter: 'a>,
) -> Body<'a> {
    Body {
        columns: columns.iter().map(|one| one.column.owned()).collect(),
        rows: Box::new(rows.into_iter().map(move |row| cells(&columns, &row))),
    }
}

/// The cells of a row.
pub(super) fn cells<R>(columns: &[Col<R>], row: &R) -> Vec<Cell> {
    columns.iter().map(|one| (one.cell)(row)).collect()
}

/// One number of a row's statistics, where known.
pub(super) fn of_stats<R>(
    row: &R,
    stats: fn(&R) -> Option<Stats>,
    number: fn(&Stats) -> f64,
) -> Cell {
    float(stats(row).as_ref().map(number))
}

/// The columns without their cells.
pub(super) fn described<R>(columns: Vec<Col<R>>) -> Vec<Column> {
    columns.into_iter().map(|one| one.column).collect()
}

/// Text; an empty text is unknown.
pub(super) fn text(text: &str) -> Cell {
    match text {
        "" => Cell::Empty,
        text => Cell::Text(text.to_owned()),
    }
}

/// A count.
pub(super) fn int(number: impl TryInto<i64>) -> Cell {
    number.try_into().map_or(Cell::Empty, Cell::Int)
}

/// A count, where known.
pub(super) fn known(number: Option<impl TryInto<i64>>) -> Cell {
    number.map_or(Cell::Empty, int)
}

/// A number, where known.
pub(super) fn float(number: Option<f64>) -> Cell {
    number
        .filter(|number| number.is_finite())
        .map_or(Cell::Empty, Cell::Float)
}

/// Nanoseconds as microseconds, where known.
pub(super) fn us_of(ns: Option<i64>) -> Cell {
    ns.map_or(Cell::Empty, us)
}

/// Nanoseconds as milliseconds, where known.
pub(super) fn ms_of(ns: Option<i64>) -> Cell {
    ns.map_or(Cell::Empty, ms)
}

/// A size in bytes, where known.
pub(super) fn bytes(number: Option<f64>) -> Cell {
    let whole = number.filter(|number| number.is_finite());
    whole.map_or(Cell::Empty, |number| Cell::Int(number.round() as i64))
}
