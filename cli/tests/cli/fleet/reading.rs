//! Which files are read, and the rows that they become.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use super::{ALL, traces};
use crate::regressions::{shared, slower_gemms_alarm_and_are_confirmed};
use crate::tables::zipped;
use crate::{Folder, STEPS, TRACE};

#[test]
fn every_file_has_a_row_and_each_day_its_folder() {
    let folder = traces();
    let said = folder
        .run("fleet t -o S --tag-from (?P<build>b[0-9]+)__")
        .done();
    assert!(
        said.starts_with("5 files: 3 ok, 1 partial, 1 rejected.\n"),
        "{said}"
    );
    assert!(said.contains("web_page: 1"), "{said}");
    assert_eq!(folder.statuses(), ALL);
    let days: BTreeSet<String> = folder
        .store()
        .keys()
        .map(|path| {
            path.parent()
                .unwrap()
                .file_name()
                .unwrap()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    let days: Vec<&str> = days.iter().map(String::as_str).collect();
    assert_eq!(days, ["date=2025-07-01", "date=unknown"]);
    let ops = folder.rows("ops", &["name"]);
    assert!(ops.contains(&"aten::addmm".to_owned()), "{ops:?}");
}

#[test]
fn what_is_there_is_not_read_again() {
    let folder = traces();
    folder.run("fleet t -o S").done();
    let before = folder.store();
    let said = folder.run("fleet t list.txt -o S").done();
    assert!(
        said.starts_with("0 files; 5 in the store already.\n"),
        "{said}"
    );
    assert_eq!(folder.store(), before);

    // One with another time, one renamed, and a new one.
    folder.touch("t/b01__one.json");
    let t = folder.0.path().join("t");
    fs::rename(t.join("b01__two.json"), t.join("b02__two.json")).unwrap();
    folder.add("t/b08__new.json", TRACE.replace("sgemm", "hgemm"));
    // Files that are only hashed are not analyzed: here, that would hang.
    let hangs = [("DORMER_TEST_HANG", Path::new("b01__one"))];
    let said = folder
        .run_in("fleet t -o S --timeout 5", b"", &hangs)
        .done();
    assert!(
        said.starts_with("3 files: 2 duplicate, 1 ok; 3 in the store already.\n"),
        "{said}"
    );
    let after = folder.store();
    assert!(
        before
            .iter()
            .all(|(path, bytes)| after.get(path) == Some(bytes))
    );
    let new = [
        "b01__one.json duplicate ",
        "b02__two.json duplicate ",
        "b08__new.json ok ",
    ];
    let mut expected: Vec<String> = ALL.iter().chain(&new).map(ToString::to_string).collect();
    expected.sort();
    assert_eq!(folder.statuses(), expected);
    assert_eq!(folder.rows("ops", &["name"]).len(), 6);
    let said = folder.run("fleet t -o S --dry-run").done();
    assert_eq!(said, "0 files to read (0 B), 6 in the store already.\n");
    let said = folder.run("fleet t -o S --tag team=vision").done();
    assert!(
        said.starts_with(
            "0 files; 6 in the store already, 6 with tags of an earlier run, which stay.\n"
        ),
        "{said}"
    );
}

/// Both analyses are in the store; the newer one counts.
#[test]
fn with_other_choices_files_are_read_again() {
    let folder = traces();
    folder.run("fleet t -o S").done();
    let said = folder.run("fleet t -o S --micro-idle 3").done();
    assert!(
        said.starts_with("5 files: 3 ok, 1 partial, 1 rejected.\n"),
        "{said}"
    );
    for choices in ["", " --micro-idle 3"] {
        let said = folder.run(&format!("fleet t -o S{choices}")).done();
        assert!(said.starts_with("0 files; 5 in the"), "{choices}: {said}");
    }
    assert_eq!(folder.statuses().len(), 10);
    assert_eq!(folder.summary().totals.n_files, 5);
}

#[test]
fn without_names_a_store_has_no_paths_and_is_known_all_the_same() {
    let folder = traces();
    folder.run("fleet t -o S --redact").done();
    let places = folder.rows("runs", &["uri"]);
    assert!(
        places.iter().all(|place| place.starts_with("file_")),
        "{places:?}"
    );
    let said = folder.run("fleet t -o S --redact").done();
    assert!(
        said.starts_with("0 files; 5 in the store already.\n"),
        "{said}"
    );
    let said = folder.run("fleet summary S -o S.json.gz").done();
    assert!(
        said.contains("Names were removed from 4 runs, in each separately"),
        "{said}"
    );
}

#[test]
fn a_file_that_can_be_read_at_last_is_no_longer_rejected() {
    let folder = Folder::with("list.txt", "late.json\n");
    folder.run("fleet list.txt -o S").done();
    assert_eq!(folder.statuses(), ["late.json rejected io"]);
    folder.add("late.json", TRACE);
    folder.run("fleet list.txt -o S").done();
    let summary = folder.summary();
    assert_eq!((summary.totals.n_files, summary.rejected.len()), (1, 0));
}

#[test]
fn of_an_archive_of_several_traces_the_row_says_that_one_was_read() {
    let two = zipped([("rank0.json", TRACE), ("rank1.json", STEPS)]);
    let folder = Folder::with("ranks.zip", two);
    folder.run("fleet . -o S").done();
    assert_eq!(folder.statuses(), ["ranks.zip partial more_traces"]);
}

#[test]
fn a_file_is_read_once_however_it_is_spelled() {
    let folder = Folder::with("a.json", TRACE);
    folder.add("tags.csv", "a.json,team,vision\n");
    let said = folder.run("fleet . tags.csv ./a.json -o S").done();
    assert!(said.starts_with("1 file: 1 ok.\n"), "{said}");
    folder
        .run("fleet summary S -o S.json.gz --where team=vision")
        .done();
}

#[test]
fn the_same_bytes_twice_are_one_run() {
    let folder = traces();
    folder.add("t/copy.json", TRACE);
    folder.run("fleet t -o S --jobs 3").done();
    let statuses = folder.statuses();
    assert!(
        statuses.contains(&"copy.json duplicate ".to_owned()),
        "{statuses:?}"
    );
    assert!(
        statuses.contains(&"b01__one.json ok ".to_owned()),
        "{statuses:?}"
    );
    // The same for what is not a trace.
    folder.add("t/empty.json", "");
    folder.add("t/empty2.json", "");
    let said = folder.run("fleet t -o S").done();
    assert!(
        said.starts_with("2 files: 1 duplicate, 1 rejected; 6 in the store already.\n  empty: 1\n"),
        "{said}"
    );
}

#[test]
fn views_are_of_every_table() {
    let folder = traces();
    let said = folder.run("fleet sql").done();
    assert_eq!(said.matches("CREATE OR REPLACE VIEW").count(), 8);
    folder.run("fleet t/page.json -o S").done();
    let said = folder.run("fleet sql S").done();
    assert!(said.contains("read_parquet('S/runs/*/*.parquet'"), "{said}");
    // Tables without files are views without rows.
    assert_eq!(said.matches("WHERE false;").count(), 6);
}

#[test]
fn wrong_usage_is_reported() {
    let folder = traces();
    for arguments in [
        "fleet",
        "fleet t",
        "fleet t -o list.txt",
        "fleet t -o S --tag-from b[0-9]+",
        "fleet t -o S --jobs 0",
        "fleet t -o S --timeout 0",
        "fleet t -o S --memory 0",
    ] {
        assert_eq!(folder.run(arguments).code, 2, "{arguments}");
    }
}

#[test]
fn what_is_not_there_is_reported() {
    let folder = traces();
    fs::create_dir(folder.0.path().join("empty")).unwrap();
    let no_store = "this is not a store, as dormer fleet PATH… -o STORE writes it";
    for (arguments, sentence) in [
        ("fleet nowhere.json -o S", "no such file or folder"),
        ("fleet empty -o S", "nothing to read: no file matches"),
        ("fleet t/*.nothing -o S", "nothing to read: no file matches"),
        ("fleet compact nowhere", no_store),
        ("fleet sql nowhere", no_store),
        ("fleet summary empty -o S.json.gz", no_store),
        ("fleet regressions empty", no_store),
    ] {
        let said = folder.run(arguments);
        assert_eq!((said.code, said.out.as_str()), (1, ""), "{arguments}");
        assert!(said.err.contains(sentence), "{said:?}");
    }
    assert!(!folder.has("S"));
}

/// Real traces: `tests/fleet/corpus.py` generates 206 of them.
#[test]
fn a_fleet_of_206_files_is_read_once_and_shows_what_became_slower() {
    const READ: &str = "fleet corpus -o S --tag-from (?P<build>b[0-9]+)__(?P<model>[^_]+)";
    let Some(shared) = shared() else {
        return;
    };
    let folder = Folder::with("a", "");
    let made = Command::new("python3")
        .arg(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../tests/fleet/corpus.py"
        ))
        .args([
            shared.as_os_str(),
            folder.0.path().join("corpus").as_os_str(),
        ])
        .status()
        .unwrap();
    assert!(made.success());
    folder.run(READ).done();
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for status in folder.rows("runs", &["status", "reason_kind"]) {
        *counts.entry(status).or_default() += 1;
    }
    let counts: Vec<(&str, u64)> = counts.iter().map(|(of, n)| (of.as_str(), *n)).collect();
    assert_eq!(
        counts,
        [
            ("ok ", 200),
            ("partial cut", 1),
            ("rejected broken_gzip", 1),
            ("rejected empty", 1),
            ("rejected no_trace_events", 1),
            ("rejected not_json", 1),
            ("rejected web_page", 1),
        ]
    );
    let ids: BTreeSet<String> = folder.rows("runs", &["run_id"]).into_iter().collect();
    assert_eq!(ids.len(), 206);
    // A few traces have steps and collectives, all have operations, kernels and findings.
    let rows = folder.counts();
    assert!(rows.values().all(|n| *n > 0), "{rows:?}");
    let of_all = ["ops", "kernels", "findings"].map(|table| rows[table]);
    assert!(of_all.iter().all(|n| *n >= 200), "{rows:?}");
    let before = folder.store();
    let said = folder.run(READ).done();
    assert!(
        said.starts_with("0 files; 206 in the store already."),
        "{said}"
    );
    assert_eq!(folder.store(), before);
    slower_gemms_alarm_and_are_confirmed(&folder, "S");
    folder.run("fleet compact S").done();
    assert_eq!(folder.counts(), rows);
}
