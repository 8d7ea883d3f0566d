//! `dormer fleet`: reading traces into a store, repeatedly.

mod compact;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use arrow_array::Array;
use arrow_array::cast::AsArray;
use dormer_core::fleet::Summary;
use dormer_core::tables::TABLES;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::regressions::shared;
use super::tables::zipped;
use super::{Folder, STEPS, TRACE, gzip};

/// Three traces on two days, a web page, and a truncated trace.
fn traces() -> Folder {
    let on_day = |trace: &str, day: &str| {
        let base = format!("{{\"baseTimeNanoseconds\": {day}, \"traceEvents\"");
        trace.replacen("{\"traceEvents\"", &base, 1)
    };
    let folder = Folder::with("list.txt", "t/b07__steps.json.gz\n");
    fs::create_dir(folder.0.path().join("t")).unwrap();
    folder.add("t/b01__one.json", TRACE);
    folder.add("t/b01__two.json", on_day(TRACE, "1751410836000000000"));
    folder.add(
        "t/b07__steps.json.gz",
        gzip(&on_day(STEPS, "1751410836000000000")),
    );
    folder.add("t/page.json", "<!DOCTYPE html><html></html>");
    folder.add("t/cut.json", &TRACE[..TRACE.len() - 4]);
    folder
}

/// All files below a folder, with their content.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => drop(found.insert(path.clone(), fs::read(&path).unwrap())),
        }
    }
    found
}

impl Folder {
    fn store(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        files(&self.0.path().join("S"))
    }

    /// The model and the run of each row of a file, if it has those columns; and the options of the analysis.
    fn file(&self, path: &Path) -> (Vec<[String; 2]>, String) {
        let file = File::open(self.0.path().join("S").join(path)).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
        let says = reader.metadata().file_metadata().key_value_metadata();
        let says = says
            .unwrap()
            .iter()
            .find(|said| said.key == "dormer.options");
        let options = says.unwrap().value.clone().unwrap();
        let mut rows = Vec::new();
        for batch in reader.build().unwrap() {
            let batch = batch.unwrap();
            rows.extend((0..batch.num_rows()).map(|at| {
                ["model_name", "run_id"].map(|name| {
                    let column = batch.column_by_name(name).map(|all| all.as_string::<i32>());
                    let known = column.filter(|column| !column.is_null(at));
                    known.map_or_else(String::new, |column| column.value(at).to_owned())
                })
            }));
        }
        (rows, options)
    }

    /// Some columns of a table as text, sorted; unknown values are empty.
    fn rows(&self, table: &str, columns: &[&str]) -> Vec<String> {
        let parts = files(&self.0.path().join("S").join(table)).into_keys();
        let mut rows = Vec::new();
        for path in parts.filter(|path| path.extension().is_some_and(|end| end == "parquet")) {
            let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap());
            for batch in reader.unwrap().build().unwrap() {
                let batch = batch.unwrap();
                rows.extend((0..batch.num_rows()).map(|at| {
                    let cells = columns.iter().map(|name| {
                        let column = batch.column_by_name(name).unwrap().as_string::<i32>();
                        if column.is_null(at) {
                            ""
                        } else {
                            column.value(at)
                        }
                    });
                    let cells = cells.map(|cell| cell.rsplit('/').next().unwrap());
                    cells.collect::<Vec<&str>>().join(" ")
                }));
            }
        }
        rows.sort();
        rows
    }

    /// The number of rows of each table.
    fn counts(&self) -> BTreeMap<&'static str, i64> {
        let counts = TABLES.iter().map(|kind| {
            let parts = files(&self.0.path().join("S").join(kind.name)).into_keys();
            let rows = parts.map(|path| {
                let file = File::open(path).unwrap();
                let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
                reader.metadata().file_metadata().num_rows()
            });
            (kind.name, rows.sum())
        });
        counts.collect()
    }

    /// The name and the status of each file.
    fn statuses(&self) -> Vec<String> {
        self.rows("runs", &["uri", "status", "reason_kind"])
    }

    /// The summary of the store for the page.
    fn summary(&self) -> Summary {
        self.run("fleet summary S -o S.json.gz").done();
        Summary::read(&fs::read(self.0.path().join("S.json.gz")).unwrap()).unwrap()
    }

    /// Changes a file's modification time.
    fn touch(&self, name: &str) {
        let file = File::options()
            .write(true)
            .open(self.0.path().join(name))
            .unwrap();
        file.set_modified(SystemTime::now() + Duration::from_secs(60))
            .unwrap();
    }
}

const ALL: [&str; 5] = [
    "b01__one.json ok ",
    "b01__two.json ok ",
    "b07__steps.json.gz ok ",
    "cut.json partial cut",
    "page.json rejected web_page",
];

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
fn what_breaks_is_a_row_and_the_rest_goes_on() {
    let folder = traces();
    let t = folder.0.path().join("t");
    folder.add("t/endless.json", TRACE.replace("sgemm", "endless"));
    #[cfg(unix)]
    std::os::unix::fs::symlink("nowhere", t.join("unreadable.json")).unwrap();
    let run = |arguments: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dormer"));
        command
            .args(arguments.split(' '))
            .current_dir(folder.0.path());
        command.env("DORMER_TEST_HANG", "endless");
        let output = command.output().unwrap();
        (
            output.status.code().unwrap(),
            String::from_utf8(output.stdout).unwrap(),
        )
    };
    let (code, said) = run("fleet t -o S --timeout 5 --fail-on rejected");
    assert_eq!(code, 4, "{said}");
    let mut expected: Vec<&str> = ALL.to_vec();
    expected.push("endless.json timeout timeout");
    #[cfg(unix)]
    expected.push("unreadable.json rejected io");
    expected.sort_unstable();
    assert_eq!(folder.statuses(), expected);
    // Not tried again unless requested.
    let said = folder.run("fleet t -o S").done();
    assert!(said.starts_with("0 files; "), "{said}");
    assert_eq!(run("fleet t -o S --fail-on rejected").0, 4);
    let said = folder.run("fleet t -o S --retry").done();
    assert!(
        said.starts_with("3 files: 1 ok, 2 rejected; 4 in the store already."),
        "{said}"
    );
}

/// An empty file has the same size, so its content might be that of the pipe.
#[cfg(unix)]
#[test]
fn a_pipe_that_nobody_writes_to_takes_too_long() {
    let folder = Folder::with("empty.json", "");
    let pipe = folder.0.path().join("pipe.json");
    let made = Command::new("mkfifo").arg(pipe).status().unwrap();
    assert!(made.success());
    folder.run("fleet empty.json -o S").done();
    folder.run("fleet . -o S --timeout 1").done();
    assert_eq!(
        folder.statuses(),
        ["empty.json rejected empty", "pipe.json timeout timeout"]
    );
}

/// A trace with many operators needs more memory than the program itself.
#[cfg(unix)]
#[test]
fn too_little_memory_is_a_row() {
    let folder = traces();
    let events: Vec<String> = (0..400_000)
        .map(|at| {
            format!(r#"{{"ph": "X", "cat": "cpu_op", "name": "op {at}", "pid": 1, "tid": 1, "ts": {at}, "dur": 1}}"#)
        })
        .collect();
    let large = format!("{{\"traceEvents\": [{}]}}", events.join(","));
    folder.add("t/large.json", large);
    folder
        .run("fleet t/large.json t/b01__one.json -o S --memory 100")
        .done();
    assert_eq!(
        folder.statuses(),
        ["b01__one.json ok ", "large.json killed killed"]
    );
}

/// Killed midway, then run again: nothing is missing and nothing is duplicated.
#[cfg(unix)]
#[test]
fn an_ended_run_is_taken_up_again() {
    let folder = traces();
    folder.add("t/endless.json", TRACE.replace("sgemm", "endless"));
    let mut process = Command::new(env!("CARGO_BIN_EXE_dormer"))
        .args(["fleet", "t", "-o", "S", "--timeout", "20"])
        .current_dir(folder.0.path())
        .env("DORMER_TEST_HANG", "endless")
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    process.kill().unwrap();
    process.wait().unwrap();
    // A partially written file.
    let half = folder.0.path().join("S/ops/date=unknown");
    fs::create_dir_all(&half).unwrap();
    fs::write(half.join(".x.parquet.tmp"), "half").unwrap();
    folder.run("fleet t -o S").done();
    let mut expected: Vec<&str> = ALL.to_vec();
    expected.push("endless.json ok ");
    expected.sort_unstable();
    assert_eq!(folder.statuses(), expected);
    folder.run("fleet compact S").done();
    assert_eq!(folder.statuses(), expected);
    let names = folder.store().into_keys();
    let names = names.map(|path| path.file_name().unwrap().to_string_lossy().into_owned());
    assert!(names.into_iter().all(|name| name.ends_with(".parquet")));
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
        "fleet nowhere.json -o S",
        "fleet t -o list.txt",
        "fleet t -o S --tag-from b[0-9]+",
        "fleet compact nowhere",
    ] {
        assert_eq!(folder.run(arguments).code, 2, "{arguments}");
    }
}

/// Real traces: `tests/fleet/corpus.py` generates 206 of them.
#[test]
fn a_fleet_of_206_files_is_read_once() {
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
    folder.run("fleet corpus -o S").done();
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
    let said = folder.run("fleet corpus -o S").done();
    assert!(
        said.starts_with("0 files; 206 in the store already."),
        "{said}"
    );
    assert_eq!(folder.store(), before);
    folder.run("fleet compact S").done();
    assert_eq!(folder.counts(), rows);
}
