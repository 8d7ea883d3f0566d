//! The rough document: every step of the analysis with what it gave, for those who check.

mod open;
mod raw;
mod sheet;
mod steps;
mod trees;

use super::Source;
use super::check::{Check, Verdict};
use crate::output::document::{DocTable, Document};

/// All but what checks say, which need the document; up to their heading.
pub(super) fn notes(source: &Source) -> Document {
    let mut document = Document::new(&format!("{} (Rough)", source.title()));
    source.say_window(&mut document);
    document.heading(2, "Analysis Process Summary");
    steps::write(&mut document, source);
    document.heading(2, "Raw Data Exploration");
    raw::write(&mut document, source);
    document.heading(2, "Tree Analysis");
    trees::write(&mut document, source);
    document.heading(2, "Analysis Gaps");
    open::gaps(&mut document, source);
    document.heading(2, "Questions for Further Investigation");
    open::questions(&mut document, source);
    document.heading(2, "Checks");
    document
}

/// What checks say, in a table.
pub(super) fn checks(document: &mut Document, checks: &[Check]) {
    document.text(
        "The documents and the findings files, read again and held against what they were written \
         from.",
    );
    document.table(checks_table(checks));
}

/// What holds, and what does not.
pub(crate) fn checks_table(checks: &[Check]) -> DocTable {
    let mut table = DocTable::new(&["Check", "What it holds", "Result"]);
    for check in checks {
        let result = match &check.verdict {
            Verdict::Pass => "pass".to_owned(),
            Verdict::Fail(where_) => format!("FAIL: {where_}"),
            Verdict::NotApplicable(why) => format!("not applicable: {why}"),
        };
        table.row(&[check.id, check.what, &result]);
    }
    table
}
