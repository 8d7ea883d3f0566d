//! `dormer fleet compact`: merges the files of each day into one, and removes unfinished files.
//!
//! New files are written next to the old ones, then the pending changes are written to a journal, then carried out: if
//! this is interrupted in between, the next command finishes it.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::Write;
use std::path::Path;

use dormer_core::base::format;
use dormer_core::tables::{RUNS, Status, TABLES, Table, TableKind, options_together};

use super::journal::{self, Journal};
use super::read::{Row, newest, rows};
use super::{
    DATE, ENDING, Part, complete_compaction, failed, folder_of, hash_of, is_unfinished, parts, read,
};
use crate::args::CompactArgs;
use crate::stdout::Out;
use crate::{Failure, arrow, parquet};

pub(crate) fn run(args: &CompactArgs, out: &mut Out) -> Result<(), Failure> {
    let store = &args.store;
    super::check(store)?;
    complete_compaction(store)?;
    let runs = read::table(store, super::kind(RUNS)?, None)?;
    let models = runs.strs("run_id").iter().zip(runs.strs("model_name"));
    let models = models.filter_map(|(id, model)| Some((id.as_deref()?, model.as_deref()?)));
    let runs = Runs {
        kept: kept(&runs, args.drop_old),
        models: models.collect(),
    };
    let mut journal = Journal::default();
    let (mut before, mut after) = (0_u64, 0_u64);
    for kind in TABLES {
        let all = parts(store, kind).map_err(|error| failed(store, &error))?;
        before += all.len() as u64;
        let mut days: Vec<Option<i32>> = all.iter().map(|part| part.day).collect();
        days.dedup();
        for day in days {
            let of_day: Vec<&Part> = all.iter().filter(|part| part.day == day).collect();
            let folder = store.join(kind.name).join(folder_of(day));
            after += u64::from(merge(&folder, kind, &of_day, &runs, &mut journal)?);
        }
    }
    journal.write(store)?;
    complete_compaction(store)?;
    clean(store)?;
    writeln!(
        out,
        "{} became {} in {}.",
        format::counted(before, "file"),
        format::count(after),
        store.display()
    )?;
    Ok(())
}

/// The rows of `runs` to keep, without duplicates.
fn kept(runs: &Table, drop_old: bool) -> HashSet<Row> {
    let newest = newest(runs);
    let statuses = runs.strs("status");
    let stays = |at: &usize| {
        let status = statuses.get(*at).and_then(Option::as_deref);
        let is_duplicate = status == Some(Status::Duplicate.label());
        !drop_old || is_duplicate || newest.get(*at) == Some(&true)
    };
    let rows: Vec<Row> = rows(runs).collect();
    let kept = (0..rows.len()).filter(stays);
    kept.filter_map(|at| rows.get(at).cloned()).collect()
}

/// The runs of a store.
struct Runs<'a> {
    /// Their rows to keep.
    kept: HashSet<Row>,
    /// The name of the model of each run.
    models: HashMap<&'a str, &'a str>,
}

/// Merges the files of a table and day, which are in `folder`, if that changes something; returns whether a file is
/// left.
fn merge(
    folder: &Path,
    kind: &'static TableKind,
    files: &[&Part],
    runs: &Runs,
    journal: &mut Journal,
) -> Result<bool, Failure> {
    let mut all = Table::new(kind);
    for part in files {
        all.append(read::file(part, kind, None)?);
    }
    let n_before = all.len();
    // If a file was written twice, its rows are there twice.
    let mut seen: HashSet<(Row, String)> = HashSet::new();
    let keys: Vec<String> = (0..n_before).map(|at| key(&all, at)).collect();
    let stays: Vec<bool> = rows(&all)
        .zip(keys)
        .map(|(row, key)| runs.kept.contains(&row) && seen.insert((row, key)))
        .collect();
    all.retain(|at| stays.get(at) == Some(&true));
    if files.len() < 2 && all.len() == n_before {
        return Ok(!files.is_empty());
    }
    let ids: Vec<Row> = rows(&all).collect();
    let mut order: Vec<usize> = (0..ids.len()).collect();
    order.sort_by_key(|at| {
        let row = ids.get(*at);
        (row.and_then(|(id, _)| runs.models.get(id.as_str())), row)
    });
    all.pick(&order);
    let names = (0..all.len()).map(|at| key(&all, at));
    let mut names: Vec<String> = rows(&all)
        .zip(names)
        .map(|((id, time), key)| format!("{id} {} {key}", time.unwrap_or_default()))
        .collect();
    names.sort();
    let path = folder.join(format!("{}.{ENDING}", hash_of(&names)));
    journal
        .old
        .extend(files.iter().map(|part| part.path.clone()));
    if all.is_empty() {
        return Ok(false);
    }
    journal.old.retain(|old| *old != path);
    let mut ids: Vec<String> = all.strs("run_id").iter().flatten().cloned().collect();
    ids.sort();
    ids.dedup();
    super::write(&path, &all, &options_of(files)?, &hash_of(&ids))?;
    journal.new.push(path);
    Ok(true)
}

/// The options that the traces of some files were analyzed with; if they differ, a list of all.
fn options_of(files: &[&Part]) -> Result<String, Failure> {
    let options = files.iter().map(|part| {
        let options = parquet::metadata_value(&part.path, arrow::OPTIONS);
        options.map_err(|error| read::unreadable(part, &error))
    });
    let options: Vec<Option<String>> = options.collect::<Result<_, Failure>>()?;
    Ok(options_together(options.iter().flatten()))
}

/// The key that identifies the rows of a run.
fn key(table: &Table, at: usize) -> String {
    let keys = table.kind.columns.iter().filter(|field| field.is_key);
    let texts = keys.map(|field| {
        let text = table.strs(field.name()).get(at).cloned().flatten();
        let hash = || table.u64s(field.name()).get(at).copied().flatten();
        let number = || table.i64s(field.name()).get(at).copied().flatten();
        let small = || table.i32s(field.name()).get(at).copied().flatten();
        let text = text.or_else(|| hash().map(|hash| hash.to_string()));
        let text = text.or_else(|| number().map(|number| number.to_string()));
        let text = text.or_else(|| small().map(|number| number.to_string()));
        text.unwrap_or_default()
    });
    let mut texts: Vec<String> = texts.collect();
    // A run may have several paths.
    if table.kind.name == RUNS {
        let uri = table.strs("uri").get(at).cloned().flatten();
        texts.extend(uri);
    }
    debug_assert!(!texts.iter().any(|text| text == DATE));
    texts.join("\u{1f}")
}

/// Removes unfinished files, and folders without files.
fn clean(store: &Path) -> Result<(), Failure> {
    journal::remove(&journal::draft(store))?;
    for kind in TABLES {
        let Ok(days) = fs::read_dir(store.join(kind.name)) else {
            continue;
        };
        for day in days.flatten().map(|day| day.path()) {
            let Ok(files) = fs::read_dir(&day) else {
                continue;
            };
            let mut is_empty = true;
            for file in files.flatten().map(|file| file.path()) {
                match is_unfinished(&file) {
                    true => journal::remove(&file)?,
                    false => is_empty = false,
                }
            }
            if is_empty {
                // Another process may have created a file there just now.
                drop(fs::remove_dir(&day));
            }
        }
    }
    Ok(())
}
