//! Tables of the core crate as tables of the page: some of their columns, in another order.

use dormer_core::base::value::{Table, Value};
use dormer_core::report::fact_table::{CellKind, FactRow, FactTable};

use crate::protocol::{BarChart, BarRow};

/// Displayed forms of words in files.
const WORDS: &[(&str, &str)] = &[
    ("D2H", "GPU to host"),
    ("H2D", "Host to GPU"),
    ("D2D", "GPU to GPU (same device)"),
    ("P2P", "Between GPUs"),
    ("H2H", "Host to host"),
    ("other", "Unknown"),
    ("ACCEPTABLE", "Acceptable"),
    ("LOW", "Low"),
    ("MEDIUM", "Medium"),
    ("HIGH", "High"),
    ("CRITICAL", "Critical"),
];

/// A row, with cells by column key.
#[derive(Clone, Copy)]
pub(super) struct Cells<'a> {
    table: &'a Table,
    row: usize,
}

impl<'a> Cells<'a> {
    pub(super) fn new(table: &'a Table, row: usize) -> Cells<'a> {
        Cells { table, row }
    }

    pub(super) fn value(self, key: &str) -> Option<&'a Value> {
        let column = self.table.columns.iter().position(|one| one.key == key)?;
        self.table.rows.get(self.row)?.get(column)
    }

    /// A cell as text; empty if unknown.
    pub(super) fn text(self, key: &str) -> String {
        match self.value(key) {
            None => String::new(),
            Some(value) if !value.is_known() => String::new(),
            Some(Value::Text(word)) => {
                let known = WORDS.iter().find(|(known, _)| known == word);
                known.map_or(word.clone(), |(_, words)| (*words).to_owned())
            }
            Some(value) => value.text(),
        }
    }

    /// The event that the row is about.
    pub(super) fn event(self) -> Option<u32> {
        self.table.events.get(self.row).copied().flatten()
    }
}

/// The label of a column of an outcome's table.
fn label<'a>(table: &'a Table, key: &str) -> &'a str {
    let mut columns = table.columns.iter();
    let column = columns.find(|column| column.key == key);
    column.map_or("", |column| column.label)
}

/// A bar chart of an outcome's table: a bar for the first number column, which follows the labels.
pub(super) fn bar_chart(table: &Table, title: &str, columns: &[&str]) -> BarChart {
    let drawn = |cells: Cells| match cells.value(columns.get(1)?)? {
        Value::Ns(ns) => Some(*ns as f64),
        _ => None,
    };
    let rows = || (0..table.rows.len()).map(|row| Cells::new(table, row));
    let longest = rows().filter_map(drawn).fold(0.0, f64::max);
    let row = |cells: Cells| {
        let mut texts = columns.iter().map(|key| cells.text(key));
        BarRow {
            label: texts.next().unwrap_or_default(),
            percent: match drawn(cells) {
                Some(ns) if longest > 0.0 => ns * 100.0 / longest,
                _ => 0.0,
            },
            cells: texts.collect(),
        }
    };
    let headings = columns.iter().map(|key| label(table, key).to_owned());
    BarChart {
        title: title.to_owned(),
        columns: headings.collect(),
        rows: rows().map(row).collect(),
    }
}

/// A table of an outcome with some of its columns. `below` is the column shown in small print below the first one.
pub(super) fn fact_table(
    table: &Table,
    title: &str,
    columns: &[&str],
    below: Option<&str>,
) -> Option<FactTable> {
    let rows = || (0..table.rows.len()).map(|row| Cells::new(table, row));
    let kind = |key: &str| {
        let is = |is: fn(&Value) -> bool| {
            let values = rows().filter_map(|row| row.value(key));
            values.filter(|value| value.is_known()).all(is)
        };
        match (
            is(Value::is_number),
            is(|value| matches!(value, Value::Quoted(_))),
        ) {
            (true, _) => CellKind::Number,
            (false, true) => CellKind::Name,
            (false, false) => CellKind::Text,
        }
    };
    let row = |cells: Cells| FactRow {
        cells: columns.iter().map(|key| cells.text(key)).collect(),
        below: below.map(|key| cells.text(key)).unwrap_or_default(),
        event: cells.event(),
    };
    let kinds = columns.iter().map(|key| (label(table, key), kind(key)));
    let kinds: Vec<_> = kinds.collect();
    FactTable::new(title, &kinds, rows().map(row).collect())
}
