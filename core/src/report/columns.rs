//! Columns of sheets, each next to the function that fills its cells.

use super::sheet::{Cell, Column};
use crate::base::interval::percent_of;

/// A column, and how its cell is computed from the row.
pub(crate) struct Col<R> {
    pub(crate) column: Column,
    pub(crate) cell: fn(&R) -> Cell,
}

/// The columns of a sheet, one per line: label, unit, cell, meaning.
macro_rules! columns {
    ($of:ty: $($label:expr, $unit:ident, $cell:expr, $doc:expr;)+) => {
        vec![$($crate::report::columns::Col::<$of> {
            column: $crate::report::sheet::column($label, $crate::report::sheet::Unit::$unit, $doc),
            cell: $cell,
        }),+]
    };
}
pub(crate) use columns;

/// The rows of a sheet.
pub(crate) fn rows<R>(columns: &[Col<R>], rows: impl IntoIterator<Item = R>) -> Vec<Vec<Cell>> {
    let rows = rows.into_iter();
    rows.map(|row| cells(columns, &row)).collect()
}

/// The cells of a row.
pub(crate) fn cells<R>(columns: &[Col<R>], row: &R) -> Vec<Cell> {
    columns.iter().map(|one| (one.cell)(row)).collect()
}

/// The columns without their cells.
pub(crate) fn described<R>(columns: Vec<Col<R>>) -> Vec<Column> {
    columns.into_iter().map(|one| one.column).collect()
}

/// Text; an empty text is unknown.
pub(crate) fn text(text: &str) -> Cell {
    match text {
        "" => Cell::Empty,
        text => Cell::Text(text.to_owned()),
    }
}

/// A count.
pub(crate) fn int(number: impl TryInto<i64>) -> Cell {
    number.try_into().map_or(Cell::Empty, Cell::Int)
}

/// A count, where known.
pub(crate) fn known(number: Option<impl TryInto<i64>>) -> Cell {
    number.map_or(Cell::Empty, int)
}

/// A number, where known.
pub(crate) fn float(number: Option<f64>) -> Cell {
    number
        .filter(|number| number.is_finite())
        .map_or(Cell::Empty, Cell::Float)
}

/// Nanoseconds as a cell of a column in microseconds.
pub(crate) fn us(ns: i64) -> Cell {
    Cell::Float(ns as f64 / 1e3)
}

/// Nanoseconds as a cell of a column in milliseconds.
pub(crate) fn ms(ns: i64) -> Cell {
    Cell::Float(ns as f64 / 1e6)
}

/// A share of a whole; empty if the whole is unknown or zero.
pub(crate) fn percent(part_ns: i64, whole_ns: Option<i64>) -> Cell {
    let percent = whole_ns.and_then(|whole_ns| percent_of(part_ns, whole_ns));
    percent.map_or(Cell::Empty, Cell::Float)
}

/// Nanoseconds as microseconds, where known.
pub(crate) fn us_of(ns: Option<i64>) -> Cell {
    ns.map_or(Cell::Empty, us)
}

/// Nanoseconds as milliseconds, where known.
pub(crate) fn ms_of(ns: Option<i64>) -> Cell {
    ns.map_or(Cell::Empty, ms)
}

/// A size in bytes, where known.
pub(crate) fn bytes(number: Option<f64>) -> Cell {
    let whole = number.filter(|number| number.is_finite());
    whole.map_or(Cell::Empty, |number| Cell::Int(number.round() as i64))
}
