//! A table's rows grouped by one of their fields.

use dormer_core::base::sort::Arrange;
use dormer_core::report::sheet::Cell;

use super::cells::number;
use super::matching::column_of;
use super::rows::{order, text_of, totals};
use super::table::Table;
use crate::protocol::search::{FIELDS, FieldKind};
use crate::protocol::{FAMILY, GroupsQuery, RowGroup, TotalsQuery};

/// The groups of the matching rows, sorted by the first column that can be summed, largest first; unknown values come
/// last.
pub(super) fn groups(table: &Table, query: &GroupsQuery) -> Vec<RowGroup> {
    let field = FIELDS
        .iter()
        .find(|field| field.names.first() == Some(&&*query.by));
    let found = field.and_then(|field| Some((field, column_of(table, field)?)));
    let Some((field, label)) = found else {
        return Vec::new();
    };
    let mut groups: Vec<(String, Vec<u32>)> = Vec::new();
    for row in order(table, &query.find, &query.only, None) {
        let name = text_of(table, row, label);
        let row = row as u32;
        match groups.iter_mut().find(|(known, _)| *known == name) {
            Some((_, rows)) => rows.push(row),
            None => groups.push((name, vec![row])),
        }
    }
    // The size of a group: its sum in the first column.
    let first = query.columns.first();
    let amount = |rows: &[u32]| -> f64 {
        let cells = rows
            .iter()
            .filter_map(|row| table.cell(*row as usize, first?));
        cells.filter_map(|cell: Cell| number(&cell)).sum()
    };
    let mut sized: Vec<(f64, String, Vec<u32>)> = groups
        .into_iter()
        .map(|(name, rows)| (amount(&rows), name, rows))
        .collect();
    sized.arrange_by(|(one, name, _), (other, other_name, _)| {
        let is_known = |name: &str| !name.is_empty();
        is_known(other_name)
            .cmp(&is_known(name))
            .then(other.total_cmp(one))
    });
    let group = |(_, name, rows): (f64, String, Vec<u32>)| {
        let is_family = label == FAMILY;
        let first = rows.first().map_or(0, |row| *row as usize);
        RowGroup {
            token: match is_family {
                true => table.family(first).token().to_owned(),
                false => String::new(),
            },
            find: match (name.is_empty(), field.kind) {
                (true, _) => String::new(),
                (false, FieldKind::Text) => format!("{}:\"{}\"", query.by, name.replace('"', "")),
                (false, _) => format!("{}:{name}", query.by),
            },
            window: None,
            n_rows: rows.len(),
            totals: totals(
                table,
                &TotalsQuery {
                    sheet: query.sheet.clone(),
                    rows,
                    columns: query.columns.clone(),
                },
            ),
            name,
        }
    };
    sized.into_iter().map(group).collect()
}

#[cfg(test)]
mod tests {
    use dormer_core::testing::Timetable;

    use super::*;
    use crate::protocol::{Choice, TIME};
    use crate::worker::Analysis;

    #[test]
    fn rows_are_taken_together_by_a_field() {
        let trace = Timetable::new()
            .work("aten::mm", "gemm", 100..130)
            .work("aten::bmm", "gemm", 200..250)
            .work("aten::add", "elementwise_kernel", 300..320);
        let analysis = Analysis::new(trace.profile(), &Choice::default());
        let table = analysis.table("unified_perf_summary").unwrap();
        let by = |by: &str, find: &str| -> Vec<(String, usize, String, String)> {
            let query = GroupsQuery {
                sheet: "unified_perf_summary".to_owned(),
                by: by.to_owned(),
                find: find.to_owned(),
                only: Vec::new(),
                columns: vec![TIME.to_owned(), "name".to_owned()],
            };
            let groups = groups(&table, &query).into_iter();
            groups
                .map(|one| (one.name, one.n_rows, one.totals[0].text.clone(), one.find))
                .collect()
        };
        let group = |name: &str, n_rows: usize, time: &str, find: &str| {
            (name.to_owned(), n_rows, time.to_owned(), find.to_owned())
        };
        let gemm = group("GEMM", 2, "80.0 µs", "category:\"GEMM\"");
        assert_eq!(
            by("category", ""),
            [
                gemm,
                group("Element-wise", 1, "20.0 µs", "category:\"Element-wise\"")
            ]
        );
        assert_eq!(by("category", "bmm").len(), 1);
        // No modules were recorded, and operations have no streams.
        assert_eq!(by("module", ""), [group("", 3, "100 µs", "")]);
        assert_eq!(by("stream", ""), []);
    }
}
