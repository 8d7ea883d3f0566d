//! Tables: pages of a sheet, filtered and sorted.

use serde::{Deserialize, Serialize};

/// The order of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sort {
    /// The column's label.
    pub column: String,
    /// Whether the largest comes first.
    pub descending: bool,
}

/// An additional column of every table: Dormer's own category.
pub const FAMILY: &str = "family";
/// An additional column of operations: shapes and types of the tensors, formatted.
pub const SHAPES: &str = "shapes";
/// An additional column of operations: kernel time, each with its own unit.
pub const TIME: &str = "gpu_time";
/// An additional column of GPU activity: the share of the busy time.
pub const SHARE: &str = "busy_share";
/// An additional column of operations: the bound, in a word.
pub const BOUND: &str = "bound";

/// An additional column of operations: M×N×K of a GEMM.
pub const SIZES: &str = "M×N×K";
/// An additional column of operations and operators: the module around their first call.
pub const MODULE: &str = "module";
/// Additional columns of kernels: their launch parameters and durations.
pub const GRID: &str = "grid";
pub const BLOCK: &str = "block";
pub const REGISTERS: &str = "registers";
pub const SHARED_MEMORY: &str = "shared memory";
pub const OCCUPANCY: &str = "occupancy";
pub const MEDIAN: &str = "median";
pub const P95: &str = "p95";

/// Asks for rows `offset .. offset + count` of a sheet, filtered and sorted.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct RowsQuery {
    /// The sheet's name.
    pub sheet: String,
    /// Labels of the requested columns, in order, including additional ones.
    pub columns: Vec<String>,
    /// How many letters fit in each requested column; 0 or missing for any number.
    pub max_letters: Vec<usize>,
    /// The filter, in the syntax of [`super::search`].
    pub find: String,
    /// Color tokens of the requested categories; empty for all.
    pub only: Vec<String>,
    /// The order; `None` for the sheet's own.
    pub sort: Option<Sort>,
    /// First row.
    pub offset: usize,
    pub count: usize,
    /// A row of the sheet to locate in this order.
    pub locate: Option<usize>,
    /// Whether numbers are written for a spreadsheet: ungrouped, with their units in [`RowsPage::units`].
    pub is_plain: bool,
}

/// A page of a table.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RowsPage {
    /// The documentation of each requested column; `None` for those that the sheet does not have.
    pub docs: Vec<Option<String>>,
    /// The unit of the numbers of each requested column, if they are written without; may be empty.
    pub units: Vec<String>,
    /// Sentences on what in the search could not be parsed as it was probably meant.
    pub remarks: Vec<String>,
    /// The default order of the rows, if none was requested and it is that of a column.
    pub own_order: Option<Sort>,
    /// The position of the row to locate; `None` if the filter excludes it.
    pub located: Option<usize>,
    /// Number of rows of the sheet.
    pub total: usize,
    /// Number of rows that match the filter.
    pub matching: usize,
    /// Position of the first row below.
    pub offset: usize,
    pub rows: Vec<TableRow>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TableRow {
    /// Its index in the sheet, regardless of the order on screen.
    pub row: usize,
    /// The color token of its family.
    pub token: String,
    /// One cell for each requested column.
    pub cells: Vec<TableCell>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TableCell {
    /// The displayed text; empty if unknown.
    pub text: String,
    /// The full recorded text, if `text` is shorter.
    pub whole: Option<String>,
    /// The byte ranges of `text` that do not fit in its column.
    pub left_out: Vec<(usize, usize)>,
    /// The number in the unit of the column.
    pub number: Option<f64>,
    /// A note about it.
    pub note: Option<Note>,
}

/// A note about a cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Note {
    /// The value is impossible, with the reason.
    Odd(String),
    /// The value uses a different figure than its neighbors, with the explanation.
    Aside(String),
    /// The value is less certain than its neighbors, with its source.
    Guess(String),
}

/// Asks for the totals of some rows of a sheet.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TotalsQuery {
    /// The sheet's name.
    pub sheet: String,
    /// Their indices in the sheet.
    pub rows: Vec<u32>,
    /// Labels of the columns; those that cannot be added are left out of the answer.
    pub columns: Vec<String>,
}

/// The total of a column over some rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Total {
    /// The column's label.
    pub column: String,
    /// The sum, with its unit.
    pub text: String,
}

/// A grouping that is not a field: the steps that calls are in.
pub const STEP: &str = "step";

/// Asks for the rows of a sheet that match a search, grouped by a field.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct GroupsQuery {
    /// The sheet's name.
    pub sheet: String,
    /// The [field](super::search::FIELDS) by its first name, or [`STEP`].
    pub by: String,
    /// The filter.
    pub find: String,
    /// Color tokens of the requested categories; empty for all.
    pub only: Vec<String>,
    /// Labels of the columns to add up; those that cannot be added are left out of the answer.
    pub columns: Vec<String>,
}

/// Rows that have a value in common.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowGroup {
    /// The value; empty for rows for which it is unknown.
    pub name: String,
    /// The color token of its category; empty if it has none.
    pub token: String,
    /// The filter text that selects only these rows; empty if there is none.
    pub find: String,
    /// The time range that selects only these rows, for rows of a step.
    pub window: Option<(u64, u64)>,
    pub n_rows: usize,
    /// The totals of its columns.
    pub totals: Vec<Total>,
}

/// Asks for everything about one row of a sheet.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RowQuery {
    /// The sheet's name.
    pub sheet: String,
    /// Its position in the sheet.
    pub row: usize,
}
