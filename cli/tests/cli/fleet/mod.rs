//! `dormer fleet`: reading traces into a store, repeatedly.

mod compact;
mod failures;
mod reading;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use arrow_array::Array;
use arrow_array::cast::AsArray;
use dormer_core::fleet::Summary;
use dormer_core::tables::TABLES;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

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

/// The files of [`traces`], as [`Folder::statuses`] reports them.
const ALL: [&str; 5] = [
    "b01__one.json ok ",
    "b01__two.json ok ",
    "b07__steps.json.gz ok ",
    "cut.json partial cut",
    "page.json rejected web_page",
];
