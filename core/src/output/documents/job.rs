//! The document about a job.

use crate::job::overview::{JobCard, JobOverview, ShownTable};
use crate::output::markup::{DocTable, Document, Line, line, text};

/// Maximum rows of a table in a document; the files have all rows.
const MOST_ROWS: usize = 64;

/// The report of a job: the headline, what to do, and the evidence.
pub(crate) fn report(overview: &JobOverview) -> Document {
    let mut document = Document::new("Job Report");
    document.text(&overview.headline);
    document.bullets(
        overview
            .about
            .iter()
            .map(|(label, text)| line(&format!("{label}: {text}"))),
    );
    document.heading(2, "Recommendations");
    for (card, number) in overview.cards.iter().zip(1..) {
        add_card(&mut document, card, number);
    }
    if overview.cards.is_empty() {
        document.text("No finding saves 1 % of a step or more.");
    }
    document.heading(2, "Evidence");
    overview
        .tables
        .iter()
        .for_each(|table| add_table(&mut document, table, 3));
    document.heading(2, "Data Quality");
    match overview.quality.is_empty() {
        true => document.text("All ranks were read whole."),
        false => document.bullets(overview.quality.iter().map(|note| text(note.as_str()))),
    }
    document
}

fn add_card(document: &mut Document, card: &JobCard, number: usize) {
    document.heading(3, &format!("{number}. {}", card.title));
    document.field("Issue", &card.issue);
    document.field("Action", &card.action);
    if !card.savings.is_empty() {
        document.field("Saves", &format!("{}.", card.savings));
    }
    document.texts(&card.reasoning);
    card.tables
        .iter()
        .for_each(|table| add_table(document, table, 4));
}

fn add_table(document: &mut Document, table: &ShownTable, level: u8) {
    if table.rows.is_empty() {
        return;
    }
    document.heading(level, &table.title);
    let rows = table.rows.iter().take(MOST_ROWS);
    let cells =
        |row: &Vec<String>| -> Vec<Line> { row.iter().map(|cell| text(cell.as_str())).collect() };
    document.table(DocTable {
        columns: table.columns.clone(),
        rows: rows.map(cells).collect(),
    });
    if table.rows.len() > MOST_ROWS {
        document.text(&format!(
            "The first {MOST_ROWS} of {} rows.",
            table.rows.len()
        ));
    }
}
