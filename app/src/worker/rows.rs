//! Windows of a sheet's rows: filtered, sorted, as text.

use std::collections::{BTreeMap, BTreeSet};

use dormer_core::base::sort::{Arrange, Gather};
use dormer_core::report::sheet::{Cell, Field, Unit};

use super::cells::{compare, number, plain, plain_label, plain_unit, text};
use super::columns::extra_columns;
use super::matching::{Matcher, remarks};
use super::names::{ShownName, column_names, short_name};
use super::table::Table;
use crate::protocol::search::Search;
use crate::protocol::{
    RowsPage, RowsQuery, SHARE, Sort, TIME, TableCell, TableRow, Total, TotalsQuery, column,
};

/// The last requested order: pages of one table are requested one after another.
#[derive(Debug, Default)]
pub(super) struct Rows {
    known: Option<Known>,
    /// How names are displayed, by sheet and column.
    names: BTreeMap<(String, String), Names>,
}

/// What is known of the last requested order.
#[derive(Debug)]
struct Known {
    order: Order,
    /// The sheet's matching rows.
    rows: Vec<usize>,
    /// The column by which the sheet is sorted by default, if that is the order.
    own_order: Option<Sort>,
}

/// The names of a column.
#[derive(Debug)]
struct Names {
    /// The number of letters that fit.
    room: usize,
    /// By recorded name.
    shown: BTreeMap<String, ShownName>,
}

/// Name of the sheet, search text, categories, order.
type Order = (String, String, Vec<String>, Option<Sort>);

impl Rows {
    /// A window of a table's rows; empty if there is no such table.
    pub(super) fn page(&mut self, table: Option<&Table>, query: &RowsQuery) -> RowsPage {
        let Some(table) = table else {
            return RowsPage {
                offset: query.offset,
                ..RowsPage::default()
            };
        };
        let requested = (
            query.sheet.clone(),
            query.find.clone(),
            query.only.clone(),
            query.sort.clone(),
        );
        self.known = self.known.take().filter(|known| known.order == requested);
        let known = self.known.get_or_insert_with(|| {
            let rows = order(table, &query.find, &query.only, query.sort.as_ref());
            Known {
                order: requested,
                own_order: match query.sort {
                    None => own_order(table, &rows),
                    Some(_) => None,
                },
                rows,
            }
        });
        let matching = &known.rows;
        for (label, room) in query.columns.iter().zip(&query.max_letters) {
            Names::prepare(&mut self.names, table, label, *room);
        }
        let names = |label: &String| {
            let key = (table.sheet.name.to_owned(), label.clone());
            self.names.get(&key).map(|names| &names.shown)
        };
        let names: Vec<_> = query.columns.iter().map(names).collect();
        let rows = matching.iter().skip(query.offset).take(query.count);
        let rows = rows.filter_map(|&row| table_row(table, row, query, &names));
        let rows: Vec<TableRow> = rows.collect();
        let units = query.columns.iter().filter(|_| query.is_plain);
        let unit = |label| table.column(label).map_or("", |of| plain_unit(of.unit));
        RowsPage {
            units: units.map(|label| unit(label).to_owned()).collect(),
            remarks: remarks(table, &query.find),
            own_order: known.own_order.clone(),
            docs: query
                .columns
                .iter()
                .map(|label| table.column(label).map(|column| column.doc.to_owned()))
                .collect(),
            located: query
                .locate
                .and_then(|linked| matching.iter().position(|row| *row == linked)),
            total: table.sheet.rows.len(),
            matching: matching.len(),
            offset: query.offset,
            rows,
        }
    }
}

impl Names {
    /// Ensures that the names of a column are shortened to this many letters; does nothing for a column of numbers, or
    /// without a limit.
    fn prepare(
        all: &mut BTreeMap<(String, String), Names>,
        table: &Table,
        label: &str,
        room: usize,
    ) {
        let Some(column) = table
            .column(label)
            .filter(|column| column.unit == Unit::Text && room > 0)
        else {
            return;
        };
        let key = (table.sheet.name.to_owned(), label.to_owned());
        let known = all.get(&key);
        if known.is_some_and(|known| known.room == room) {
            return;
        }
        // All rows, regardless of the filter, so that a name looks the same everywhere.
        let names: BTreeSet<String> = match known {
            Some(known) => known.shown.keys().cloned().gather(),
            None => {
                let rows = 0..table.sheet.rows.len();
                let cells = rows.filter_map(|row| table.cell(row, label));
                cells.map(|cell| text(&column, &cell)).gather()
            }
        };
        let shown = column_names(names, room);
        all.insert(key, Names { room, shown });
    }
}

/// All columns of a row in full, the additional ones first.
pub(super) fn fields(table: &Table, row: usize) -> Vec<Field> {
    let Some(cells) = table.sheet.rows.get(row) else {
        return Vec::new();
    };
    let additional = extra_columns(table.sheet)
        .filter(|(extra, _)| extra.adds())
        .filter_map(|(_, column)| Some((column.clone(), table.cell(row, column.label)?)));
    let own = table
        .sheet
        .columns
        .iter()
        .cloned()
        .zip(cells.iter().cloned());
    additional
        .chain(own)
        .map(|(column, cell)| Field {
            label: plain_label(column.label, column.unit),
            doc: column.doc.to_owned(),
            value: text(&column, &cell),
        })
        .filter(|field| !field.value.is_empty())
        .collect()
}

pub(super) fn order(table: &Table, find: &str, only: &[String], sort: Option<&Sort>) -> Vec<usize> {
    let search = Matcher::new(table, &Search::parse(find));
    let fits = |row: usize| {
        (only.is_empty() || only.iter().any(|word| table.is_of(row, word)))
            && search.fits(table, row)
    };
    let rows = (0..table.sheet.rows.len()).filter(|row| fits(*row));
    // The cells to sort by, computed once per row: additional columns are computed on each access, and case is ignored.
    let label = sort.map_or("", |sort| &sort.column);
    let decides = |row: usize| match table.cell(row, label) {
        Some(Cell::Text(text)) => Some(Cell::Text(text.to_lowercase())),
        cell => cell,
    };
    let mut rows: Vec<(usize, Option<Cell>)> = rows.map(|row| (row, decides(row))).collect();
    // Stable: rows with equal values keep the sheet's order in either direction.
    if let Some(sort) = sort {
        rows.arrange_by(|(_, one), (_, other)| {
            compare(one.as_ref(), other.as_ref(), sort.descending)
        });
    }
    rows.into_iter().map(|(row, _)| row).collect()
}

/// A cell as text; empty if unknown.
pub(super) fn text_of(table: &Table, row: usize, label: &str) -> String {
    let cell = table.column(label).zip(table.cell(row, label));
    cell.map_or_else(String::new, |(column, cell)| text(&column, &cell))
}

/// The totals of some rows, for columns that can be summed: times, counts and shares.
pub(super) fn totals(table: &Table, query: &TotalsQuery) -> Vec<Total> {
    let total = |label: &String| {
        let column = table
            .column(label)
            .filter(|_| CAN_BE_ADDED.contains(&&**label))?;
        let cells = query
            .rows
            .iter()
            .map(|row| table.cell(*row as usize, label));
        let numbers = cells.filter_map(|cell| number(&cell?));
        let numbers: Vec<f64> = numbers.collect();
        let sum: f64 = numbers.iter().sum();
        let sum = match column.unit {
            Unit::Count => Cell::Int(sum as i64),
            _ => Cell::Float(sum),
        };
        (!numbers.is_empty()).then(|| Total {
            column: label.clone(),
            text: text(&column, &sum),
        })
    };
    query.columns.iter().filter_map(total).collect()
}

/// Columns whose values can be summed over rows.
#[rustfmt::skip]
const CAN_BE_ADDED: &[&str] = &[
    TIME, SHARE, "operation_count", "Count", "Kernel duration (µs)_sum", "Kernel duration (µs)_count",
    "total_direct_kernel_time_ms", "self_cpu_time_ms", "Percentage (%)", column::REFERENCE,
    column::TARGET, column::DIFFERENCE, column::TIME, column::COUNT, column::REFERENCE_COUNT,
    column::TARGET_COUNT, column::SHARE,
];

/// The columns by which sheets may be sorted by default.
#[rustfmt::skip]
const OWN_ORDERS: &[&str] = &[
    TIME, "Kernel duration (µs)_sum", "total_direct_kernel_time_ms", "self_cpu_time_ms", column::TIME,
];

/// The column by which a sheet is sorted by default, largest first.
fn own_order(table: &Table, rows: &[usize]) -> Option<Sort> {
    let is_in_order = |label: &&&str| {
        let numbers = rows
            .iter()
            .map(|row| table.cell(*row, label).and_then(|cell| number(&cell)));
        let numbers: Vec<f64> = numbers
            .map(|number| number.unwrap_or(f64::NEG_INFINITY))
            .collect();
        // When converted to microseconds, nanoseconds may be off by the last digit.
        let falls = |pair: &[f64]| match pair {
            [one, next] => next <= one || (next - one).abs() <= 1e-9 * next.abs(),
            _ => true,
        };
        numbers.first().is_some_and(|first| first.is_finite()) && numbers.windows(2).all(falls)
    };
    let column = OWN_ORDERS.iter().find(is_in_order)?;
    Some(Sort {
        column: (*column).to_owned(),
        descending: true,
    })
}

/// Displayed names by recorded name.
type NamesOf<'a> = Option<&'a BTreeMap<String, ShownName>>;

fn table_row(
    table: &Table,
    row: usize,
    query: &RowsQuery,
    names: &[NamesOf<'_>],
) -> Option<TableRow> {
    table.sheet.rows.get(row)?;
    let cell = |(label, names): (&String, &NamesOf<'_>)| {
        let Some((column, cell)) = table.column(label).zip(table.cell(row, label)) else {
            return TableCell::default();
        };
        if query.is_plain {
            return TableCell {
                text: plain(&column, &cell),
                ..TableCell::default()
            };
        }
        let whole = text(&column, &cell);
        let shown = names.and_then(|names| names.get(&whole)).cloned();
        let shown = shown.unwrap_or_else(|| ShownName {
            text: short_name(&whole),
            left_out: Vec::new(),
        });
        TableCell {
            whole: (shown.text != whole).then_some(whole),
            text: shown.text,
            left_out: shown.left_out,
            number: number(&cell),
            note: table.note(row, label),
        }
    };
    Some(TableRow {
        row,
        token: table.family(row).token().to_owned(),
        cells: query.columns.iter().zip(names).map(cell).collect(),
    })
}

#[cfg(test)]
mod tests {
    use dormer_core::base::format;
    use dormer_core::names::Family;
    use dormer_core::report::sheet::{Column, Sheet};

    use super::*;
    use crate::protocol::FAMILY;
    use crate::worker::table::RowKind;

    /// Names of one sheet, shortened to what fits, even if the filter leaves only a few.
    #[test]
    fn names_are_cut_to_the_room_that_is_given() {
        let sheet = sheet();
        let cut = |max_letters: &[usize]| {
            let query = RowsQuery {
                columns: vec!["name".into(), "Count".into()],
                max_letters: max_letters.to_vec(),
                find: "softmax".into(),
                count: 9,
                ..RowsQuery::default()
            };
            let page = Rows::default().page(Some(&Table::of_kinds(&sheet, &KINDS)), &query);
            let cell = page.rows[0].cells[0].clone();
            assert_eq!((&*cell.text, &cell.whole), ("aten::Softmax", &None));
            cell.left_out
        };
        assert_eq!(cut(&[]), []);
        assert_eq!(cut(&[13, 0]), []);
        // "aten…tmax"
        assert_eq!(cut(&[9, 9]), [(4, 9)]);
    }

    /// Three ops: name, count, time in milliseconds.
    fn sheet() -> Sheet {
        let column = |label, unit| Column {
            label,
            unit,
            doc: "calls",
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

    const KINDS: [RowKind; 3] = [
        kind(Family::Gemm),
        kind(Family::Reduction),
        kind(Family::Gemm),
    ];

    const fn kind(family: Family) -> RowKind {
        RowKind { family, class: "" }
    }

    #[track_caller]
    fn check(find: &str, sort: Option<(&str, bool)>, expected: &[usize]) {
        let sort = sort.map(|(column, descending)| Sort {
            column: column.into(),
            descending,
        });
        let sheet = sheet();
        let table = Table::of_kinds(&sheet, &KINDS);
        assert_eq!(order(&table, find, &[], sort.as_ref()), expected);
    }

    #[test]
    fn categories_are_chosen_by_their_token() {
        let sheet = sheet();
        let table = Table::of_kinds(&sheet, &KINDS);
        let order = |only: &[&str]| {
            let only: Vec<String> = only.iter().map(|token| (*token).to_owned()).collect();
            order(&table, "", &only, None)
        };
        assert_eq!(order(&["gemm"]), [0, 2]);
        assert_eq!(order(&["gemm", "reduce"]), [0, 1, 2]);
        assert_eq!(order(&["norm"]), [] as [usize; 0]);
    }

    #[test]
    fn a_page_says_what_its_columns_mean_and_where_a_row_stands() {
        let sheet = sheet();
        let query = RowsQuery {
            sheet: "ops_summary".into(),
            columns: vec!["Count".into(), "no such column".into(), FAMILY.into()],
            find: "mm".into(),
            sort: Some(Sort {
                column: "time".into(),
                descending: false,
            }),
            count: 1,
            locate: Some(0),
            ..RowsQuery::default()
        };
        let page = Rows::default().page(Some(&Table::of_kinds(&sheet, &KINDS)), &query);
        assert_eq!(page.located, Some(1));
        assert_eq!((page.total, page.matching, page.rows.len()), (3, 2, 1));
        assert_eq!(page.docs[0].as_deref(), Some("calls"));
        assert_eq!(page.docs[1], None);
        assert!(page.docs[2].is_some());
        assert_eq!(page.rows[0].cells[2].text, "GEMM");
    }

    #[test]
    fn a_filter_looks_at_text_and_not_at_case() {
        check("", None, &[0, 1, 2]);
        check("MM", None, &[0, 2]);
        check(" softmax ", None, &[1]);
        check("12", None, &[]);
        check("mm aten::b", None, &[2]);
        check("-mm", None, &[1]);
        check("time>1ms", None, &[0]);
        check("calls>=1200", None, &[1]);
        check("category:gemm -name:bmm", None, &[0]);
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
        let sheet = sheet();
        let values = |row| {
            fields(&Table::of_kinds(&sheet, &KINDS), row)
                .into_iter()
                .map(|field| field.value)
                .collect::<Vec<_>>()
        };
        let time = format::time_us(41_700.0);
        assert_eq!(values(0), ["GEMM", "aten::mm", "12", &time]);
        // The unknown time is left out.
        assert_eq!(
            values(1),
            ["Reduction", "aten::Softmax", &format::count(1200)]
        );
        assert_eq!(values(9), Vec::<String>::new());
    }
}
