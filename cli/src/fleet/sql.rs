//! `dormer fleet sql`: the statements that make a store's tables available as DuckDB views.

use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;

use dormer_core::tables::{ColumnType, RUNS, TABLES, TableKind};

use super::store::{check, complete_compaction, parts};
use crate::Failure;
use crate::args::SqlArgs;
use crate::stdout::Out;

pub(super) fn run(args: &SqlArgs, out: &mut Out) -> Result<(), Failure> {
    let store = args.store.as_deref();
    // A pattern matches all files, so those replaced by a compaction must be gone.
    if let Some(store) = store {
        check(store)?;
        complete_compaction(store)?;
    }
    let place = store.unwrap_or(Path::new("STORE"));
    let mut text = "-- The tables of a fleet as views of DuckDB. runs has all rows, runs_latest one for each file;\n\
        -- the other tables have the rows that belong to those.\n"
        .to_owned();
    for kind in TABLES {
        let is_there = match store {
            Some(store) => parts(store, kind).is_ok_and(|parts| !parts.is_empty()),
            None => true,
        };
        text.push_str(&view(place, kind, is_there));
        if kind.name == RUNS {
            text.push_str(LATEST);
        }
    }
    out.write_all(text.as_bytes())?;
    Ok(())
}

const LATEST: &str = "\
CREATE OR REPLACE VIEW runs_latest AS SELECT * FROM runs
  QUALIFY status <> 'duplicate' AND row_number() OVER (PARTITION BY run_id, status = 'duplicate'
    ORDER BY list_transform(string_split(tool_version, '.'), lambda part: TRY_CAST(part AS INTEGER)) DESC, ingested DESC) = 1
  AND (file_sha256 IS NOT NULL OR uri IS NULL OR ingested = max(ingested) OVER (PARTITION BY uri));
";

fn view(store: &Path, kind: &TableKind, is_there: bool) -> String {
    let mut text = format!("CREATE OR REPLACE VIEW {} AS ", kind.name);
    if !is_there {
        // A pattern that matches no file is an error.
        let columns = kind.columns.iter();
        let columns =
            columns.map(|field| format!("NULL::{} AS \"{}\"", sql_type(field.of), field.name()));
        let columns: Vec<String> = columns.collect();
        let _ = writeln!(text, "SELECT {} WHERE false;", columns.join(", "));
        return text;
    }
    let files = store.join(kind.name).join("*").join("*.parquet");
    let files = files.display().to_string().replace('\'', "''");
    let _ = write!(
        text,
        "SELECT * REPLACE (TRY_CAST(date AS DATE) AS date)\n  FROM read_parquet('{files}', hive_partitioning = true, \
         hive_types = {{'date': VARCHAR}}, union_by_name = true)"
    );
    if kind.name != RUNS {
        text.push_str("\n  SEMI JOIN runs_latest USING (run_id, ingested)");
    }
    text.push_str(";\n");
    text
}

/// The type of a column in DuckDB.
fn sql_type(column: ColumnType) -> &'static str {
    match column {
        ColumnType::Str => "VARCHAR",
        ColumnType::I32 => "INTEGER",
        ColumnType::I64 => "BIGINT",
        ColumnType::U64 => "UBIGINT",
        ColumnType::F64 => "DOUBLE",
        ColumnType::Flag => "BOOLEAN",
        ColumnType::ListU64 => "UBIGINT[]",
        ColumnType::MapStr => "MAP(VARCHAR, VARCHAR)",
        ColumnType::Timestamp => "TIMESTAMPTZ",
        ColumnType::Date => "DATE",
    }
}
