//! `docs/tables.md`: every table and column, generated from the list that files are made from.

use std::fmt::Write;

use super::assert_page;
use crate::tables::{Field, SCHEMA_VERSION, TABLES, TableKind};

const HEAD: &str = "\
# Tables

<!-- Made from core/src/tables/schema.rs. After a change there: UPDATE=1 cargo test -p dormer-core --lib tables_doc -->

`dormer tables` writes these tables for one trace (a ZIP of Arrow streams), `dormer fleet` for many, and `dormer report --format parquet`
in addition to a report (Parquet files). Null means unknown, never zero. Times are whole nanoseconds. The columns marked as keys together
identify a row of a table; the rows of one analysis of a file have the same `run_id` and `ingested` in all tables. In files, the metadata
of each column has its label, unit and meaning: `label`, `unit`, `doc`.
";

/// All tables as Markdown.
fn tables_markdown() -> String {
    let mut out = HEAD.to_owned();
    let _ = write!(out, "\nThe version of the tables is {SCHEMA_VERSION}.\n");
    for kind in TABLES {
        table(&mut out, kind);
    }
    out
}

fn table(out: &mut String, kind: &TableKind) {
    // Writing to a String cannot fail.
    let _ = write!(out, "\n## {}\n\nOne row per {}.\n\n", kind.name, kind.row);
    out.push_str("| column | type | unit | key | meaning |\n|---|---|---|---|---|\n");
    for field in kind.columns {
        let Field {
            of, doc, is_key, ..
        } = field;
        let key = if *is_key { "yes" } else { "" };
        let (name, of, unit) = (field.name(), of.label(), field.unit());
        let _ = writeln!(out, "| `{name}` | {of} | {unit} | {key} | {doc} |");
    }
}

#[test]
fn the_page_says_what_the_code_does() {
    assert_page("tables.md", &tables_markdown(), "tables_doc");
}
