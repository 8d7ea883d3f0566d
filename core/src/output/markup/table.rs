//! Tables of documents and their cells.

use serde::{Deserialize, Serialize};

use super::{Line, Span, cell};
use crate::base::format;
use crate::base::value::Table;
use crate::compare::Pair;

/// Plain text without quoted names.
pub(crate) fn text(text: impl Into<String>) -> Line {
    vec![Span::Text(text.into())]
}

/// A name from the trace; a long one is shortened in the middle.
pub(crate) fn code(name: &str, max_chars: usize) -> Line {
    vec![Span::Code(format::middle_ellipsis(name, max_chars))]
}

pub(crate) fn dash<T, S: Into<String>>(known: Option<T>, write: impl FnOnce(T) -> S) -> Line {
    known.map_or_else(|| text("–"), |known| text(write(known)))
}

pub(crate) fn time(ns: i64) -> Line {
    text(format::time_ns(ns))
}

pub(crate) fn count(n: impl TryInto<u64>) -> Line {
    text(format::count(n.try_into().unwrap_or(u64::MAX)))
}

/// A table of a document.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct DocTable {
    /// Column heads, and whether the column holds numbers.
    pub columns: Vec<(String, bool)>,
    /// Cells; each row as long as `columns`.
    pub rows: Vec<Vec<Line>>,
}

impl DocTable {
    /// A table with one row per item, without columns yet.
    pub(crate) fn of<T>(things: impl IntoIterator<Item = T>) -> Rows<T> {
        let things: Vec<T> = things.into_iter().collect();
        let rows = vec![Vec::new(); things.len()];
        let table = DocTable {
            rows,
            ..DocTable::default()
        };
        Rows { things, table }
    }
}

/// A table under construction, column by column: a head, and what is shown for each item. Columns whose head starts
/// with `>` hold numbers.
pub(crate) struct Rows<T> {
    things: Vec<T>,
    table: DocTable,
}

impl<T> Rows<T> {
    pub(crate) fn line(mut self, head: &str, cell: impl Fn(&T) -> Line) -> Rows<T> {
        let label = head.strip_prefix('>').unwrap_or(head);
        let is_number = label.len() < head.len();
        self.table.columns.push((label.to_owned(), is_number));
        for (row, thing) in self.table.rows.iter_mut().zip(&self.things) {
            row.push(cell(thing));
        }
        self
    }

    pub(crate) fn text<S: Into<String>>(self, head: &str, cell: impl Fn(&T) -> S) -> Rows<T> {
        self.line(head, |thing| text(cell(thing)))
    }

    pub(crate) fn time(self, head: &str, ns: impl Fn(&T) -> i64) -> Rows<T> {
        self.line(head, |thing| time(ns(thing)))
    }

    pub(crate) fn count<N: TryInto<u64>>(self, head: &str, n: impl Fn(&T) -> N) -> Rows<T> {
        self.line(head, |thing| count(n(thing)))
    }

    /// The times of two traces, and their difference.
    pub(crate) fn times(self, times: impl Fn(&T) -> Pair<i64>) -> Rows<T> {
        self.time(">Reference", |thing| times(thing).reference)
            .time(">Target", |thing| times(thing).target)
            .text(">Δ", |thing| {
                format::signed_time_ns(times(thing).difference())
            })
    }
}

impl<T> From<Rows<T>> for DocTable {
    fn from(rows: Rows<T>) -> DocTable {
        rows.table
    }
}

impl From<&Table> for DocTable {
    fn from(table: &Table) -> DocTable {
        let rows = table.rows.iter();
        DocTable {
            columns: table.headings(),
            rows: rows.map(|row| row.iter().map(cell).collect()).collect(),
        }
    }
}
