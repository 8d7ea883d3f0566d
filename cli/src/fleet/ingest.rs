//! Reads traces into a store: which ones to read, a worker per core, a batch at a time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use clap::Args;
use dormer_core::base::format;
use dormer_core::import::ENDINGS_IN_WORDS;
use dormer_core::tables::{RUNS, Status, Table, TableKind, options_hash};
use regex_lite::Regex;

use super::child::Watch;
use super::store::{self, read};
use super::stored_files::{self, StoredFiles};
use super::walk::{self, Found};
use super::worker::{FileResult, Shared, duplicate, unpack, work};
use crate::args::{FleetArgs, IngestArgs, RowArgs};
use crate::stdout::Out;
use crate::tables::{options_of, shown};
use crate::{Failure, progress, text};

/// The most traces in a batch.
const MOST_TRACES: usize = 1000;

/// The most row bytes in a batch that waits to be written.
const MOST_BYTES: usize = 64 << 20;

/// The progress bar.
const PROGRESS: &str =
    "reading {bar:30} {decimal_bytes} of {decimal_total_bytes}, {decimal_bytes_per_sec}, {msg}";

pub(super) fn run(args: &FleetArgs, out: &mut Out) -> Result<(), Failure> {
    let ingest = &args.ingest;
    let Some(store) = ingest.output.as_deref() else {
        let why = "name the traces and the store: dormer fleet PATH… -o STORE";
        return Err(Failure::Usage(why.to_owned()));
    };
    if store.is_file() {
        let why = format!("{} is a file; -o takes a folder", store.display());
        return Err(Failure::Usage(why));
    }
    let mut found = traces(ingest)?;
    if !ingest.dry_run {
        store::complete_compaction(store)?;
    }
    let mut columns = stored_files::COLUMNS.to_vec();
    columns.push(store::DATE);
    let runs = read::table(store, store::kind(RUNS)?, Some(&columns))?;
    let options = options_of(&ingest.rows);
    let options_hash = options_hash(&options);
    let known = StoredFiles::new(&runs, &options_hash, ingest.retry);
    let stored = Stored::remove(&mut found, &known, &runs);
    drop(runs);
    if ingest.dry_run {
        return planned(&found, stored.n, out);
    }
    found.sort_by_key(|file| Reverse(file.bytes));
    let mut fleet = Fleet {
        store,
        options,
        options_hash,
        known,
        batch: Vec::new(),
        n_bytes: 0,
        counts: BTreeMap::new(),
        reasons: BTreeMap::new(),
        n_failed_before: stored.n_failed,
    };
    fleet.read_all(&found, ingest)?;
    fleet.summary(stored, out)?;
    match fleet.n_failed() + fleet.n_failed_before {
        n if n > 0 && ingest.fail_on.is_some() => {
            let files = format::counted(n, "file");
            Err(Failure::Found(format!(
                "rejected, killed or too slow: {files} (--fail-on rejected)"
            )))
        }
        _ => Ok(()),
    }
}

/// The traces to read, with their tags and the names that the rows show.
fn traces(ingest: &IngestArgs) -> Result<Vec<Found>, Failure> {
    let mut found = walk::find(&ingest.paths)?;
    if found.is_empty() {
        let why = format!(
            "nothing to read: no file matches; in folders, files count that are called like {ENDINGS_IN_WORDS}"
        );
        return Err(Failure::Sentence(why));
    }
    if let Some(pattern) = &ingest.tag_from {
        walk::tag_from(pattern, &mut found);
    }
    for file in &mut found {
        let tags = ingest.rows.tags.iter().cloned();
        file.tags.extend(tags);
        file.uri = shown(&file.uri, ingest.rows.redact.redact);
    }
    Ok(found)
}

/// Files that are in the store already, unchanged.
#[derive(Debug, Clone, Copy, Default)]
struct Stored {
    n: u64,
    n_failed: u64,
    /// The number whose rows lack some of the tags given now.
    n_other_tags: u64,
}

impl Stored {
    /// Removes these files from `found`, and counts them.
    fn remove(found: &mut Vec<Found>, known: &StoredFiles, runs: &Table) -> Stored {
        let mut stored = Stored::default();
        found.retain(|file| {
            let row = known.row(file);
            if let Some(row) = row {
                stored.n += 1;
                stored.n_failed += u64::from(row.has_failed);
                stored.n_other_tags += u64::from(row.lacks_tags(runs, &file.tags));
            }
            row.is_none()
        });
        stored
    }
}

/// The size of all files that exist.
fn total_bytes(found: &[Found]) -> u64 {
    found.iter().filter_map(|file| file.bytes).sum()
}

/// Prints what would be read.
fn planned(found: &[Found], known: u64, out: &mut Out) -> Result<(), Failure> {
    for file in found {
        writeln!(out, "{}", text::printable(&file.path.display().to_string()))?;
    }
    let new = found.len() as u64;
    writeln!(
        out,
        "{} to read ({}), {} in the store already.",
        format::counted(new, "file"),
        format::bytes(total_bytes(found)),
        format::count(known)
    )?;
    Ok(())
}

struct Fleet<'a> {
    store: &'a Path,
    options: String,
    options_hash: String,
    known: StoredFiles,
    /// Results that wait to be written.
    batch: Vec<FileResult>,
    n_bytes: usize,
    counts: BTreeMap<String, u64>,
    reasons: BTreeMap<String, u64>,
    /// Files whose content failed in an earlier run, and was not tried again.
    n_failed_before: u64,
}

impl Fleet<'_> {
    fn read_all(&mut self, found: &[Found], args: &IngestArgs) -> Result<(), Failure> {
        if found.is_empty() {
            return Ok(());
        }
        let program = std::env::current_exe()
            .map_err(|error| Failure::of_file("cannot find this program", &error))?;
        let options_hash = self.options_hash.clone();
        let shared = Shared {
            program,
            options: forwarded(std::env::args_os().skip(1)),
            args,
            options_hash: &options_hash,
            watch: Watch::default(),
            next: AtomicUsize::new(0),
            is_over: AtomicBool::new(false),
        };
        // Whether the content may be known is determined before any file is read.
        let may_be_known: Vec<bool> = found
            .iter()
            .map(|file| self.known.may_have_bytes_of(file))
            .collect();
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let n_workers = args.jobs.unwrap_or(cores).clamp(1, found.len());
        let bar = progress::bar(Some(total_bytes(found)), PROGRESS);
        let (sender, results) = mpsc::channel();
        let known = std::mem::take(&mut self.known);
        let done = thread::scope(|scope| {
            let (shared, known) = (&shared, &known);
            let may_be_known = &may_be_known;
            scope.spawn(|| shared.watch.run());
            for _ in 0..n_workers {
                let sender = sender.clone();
                scope.spawn(move || work(shared, found, may_be_known, known, &sender));
            }
            drop(sender);
            let mut seen = HashSet::new();
            let done = results
                .iter()
                .try_for_each(|(at, read): (usize, FileResult)| {
                    bar.inc(found.get(at).and_then(|file| file.bytes).unwrap_or(0));
                    self.take(read);
                    bar.set_message(self.progress());
                    match self.batch.len() >= MOST_TRACES || self.n_bytes >= MOST_BYTES {
                        true => self.flush(known, &mut seen),
                        false => Ok(()),
                    }
                });
            shared.is_over.store(true, Ordering::Relaxed);
            shared.watch.end();
            done.and_then(|()| self.flush(known, &mut seen))
        });
        bar.finish_and_clear();
        done
    }

    fn progress(&self) -> String {
        let n: u64 = self.counts.values().sum();
        format!("{n} files, {} rejected", self.n_failed())
    }

    /// Files without figures.
    fn n_failed(&self) -> u64 {
        let failed = Status::ALL.into_iter().filter(|of| of.has_failed());
        failed.filter_map(|of| self.counts.get(of.label())).sum()
    }

    fn take(&mut self, read: FileResult) {
        let runs = match &read {
            FileResult::Tables(bytes, runs) => {
                self.n_bytes += bytes.len();
                runs
            }
            FileResult::Row(runs) | FileResult::Known(runs) => runs,
        };
        *self.counts.entry(first(runs, "status")).or_default() += 1;
        let reason = first(runs, "reason_kind");
        if !reason.is_empty() {
            *self.reasons.entry(reason).or_default() += 1;
        }
        self.batch.push(read);
    }

    /// Writes the waiting results. If files have the same content, the first one by path gets the rows.
    fn flush(&mut self, known: &StoredFiles, seen: &mut HashSet<String>) -> Result<(), Failure> {
        let mut batch = std::mem::take(&mut self.batch);
        self.n_bytes = 0;
        let runs = |read: &FileResult| match read {
            FileResult::Tables(_, runs) | FileResult::Row(runs) | FileResult::Known(runs) => {
                ["model_name", "run_id", "uri"].map(|name| first(runs, name))
            }
        };
        batch.sort_by_cached_key(runs);
        let mut all: Vec<(Table, Option<Vec<u8>>)> = Vec::new();
        for read in batch {
            let (bytes, runs) = match read {
                FileResult::Tables(bytes, runs) => (Some(bytes), runs),
                FileResult::Row(runs) => (None, runs),
                FileResult::Known(runs) => {
                    let has_failed = known.has_failed(&first(&runs, "run_id"));
                    self.n_failed_before += u64::from(has_failed);
                    all.push((runs, None));
                    continue;
                }
            };
            let id = first(&runs, "run_id");
            let is_new = known.run(&id).is_none() && seen.insert(id);
            if is_new {
                all.push((runs, bytes));
            } else {
                self.recount(&runs);
                all.push((duplicate(runs), None));
            }
        }
        let mut runs = Table::new(store::kind(RUNS)?);
        for (row, _) in &all {
            runs.append(row.clone());
        }
        // One table at a time: all of them at once would take many times the memory of the waiting results.
        let rows = |kind: &'static TableKind| {
            let mut days = store::Days::new();
            for (row, bytes) in &all {
                let day = row.i32s(store::DATE).first().copied().flatten();
                let rows = match bytes {
                    _ if kind.name == RUNS => row.clone(),
                    Some(bytes) => unpack(bytes, kind)?,
                    None => continue,
                };
                let of_day = days.entry(day).or_insert_with(|| Table::new(kind));
                of_day.append(rows);
            }
            Ok(days)
        };
        store::add(self.store, &runs, &self.options, rows)
    }

    /// Corrects the counts of a run that turned out to be a duplicate.
    fn recount(&mut self, runs: &Table) {
        let of_status = self.counts.get_mut(&first(runs, "status"));
        let of_reason = self.reasons.get_mut(&first(runs, "reason_kind"));
        for n in of_status.into_iter().chain(of_reason) {
            *n = n.saturating_sub(1);
        }
        let duplicates = self.counts.entry(Status::Duplicate.label().to_owned());
        *duplicates.or_default() += 1;
    }

    fn summary(&self, stored: Stored, out: &mut Out) -> Result<(), Failure> {
        let n: u64 = self.counts.values().sum();
        let counts = self.counts.iter().filter(|(_, n)| **n > 0);
        let counts: Vec<String> = counts
            .map(|(status, n)| format!("{} {status}", format::count(*n)))
            .collect();
        let known = match stored.n {
            0 => String::new(),
            n => format!("; {} in the store already", format::count(n)),
        };
        let tags = match stored.n_other_tags {
            0 => String::new(),
            n => format!(
                ", {} with tags of an earlier run, which stay",
                format::count(n)
            ),
        };
        let counts = match counts.is_empty() {
            true => String::new(),
            false => format!(": {}", counts.join(", ")),
        };
        writeln!(out, "{}{counts}{known}{tags}.", format::counted(n, "file"))?;
        let reasons = self.reasons.iter().filter(|(_, n)| **n > 0);
        let mut reasons: Vec<(&String, &u64)> = reasons.collect();
        reasons.sort_by_key(|(_, n)| Reverse(**n));
        for (reason, n) in reasons.iter().take(3) {
            writeln!(out, "  {reason}: {}", format::count(**n))?;
        }
        writeln!(out, "The store is in {}.", self.store.display())?;
        Ok(())
    }
}

fn first(table: &Table, name: &str) -> String {
    let value = table.strs(name).first().cloned().flatten();
    value.unwrap_or_default()
}

/// The arguments of this command that affect rows, as given: children get the same ones. Tags are added here.
fn forwarded(mut args: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let of_rows = RowArgs::augment_args(clap::Command::default());
    let of_rows = of_rows.get_arguments().filter(|of| of.get_id() != "tags");
    let takes_value: HashMap<String, bool> = of_rows
        .filter_map(|of| {
            Some((
                format!("--{}", of.get_long()?),
                of.get_action().takes_values(),
            ))
        })
        .collect();
    let mut forwarded = Vec::new();
    while let Some(arg) = args.next() {
        let text = arg.to_string_lossy().into_owned();
        let name = text.split('=').next().unwrap_or_default();
        if text == "--" {
            break;
        }
        if let Some(takes_value) = takes_value.get(name) {
            let has_value = name.len() < text.len();
            forwarded.push(arg);
            if *takes_value && !has_value {
                forwarded.extend(args.next());
            }
        }
    }
    forwarded
}

/// Parses the argument of `--tag-from`.
pub(crate) fn pattern_of(argument: &str) -> Result<Regex, String> {
    let regex = Regex::new(argument).map_err(|error| error.to_string())?;
    match regex.capture_names().flatten().next() {
        Some(_) => Ok(regex),
        None => Err("it names no group, such as (?P<build>b[0-9]+)".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_rows_goes_to_the_children() {
        let args = "fleet a --gpu=H100 --jobs 2 --perf-models m.toml --tag a=b --micro-idle 3 --redact -o S -- --redact";
        let args = args.split(' ').map(OsString::from);
        let expected = [
            "--gpu=H100",
            "--perf-models",
            "m.toml",
            "--micro-idle",
            "3",
            "--redact",
        ];
        assert_eq!(forwarded(args), expected.map(OsString::from));
    }
}
