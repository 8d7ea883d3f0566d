//! The first rows of the sheets, and the figures of each analysis.

use super::super::Source;
use super::super::words::not_analysed;
use super::sheet::{SHEET_ROWS, sheet};
use crate::findings::Status;
use crate::output::document::{DocTable, Document, Span};

pub(super) fn write(document: &mut Document, source: &Source) {
    if !source.profile.has_gpu_events() {
        document.text(&format!(
            "{} What was recorded of the host is in the sheets.",
            not_analysed(source.profile)
        ));
    }
    for name in ["ops_summary", "unified_perf_summary", "kernel_summary"] {
        if let Some(found) = source.report.sheet(source.profile, name) {
            document.heading(3, name);
            sheet(document, Some(found), SHEET_ROWS);
        }
    }
    for outcome in &source.report.analyses.outcomes {
        if outcome.status == Status::Done && !outcome.facts.is_empty() {
            document.heading(3, &format!("Figures of {}", outcome.kind.title));
            let mut table = DocTable::new(&["Figure", ">Value"]);
            for fact in &outcome.facts {
                table.rows.push(vec![
                    vec![Span::Text(fact.label.to_owned())],
                    crate::output::document::cell(&fact.value),
                ]);
            }
            document.table(table);
        }
    }
}
