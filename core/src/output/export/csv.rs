//! A sheet as a CSV file, readable by `pandas.read_csv` and Python's `csv`.
//!
//! RFC 4180 with `\n` line ends. Numbers have the fewest digits that parse back to the same number, flags are `True`
//! and `False`, unknown values are empty.

use crate::base::format;
use crate::report::sheet::{Cell, Column, Sheet};

/// The path of a sheet's CSV file.
pub(super) fn path<S: AsRef<str>>(folder: &str, sheet: &Sheet<S>) -> String {
    format!("{folder}/{}.csv", sheet.name.as_ref())
}

/// The bytes of a sheet's CSV file.
pub fn csv<S: AsRef<str>>(sheet: &Sheet<S>) -> Vec<u8> {
    let mut out = head(&sheet.columns);
    for cells in &sheet.rows {
        out.push_str(&row(cells));
    }
    out.into_bytes()
}

/// The header line.
pub(super) fn head<S: AsRef<str>>(columns: &[Column<S>]) -> String {
    line(columns.iter().map(|column| text(column.label.as_ref())))
}

/// A data line.
pub(super) fn row(cells: &[Cell]) -> String {
    line(cells.iter().map(cell))
}

fn line(cells: impl Iterator<Item = String>) -> String {
    let cells = format::joined(cells, ",");
    cells + "\n"
}

fn cell(cell: &Cell) -> String {
    match cell {
        Cell::Text(written) => text(written),
        Cell::Int(number) => number.to_string(),
        // Debug prints the shortest text that parses back, and keeps ".0", so a column of whole numbers stays a float
        // column.
        Cell::Float(number) if number.is_finite() => format!("{number:?}"),
        Cell::Flag(flag) => if *flag { "True" } else { "False" }.to_owned(),
        Cell::Empty | Cell::Float(_) => String::new(),
    }
}

/// Text from a trace is untrusted: spreadsheets run cells that start like a formula. A leading apostrophe makes them
/// text.
fn text(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let mark = if is_formula { "'" } else { "" };
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{mark}{}\"", text.replace('"', "\"\"")),
        false => format!("{mark}{text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sheet::Unit;

    #[test]
    fn a_sheet_is_a_header_and_rows() {
        let column = |label| Column {
            label,
            unit: Unit::Number,
            doc: "",
        };
        let text = |text: &str| Cell::Text(text.to_owned());
        let sheet = Sheet {
            name: "gpu_timeline",
            columns: ["type", "time ms", "Dims, or none"].map(column).to_vec(),
            rows: vec![
                vec![text("busy_time"), Cell::Float(118.25), Cell::Empty],
                vec![text("idle_time"), Cell::Int(3), text("((16, 559), ())")],
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
        for (value, expected) in cases {
            assert_eq!(cell(&value), expected, "{value:?}");
        }
    }

    #[test]
    fn text_is_quoted_where_it_must_be_and_formulas_are_disarmed() {
        let hyperlink = "\"'=HYPERLINK(\"\"http://x\"\",\"\"y\"\")\"";
        let cases = [
            ("aten::mm", "aten::mm"),
            ("a,b", "\"a,b\""),
            ("say \"hi\"", "\"say \"\"hi\"\"\""),
            ("\"", "\"\"\"\""),
            ("two\nlines", "\"two\nlines\""),
            ("ends\r", "\"ends\r\""),
            ("", ""),
            ("größe µs", "größe µs"),
            ("=1+1", "'=1+1"),
            ("+A1", "'+A1"),
            ("-2+3", "'-2+3"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\tx", "'\tx"),
            ("\rx", "\"'\rx\""),
            ("=HYPERLINK(\"http://x\",\"y\")", hyperlink),
            ("a=1", "a=1"),
        ];
        for (written, expected) in cases {
            assert_eq!(text(written), expected);
        }
    }
}
