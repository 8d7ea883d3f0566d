//! Operations by what was typed, for the page's palette.

use dormer_core::base::format;
use dormer_core::report::sheet::Cell;

use super::columns::Table;
use super::rows::number;
use crate::protocol::fuzzy;
use crate::protocol::{OperationFound, SHAPES, TIME};

/// More than this nobody reads.
const MOST: usize = 30;

/// The operations whose names and shapes answer best, best first; equally good ones in the order of
/// the sheet, which is by time.
pub(super) fn find(table: &Table, query: &str) -> Vec<OperationFound> {
    if query.trim().is_empty() {
        return Vec::new();
    }
    let text = |row: usize, label: &str| match table.cell(row, label) {
        Some(Cell::Text(text)) => text,
        _ => String::new(),
    };
    let rows = 0..table.sheet.rows.len();
    let scored = rows.filter_map(|row| {
        let name = text(row, "name");
        let score = fuzzy::score(query, &format!("{name} {}", text(row, SHAPES)))?;
        Some((score, (row, name)))
    });
    let found = fuzzy::best(scored, MOST).into_iter();
    found
        .map(|(row, name)| OperationFound {
            row: u32::try_from(row).unwrap_or(u32::MAX),
            token: table.family(row).token().to_owned(),
            name: format::kernel_name(&name),
            shapes: text(row, SHAPES),
            time: table
                .cell(row, TIME)
                .and_then(|cell| number(&cell))
                .map_or_else(String::new, format::time_us),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use dormer_core::testing::Timetable;

    use crate::protocol::Choice;
    use crate::worker::Analysis;

    #[test]
    fn operations_are_found_by_a_part_of_their_names() {
        let trace =
            Timetable::new()
                .work("aten::mm", "gemm", 100..130)
                .work("aten::bmm", "gemm", 200..250);
        let analysis = Analysis::new(trace.profile(), &Choice::default());
        let found = |text: &str| -> Vec<(String, u32)> {
            let found = analysis.find_operations(text).into_iter();
            found.map(|one| (one.name, one.row)).collect()
        };
        let (mm, bmm) = (("aten::mm".to_owned(), 1), ("aten::bmm".to_owned(), 0));
        // The longer one is the first row; "mm" is a word of the other one.
        assert_eq!(found("mm"), [mm, bmm.clone()]);
        assert_eq!(found("BMM"), [bmm]);
        assert!(found("conv").is_empty());
        assert!(found(" ").is_empty());
        let times = analysis.find_operations("bmm").into_iter();
        assert_eq!(times.map(|one| one.time).collect::<Vec<_>>(), ["50.0 µs"]);
    }
}
