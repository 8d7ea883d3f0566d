//! Display tables of figures: text cells, with links to events.

use serde::{Deserialize, Serialize};

/// A table of figures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FactTable {
    /// Its title.
    pub title: String,
    /// Its columns: label and cell kind.
    pub columns: Vec<(String, CellKind)>,
    /// Its rows.
    pub rows: Vec<FactRow>,
}

/// The kind of cells in a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum CellKind {
    /// Names from the trace.
    Name,
    /// Words.
    Text,
    /// Numbers, aligned right.
    Number,
}

/// A row of a table of figures.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FactRow {
    /// One for each column; empty when unknown.
    pub cells: Vec<String>,
    /// Small print below the first name.
    pub below: String,
    /// The event to select in the tree.
    pub event: Option<u32>,
}

/// A column: label, cell kind, cell.
pub(crate) type FactColumn<'c, T> = (&'c str, CellKind, &'c dyn Fn(&T) -> String);

impl FactTable {
    /// A table with a row per item, of which `row` says all but the cells.
    pub(crate) fn of<T>(
        title: impl Into<String>,
        items: impl IntoIterator<Item = T>,
        columns: &[FactColumn<T>],
        row: impl Fn(&T) -> FactRow,
    ) -> Option<FactTable> {
        let kinds: Vec<_> = columns
            .iter()
            .map(|(label, kind, _)| (*label, *kind))
            .collect();
        let rows = items.into_iter().map(|item| FactRow {
            cells: columns.iter().map(|(.., cell)| cell(&item)).collect(),
            ..row(&item)
        });
        FactTable::new(title, &kinds, rows.collect())
    }

    /// A table without the columns that are empty in every row; `None` without rows.
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
