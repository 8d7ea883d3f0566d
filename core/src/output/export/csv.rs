//! A sheet as a CSV file, as `pandas.read_csv` and Python's `csv` read it.
//!
//! RFC 4180 with `\n` line ends. Numbers have the fewest digits that read back as the same number,
//! flags are `True` and `False`, an unknown is empty.

use super::{Input, Listed};
use crate::report::SHEETS;
use crate::report::sheet::{Cell, Sheet};

/// One file for each sheet of a report.
pub(super) fn list(input: &Input) -> Vec<Listed> {
    let listed = |sheet: &Sheet| Listed {
        path: path(sheet),
        title: title(sheet.name),
    };
    let sheets = input.report.sheets(input.profile).into_iter();
    sheets.map(listed).collect()
}

pub(super) fn write(input: &Input, wanted: &str) -> Option<Vec<u8>> {
    let mut sheets = input.report.sheets(input.profile).into_iter();
    sheets.find(|sheet| path(sheet) == wanted).map(csv)
}

fn title(sheet: &str) -> &'static str {
    let kind = SHEETS.iter().find(|kind| kind.name == sheet);
    kind.map_or("", |kind| kind.title)
}

fn path(sheet: &Sheet) -> String {
    format!("perf_report_csvs/{}.csv", sheet.name)
}

/// The bytes of the CSV file of a sheet.
pub fn csv<S: AsRef<str>>(sheet: &Sheet<S>) -> Vec<u8> {
    let mut out = String::new();
    for (row, column) in sheet.columns.iter().enumerate() {
        if row > 0 {
            out.push(',');
        }
        push_text(&mut out, column.label.as_ref());
    }
    out.push('\n');
    for row in &sheet.rows {
        for (position, cell) in row.iter().enumerate() {
            if position > 0 {
                out.push(',');
            }
            push_cell(&mut out, cell);
        }
        out.push('\n');
    }
    out.into_bytes()
}

fn push_cell(out: &mut String, cell: &Cell) {
    match cell {
        Cell::Empty => {}
        Cell::Text(text) => push_text(out, text),
        Cell::Int(number) => out.push_str(&number.to_string()),
        // Debug is the shortest text that reads back, and keeps ".0" so that a column of whole
        // numbers stays a column of floats.
        Cell::Float(number) if number.is_finite() => out.push_str(&format!("{number:?}")),
        Cell::Float(_) => {}
        Cell::Flag(true) => out.push_str("True"),
        Cell::Flag(false) => out.push_str("False"),
    }
}

/// Text from a trace is hostile: spreadsheets run cells that begin like a formula. An apostrophe
/// in front makes them text.
fn push_text(out: &mut String, text: &str) {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        push_quoted(out, &format!("'{text}"));
    } else {
        push_quoted(out, text);
    }
}

fn push_quoted(out: &mut String, text: &str) {
    if !text.contains([',', '"', '\n', '\r']) {
        out.push_str(text);
        return;
    }
    out.push('"');
    for (part, piece) in text.split('"').enumerate() {
        if part > 0 {
            out.push_str("\"\"");
        }
        out.push_str(piece);
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sheet::{Column, Unit};

    fn column(label: &'static str) -> Column {
        Column {
            label,
            unit: Unit::Number,
            doc: "",
        }
    }

    fn text_of(cell: Cell) -> String {
        let mut out = String::new();
        push_cell(&mut out, &cell);
        out
    }

    #[test]
    fn a_sheet_is_a_header_and_rows() {
        let sheet = Sheet {
            name: "gpu_timeline",
            columns: vec![column("type"), column("time ms"), column("Dims, or none")],
            rows: vec![
                vec![
                    Cell::Text("busy_time".into()),
                    Cell::Float(118.25),
                    Cell::Empty,
                ],
                vec![
                    Cell::Text("idle_time".into()),
                    Cell::Int(3),
                    Cell::Text("((16, 559), ())".into()),
                ],
            ],
        };
        assert_eq!(
            String::from_utf8(csv(&sheet)).unwrap(),
            "type,time ms,\"Dims, or none\"\n\
             busy_time,118.25,\n\
             idle_time,3,\"((16, 559), ())\"\n"
        );
    }

    #[test]
    fn numbers_read_back_as_themselves() {
        let cases = [
            (Cell::Float(0.1), "0.1"),
            (Cell::Float(5.0), "5.0"),
            (Cell::Float(1.0 / 3.0), "0.3333333333333333"),
            (Cell::Float(1e300), "1e300"),
            (Cell::Float(-2.5), "-2.5"),
            (Cell::Float(f64::NAN), ""),
            (Cell::Float(f64::INFINITY), ""),
            (Cell::Int(i64::MIN), "-9223372036854775808"),
            (Cell::Flag(true), "True"),
            (Cell::Flag(false), "False"),
            (Cell::Empty, ""),
        ];
        for (cell, expected) in cases {
            assert_eq!(text_of(cell.clone()), expected, "{cell:?}");
        }
    }

    #[test]
    fn text_is_quoted_where_it_must_be() {
        let cases = [
            ("aten::mm", "aten::mm"),
            ("a,b", "\"a,b\""),
            ("say \"hi\"", "\"say \"\"hi\"\"\""),
            ("\"", "\"\"\"\""),
            ("two\nlines", "\"two\nlines\""),
            ("ends\r", "\"ends\r\""),
            ("", ""),
            ("größe µs", "größe µs"),
        ];
        for (text, expected) in cases {
            assert_eq!(text_of(Cell::Text(text.into())), expected);
        }
    }

    #[test]
    fn formulas_are_disarmed() {
        let cases = [
            ("=1+1", "'=1+1"),
            ("+A1", "'+A1"),
            ("-2+3", "'-2+3"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\tx", "'\tx"),
            ("\rx", "\"'\rx\""),
            (
                "=HYPERLINK(\"http://x\",\"y\")",
                "\"'=HYPERLINK(\"\"http://x\"\",\"\"y\"\")\"",
            ),
            ("a=1", "a=1"),
        ];
        for (text, expected) in cases {
            assert_eq!(text_of(Cell::Text(text.into())), expected);
        }
    }
}
