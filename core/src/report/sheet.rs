//! A sheet: the common source of tables, CSV files and workbooks.

use serde::{Deserialize, Serialize};

/// The unit of a column; views and exporters format by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Text, or a list in Python syntax.
    Text,
    /// A count of things.
    Count,
    /// Milliseconds.
    Ms,
    /// Microseconds.
    Us,
    /// Percent, 0 to 100.
    Percent,
    /// A number without a unit, or with the unit in its label.
    Number,
    /// True or False.
    Flag,
}

/// A column of a sheet. Its text is static, or a `String` if it names what is compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Column<S = &'static str> {
    /// TraceLens's column name, as in CSV files.
    pub label: S,
    /// What its numbers mean.
    pub unit: Unit,
    /// One sentence for `docs/columns.md` and tooltips.
    pub doc: S,
}

/// A column, for use in the column tables of sheets.
pub(crate) const fn column(label: &'static str, unit: Unit, doc: &'static str) -> Column {
    Column { label, unit, doc }
}

impl Column {
    /// The same with owned text, for sheets whose columns name what is compared.
    pub(crate) fn owned(&self) -> Column<String> {
        Column {
            label: self.label.to_owned(),
            unit: self.unit,
            doc: self.doc.to_owned(),
        }
    }
}

/// One value of a sheet. In JSON, unknown and non-finite values are null.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Cell {
    /// Unknown, or not applicable. Never written as zero.
    Empty,
    /// Text.
    Text(String),
    /// An integer.
    Int(i64),
    /// A number in the unit of its column.
    Float(f64),
    /// True or False.
    Flag(bool),
}

/// A table with TraceLens's name, columns and row order.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sheet<S = &'static str> {
    /// TraceLens's sheet name; also the file name of its CSV.
    pub name: S,
    /// Its columns.
    pub columns: Vec<Column<S>>,
    /// Its rows; each as long as `columns`.
    pub rows: Vec<Vec<Cell>>,
}

impl<S: AsRef<str>> Sheet<S> {
    /// The position of a column.
    pub fn column(&self, label: &str) -> Option<usize> {
        let mut columns = self.columns.iter();
        columns.position(|column| column.label.as_ref() == label)
    }

    /// Some columns of all rows, as text.
    #[cfg(test)]
    pub(crate) fn texts(&self, labels: &[&str]) -> Vec<Vec<String>> {
        let text = |cell: &Cell| match cell {
            Cell::Empty => "–".to_owned(),
            Cell::Text(text) => text.clone(),
            Cell::Int(number) => number.to_string(),
            Cell::Float(number) => number.to_string(),
            Cell::Flag(flag) => flag.to_string(),
        };
        let column = |label: &&str| {
            let at = self.column(label);
            at.unwrap_or_else(|| panic!("{label} is no column of {}", self.name.as_ref()))
        };
        let columns: Vec<usize> = labels.iter().map(column).collect();
        let row = |row: &Vec<Cell>| columns.iter().map(|at| text(&row[*at])).collect();
        self.rows.iter().map(row).collect()
    }
}

/// One column of one row, as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    /// The column's label.
    pub label: String,
    /// What the column means.
    pub doc: String,
    /// The full value.
    pub value: String,
}
