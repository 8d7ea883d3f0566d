//! The tables of `docs/performance.md`. A document marks the place of each:
//!
//! ```text
//! <!-- bench: opens -->
//! <!-- /bench -->
//! ```
//!
//! and `<!-- bench: build -->` for the line about what was measured.

use super::figure::{Figure, G, JSON, Record, Role, Table};

/// The layout of a table.
enum Layout {
    /// A row for each trace, a column for each figure.
    Traces,
    /// A row for each figure, a column for each trace.
    Figures,
}

/// All tables, in order.
const TABLES: &[(Table, Layout)] = &[
    (Table::Opens, Layout::Traces),
    (Table::Memory, Layout::Traces),
    (Table::Choices, Layout::Traces),
    (Table::Stages, Layout::Traces),
    (Table::Ranks, Layout::Traces),
    (Table::Frames, Layout::Figures),
    (Table::Keys, Layout::Figures),
    (Table::Size, Layout::Figures),
];

/// The mark of the line about machine, browser and build.
const BUILD: &str = "build";

const END: &str = "<!-- /bench -->";

/// Everything measured, as Markdown.
pub(crate) fn all(record: &Record) -> String {
    let tables = TABLES.iter().filter_map(|(table, layout)| {
        let text = markdown(record, *table, layout);
        text.map(|text| format!("\n{text}"))
    });
    std::iter::once(build(record)).chain(tables).collect()
}

/// A document with its tables replaced by those of this record. An error is a sentence.
pub(crate) fn written(document: &str, record: &Record) -> Result<String, String> {
    filled(document, |name| {
        let table = TABLES.iter().find(|(table, _)| table.name() == name);
        let text = match table {
            Some((table, layout)) => markdown(record, *table, layout),
            None => Some(build(record)),
        };
        text.ok_or_else(|| format!("nothing was measured for the table `{name}`"))
    })
}

/// Whether a document has one complete mark for each table.
pub(crate) fn places(document: &str) -> Result<(), String> {
    filled(document, |_| Ok(String::new())).map(drop)
}

/// The document with each block replaced.
fn filled(
    document: &str,
    block: impl Fn(&str) -> Result<String, String>,
) -> Result<String, String> {
    let names = TABLES.iter().map(|(table, _)| table.name());
    let mut missing: Vec<&str> = names.chain([BUILD]).collect();
    let mut text = String::new();
    let mut lines = document.split_inclusive('\n');
    while let Some(line) = lines.next() {
        text += line;
        let Some(name) = place(line) else { continue };
        if !missing.contains(&name) {
            return Err(format!(
                "there is no table `{name}`, or it was there already"
            ));
        }
        if !lines.by_ref().any(|line| line.trim_end() == END) {
            return Err(format!("the table `{name}` has no end: {END}"));
        }
        text += &block(name)?;
        text += &format!("{END}\n");
        missing.retain(|other| *other != name);
    }
    match missing.first() {
        Some(name) => Err(format!("the document has no place for the table `{name}`")),
        None => Ok(text),
    }
}

/// `<!-- bench: opens -->`
fn place(line: &str) -> Option<&str> {
    let name = line.trim_end().strip_prefix("<!-- bench: ")?;
    name.strip_suffix(" -->")
}

/// What was measured, in one line.
fn build(record: &Record) -> String {
    let Record {
        machine,
        browser,
        build,
        n_runs,
        busy,
        ..
    } = record;
    let other_work = match *busy > 0.0 {
        true => format!(" Other work took {:.0} % of the machine.", busy * 100.0),
        false => String::new(),
    };
    let runs = match n_runs {
        1 => "One run".to_owned(),
        _ => format!("Medians of {n_runs} runs, with the least and the greatest value"),
    };
    format!("{machine}; {browser}; {build}.{other_work} {runs}.\n")
}

/// One table; `None` if nothing was measured for it.
fn markdown(record: &Record, table: Table, layout: &Layout) -> Option<String> {
    let figures: Vec<&Figure> = record
        .figures
        .iter()
        .filter(|figure| figure.table == table)
        .collect();
    let traces = distinct(figures.iter().map(|figure| figure.of.as_str()));
    let names = distinct(figures.iter().map(|figure| figure.name.as_str()));
    let cell = |trace: &str, name: &str| {
        let mut figures = figures.iter();
        let figure = figures.find(|figure| figure.of == trace && figure.name == name);
        figure.map_or("–".to_owned(), |figure| cell(record, figure))
    };
    let (corner, rows, columns) = match layout {
        Layout::Traces => ("trace", &traces, &names),
        Layout::Figures => ("", &names, &traces),
    };
    if rows.is_empty() {
        return None;
    }
    let mut text = line(corner, columns.iter().map(|column| (*column).to_owned()));
    text += &format!("|---|{}\n", "--:|".repeat(columns.len()));
    for row in rows {
        let cells = columns.iter().map(|column| match layout {
            Layout::Traces => cell(row, column),
            Layout::Figures => cell(column, row),
        });
        text += &line(row, cells);
    }
    Some(text)
}

fn line(first: &str, cells: impl Iterator<Item = String>) -> String {
    let cells: Vec<String> = cells.collect();
    format!("| {first} | {} |\n", cells.join(" | "))
}

/// A figure, and its multiple of the reference.
fn cell(record: &Record, figure: &Figure) -> String {
    let ratio_to = |name: &str| {
        let reference = record.find(Table::Opens, &figure.of, name)?;
        Some(figure.median() / reference.median())
    };
    let ratio = match figure.role {
        Role::Fact | Role::Cost => None,
        Role::CostInG => ratio_to(G).map(|ratio| format!(" = {ratio:.2} {G}")),
        Role::CostInJson => ratio_to(JSON).map(|ratio| format!(" = {ratio:.2} × {JSON}")),
    };
    figure.text() + ratio.unwrap_or_default().as_str()
}

/// The distinct names, in order of first occurrence.
fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut all = Vec::new();
    for name in names {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all
}
