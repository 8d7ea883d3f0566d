//! `dormer fleet compact`: what it merges, what it drops, and what a run that was interrupted leaves behind.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use super::{ALL, traces};
use crate::Folder;

#[test]
fn compacting_makes_one_file_of_each_day() {
    let folder = traces();
    folder.run("fleet t/b01__one.json -o S").done();
    folder.run("fleet t/b01__two.json -o S").done();
    folder.run("fleet t -o S").done();
    let rows = |folder: &Folder| {
        let ops = folder.rows("ops", &["run_id", "name"]);
        let kernels = folder.rows("kernels", &["run_id", "kernel"]);
        (folder.statuses(), ops, kernels, folder.counts())
    };
    let before = rows(&folder);
    let said = folder.run("fleet compact S").done();
    assert!(said.contains(" files became "), "{said}");
    assert_eq!(rows(&folder), before);
    // The rows of a file are sorted by model and run, and its metadata has the analysis options.
    for (path, _) in folder.store() {
        let (rows, options) = folder.file(&path);
        assert!(rows.is_sorted(), "{}: {rows:?}", path.display());
        assert!(options.starts_with("{\"basis\":"), "{options}");
    }
    let per_day = folder
        .store()
        .into_keys()
        .map(|path| path.parent().unwrap().to_owned());
    let per_day: Vec<PathBuf> = per_day.collect();
    let days: BTreeSet<&PathBuf> = per_day.iter().collect();
    assert_eq!(days.len(), per_day.len());
    // There is nothing left to do, and the files in the store are still known.
    let compacted = folder.store();
    folder.run("fleet compact S --drop-old").done();
    assert_eq!(folder.store(), compacted);
    assert!(folder.run("fleet t -o S").done().starts_with("0 files; 5"));
    // What an interrupted compaction leaves behind.
    folder.add("S/.compacting.tmp", "new\t");
    fs::create_dir(folder.0.path().join("S/ops/date=2001-01-01")).unwrap();
    folder.run("fleet compact S").done();
    assert_eq!(folder.store(), compacted);
    assert!(!folder.has("S/ops/date=2001-01-01"));
}

#[test]
fn old_rows_go_where_that_is_asked_for() {
    let folder = traces();
    folder.run("fleet t -o S").done();
    folder.run("fleet t -o S --retry").done();
    let twice = [&ALL[..], &ALL[4..]].concat();
    assert_eq!(folder.statuses(), twice);
    folder.run("fleet compact S").done();
    assert_eq!(folder.statuses(), twice);
    folder.run("fleet compact S --drop-old").done();
    assert_eq!(folder.statuses(), ALL);
}

/// A batch that was interrupted before its rows of `runs`, which are written last.
#[test]
fn rows_without_their_run_do_not_count() {
    let folder = traces();
    folder.run("fleet t -o S").done();
    fs::remove_dir_all(folder.0.path().join("S/runs/date=2025-07-01")).unwrap();
    let summary = folder.summary();
    assert_eq!(summary.totals.n_files, 3);
    let names = summary.ops.iter().map(|op| summary.text_of(Some(op.name)));
    assert_eq!(names.collect::<Vec<_>>(), [Some("aten::addmm")]);
    folder.run("fleet compact S").done();
    assert_eq!(folder.rows("ops", &["name"]), ["aten::addmm"; 2]);
    let said = folder.run("fleet t -o S").done();
    assert!(said.starts_with("2 files: 2 ok; 3 in the"), "{said}");
    assert_eq!(folder.statuses(), ALL);
}

#[test]
fn an_ended_compaction_is_taken_up_by_what_may_write() {
    let folder = traces();
    folder.run("fleet t -o S").done();
    folder.add("S/.compacting", "old\truns/date=unknown/gone.parquet\n");
    let before = folder.store();
    folder.run("fleet t -o S --dry-run").done();
    folder.summary();
    assert_eq!(folder.store(), before);
    folder.run("fleet sql S").done();
    assert!(!folder.has("S/.compacting"));
}

/// Compacting twice, with the tables of new traces in between, changes no table's number of rows.
#[test]
fn no_table_loses_or_gains_rows() {
    let folder = traces();
    folder.run("fleet t/b01__one.json -o S").done();
    let one = folder.counts();
    folder.run("fleet compact S").done();
    assert_eq!(folder.counts(), one);
    folder.run("fleet t -o S").done();
    let all = folder.counts();
    assert!(one.iter().all(|(table, n)| all[table] >= *n), "{all:?}");
    assert_eq!((one["runs"], all["runs"]), (1, 5));
    folder.run("fleet compact S").done();
    assert_eq!(folder.counts(), all);
}
