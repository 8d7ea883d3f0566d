//! Output: the same trace gives the same bytes, and every form has the same cells.

use std::io::Cursor;

use calamine::{Data, Reader, Xlsx};
use dormer_core::output::export::{Artifact, Input, Source};

use crate::support::opened::{profile, report};
use crate::support::{csv, shared};

/// Excel's limit for a cell, in UTF-16 units.
const MAX_TEXT: usize = 32_767;

/// All files about a trace, from its bytes.
fn files(trace: &[u8]) -> Vec<Artifact> {
    let profile = profile(trace);
    Input::new(&profile, &report(&profile)).artifacts()
}

#[test]
fn the_same_trace_gives_the_same_bytes_in_every_file() {
    for (name, trace) in shared::with_sample() {
        let (first, second) = (files(&trace), files(&trace));
        let paths = |files: &[Artifact]| -> Vec<String> {
            files.iter().map(|file| file.path.clone()).collect()
        };
        assert_eq!(paths(&first), paths(&second), "{name}");
        for (a, b) in first.iter().zip(&second) {
            assert!(a.bytes == b.bytes, "{name}: {} differs", a.path);
        }
    }
}

#[test]
fn the_workbook_has_the_cells_of_the_csv_files() {
    for (name, trace) in shared::with_sample() {
        let files = files(&trace);
        let find = |path: &str| files.iter().find(|file| file.path == path);
        let Some(book) = find("perf_report.xlsx") else {
            panic!("{name}: no workbook");
        };
        let mut book: Xlsx<_> = Xlsx::new(Cursor::new(&book.bytes)).unwrap();
        let sheets = book.sheet_names();
        let n_csv = files
            .iter()
            .filter(|file| file.path.starts_with("perf_report_csvs/"));
        assert_eq!(sheets.len(), n_csv.count(), "{name}");
        for sheet in sheets {
            let path = format!("perf_report_csvs/{sheet}.csv");
            let file = find(&path).unwrap_or_else(|| panic!("{name}: no {path}"));
            let rows = csv::rows(std::str::from_utf8(&file.bytes).unwrap());
            let range = book.worksheet_range(&sheet).unwrap();
            assert_eq!(range.height(), rows.len(), "{name}: rows of {sheet}");
            for (row, (ours, theirs)) in rows.iter().zip(range.rows()).enumerate() {
                assert_eq!(ours.len(), theirs.len(), "{name}: {sheet}, row {row}");
                for (text, cell) in ours.iter().zip(theirs) {
                    assert!(
                        says_the_same(text, cell),
                        "{name}: {sheet}, row {row}: {text:.200} and {cell:?}"
                    );
                }
            }
        }
    }
}

/// Whether a cell of a CSV file and one of a workbook have the same content.
fn says_the_same(text: &str, cell: &Data) -> bool {
    match cell {
        Data::Empty => text.is_empty(),
        // In CSV, an apostrophe keeps text from being evaluated as a formula.
        Data::String(whole) => {
            let is_formula = whole.starts_with(['=', '+', '-', '@', '\t', '\r']);
            let text = match is_formula {
                true => text.strip_prefix('\'').unwrap_or_default(),
                false => text,
            };
            match whole.encode_utf16().count() {
                MAX_TEXT.. => text.starts_with(whole.as_str()),
                _ => text == whole,
            }
        }
        Data::Float(number) => text.parse() == Ok(*number),
        Data::Bool(flag) => text == if *flag { "True" } else { "False" },
        _ => false,
    }
}
