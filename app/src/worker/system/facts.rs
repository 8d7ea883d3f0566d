//! Tables of core as those of the page: some of their columns, in another order.

use dormer_core::base::value::{Table, Value};
use dormer_core::findings::Outcome;

use super::table;
use crate::protocol::{BarChart, BarRow, FactColumn, FactRow, FactTable};

/// What words of files are for people.
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

/// A row by the keys of its columns.
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

    /// For people; empty when unknown.
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

/// A table of an outcome with a bar for the first of its numbers; `None` where it has no rows.
pub(super) fn bar_chart(
    outcome: &Outcome,
    key: &str,
    title: &str,
    label: (&str, &str),
    numbers: &[(&str, &str)],
) -> Option<BarChart> {
    let table = table(outcome, key)?;
    let drawn = |row: usize| {
        let (first, _) = numbers.first()?;
        match Cells::new(table, row).value(first)? {
            Value::Ns(ns) => Some(*ns as f64),
            _ => None,
        }
    };
    let rows = 0..table.rows.len();
    let longest = rows.clone().filter_map(drawn).fold(0.0, f64::max);
    let headings = numbers.iter().map(|(_, heading)| *heading);
    Some(BarChart {
        title: title.to_owned(),
        columns: std::iter::once(label.1)
            .chain(headings)
            .map(str::to_owned)
            .collect(),
        rows: rows
            .map(|row| {
                let cells = Cells::new(table, row);
                BarRow {
                    label: cells.text(label.0),
                    percent: match drawn(row) {
                        Some(ns) if longest > 0.0 => ns * 100.0 / longest,
                        _ => 0.0,
                    },
                    cells: numbers.iter().map(|(key, _)| cells.text(key)).collect(),
                }
            })
            .collect(),
    })
}

/// A table of an outcome with some of its columns; those that are empty in every row are left
/// out. `below` is the column that stands small below the first one.
pub(super) fn fact_table(
    outcome: &Outcome,
    key: &str,
    title: &str,
    columns: &[(&str, &str)],
    below: Option<&str>,
) -> Option<FactTable> {
    let table = table(outcome, key)?;
    let rows = 0..table.rows.len();
    let is_known = |key: &str| {
        let mut rows = rows.clone();
        rows.any(|row| !Cells::new(table, row).text(key).is_empty())
    };
    let shown: Vec<&(&str, &str)> = columns.iter().filter(|(key, _)| is_known(key)).collect();
    let column = |(key, heading): &(&str, &str)| {
        let of = |is: fn(&Value) -> bool| {
            let values = rows.clone().map(|row| Cells::new(table, row).value(key));
            values.flatten().filter(|value| value.is_known()).all(is)
        };
        FactColumn {
            label: (*heading).to_owned(),
            is_number: of(Value::is_number),
            is_name: of(|value| matches!(value, Value::Quoted(_))),
        }
    };
    Some(FactTable {
        title: title.to_owned(),
        columns: shown.iter().map(|pair| column(pair)).collect(),
        rows: rows
            .clone()
            .map(|row| {
                let cells = Cells::new(table, row);
                FactRow {
                    cells: shown.iter().map(|(key, _)| cells.text(key)).collect(),
                    below: below.map(|key| cells.text(key)).unwrap_or_default(),
                    event: cells.event(),
                }
            })
            .collect(),
    })
}
