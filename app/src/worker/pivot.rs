//! A table's rows grouped by one of their fields.

use dormer_core::base::format;
use dormer_core::base::group::grouped;
use dormer_core::base::sort::Arrange;
use dormer_core::report::sheet::Cell;

use super::cells::number;
use super::matching::column_of;
use super::rows::{order, text_of, totals};
use super::table::Table;
use crate::protocol::search::{FIELDS, FieldKind};
use crate::protocol::{FAMILY, GroupsQuery, RowGroup, TotalsQuery};

/// The most groups in an answer; all smaller ones are one more.
const MOST: usize = 200;

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
    let rows = order(table, &query.find, &query.only, None).into_iter();
    let named = rows.map(|row| (text_of(table, row, label), row as u32));
    let groups: Vec<(String, Vec<u32>)> = grouped(named, Vec::push);
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
    let more = sized.split_off(sized.len().min(MOST));
    let group = |name: String, find: String, rows: Vec<u32>| RowGroup {
        name,
        token: String::new(),
        find,
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
    };
    let named = sized.into_iter().map(|(_, name, rows)| {
        let find = match (name.is_empty(), field.kind) {
            (true, _) => String::new(),
            (false, FieldKind::Text) => format!("{}:\"{}\"", query.by, name.replace('"', "")),
            (false, _) => format!("{}:{name}", query.by),
        };
        let first = rows.first().filter(|_| label == FAMILY);
        let family = first.map(|row| table.family(*row as usize));
        RowGroup {
            token: family.map_or_else(String::new, |family| family.token().to_owned()),
            ..group(name, find, rows)
        }
    });
    let mut groups: Vec<RowGroup> = named.collect();
    if !more.is_empty() {
        let name = format::counted(more.len() as u64, "smaller group");
        let rows = more.into_iter().flat_map(|(.., rows)| rows);
        groups.push(group(name, String::new(), rows.collect()));
    }
    groups
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

    /// One operator with 203 shapes, of 1 to 203 µs.
    #[test]
    fn many_groups_are_listed_from_the_largest_and_the_rest_together() {
        let trace = (1..=203_u32).fold(Timetable::new(), |trace, us| {
            let from = us * 1000;
            trace.call("aten::add", &format!("{us}:float"), "add", from..from + us)
        });
        let analysis = Analysis::new(trace.profile(), &Choice::default());
        let table = analysis.table("unified_perf_summary").unwrap();
        let groups = groups(
            &table,
            &GroupsQuery {
                sheet: "unified_perf_summary".to_owned(),
                by: "type".to_owned(),
                find: String::new(),
                only: Vec::new(),
                columns: vec![TIME.to_owned()],
            },
        );
        assert_eq!((groups.len(), groups[0].n_rows), (201, 1));
        let last = groups.last().unwrap();
        assert_eq!((&*last.name, &*last.find), ("3 smaller groups", ""));
        assert_eq!((last.n_rows, &*last.totals[0].text), (3, "6.00 µs"));
    }
}
