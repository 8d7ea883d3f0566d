//! What a store already knows about files.

use std::collections::{BTreeMap, HashMap, HashSet};

use dormer_core::tables::{Status, TOOL_VERSION, Table};

use super::walk::Found;

/// The rows of `runs` that were created by this version with these options.
#[derive(Debug, Default)]
pub(super) struct StoredFiles {
    /// By path: size, time and status of each row.
    places: HashMap<String, Vec<Row>>,
    /// Sizes of files whose content has rows.
    sizes: HashSet<u64>,
    /// Runs whose content has rows, with their day.
    runs: HashMap<String, Run>,
}

/// What is known about a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Row {
    bytes: Option<u64>,
    modified_ns: Option<i64>,
    is_settled: bool,
    /// Whether its content gave no figures.
    pub(super) has_failed: bool,
    /// Its position in the table.
    at: usize,
}

/// A run with rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    /// Its day, as in [`dormer_core::tables::day_of`].
    pub(super) day: Option<i32>,
    /// It need not be tried again.
    is_settled: bool,
    /// It gave no figures.
    has_failed: bool,
}

/// The columns needed for it.
pub(super) const COLUMNS: [&str; 9] = [
    "run_id",
    "ingested",
    "tool_version",
    "status",
    "uri",
    "file_bytes",
    "modified",
    "options_hash",
    "tags",
];

impl StoredFiles {
    /// Built from a store's table `runs`. With `retries`, failed runs count as unknown.
    pub(super) fn new(runs: &Table, options_hash: &str, retries: bool) -> StoredFiles {
        let mut known = StoredFiles::default();
        let text = |name: &str, at: usize| runs.strs(name).get(at).and_then(Option::as_deref);
        let number = |name: &str, at: usize| runs.i64s(name).get(at).copied().flatten();
        let bytes = |at: usize| number("file_bytes", at).and_then(|n| u64::try_from(n).ok());
        let is_of_us = |at: &usize| {
            text("tool_version", *at) == Some(TOOL_VERSION)
                && text("options_hash", *at) == Some(options_hash)
        };
        let rows = (0..runs.len()).filter(is_of_us).filter_map(|at| {
            let status = text("status", at).and_then(Status::of)?;
            Some((at, text("run_id", at)?, status))
        });
        let rows: Vec<(usize, &str, Status)> = rows.collect();
        for (at, id, status) in &rows {
            if *status == Status::Duplicate {
                continue;
            }
            known.sizes.extend(bytes(*at));
            let of_row = Run {
                day: runs.i32s("date").get(*at).copied().flatten(),
                is_settled: !(retries && status.has_failed()),
                has_failed: status.has_failed(),
            };
            let run = known.runs.entry((*id).to_owned()).or_insert(of_row);
            run.is_settled |= of_row.is_settled;
            run.has_failed &= of_row.has_failed;
        }
        for (at, id, status) in rows {
            if let Some(uri) = text("uri", at) {
                known.places.entry(uri.to_owned()).or_default().push(Row {
                    bytes: bytes(at),
                    modified_ns: number("modified", at),
                    is_settled: !(retries && status.has_failed()),
                    // The status of a duplicate is that of the first file with the same content.
                    has_failed: known.runs.get(id).is_some_and(|run| run.has_failed),
                    at,
                });
            }
        }
        known
    }

    /// The row of an unchanged file; if there are several, one that has not failed.
    pub(super) fn row(&self, file: &Found) -> Option<&Row> {
        let rows = self.places.get(&file.uri).into_iter().flatten();
        let same =
            rows.filter(|row| row.bytes == file.bytes && row.modified_ns == file.modified_ns);
        same.filter(|row| row.is_settled)
            .min_by_key(|row| row.has_failed)
    }

    /// Whether the content of a file may be known: another file has the same size.
    pub(super) fn may_have_bytes_of(&self, file: &Found) -> bool {
        file.bytes.is_some_and(|bytes| self.sizes.contains(&bytes))
    }

    /// Whether the content of a run gave no figures.
    pub(super) fn has_failed(&self, id: &str) -> bool {
        self.runs.get(id).is_some_and(|run| run.has_failed)
    }

    /// A run that has rows and need not be tried again.
    pub(super) fn run(&self, id: &str) -> Option<Run> {
        self.runs.get(id).copied().filter(|run| run.is_settled)
    }
}

impl Row {
    /// Whether a file has tags that its row lacks.
    pub(super) fn lacks_tags(&self, runs: &Table, tags: &BTreeMap<String, String>) -> bool {
        let of_row = runs.maps("tags").get(self.at).and_then(Option::as_deref);
        let has = |(name, value): (&String, &String)| {
            let mut of_row = of_row.unwrap_or_default().iter();
            of_row.any(|(of, is)| of == name && is == value)
        };
        !tags.iter().all(has)
    }
}
