//! Tables of figures as they are shown: text, with the events to go to.

use serde::{Deserialize, Serialize};

/// A table of figures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FactTable {
    /// What it shows.
    pub title: String,
    /// Its columns: what each is called, and what its cells are.
    pub columns: Vec<(String, CellKind)>,
    /// Its rows.
    pub rows: Vec<FactRow>,
}

/// What the cells of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum CellKind {
    /// Names of the trace.
    Name,
    /// Words.
    Text,
    /// Numbers, which stand at the right.
    Number,
}

/// A row of a table of figures.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FactRow {
    /// One for each column; empty when unknown.
    pub cells: Vec<String>,
    /// What stands small below the first name.
    pub below: String,
    /// The event to look for in the tree.
    pub event: Option<u32>,
}

impl FactTable {
    /// A table without the columns that no row has something in; `None` without rows.
    pub fn new(
        title: impl Into<String>,
        columns: &[(&str, CellKind)],
        mut rows: Vec<FactRow>,
    ) -> Option<FactTable> {
        let is_shown = |at: usize| {
            let mut cells = rows.iter().filter_map(|row| row.cells.get(at));
            cells.any(|cell| !cell.is_empty())
        };
        let shown: Vec<bool> = (0..columns.len()).map(is_shown).collect();
        for row in &mut rows {
            let mut is_shown = shown.iter();
            row.cells.retain(|_| is_shown.next() == Some(&true));
        }
        let columns = columns.iter().zip(&shown).filter(|(_, shown)| **shown);
        (!rows.is_empty()).then(|| FactTable {
            title: title.into(),
            columns: columns
                .map(|((label, kind), _)| ((*label).to_owned(), *kind))
                .collect(),
            rows,
        })
    }
}
