//! Whose story is told at a place, and where else that is shown.

use crate::page::url::{Focus, Place, Told};
use crate::protocol::{SheetRow, StoryQuery};

/// The sheet of operations.
pub const OPERATIONS: &str = "unified_perf_summary";

/// The sheet of operators.
const OPERATORS: &str = "ops_summary";

/// Tables whose selected row has a story: the view, what the URL calls the table, and the sheet.
/// The first of a sheet is where its rows are looked for.
const TABLES: [(&str, &str, &str); 4] = [
    ("operations", "", OPERATIONS),
    ("operations", "operators", OPERATORS),
    ("kernels", "", "kernel_summary"),
    ("roofline", "", OPERATIONS),
];

/// Whether the selected row of a sheet has a story.
pub fn is_told(sheet: &str) -> bool {
    TABLES.iter().any(|(.., told)| *told == sheet)
}

/// Whose story is told at a place; `None` where nothing is selected.
pub(super) fn of(place: &Place) -> Option<StoryQuery> {
    let row = |sheet: &str, row| StoryQuery::Row {
        sheet: sheet.to_owned(),
        row,
    };
    match place.focus.story {
        Some(Told::Operation(at)) => Some(row(OPERATIONS, at)),
        Some(Told::Operator(at)) => Some(row(OPERATORS, at)),
        Some(Told::Event(uid)) => Some(StoryQuery::Event(uid)),
        None => {
            let here = |(view, table, _): &&(&str, &str, &str)| {
                *view == place.view && *table == place.focus.table
            };
            let (.., sheet) = TABLES.iter().find(here)?;
            Some(row(sheet, place.focus.row?))
        }
    }
}

/// The view that has a row, and how it shows it.
pub(super) fn shown_in(row: &SheetRow) -> Option<(&'static str, Focus)> {
    let (view, table, _) = TABLES.iter().find(|(.., sheet)| *sheet == row.sheet)?;
    Some((
        view,
        Focus {
            table: (*table).to_owned(),
            row: Some(row.row),
            ..Focus::default()
        },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(hash: &str) -> Option<StoryQuery> {
        of(&Place::parse(hash))
    }

    #[test]
    fn a_selected_row_has_the_story_of_its_sheet() {
        let row = |sheet: &str| {
            Some(StoryQuery::Row {
                sheet: sheet.to_owned(),
                row: 3,
            })
        };
        assert_eq!(told("#/operations?row=3"), row(OPERATIONS));
        assert_eq!(
            told("#/operations?row=3&table=operators"),
            row("ops_summary")
        );
        assert_eq!(told("#/kernels?row=3"), row("kernel_summary"));
        assert_eq!(told("#/roofline?row=3"), row(OPERATIONS));
        // A row of the tree is a call, and has one when it is asked for.
        assert_eq!(told("#/tree?row=3"), None);
        assert_eq!(
            told("#/tree?row=3&story=event-9"),
            Some(StoryQuery::Event(9))
        );
        assert_eq!(told("#/?story=operation-3"), row(OPERATIONS));
        assert_eq!(told("#/?story=operator-3"), row("ops_summary"));
        assert_eq!(told("#/operations"), None);
    }

    #[test]
    fn a_row_is_shown_where_its_sheet_is() {
        for (view, table, sheet) in TABLES.iter().take(3) {
            let row = SheetRow {
                sheet: (*sheet).to_owned(),
                row: 7,
            };
            let (found, focus) = shown_in(&row).unwrap();
            assert_eq!(
                (found, focus.table.as_str(), focus.row),
                (*view, *table, Some(7))
            );
        }
        let other = SheetRow {
            sheet: "gpu_timeline".to_owned(),
            row: 0,
        };
        assert_eq!(shown_in(&other), None);
    }
}
