//! `dormer fleet compact`.

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
        (
            folder.statuses(),
            ops,
            folder.rows("kernels", &["run_id", "kernel"]),
        )
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
