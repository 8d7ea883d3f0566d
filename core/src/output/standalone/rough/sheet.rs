//! A sheet as a table that fits a page.

use super::super::words::more;
use crate::base::format;
use crate::output::document::{DocTable, Document, Span};
use crate::report::sheet::{Cell, Sheet, Unit};

/// Rows of a sheet that are copied here; all are in the sheet.
pub(super) const SHEET_ROWS: usize = 15;

/// Columns that would be wider than a page.
const WIDE: [&str; 6] = [
    "kernel_details_summary",
    "trunc_kernel_details",
    "process_label",
    "process_name",
    "thread_name",
    "Input Strides",
];

/// The first rows of a sheet.
pub(super) fn sheet(document: &mut Document, sheet: Option<&Sheet>, max_rows: usize) {
    /// Longer texts are cut in the middle.
    const MAX_CHARS: usize = 48;
    /// More columns than this are in the sheet.
    const MAX_COLUMNS: usize = 12;
    let Some(sheet) = sheet else {
        return;
    };
    let columns: Vec<usize> = (0..sheet.columns.len())
        .filter(|at| {
            let column = sheet.columns.get(*at);
            column.is_some_and(|column| !WIDE.contains(&column.label))
        })
        .take(MAX_COLUMNS)
        .collect();
    let mut table = DocTable::default();
    for at in &columns {
        if let Some(column) = sheet.columns.get(*at) {
            let is_number = !matches!(column.unit, Unit::Text | Unit::Flag);
            table.columns.push((column.label.to_owned(), is_number));
        }
    }
    for row in sheet.rows.iter().take(max_rows) {
        let cell = |cell: &Cell| match cell {
            Cell::Empty => Span::Text("–".to_owned()),
            Cell::Text(text) => Span::Code(format::middle_ellipsis(text, MAX_CHARS)),
            Cell::Int(number) => Span::Text(number.to_string()),
            Cell::Float(number) => Span::Text(format::number(*number)),
            Cell::Flag(flag) => Span::Text(if *flag { "yes" } else { "no" }.to_owned()),
        };
        let cells = columns.iter().filter_map(|at| row.get(*at));
        table
            .rows
            .push(cells.map(|value| vec![cell(value)]).collect());
    }
    document.table(table);
    if sheet.rows.len() > max_rows {
        document.text(&more(sheet.rows.len() - max_rows, "in the sheet"));
    }
}
