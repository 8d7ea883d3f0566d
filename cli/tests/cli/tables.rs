//! `dormer tables`, and the same tables as files of a report.

use std::collections::BTreeSet;
use std::io::{Cursor, Read, Write};

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, TimestampNanosecondType};
use arrow_ipc::reader::StreamReader;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::{Folder, STEPS, TRACE, gzip};

const TABLES: [&str; 7] = [
    "runs",
    "steps",
    "ops",
    "kernels",
    "collectives",
    "findings",
    "warnings",
];

impl Folder {
    /// The tables that a command writes, by name, and its exit code.
    fn tables(&self, arguments: &str, input: &[u8]) -> (i32, Vec<(String, RecordBatch)>) {
        let output = self.output(&format!("tables {arguments}"), input, &[]);
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        let mut archive = ZipArchive::new(Cursor::new(output.stdout)).unwrap();
        let tables = (0..archive.len()).map(|at| {
            let mut file = archive.by_index(at).unwrap();
            assert_eq!(file.compression(), zip::CompressionMethod::Stored);
            let name = file
                .name()
                .unwrap()
                .strip_suffix(".arrow")
                .unwrap()
                .to_owned();
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).unwrap();
            let mut batches = StreamReader::try_new(&bytes[..], None).unwrap();
            (name, batches.next().unwrap().unwrap())
        });
        (output.status.code().unwrap(), tables.collect())
    }
}

fn text<'a>(batch: &'a RecordBatch, column: &str) -> Option<&'a str> {
    let column = batch.column_by_name(column).unwrap().as_string::<i32>();
    column.iter().next().flatten()
}

fn number(batch: &RecordBatch, column: &str) -> Option<i64> {
    let column = batch.column_by_name(column).unwrap();
    column.as_primitive::<Int64Type>().iter().next().flatten()
}

#[test]
fn a_trace_is_rows_of_seven_tables() {
    let folder = Folder::with("trace.json.gz", gzip(TRACE));
    let (code, tables) = folder.tables("trace.json.gz --tag build=b07 --tag team=vision", b"");
    assert_eq!(code, 0);
    let names: Vec<&str> = tables.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, TABLES);
    let [runs, _, ops, kernels, ..] = tables.as_slice() else {
        panic!("{} tables", tables.len())
    };
    let (runs, ops, kernels) = (&runs.1, &ops.1, &kernels.1);
    assert_eq!(text(runs, "status"), Some("ok"));
    assert_eq!(number(runs, "total_ns"), Some(60_000));
    assert!(text(runs, "uri").unwrap().ends_with("/trace.json.gz"));
    let hash = text(runs, "file_sha256").unwrap();
    assert_eq!(text(runs, "run_id"), hash.get(..16));
    assert_eq!(text(ops, "name"), Some("aten::addmm"));
    assert_eq!(number(ops, "kernel_ns"), Some(60_000));
    assert_eq!(text(kernels, "kernel"), Some("sgemm_128x64"));
    let schema = runs.schema();
    let total = schema.field_with_name("total_ns").unwrap().metadata();
    assert_eq!(total.get("unit").map(|unit| &**unit), Some("ns"));
    assert_eq!(total.get("label").map(|label| &**label), Some("total_time"));
    assert!(total.get("doc").unwrap().ends_with('.'));
    let of_file = schema.metadata();
    assert_eq!(
        of_file.get("dormer.schema_version").map(|one| &**one),
        Some("1")
    );
}

#[test]
fn what_is_no_trace_is_a_row_with_its_reason() {
    let folder = Folder::with("page.json", "<!DOCTYPE html><html></html>");
    for (arguments, input, kind) in [
        ("page.json", "", "web_page"),
        ("-", "", "empty"),
        ("- --uri s3://bucket/a.json", "hello", "not_json"),
        ("missing.json", "", "io"),
    ] {
        let (code, tables) = folder.tables(arguments, input.as_bytes());
        assert_eq!(code, 0, "{arguments}");
        let runs = &tables[0].1;
        assert_eq!(text(runs, "status"), Some("rejected"), "{arguments}");
        assert_eq!(text(runs, "reason_kind"), Some(kind), "{arguments}");
        let rows: usize = tables[1..].iter().map(|(_, rows)| rows.num_rows()).sum();
        assert_eq!(rows, 0, "{arguments}");
    }
}

#[test]
fn tables_can_be_chosen_and_names_taken_out() {
    let folder = Folder::with(
        "trace.json",
        TRACE.replace(
            "{\"traceEvents\"",
            "{\"host_name\": \"node7\", \"trace_id\": \"t7\", \"traceEvents\"",
        ),
    );
    let (_, tables) = folder.tables("trace.json --tables runs,kernels", b"");
    let names: Vec<&str> = tables.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["runs", "kernels"]);
    assert_eq!(text(&tables[0].1, "host"), Some("node7"));
    assert_eq!(text(&tables[0].1, "trace_id"), Some("t7"));
    let (_, redacted) = folder.tables("trace.json --redact", b"");
    assert_eq!(text(&redacted[0].1, "host"), None);
    assert_eq!(text(&redacted[0].1, "trace_id"), None);
    let uri = text(&redacted[0].1, "uri").unwrap();
    assert!(dormer_core::tables::is_hidden_uri(uri), "{uri}");
    assert_ne!(
        text(&redacted[0].1, "options_hash"),
        text(&tables[0].1, "options_hash")
    );
    assert_eq!(folder.run("tables trace.json --tag build").code, 2);
    assert_eq!(folder.run("tables trace.json --tables nothing").code, 2);
}

#[test]
fn rows_that_are_made_again_keep_their_time() {
    let folder = Folder::with("trace.json", TRACE);
    let (_, tables) = folder.tables("trace.json --ingested 1751410836000000000", b"");
    for (name, rows) in tables.iter().filter(|(_, rows)| rows.num_rows() > 0) {
        let times = rows.column_by_name("ingested").unwrap();
        let times = times.as_primitive::<TimestampNanosecondType>();
        assert_eq!(times.value(0), 1_751_410_836_000_000_000, "{name}");
    }
}

/// An uncompressed archive of files.
pub(crate) fn zipped(files: [(&str, &str); 2]) -> Vec<u8> {
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in files {
        zip.start_file(name, options).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// The row of a trace in the tables that a report writes.
fn of_report(folder: &Folder, arguments: &str, input: &str) -> RecordBatch {
    let arguments = format!("report {arguments} -o out --format parquet");
    let said = folder.run_with(&arguments, input.as_bytes());
    assert_eq!(said.code, 0, "{said:?}");
    let file = folder.0.path().join("out/tables/runs.parquet");
    let file = std::fs::File::open(file).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    reader.build().unwrap().next().unwrap().unwrap()
}

#[test]
fn the_tables_of_a_report_hash_what_was_read() {
    let folder = Folder::with("trace.json", TRACE);
    folder.add("two.zip", zipped([("a.json", STEPS), ("b.json", TRACE)]));
    let (_, tables) = folder.tables("trace.json", b"");
    let expected = &tables[0].1;
    for (arguments, input) in [("trace.json", ""), ("-", TRACE), ("two.zip:b.json", "")] {
        let run = of_report(&folder, arguments, input);
        for column in ["run_id", "file_sha256"] {
            assert_eq!(text(&run, column), text(expected, column), "{arguments}");
        }
        assert_eq!(number(&run, "file_bytes"), Some(TRACE.len() as i64));
    }
}

#[test]
fn a_part_of_a_trace_has_other_options_than_the_whole() {
    let folder = Folder::with("trace.json", STEPS);
    let (_, tables) = folder.tables("trace.json", b"");
    let options = |part: &str| {
        let run = of_report(&folder, &format!("trace.json {part}"), "");
        text(&run, "options_hash").unwrap().to_owned()
    };
    assert_eq!(text(&tables[0].1, "options_hash"), Some(&*options("")));
    let parts = ["", "--step 4", "--step 5", "--window 40,70.5"];
    let different: BTreeSet<String> = parts.into_iter().map(options).collect();
    assert_eq!(different.len(), parts.len());
}

#[test]
fn a_report_has_the_tables_as_parquet() {
    let folder = Folder::with("trace.json", TRACE);
    folder
        .run("report trace.json -o out --format parquet")
        .done();
    for name in TABLES {
        let file = folder.0.path().join(format!("out/tables/{name}.parquet"));
        let file = std::fs::File::open(file).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
        assert_eq!(reader.schema().field(1).name(), "date", "{name}");
    }
    assert!(!folder.has("out/findings.json"));
    folder
        .run("report trace.json -o out --format parquet,findings")
        .done();
    assert!(folder.has("out/findings.json"));
    // Without an output folder, there is nothing to print.
    assert_eq!(folder.run("report trace.json --format parquet").code, 2);
}
