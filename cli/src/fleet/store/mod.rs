//! A store: `STORE/<table>/date=YYYY-MM-DD/<batch>.parquet`.
//!
//! The day is that of the trace, from its content, so that it never changes; it is only in the path, as query engines
//! expect. A batch is written table by table under a name that engines ignore, then renamed; `runs` comes last, so that
//! rows without their run belong to an unfinished batch.

pub(crate) mod compact;
mod journal;
pub(crate) mod read;

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use dormer_core::base::{calendar, format};
use dormer_core::tables::{Column, RUNS, TABLES, Table, TableKind};
use journal::Journal;
pub(crate) use journal::complete_compaction;
use sha2::{Digest, Sha256};

use crate::{Failure, arrow, parquet};

/// The column that is only in the path.
pub(super) const DATE: &str = "date";

const ENDING: &str = "parquet";

/// The folder name of a day; `date=unknown` if it is unknown.
pub(super) fn folder_of(day: Option<i32>) -> String {
    match day {
        Some(day) => format!("{DATE}={}", calendar::date(day.into())),
        None => format!("{DATE}=unknown"),
    }
}

/// The day of a folder.
fn day_of(folder: &str) -> Option<i32> {
    let text = folder.strip_prefix(DATE)?.strip_prefix('=')?;
    i32::try_from(calendar::day(text)?).ok()
}

/// Fails if a folder is not a store.
pub(super) fn check(store: &Path) -> Result<(), Failure> {
    if store.join(RUNS).is_dir() {
        return Ok(());
    }
    let place = store.display();
    let why = format!("{place}: this is not a store, as dormer fleet PATH… -o STORE writes it");
    Err(Failure::Sentence(why))
}

/// A file of a store.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Part {
    pub(super) day: Option<i32>,
    pub(super) path: PathBuf,
}

/// The files of a table, by folder and name, without those replaced by a compaction.
pub(super) fn parts(store: &Path, kind: &TableKind) -> io::Result<Vec<Part>> {
    let mut all = Vec::new();
    let folder = store.join(kind.name);
    let journal = Journal::read(store)?;
    let waiting: Vec<&PathBuf> = journal.waiting().collect();
    let replaced: HashSet<&PathBuf> = journal.old.iter().chain(waiting.iter().copied()).collect();
    if !folder.is_dir() {
        return Ok(all);
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if !entry.file_type()?.is_dir() {
            continue;
        }
        let day = day_of(&entry.file_name().to_string_lossy());
        for file in fs::read_dir(entry.path())? {
            let path = file?.path();
            let name = path.file_name().map(|name| name.to_string_lossy());
            let is_hidden = name.is_none_or(|name| name.starts_with(['.', '_']));
            let is_file = path.extension().is_some_and(|ending| ending == ENDING);
            if is_file && !is_hidden && !replaced.contains(&path) {
                all.push(Part { day, path });
            }
        }
        let of_day = waiting.iter().filter(|path| path.starts_with(entry.path()));
        all.extend(of_day.map(|path| Part {
            day,
            path: unfinished(path),
        }));
    }
    all.sort();
    Ok(all)
}

/// The name of a file until it is complete.
fn unfinished(path: &Path) -> PathBuf {
    let name = path.file_name().map(|name| name.to_string_lossy());
    path.with_file_name(format!(".{}.tmp", name.unwrap_or_default()))
}

/// Whether a file is unfinished.
fn is_unfinished(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy());
    name.is_some_and(|name| name.starts_with('.') && name.ends_with(".parquet.tmp"))
}

/// Hashes the rows of `runs` in a file: the result is its name and part of its metadata.
pub(super) fn name_of(runs: &Table) -> String {
    let text = |name: &str, at: usize| {
        let value = runs.strs(name).get(at).and_then(Option::as_deref);
        value.unwrap_or_default()
    };
    let columns = ["run_id", "tool_version", "options_hash", "status", "uri"];
    let mut rows: Vec<String> = (0..runs.len())
        .map(|at| columns.map(|name| text(name, at)).join("\u{1f}"))
        .collect();
    rows.sort();
    hash_of(&rows)
}

/// A hash of texts in the given order: 16 hexadecimal digits.
pub(crate) fn hash_of(texts: &[String]) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update(text.as_bytes());
        hash.update([0xff]);
    }
    format::hex(&hash.finalize()[..8])
}

/// The rows of a table by day.
pub(super) type Days = BTreeMap<Option<i32>, Table>;

/// Writes a file of a table under its unfinished name; [`finish`] renames it.
pub(super) fn write(path: &Path, table: &Table, options: &str, batch: &str) -> Result<(), Failure> {
    let failed = |why: String| {
        let place = path.display();
        Failure::Sentence(format!("cannot write {place}: {why}"))
    };
    let io = |error: io::Error| failed(crate::reason(&error));
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(io)?;
    }
    let file = File::create(unfinished(path)).map_err(io)?;
    let metadata = arrow::metadata(options, batch);
    parquet::write(file, table, &[DATE], &metadata).map_err(|error| failed(error.to_string()))
}

/// Renames a finished file to its final name, atomically.
pub(super) fn finish(path: &Path) -> Result<(), Failure> {
    fs::rename(unfinished(path), path)
        .map_err(|error| Failure::of_file(&format!("cannot write {}", path.display()), &error))
}

/// Adds a batch, table by table: `rows` returns those of a table, in order. The batch's name is derived from the rows
/// of `runs`.
pub(super) fn add(
    store: &Path,
    runs: &Table,
    options: &str,
    rows: impl Fn(&'static TableKind) -> Result<Days, Failure>,
) -> Result<(), Failure> {
    let mut ids: Vec<String> = runs.strs("run_id").iter().flatten().cloned().collect();
    ids.sort();
    let (name, batch) = (name_of(runs), hash_of(&ids));
    // The first table, which is written last, is `runs`: without it, other rows do not count.
    for kind in TABLES.iter().rev() {
        let folder = store.join(kind.name);
        for (day, rows) in rows(kind)?.into_iter().filter(|(_, rows)| !rows.is_empty()) {
            let path = folder.join(folder_of(day)).join(format!("{name}.{ENDING}"));
            write(&path, &rows, options, &batch)?;
            finish(&path)?;
        }
    }
    Ok(())
}

/// A file or folder that cannot be read or written.
fn failed(place: &Path, error: &io::Error) -> Failure {
    Failure::of_file(&place.display().to_string(), error)
}

/// Sets the day of all rows.
fn set_day(table: &mut Table, day: Option<i32>) {
    let days = vec![day; table.len()];
    set(table, DATE, Column::Date(days));
}

/// Replaces a column of a table.
pub(super) fn set(table: &mut Table, name: &str, values: Column) {
    let mut fields = table.kind.columns.iter();
    let at = fields.position(|field| field.name() == name);
    if let Some(column) = at.and_then(|at| table.columns.get_mut(at)) {
        *column = values;
    }
}

/// A table by name; all names used here exist.
pub(super) fn kind(name: &str) -> Result<&'static TableKind, Failure> {
    debug_assert_eq!(TABLES.first().map(|kind| kind.name), Some(RUNS));
    TableKind::find(name).ok_or_else(|| Failure::Usage(format!("{name}: no such table")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_a_folder_and_back() {
        let cases = [
            (Some(0), "date=1970-01-01"),
            (Some(-1), "date=1969-12-31"),
            (Some(20_270), "date=2025-07-01"),
            (Some(11_016), "date=2000-02-29"),
            (Some(19_782), "date=2024-02-29"),
            (None, "date=unknown"),
        ];
        for (day, folder) in cases {
            assert_eq!(folder_of(day), folder);
            assert_eq!(day_of(folder), day, "{folder}");
        }
        assert_eq!(day_of("date=__HIVE_DEFAULT_PARTITION__"), None);
    }
}
