//! What the details panel shows for a place, and where else that is shown.

use crate::page::prelude::*;
use crate::page::url::Place;
use crate::page::views::{VIEWS, operations};
use crate::protocol::DetailsQuery;

/// Whether the selected row of a sheet has details.
pub fn has_details(sheet: &str) -> bool {
    place_of(sheet).is_some()
}

/// The first view that shows a sheet, and the name of the table there in the URL.
fn place_of(sheet: &str) -> Option<(&'static str, &'static str)> {
    VIEWS.iter().find_map(|view| {
        let mut tables = view.sheets.iter();
        let (table, _) = tables.find(|(_, shown)| *shown == sheet)?;
        Some((view.slug, *table))
    })
}

/// What the details panel shows for a place; `None` if nothing is selected.
pub(super) fn of(place: &Place) -> Option<DetailsQuery> {
    let row = |sheet: &str, row| DetailsQuery::Row {
        sheet: sheet.to_owned(),
        row,
    };
    match place.focus.details {
        Some(DetailsOf::Operation(at)) => Some(row(operations::SHEET, at)),
        Some(DetailsOf::Operator(at)) => Some(row(operations::OPERATORS_SHEET, at)),
        Some(DetailsOf::Event(uid)) => Some(DetailsQuery::Event(uid)),
        None => {
            let view = VIEWS.iter().find(|view| view.slug == place.view)?;
            let mut tables = view.sheets.iter();
            let (_, sheet) = tables.find(|(table, _)| *table == place.focus.table)?;
            Some(row(sheet, place.focus.row?))
        }
    }
}

/// The view that shows a row, and the focus to show it.
pub(super) fn shown_in((sheet, row): &(String, u32)) -> Option<(&'static str, Focus)> {
    let (view, table) = place_of(sheet)?;
    Some((
        view,
        Focus {
            table: table.to_owned(),
            row: Some(*row),
            ..Focus::default()
        },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn details_at(hash: &str) -> Option<DetailsQuery> {
        of(&Place::parse(hash))
    }

    #[test]
    fn a_selected_row_has_the_details_of_its_sheet() {
        let row = |sheet: &str| {
            Some(DetailsQuery::Row {
                sheet: sheet.to_owned(),
                row: 3,
            })
        };
        assert_eq!(details_at("#/operations?row=3"), row(operations::SHEET));
        assert_eq!(
            details_at("#/operations?row=3&table=operators"),
            row("ops_summary")
        );
        assert_eq!(details_at("#/kernels?row=3"), row("kernel_summary"));
        assert_eq!(details_at("#/roofline?row=3"), row(operations::SHEET));
        // A row of the tree is a call; its details are shown only on request.
        assert_eq!(details_at("#/tree?row=3"), None);
        assert_eq!(
            details_at("#/tree?row=3&story=event-9"),
            Some(DetailsQuery::Event(9))
        );
        assert_eq!(details_at("#/?story=operation-3"), row(operations::SHEET));
        assert_eq!(details_at("#/?story=operator-3"), row("ops_summary"));
        assert_eq!(details_at("#/operations"), None);
    }

    #[test]
    fn a_row_is_shown_where_its_sheet_is() {
        for (view, table, sheet) in [
            ("operations", "", operations::SHEET),
            ("operations", "operators", operations::OPERATORS_SHEET),
            ("kernels", "", "kernel_summary"),
        ] {
            let (found, focus) = shown_in(&(sheet.to_owned(), 7)).unwrap();
            assert_eq!(
                (found, focus.table.as_str(), focus.row),
                (view, table, Some(7))
            );
        }
        assert_eq!(shown_in(&("gpu_timeline".to_owned(), 0)), None);
    }
}
