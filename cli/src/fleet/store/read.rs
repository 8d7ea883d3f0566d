//! Reads a store: the newest row of each run, and the rows that belong to it.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::path::Path;

use dormer_core::tables::{RUNS, Status, Table, TableKind, Tables};

use super::{DATE, kind, parts, set_day};
use crate::{Failure, parquet};

/// The key of a run's analysis.
pub(super) type Row = (String, Option<i64>);

/// The columns of a table; an empty list stands for all.
pub(crate) type Columns<'a> = (&'a str, &'a [&'a str]);

/// The newest row of each run, with all columns of `runs`, and the rows of other tables that belong to them, with the
/// requested columns (always `run_id` and `ingested`; an empty list stands for all). Columns and tables that were not
/// requested are empty.
pub(crate) fn latest(store: &Path, others: &[Columns]) -> Result<Tables, Failure> {
    let mut runs = table(store, kind(RUNS)?, None)?;
    let newest = newest(&runs);
    runs.retain(|at| newest.get(at) == Some(&true));
    let keys: HashSet<Row> = rows(&runs).collect();
    let mut tables = Tables::default();
    for (name, columns) in others {
        let kind = kind(name)?;
        let columns_and_keys: Vec<&str> = columns
            .iter()
            .copied()
            .chain(["run_id", "ingested"])
            .collect();
        let requested = (!columns.is_empty()).then_some(&columns_and_keys[..]);
        let mut read = table(store, kind, requested)?;
        let belongs: Vec<bool> = rows(&read).map(|row| keys.contains(&row)).collect();
        read.retain(|at| belongs.get(at) == Some(&true));
        put(&mut tables, read);
    }
    put(&mut tables, runs);
    Ok(tables)
}

fn put(tables: &mut Tables, read: Table) {
    let mut all = tables.all.iter_mut();
    if let Some(table) = all.find(|table| table.kind == read.kind) {
        *table = read;
    }
}

/// All rows of a table, with their days.
pub(crate) fn table(
    store: &Path,
    kind: &'static TableKind,
    columns: Option<&[&str]>,
) -> Result<Table, Failure> {
    let unreadable = |error: std::io::Error| Failure::of_file(&store.display().to_string(), &error);
    let mut all = Table::new(kind);
    for part in parts(store, kind).map_err(unreadable)? {
        all.append(file(&part, kind, columns)?);
    }
    Ok(all)
}

/// The rows of one file.
pub(super) fn file(
    part: &super::Part,
    kind: &'static TableKind,
    columns: Option<&[&str]>,
) -> Result<Table, Failure> {
    let read = parquet::read(&part.path, kind, columns);
    let mut rows = read.map_err(|error| unreadable(part, &error))?;
    if columns.is_none_or(|columns| columns.contains(&DATE) || kind.name == RUNS) {
        set_day(&mut rows, part.day);
    }
    Ok(rows)
}

pub(super) fn unreadable(part: &super::Part, error: &dyn std::error::Error) -> Failure {
    let place = part.path.display();
    Failure::Sentence(format!("{place}: cannot be read: {error}"))
}

/// The key of each row.
pub(super) fn rows(table: &Table) -> impl Iterator<Item = Row> {
    let (ids, times) = (table.strs("run_id"), table.i64s("ingested"));
    let row = |at: usize| {
        let id = ids.get(at).cloned().flatten();
        (id.unwrap_or_default(), times.get(at).copied().flatten())
    };
    (0..table.len()).map(row)
}

/// For each row of `runs`, whether it is the newest of its run: by version, then by time. Duplicates do not count, nor
/// does a file whose content could not be read once, if it could later.
pub(super) fn newest(runs: &Table) -> Vec<bool> {
    let (versions, statuses) = (runs.strs("tool_version"), runs.strs("status"));
    let (places, hashes) = (runs.strs("uri"), runs.strs("file_sha256"));
    let keys: Vec<Row> = rows(runs).collect();
    let mut best: HashMap<&str, usize> = HashMap::new();
    let order = |at: usize| {
        let version = versions.get(at).and_then(Option::as_deref);
        let time = keys.get(at).and_then(|(_, time)| *time);
        (numbers(version.unwrap_or_default()), time, Reverse(at))
    };
    for (at, (id, _)) in keys.iter().enumerate() {
        if statuses.get(at).and_then(Option::as_deref) == Some(Status::Duplicate.label()) {
            continue;
        }
        let known = best.entry(id).or_insert(at);
        if order(at) > order(*known) {
            *known = at;
        }
    }
    let mut last: HashMap<&str, Option<i64>> = HashMap::new();
    for (place, (_, time)) in places.iter().zip(&keys) {
        if let Some(place) = place {
            let known = last.entry(place).or_insert(*time);
            *known = (*known).max(*time);
        }
    }
    let was_read_later = |at: usize| {
        let place = places.get(at).and_then(Option::as_deref);
        let later = place.and_then(|place| last.get(place).copied().flatten());
        matches!(hashes.get(at), Some(None)) && later > keys.get(at).and_then(|(_, time)| *time)
    };
    let mut newest = vec![false; keys.len()];
    for at in best.into_values().collect::<Vec<usize>>() {
        if let Some(is_newest) = newest.get_mut(at) {
            *is_newest = !was_read_later(at);
        }
    }
    newest
}

/// The components of a version number.
fn numbers(version: &str) -> Vec<u64> {
    let parts = version.split(['.', '-', '+']);
    parts.map_while(|part| part.parse().ok()).collect()
}
