//! A worker that reads one file after another: returns its rows, or the row that says why there are none.

use std::ffi::OsString;
use std::fs;
use std::io::{Cursor, Read};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::Sender;

use dormer_core::tables::{
    Column, Failed, RUNS, ReasonKind, Source, Status, Table, TableKind, Tables,
};
use zip::ZipArchive;

use super::child::{self, Limits, Watch};
use super::store;
use super::stored_files::StoredFiles;
use super::walk::Found;
use crate::args::IngestArgs;
use crate::input::hashed;
use crate::tables::now_ns;
use crate::{Failure, arrow};

/// The result for a file.
pub(super) enum FileResult {
    /// The output of `dormer tables`, with its row of `runs`.
    Tables(Vec<u8>, Table),
    /// Only a row in `runs`.
    Row(Table),
    /// Its content is that of a run that is already in the store.
    Known(Table),
}

/// What all workers share.
pub(super) struct Shared<'a> {
    pub(super) program: PathBuf,
    pub(super) options: Vec<OsString>,
    pub(super) args: &'a IngestArgs,
    pub(super) options_hash: &'a str,
    pub(super) watch: Watch,
    pub(super) next: AtomicUsize,
    pub(super) is_over: AtomicBool,
}

/// Reads files until none is left.
pub(super) fn work(
    shared: &Shared,
    found: &[Found],
    may_be_known: &[bool],
    known: &StoredFiles,
    sender: &Sender<(usize, FileResult)>,
) {
    while !shared.is_over.load(Ordering::Relaxed) {
        let at = shared.next.fetch_add(1, Ordering::Relaxed);
        let (Some(file), Some(may_be_known)) = (found.get(at), may_be_known.get(at)) else {
            return;
        };
        let read = match may_be_known {
            true => bytes_of(file).and_then(|bytes| {
                let source = source(shared, file, Some(bytes));
                let run = known.run(&source.run_id())?;
                Some(FileResult::Known(known_row(&source, run.day)))
            }),
            false => None,
        };
        let read = read.unwrap_or_else(|| analyzed(shared, file));
        if sender.send((at, read)).is_err() {
            return;
        }
    }
}

/// Analyzes a file in a separate process.
fn analyzed(shared: &Shared, file: &Found) -> FileResult {
    let args = shared.args;
    let limits = Limits::new(file.bytes.unwrap_or(0), args.timeout, args.memory);
    let written = child::tables(
        &shared.program,
        &shared.options,
        file,
        limits,
        &shared.watch,
    );
    let failed = match written {
        Ok(bytes) => match store::kind(RUNS).and_then(|kind| unpack(&bytes, kind)) {
            Ok(runs) if runs.len() == 1 => return FileResult::Tables(bytes, runs),
            _ => Failed {
                status: Status::Killed,
                kind: ReasonKind::Killed,
                reason: "its analysis ended without a row".to_owned(),
            },
        },
        Err(failed) => failed,
    };
    FileResult::Row(row(&source(shared, file, bytes_of(file)), &failed))
}

/// The content of a file; that of a pipe may be endless.
fn bytes_of(file: &Found) -> Option<hashed::Bytes> {
    let is_file = fs::metadata(&file.path).is_ok_and(|of| of.is_file());
    is_file.then(|| hashed::bytes(&file.path).ok()).flatten()
}

fn source(shared: &Shared, file: &Found, bytes: Option<hashed::Bytes>) -> Source {
    Source {
        uri: Some(file.uri.clone()),
        file_bytes: file.bytes,
        sha256: bytes.map(|bytes| bytes.sha256),
        modified_ns: file.modified_ns,
        tags: file.tags.clone().into_iter().collect(),
        ingested_ns: now_ns(),
        analysis_ns: None,
        options_hash: shared.options_hash.to_owned(),
    }
}

/// The row in `runs` of a file without other rows.
fn row(source: &Source, failed: &Failed) -> Table {
    let mut tables = Tables::of_failure(source, failed);
    tables.all.swap_remove(0)
}

/// The row of a file whose content has rows under another day.
fn known_row(source: &Source, day: Option<i32>) -> Table {
    let failed = Failed {
        status: Status::Duplicate,
        kind: ReasonKind::Io,
        reason: String::new(),
    };
    let mut row = duplicate(row(source, &failed));
    store::set(&mut row, store::DATE, Column::Date(vec![day]));
    row
}

/// The row of a file whose content already has rows.
pub(super) fn duplicate(mut runs: Table) -> Table {
    let status = Status::Duplicate.label().to_owned();
    let reason = "its content is that of a file the store already has".to_owned();
    store::set(&mut runs, "status", Column::Str(vec![Some(status)]));
    store::set(&mut runs, "reason", Column::Str(vec![Some(reason)]));
    store::set(&mut runs, "reason_kind", Column::Str(vec![None]));
    runs
}

/// A table from the output of `dormer tables`.
pub(super) fn unpack(zip: &[u8], kind: &'static TableKind) -> Result<Table, Failure> {
    let failed = |error: String| Failure::Sentence(format!("rows cannot be read: {error}"));
    let name = kind.name;
    let mut archive = ZipArchive::new(Cursor::new(zip)).map_err(|e| failed(e.to_string()))?;
    let mut file = archive
        .by_name(&format!("{name}.arrow"))
        .map_err(|error| failed(error.to_string()))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)
        .map_err(|e| failed(e.to_string()))?;
    arrow::read_stream(kind, &bytes).map_err(|error| failed(error.to_string()))
}
