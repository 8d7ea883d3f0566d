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

/// A column beside those of a sheet of operations: M×N×K of a GEMM.
pub const SIZES: &str = "M×N×K";
/// A column beside those of sheets of operations and operators: the module around their first call.
pub const MODULE: &str = "module";
/// Columns beside those of the sheet of kernels: what they were launched with, and their durations.
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
    /// Labels of the wanted columns, in the wanted order; those beside the sheet's among them.
    pub columns: Vec<String>,
    /// For each wanted column how many letters it has room for; 0, and where none is given, for any
    /// number.
    pub rooms: Vec<usize>,
    /// What a row has to be, as [`super::search`] reads it.
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
    /// What of the search could not be taken as it seems to be meant, in sentences.
    pub remarks: Vec<String>,
    /// The order that the rows have of themselves, where none was asked for and a column tells it.
    pub own_order: Option<Sort>,
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
    /// For reading; empty when unknown.
    pub text: String,
    /// The whole text as it is recorded, where `text` is shorter.
    pub whole: Option<String>,
    /// The parts of `text`, in bytes, that its column has no room for.
    pub left_out: Vec<(usize, usize)>,
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

/// Asks what some rows of a sheet come to together.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TotalsQuery {
    /// The sheet's name.
    pub sheet: String,
    /// Their positions in the sheet.
    pub rows: Vec<u32>,
    /// Labels of the columns; those that cannot be added are left out of the answer.
    pub columns: Vec<String>,
}

/// A column of some rows, added up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Total {
    /// The column's label.
    pub column: String,
    /// The sum, with its unit.
    pub text: String,
}

/// What rows are taken together by that are no field of theirs: the steps that their calls are in.
pub const STEP: &str = "step";

/// Asks for the rows of a sheet that a search leaves, taken together by one of its fields.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct GroupsQuery {
    /// The sheet's name.
    pub sheet: String,
    /// The [field](super::search::FIELDS) by its first name, or [`STEP`].
    pub by: String,
    /// What a row has to be.
    pub find: String,
    /// Color tokens of the categories that are wanted; empty for all.
    pub only: Vec<String>,
    /// Labels of the columns to add up; those that cannot be are left out of the answer.
    pub columns: Vec<String>,
}

/// Rows that have a value in common.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowGroup {
    /// The value; empty for rows of which it is not known.
    pub name: String,
    /// The color token of its category; empty where it has none.
    pub token: String,
    /// What leaves these rows alone, as it is typed; empty where nothing does.
    pub find: String,
    /// The part of the time that leaves them alone, of rows of a step.
    pub window: Option<(u64, u64)>,
    pub n_rows: usize,
    /// Its columns, added up.
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
