//! Windows of a sheet: filtered, sorted, as text.

use std::cmp::Ordering;

use dormer_core::category::Family;
use dormer_core::format;
use dormer_core::report::sheet::{Cell, Column, Sheet, Unit};

use super::families::Families;
use crate::protocol::{FAMILY, Field, RowsPage, RowsQuery, Sort, TableCell, TableRow};

/// The page cuts names to the width of their column; longer than this none can be.
const NAME_CHARS: usize = 240;

/// The order that was asked for last: pages of one table are asked for one after the other.
#[derive(Debug, Default)]
pub(super) struct Rows {
    order: Option<Order>,
}

#[derive(Debug)]
struct Order {
    sheet: String,
    find: String,
    sort: Option<Sort>,
    /// Rows of the sheet that the filter leaves, in order.
    rows: Vec<usize>,
}

impl Rows {
    pub(super) fn page(
        &mut self,
        sheet: &Sheet,
        families: &Families,
        query: &RowsQuery,
    ) -> RowsPage {
        let is_known = self.order.as_ref().is_some_and(|order| {
            order.sheet == query.sheet && order.find == query.find && order.sort == query.sort
        });
        if !is_known {
            self.order = None;
        }
        let order = self.order.get_or_insert_with(|| Order {
            sheet: query.sheet.clone(),
            find: query.find.clone(),
            sort: query.sort.clone(),
            rows: order(sheet, families, &query.find, query.sort.as_ref()),
        });
        let rows = order
            .rows
            .iter()
            .skip(query.offset)
            .take(query.count)
            .filter_map(|&row| table_row(sheet, families, row, &query.columns))
            .collect();
        RowsPage {
            total: sheet.rows.len(),
            matching: order.rows.len(),
            offset: query.offset,
            rows,
        }
    }
}

/// Every column of a row, whole.
pub(super) fn fields(sheet: &Sheet, row: usize) -> Vec<Field> {
    let Some(cells) = sheet.rows.get(row) else {
        return Vec::new();
    };
    sheet
        .columns
        .iter()
        .zip(cells)
        .map(|(column, cell)| Field {
            label: plain_label(column.label),
            doc: column.doc.to_owned(),
            value: text(column, cell),
        })
        .filter(|field| !field.value.is_empty())
        .collect()
}

fn order(sheet: &Sheet, families: &Families, find: &str, sort: Option<&Sort>) -> Vec<usize> {
    let find = find.trim().to_lowercase();
    let contains = |text: &str| text.to_lowercase().contains(&find);
    let fits = |cells: &[Cell]| {
        find.is_empty()
            || contains(family(sheet, families, cells).label())
            || cells.iter().any(|cell| match cell {
                Cell::Text(text) => contains(text),
                _ => false,
            })
    };
    let mut rows: Vec<(usize, &Vec<Cell>)> = sheet
        .rows
        .iter()
        .enumerate()
        .filter(|(_, cells)| fits(cells))
        .collect();
    // Stable: rows of equal value keep the sheet's order, whichever way the order goes.
    match sort {
        Some(sort) if sort.column == FAMILY => {
            let label = |cells: &[Cell]| family(sheet, families, cells).label();
            rows.sort_by(|(_, one), (_, other)| {
                directed(label(one).cmp(label(other)), sort.descending)
            });
        }
        Some(sort) => {
            if let Some(column) = sheet.column(&sort.column) {
                rows.sort_by(|(_, one), (_, other)| {
                    compare(one.get(column), other.get(column), sort.descending)
                });
            }
        }
        None => {}
    }
    rows.into_iter().map(|(row, _)| row).collect()
}

fn directed(ordering: Ordering, descending: bool) -> Ordering {
    match descending {
        true => ordering.reverse(),
        false => ordering,
    }
}

/// Orders two cells of a column; what is unknown comes last either way.
fn compare(one: Option<&Cell>, other: Option<&Cell>, descending: bool) -> Ordering {
    let known = |cell: Option<&Cell>| cell.is_some_and(|cell| *cell != Cell::Empty);
    match (known(one), known(other)) {
        (true, true) => {}
        (one, other) => return other.cmp(&one),
    }
    match (one.and_then(number), other.and_then(number)) {
        (Some(one), Some(other)) => directed(one.total_cmp(&other), descending),
        (None, None) => directed(lower(one).cmp(&lower(other)), descending),
        (one, other) => directed(one.is_some().cmp(&other.is_some()), descending),
    }
}

fn lower(cell: Option<&Cell>) -> Option<String> {
    match cell {
        Some(Cell::Text(text)) => Some(text.to_lowercase()),
        _ => None,
    }
}

fn number(cell: &Cell) -> Option<f64> {
    match cell {
        Cell::Int(number) => Some(*number as f64),
        Cell::Float(number) => Some(*number),
        Cell::Flag(flag) => Some(f64::from(u8::from(*flag))),
        Cell::Text(_) | Cell::Empty => None,
    }
}

fn table_row(
    sheet: &Sheet,
    families: &Families,
    row: usize,
    columns: &[String],
) -> Option<TableRow> {
    let cells = sheet.rows.get(row)?;
    let family = family(sheet, families, cells);
    let cell = |label: &String| {
        if label == FAMILY {
            return table_cell(family.label().to_owned(), None);
        }
        let column = sheet.column(label);
        let pair = column.and_then(|column| Some((sheet.columns.get(column)?, cells.get(column)?)));
        match pair {
            Some((column, cell)) => table_cell(text(column, cell), number(cell)),
            None => table_cell(String::new(), None),
        }
    };
    Some(TableRow {
        row,
        token: family.token().to_owned(),
        cells: columns.iter().map(cell).collect(),
    })
}

/// Dormer's own category of a row: of its kernel, else of its operator.
fn family(sheet: &Sheet, families: &Families, cells: &[Cell]) -> Family {
    let text = |label: &str| match cells.get(sheet.column(label)?)? {
        Cell::Text(text) => Some(text.as_str()),
        _ => None,
    };
    match (text("Kernel name"), text("name")) {
        (Some(kernel), _) => families.of_kernel(text("Parent cpu_op"), kernel),
        (None, Some(name)) => families.of_op(name),
        (None, None) => Family::Other,
    }
}

fn table_cell(whole: String, number: Option<f64>) -> TableCell {
    let shown = format::middle_ellipsis(&format::kernel_name(&whole), NAME_CHARS);
    TableCell {
        whole: (shown != whole).then_some(whole),
        text: shown,
        number,
    }
}

/// A cell for people, with its unit.
fn text(column: &Column, cell: &Cell) -> String {
    match (cell, column.unit) {
        (Cell::Empty, _) => String::new(),
        (Cell::Text(text), _) => plain_list(text),
        (Cell::Flag(flag), _) => if *flag { "yes" } else { "no" }.to_owned(),
        (Cell::Int(number), Unit::Count) => match u64::try_from(*number) {
            Ok(count) => format::count(count),
            Err(_) => number.to_string(),
        },
        (Cell::Int(number), Unit::Number | Unit::Text | Unit::Flag) => number.to_string(),
        (cell, unit) => match (number(cell), unit) {
            (Some(number), Unit::Us) => format::time_us(number),
            (Some(number), Unit::Ms) => format::time_ms(number),
            (Some(number), Unit::Percent) => format::percent(number),
            (Some(number), _) => format::number(number),
            (None, _) => String::new(),
        },
    }
}

/// A column's label for reading: the values carry their unit, so the label need not.
fn plain_label(label: &str) -> String {
    let label = label.strip_suffix("_ms").unwrap_or(label);
    let label = label.replace(" (µs)", "").replace(" (%)", "");
    label.replace('_', " ")
}

/// A list of names as the reference writes it, `['GEMM', 'other']`, as `GEMM, other`.
fn plain_list(text: &str) -> String {
    match text
        .strip_prefix("['")
        .and_then(|text| text.strip_suffix("']"))
    {
        Some(names) => names.replace("', '", ", "),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three ops: name, count, time in milliseconds.
    fn sheet() -> Sheet {
        let column = |label, unit| Column {
            label,
            unit,
            doc: "",
        };
        let row = |name: &str, count, time| vec![Cell::Text(name.into()), Cell::Int(count), time];
        Sheet {
            name: "ops_summary",
            columns: vec![
                column("name", Unit::Text),
                column("Count", Unit::Count),
                column("time", Unit::Ms),
            ],
            rows: vec![
                row("aten::mm", 12, Cell::Float(41.7)),
                row("aten::Softmax", 1200, Cell::Empty),
                row("aten::bmm", 12, Cell::Float(0.00987)),
            ],
        }
    }

    #[track_caller]
    fn check(find: &str, sort: Option<(&str, bool)>, expected: &[usize]) {
        let sort = sort.map(|(column, descending)| Sort {
            column: column.into(),
            descending,
        });
        let families = Families::default();
        assert_eq!(order(&sheet(), &families, find, sort.as_ref()), expected);
    }

    #[test]
    fn a_filter_looks_at_text_and_not_at_case() {
        check("", None, &[0, 1, 2]);
        check("MM", None, &[0, 2]);
        check(" softmax ", None, &[1]);
        check("12", None, &[]);
        // Dormer's own category counts as text of the row.
        check("gemm", None, &[0, 2]);
    }

    #[test]
    fn an_order_is_stable_and_unknowns_come_last() {
        check("", Some(("Count", true)), &[1, 0, 2]);
        check("", Some(("Count", false)), &[0, 2, 1]);
        check("", Some(("time", true)), &[0, 2, 1]);
        check("", Some(("time", false)), &[2, 0, 1]);
        check("", Some(("name", false)), &[2, 0, 1]);
        check("", Some(("no such column", false)), &[0, 1, 2]);
    }

    #[test]
    fn cells_carry_their_unit() {
        let values = |row| {
            fields(&sheet(), row)
                .into_iter()
                .map(|field| field.value)
                .collect::<Vec<_>>()
        };
        assert_eq!(values(0), ["aten::mm", "12", &format::time_ms(41.7)]);
        // The unknown time is left out.
        assert_eq!(values(1), ["aten::Softmax", &format::count(1200)]);
        assert_eq!(values(9), Vec::<String>::new());
        assert_eq!(
            plain_label("Kernel duration (µs)_mean"),
            "Kernel duration mean"
        );
        assert_eq!(plain_list("['GEMM', 'other']"), "GEMM, other");
    }
}
