//! Which rows of a table match a search.

use dormer_core::report::sheet::{Cell, Unit};

use super::cells::number;
use super::columns::extra_columns;
use super::names::short_name;
use super::table::Table;
use crate::protocol::FAMILY;
use crate::protocol::search::{Comparator, Search, SearchField, Term, Test, fold};

/// A search of a table.
pub(super) struct Matcher {
    terms: Vec<(Term, Place)>,
}

/// Where a term is searched.
enum Place {
    /// In all texts of a row.
    Anywhere,
    /// In a column.
    Column(&'static str),
    /// The table has no such column.
    Nowhere,
}

/// The column of a table for a field.
pub(super) fn column_of(table: &Table, field: &SearchField) -> Option<&'static str> {
    let mut columns = field.columns.iter();
    columns.find(|label| table.column(label).is_some()).copied()
}

/// Hints, in sentences, about a search that probably does not do what the user meant.
pub(super) fn remarks(table: &Table, find: &str) -> Vec<String> {
    let search = Search::parse(find);
    let fields = search.terms.iter().filter_map(|term| match &term.test {
        Test::Word(_) => None,
        Test::Has(field, _) | Test::Compares(field, ..) => Some(*field),
    });
    let missing = fields.filter(|field| column_of(table, field).is_none());
    let missing = missing.map(|field| {
        format!(
            "This table has no \u{201c}{}\u{201d} ({}).",
            field.names.first().unwrap_or(&""),
            field.what
        )
    });
    let missing: Vec<String> = missing.collect();
    search.remarks.into_iter().chain(missing).collect()
}

impl Matcher {
    pub(super) fn new(table: &Table, search: &Search) -> Matcher {
        let place = |test: &Test| match test {
            Test::Word(_) => Place::Anywhere,
            Test::Has(field, _) | Test::Compares(field, ..) => {
                column_of(table, field).map_or(Place::Nowhere, Place::Column)
            }
        };
        let terms = search.terms.iter();
        Matcher {
            terms: terms
                .map(|term| (term.clone(), place(&term.test)))
                .collect(),
        }
    }

    /// Whether a row matches all terms.
    pub(super) fn fits(&self, table: &Table, row: usize) -> bool {
        let mut texts = None;
        self.terms.iter().all(|(term, place)| match (&term.test, place) {
            (_, Place::Nowhere) => false,
            (Test::Word(word), _) => {
                let texts = texts.get_or_insert_with(|| texts_of(table, row));
                texts.contains(word.as_str()) != term.is_not
            }
            (Test::Has(_, text), Place::Column(label)) => {
                let cell = table.cell(row, label);
                let has = matches!(cell, Some(Cell::Text(cell)) if fold(&cell).contains(text.as_str()));
                // Links refer to categories by their tokens.
                let is_token = *label == FAMILY && table.family(row).token() == text;
                (has || is_token) != term.is_not
            }
            (Test::Compares(_, comparator, value), Place::Column(label)) => {
                let known = in_us(table, row, label);
                // An unknown value matches neither a condition nor its negation.
                known.is_some_and(|known| compares(known, *comparator, *value) != term.is_not)
            }
            _ => false,
        })
    }
}

/// A number in a row; times in microseconds.
fn in_us(table: &Table, row: usize, label: &str) -> Option<f64> {
    let factor = match table.column(label)?.unit {
        Unit::Ms => 1e3,
        _ => 1.0,
    };
    Some(number(&table.cell(row, label)?)? * factor)
}

fn compares(known: f64, comparator: Comparator, value: f64) -> bool {
    match comparator {
        Comparator::More => known > value,
        Comparator::AtLeast => known >= value,
        Comparator::Less => known < value,
        Comparator::AtMost => known <= value,
        Comparator::Is => (known - value).abs() <= 1e-9 * value.abs().max(1.0),
    }
}

/// All texts of a row, as recorded and as displayed, case-folded, one per line.
fn texts_of(table: &Table, row: usize) -> String {
    let mut all = String::new();
    let mut add = |text: &str| {
        all.push_str(&fold(text));
        all.push('\n');
    };
    for (_, column) in extra_columns(table.sheet).filter(|(_, column)| column.unit == Unit::Text) {
        if let Some(Cell::Text(text)) = table.cell(row, column.label) {
            add(&text);
        }
    }
    let cells = table.sheet.rows.get(row);
    for (cell, column) in cells.into_iter().flatten().zip(&table.sheet.columns) {
        if let Cell::Text(text) = cell {
            add(text);
            if matches!(column.label, "name" | "Kernel name") {
                add(&short_name(text));
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use dormer_core::testing::Timetable;

    use crate::protocol::{Choice, RowsPage, RowsQuery};
    use crate::worker::Analysis;

    fn found(find: &str) -> RowsPage {
        let gemm = |m: u32| {
            format!(
                r#""Input Dims": [[{m}, 2816], [2816, 64]], "Input type": ["c10::BFloat16", "c10::BFloat16"]"#
            )
        };
        let trace = Timetable::new()
            .call("aten::mm", &gemm(8944), "gemm", 100..1_300)
            .call("aten::mm", &gemm(16), "gemm", 2_000..2_030)
            .call(
                "aten::add",
                "8944x2816:float, 8944x2816:float",
                "add",
                3_000..3_100,
            );
        let mut analysis = Analysis::new(trace.profile(), &Choice::default());
        analysis.rows(&RowsQuery {
            sheet: "unified_perf_summary".to_owned(),
            columns: vec!["name".to_owned()],
            find: find.to_owned(),
            count: 10,
            ..RowsQuery::default()
        })
    }

    /// Rows by time: the large GEMM, the addition, the small GEMM.
    #[test]
    fn terms_combine_and_accept_what_is_displayed() {
        let cases: &[(&str, &[usize])] = &[
            ("mm 8944", &[0]),
            ("8944×2816", &[0, 1]),
            ("8944×64×2816", &[0]),
            ("dur>1ms", &[0]),
            ("dur<50us", &[2]),
            ("category:gemm dur<1ms", &[2]),
            ("-category:gemm", &[1]),
            ("shape:16×2816", &[2]),
            ("type:bf16", &[0, 2]),
            ("module:attn", &[]),
            ("stream:7", &[]),
        ];
        for (find, expected) in cases {
            let rows = found(find).rows.into_iter().map(|row| row.row);
            assert_eq!(rows.collect::<Vec<_>>(), *expected, "{find}");
        }
    }

    #[test]
    fn fields_that_are_not_there_are_said() {
        assert_eq!(found("mm").remarks, [""; 0]);
        assert_eq!(found("stream:7").remarks.len(), 1);
        assert!(found("famly:gemm").remarks[0].contains("famly"));
    }

    #[test]
    fn a_sheet_says_what_it_is_in_order_of() {
        let order = found("").own_order.unwrap();
        assert_eq!((&*order.column, order.descending), ("gpu_time", true));
    }
}
