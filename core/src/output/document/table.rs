//! Tables of documents, and what stands in their cells.

use serde::{Deserialize, Serialize};

use super::{Line, Span, cell, line};
use crate::base::format;
use crate::base::value::Table;

/// Words alone, whatever they hold.
pub(crate) fn text(text: impl Into<String>) -> Line {
    vec![Span::Text(text.into())]
}

/// A name from the trace; the middle of a long one is left out.
pub(crate) fn code(name: &str, max_chars: usize) -> Line {
    vec![Span::Code(format::middle_ellipsis(name, max_chars))]
}

/// What is known, or a dash.
pub(crate) fn dash<T, S: Into<String>>(known: Option<T>, write: impl FnOnce(T) -> S) -> Line {
    known.map_or_else(|| text("–"), |known| text(write(known)))
}

/// A time.
pub(crate) fn time(ns: i64) -> Line {
    text(format::time_ns(ns))
}

/// How many.
pub(crate) fn count(n: impl TryInto<u64>) -> Line {
    text(format::count(n.try_into().unwrap_or(u64::MAX)))
}

/// A column with what it shows of one thing. Those whose head starts with `>` hold numbers.
pub type DocColumn<'c, T> = (&'c str, &'c dyn Fn(&T) -> Line);

/// A table of a document.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct DocTable {
    /// Heads of the columns, and whether they hold numbers.
    pub columns: Vec<(String, bool)>,
    /// Cells; each row as long as `columns`.
    pub rows: Vec<Vec<Line>>,
}

impl DocTable {
    /// A table without rows. Columns whose head starts with `>` hold numbers.
    pub fn new(heads: &[&str]) -> DocTable {
        let column = |head: &&str| match head.strip_prefix('>') {
            Some(head) => (head.to_owned(), true),
            None => ((*head).to_owned(), false),
        };
        DocTable {
            columns: heads.iter().map(column).collect(),
            rows: Vec::new(),
        }
    }

    /// A table with a row for each of some things.
    pub fn of<T>(things: impl IntoIterator<Item = T>, columns: &[DocColumn<T>]) -> DocTable {
        let heads: Vec<&str> = columns.iter().map(|(head, _)| *head).collect();
        let cells = |thing: T| columns.iter().map(|(_, cell)| cell(&thing)).collect();
        DocTable {
            rows: things.into_iter().map(cells).collect(),
            ..DocTable::new(&heads)
        }
    }

    /// Adds a row; names in backticks.
    pub fn row(&mut self, cells: &[&str]) {
        self.rows
            .push(cells.iter().map(|cell| line(cell)).collect());
    }
}

impl From<&Table> for DocTable {
    fn from(table: &Table) -> DocTable {
        let columns = table.columns.iter().enumerate();
        let rows = table.rows.iter();
        DocTable {
            columns: columns
                .map(|(at, column)| (column.label.to_owned(), table.is_number(at)))
                .collect(),
            rows: rows.map(|row| row.iter().map(cell).collect()).collect(),
        }
    }
}
