//! Building blocks of a job's sheets.

use crate::base::stats::Stats;
pub(super) use crate::report::columns::{
    Col, bytes, cells, columns, described, float, int, known, ms, ms_of, rows, text, us, us_of,
};
use crate::report::sheet::{Cell, Column};

/// Mean, median, minimum and maximum of a number that each collective of a row has: columns `label_mean` and so on.
macro_rules! spread {
    ($of:ty: $label:literal, $unit:ident, $stats:expr, $doc:literal) => {
        $crate::report::columns::columns![$of:
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
    Body {
        columns: columns.iter().map(|one| one.column.owned()).collect(),
        rows: Box::new(self::rows(columns, rows).into_iter()),
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

/// One number of a row's statistics, where known.
pub(super) fn of_stats<R>(
    row: &R,
    stats: fn(&R) -> Option<Stats>,
    number: fn(&Stats) -> f64,
) -> Cell {
    float(stats(row).as_ref().map(number))
}
