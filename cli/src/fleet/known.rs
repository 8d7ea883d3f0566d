//! What a store knows already of files.

use std::collections::{HashMap, HashSet};

use dormer_core::tables::{Status, TOOL_VERSION, Table};

use super::walk::Found;

/// The rows of `runs` that were made by this version, with these choices.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// By place: size, time and status of each row.
    places: HashMap<String, Vec<Row>>,
    /// Sizes of files whose bytes have rows.
    sizes: HashSet<u64>,
    /// Runs whose bytes have rows, with their day.
    runs: HashMap<String, Run>,
}

#[derive(Debug, PartialEq, Eq)]
struct Row {
    bytes: Option<u64>,
    modified_ns: Option<i64>,
    is_settled: bool,
}

/// A run that has rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    /// Its day, as in [`dormer_core::tables::day_of`].
    pub(super) day: Option<i32>,
    /// It needs not be tried again.
    is_settled: bool,
}

/// Columns that are read for it.
pub(super) const COLUMNS: [&str; 8] = [
    "run_id",
    "ingested",
    "tool_version",
    "status",
    "uri",
    "file_bytes",
    "modified",
    "options_hash",
];

impl Known {
    /// Of the table `runs` of a store. With `retries`, what failed is not known.
    pub(super) fn new(runs: &Table, options_hash: &str, retries: bool) -> Known {
        let mut known = Known::default();
        let text = |name: &str, at: usize| runs.strs(name).get(at).and_then(Option::as_deref);
        for at in 0..runs.len() {
            let is_of_us = text("tool_version", at) == Some(TOOL_VERSION)
                && text("options_hash", at) == Some(options_hash);
            let (Some(id), true) = (text("run_id", at), is_of_us) else {
                continue;
            };
            let status = text("status", at).unwrap_or_default();
            let number = |name: &str| runs.i64s(name).get(at).copied().flatten();
            let bytes = number("file_bytes").and_then(|bytes| u64::try_from(bytes).ok());
            let failed = [Status::Rejected, Status::Killed, Status::Timeout];
            let has_failed = failed.iter().any(|of| of.label() == status);
            let is_settled = !(retries && has_failed);
            if let Some(uri) = text("uri", at) {
                known.places.entry(uri.to_owned()).or_default().push(Row {
                    bytes,
                    modified_ns: number("modified"),
                    is_settled,
                });
            }
            if status != Status::Duplicate.label() {
                known.sizes.extend(bytes);
                let day = runs.i32s("date").get(at).copied().flatten();
                let run = known.runs.entry(id.to_owned());
                let run = run.or_insert(Run { day, is_settled });
                run.is_settled |= is_settled;
            }
        }
        known
    }

    /// Whether a file is there as it was.
    pub(super) fn has(&self, file: &Found) -> bool {
        let rows = self.places.get(&file.uri).into_iter().flatten();
        let mut same =
            rows.filter(|row| row.bytes == file.bytes && row.modified_ns == file.modified_ns);
        same.any(|row| row.is_settled)
    }

    /// Whether the bytes of a file may be known: those of another one are as many.
    pub(super) fn may_have_bytes_of(&self, file: &Found) -> bool {
        file.bytes.is_some_and(|bytes| self.sizes.contains(&bytes))
    }

    /// A run that has rows and needs not be tried again.
    pub(super) fn run(&self, id: &str) -> Option<Run> {
        self.runs.get(id).copied().filter(|run| run.is_settled)
    }
}
