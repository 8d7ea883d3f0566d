//! Tables: windows of a sheet, filtered and sorted.

use serde::{Deserialize, Serialize};

/// The order of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sort {
    /// The column's label.
    pub column: String,
    /// Largest first.
    pub descending: bool,
}

/// The column that every table has beside its sheet's: Dormer's own category.
pub const FAMILY: &str = "family";
/// A column beside those of a sheet of operations: shapes and types of the tensors, for people.
pub const SHAPES: &str = "shapes";
/// A column beside those of a sheet of operations: kernel time, each in its own unit.
pub const TIME: &str = "gpu_time";
/// A column beside those of sheets of GPU activity: the share of the time in which anything runs.
pub const SHARE: &str = "busy_share";
/// A column beside those of a sheet of operations: what keeps the GPU from being faster, in a word.
pub const BOUND: &str = "bound";

/// Asks for rows `offset .. offset + count` of a sheet, filtered and sorted.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct RowsQuery {
    /// The sheet's name.
    pub sheet: String,
    /// Labels of the wanted columns, in the wanted order; those beside the sheet's among them.
    pub columns: Vec<String>,
    /// Text that one of the row's text cells must contain; case does not count.
    pub find: String,
    /// Color tokens of the categories that are wanted; empty for all.
    pub only: Vec<String>,
    /// The order; `None` leaves the sheet's own.
    pub sort: Option<Sort>,
    /// First row.
    pub offset: usize,
    pub count: usize,
    /// A row of the sheet whose place in this order is wanted.
    pub locate: Option<usize>,
}

/// A window of a table.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RowsPage {
    /// What each wanted column means; `None` for those that the sheet does not have.
    pub docs: Vec<Option<String>>,
    /// Where the row that was to be located stands; `None` where the filter leaves it out.
    pub located: Option<usize>,
    /// Rows of the sheet.
    pub total: usize,
    /// Rows that the filter leaves.
    pub matching: usize,
    /// Position of the first row below.
    pub offset: usize,
    pub rows: Vec<TableRow>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TableRow {
    /// Its position in the sheet, whatever the order on screen.
    pub row: usize,
    /// The color token of its family.
    pub token: String,
    /// One for each wanted column.
    pub cells: Vec<TableCell>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TableCell {
    /// As it is shown; empty when unknown.
    pub text: String,
    /// The whole text, where `text` is shortened.
    pub whole: Option<String>,
    /// The number in the unit of the column.
    pub number: Option<f64>,
    /// What has to be said about it.
    pub note: Option<Note>,
}

/// What has to be said about a cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Note {
    /// It cannot be: why.
    Odd(String),
    /// It is measured by another figure than those around it: by which.
    Aside(String),
    /// It is told by less than those around it: by what.
    Guess(String),
}

/// Asks for everything about one row of a sheet.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RowQuery {
    /// The sheet's name.
    pub sheet: String,
    /// Its position in the sheet.
    pub row: usize,
}
