//! All sheets as one workbook, for Excel, LibreOffice and `pandas.read_excel`.
//!
//! Text from a trace is written as text, never as a formula. The same report gives the same bytes: the date of the
//! workbook is fixed.

use rust_xlsxwriter::{
    DocProperties, ExcelDateTime, Format, FormatAlign, Workbook, Worksheet, XlsxError,
};

use crate::report::sheet::{Cell, Column, Sheet, Unit};

/// Maximum text length of an Excel cell, in UTF-16 units.
const MAX_TEXT: usize = 32_767;
/// Maximum rows of an Excel sheet, header included.
const MAX_ROWS: usize = 1_048_576;
/// Maximum columns of an Excel sheet.
pub(super) const MOST_COLUMNS: usize = 16_384;
/// Maximum length of an Excel sheet name.
const MAX_NAME: usize = 31;
/// Integers beyond this are not exact in Excel and are written as text.
const MAX_EXACT: i64 = 1 << 53;
/// Number of rows that determine the width of a column.
const N_MEASURED: usize = 200;
/// The narrowest and the widest column, in characters.
const WIDTHS: (usize, usize) = (8, 60);

/// The bytes of a workbook with these sheets.
pub fn workbook<'a, S: AsRef<str> + 'a>(
    sheets: impl IntoIterator<Item = &'a Sheet<S>>,
) -> Result<Vec<u8>, XlsxError> {
    let mut workbook = Workbook::new();
    let any_day = ExcelDateTime::from_ymd(2000, 1, 1)?;
    workbook.set_properties(&DocProperties::new().set_creation_datetime(&any_day));
    let mut names: Vec<String> = Vec::new();
    for sheet in sheets {
        let name = free_name(sheet.name.as_ref(), &names);
        let worksheet = workbook.add_worksheet();
        worksheet.set_name(&name)?;
        write_sheet(worksheet, sheet)?;
        names.push(name.to_lowercase());
    }
    workbook.save_to_buffer()
}

/// A name shortened to what Excel accepts. If that is one of the `taken` names (in lower case, as Excel compares them),
/// a number is put at its end: `…~2`.
fn free_name(name: &str, taken: &[String]) -> String {
    let cut = |length: usize| -> String { name.chars().take(length).collect() };
    let mut free = cut(MAX_NAME);
    let mut number = 2_usize;
    while taken.contains(&free.to_lowercase()) {
        let end = format!("~{number}");
        free = cut(MAX_NAME.saturating_sub(end.len())) + &end;
        number += 1;
    }
    free
}

fn write_sheet<S: AsRef<str>>(
    worksheet: &mut Worksheet,
    sheet: &Sheet<S>,
) -> Result<(), XlsxError> {
    worksheet.set_freeze_panes(1, 0)?;
    let head = Format::new().set_bold().set_align(FormatAlign::Top);
    let rows = &sheet.rows[..sheet.rows.len().min(MAX_ROWS - 1)];
    for (position, (at, column)) in (0u16..).zip(&sheet.columns).enumerate() {
        worksheet.write_string_with_format(0, at, fitting(column.label.as_ref()), &head)?;
        worksheet.set_column_width(at, width(column, position, rows) as f64)?;
        let format = Format::new().set_num_format(number_format(column.unit));
        for (line, row) in (1u32..).zip(rows) {
            if let Some(cell) = row.get(position) {
                write_cell(worksheet, line, at, cell, &format)?;
            }
        }
    }
    let last_row = u32::try_from(rows.len()).unwrap_or(u32::MAX);
    let last_column = u16::try_from(sheet.columns.len().saturating_sub(1)).unwrap_or(u16::MAX);
    worksheet.autofilter(0, 0, last_row, last_column)?;
    Ok(())
}

fn write_cell(
    worksheet: &mut Worksheet,
    row: u32,
    column: u16,
    cell: &Cell,
    format: &Format,
) -> Result<(), XlsxError> {
    match cell {
        Cell::Empty => {}
        Cell::Text(text) => {
            worksheet.write_string(row, column, fitting(text))?;
        }
        Cell::Int(number) if number.abs_diff(0) > MAX_EXACT.unsigned_abs() => {
            worksheet.write_string(row, column, number.to_string())?;
        }
        Cell::Int(number) => {
            worksheet.write_number_with_format(row, column, *number as f64, format)?;
        }
        Cell::Float(number) if number.is_finite() => {
            worksheet.write_number_with_format(row, column, *number, format)?;
        }
        Cell::Float(_) => {}
        Cell::Flag(flag) => {
            worksheet.write_boolean(row, column, *flag)?;
        }
    }
    Ok(())
}

fn number_format(unit: Unit) -> &'static str {
    match unit {
        Unit::Count => "#,##0",
        Unit::Ms | Unit::Us => "#,##0.000",
        Unit::Percent => "0.00",
        Unit::Text | Unit::Number | Unit::Flag => "General",
    }
}

/// Text shortened to what a cell can hold.
fn fitting(text: &str) -> &str {
    let mut n_units = 0;
    let cut = text.char_indices().find(|(_, letter)| {
        n_units += letter.len_utf16();
        n_units > MAX_TEXT
    });
    match cut {
        Some((end, _)) => text.get(..end).unwrap_or_default(),
        None => text,
    }
}

/// A width that fits the column's head, its filter button and most of its cells.
fn width<S: AsRef<str>>(column: &Column<S>, position: usize, rows: &[Vec<Cell>]) -> usize {
    let cells = rows.iter().take(N_MEASURED);
    let widest = cells
        .filter_map(|row| row.get(position))
        .map(|cell| match cell {
            Cell::Text(text) => text.chars().count(),
            Cell::Empty | Cell::Flag(_) => 0,
            Cell::Int(number) => number.to_string().len(),
            Cell::Float(number) => format!("{number:.3}").len(),
        })
        .max()
        .unwrap_or(0);
    let head = column.label.as_ref().chars().count() + 3;
    (widest + 1).max(head).clamp(WIDTHS.0, WIDTHS.1)
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use calamine::{Data, Reader, Xlsx};

    use super::*;

    fn read(bytes: Vec<u8>) -> Vec<(String, Vec<Vec<Data>>)> {
        let mut book: Xlsx<_> = Xlsx::new(Cursor::new(bytes)).unwrap();
        let sheets = book.worksheets().into_iter();
        sheets
            .map(|(name, range)| (name, range.rows().map(<[Data]>::to_vec).collect()))
            .collect()
    }

    /// Converts a workbook cell to a sheet cell; all its numbers are floats.
    fn cell(data: &Data) -> Cell {
        match data {
            Data::Empty => Cell::Empty,
            Data::String(text) => Cell::Text(text.clone()),
            Data::Float(number) => Cell::Float(*number),
            Data::Bool(flag) => Cell::Flag(*flag),
            other => panic!("unexpected {other:?}"),
        }
    }

    fn sheet(rows: Vec<Vec<Cell>>) -> Sheet {
        let column = |label| Column {
            label,
            unit: Unit::Number,
            doc: "",
        };
        Sheet {
            name: "a_name_that_is_far_longer_than_excel_takes",
            columns: vec![column("name"), column("value")],
            rows,
        }
    }

    #[test]
    fn the_same_sheets_give_the_same_bytes() {
        let sheets = [sheet(vec![vec![Cell::Text("a".into()), Cell::Int(1)]])];
        assert_eq!(workbook(&sheets).unwrap(), workbook(&sheets).unwrap());
    }

    #[test]
    fn names_that_are_equal_when_cut_are_told_apart() {
        let long = "unified_perf_summary_only_baseline_a";
        let sheets = ["GEMM", long, "gemm", long].map(|name| Sheet {
            name: name.to_owned(),
            columns: Vec::<Column<String>>::new(),
            rows: Vec::new(),
        });
        let names: Vec<String> = read(workbook(&sheets).unwrap())
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(
            names,
            [
                "GEMM",
                "unified_perf_summary_only_basel",
                "gemm~2",
                "unified_perf_summary_only_bas~2"
            ]
        );
    }

    #[test]
    fn text_is_never_a_formula_and_numbers_stay_exact() {
        let long = "é".repeat(40_000);
        let rows = [
            ("=1+1", Cell::Float(0.1)),
            ("@SUM(A1)", Cell::Int(i64::MAX)),
            ("+A1", Cell::Float(f64::NAN)),
            (&long, Cell::Flag(true)),
        ];
        let rows = rows.map(|(text, value)| vec![Cell::Text(text.to_owned()), value]);
        let book = read(workbook(&[sheet(rows.to_vec())]).unwrap());
        let (name, rows) = &book[0];
        assert_eq!(name, "a_name_that_is_far_longer_than_");
        let rows: Vec<Vec<Cell>> = rows[1..]
            .iter()
            .map(|row| row.iter().map(cell).collect())
            .collect();
        let text = |text: &str| Cell::Text(text.to_owned());
        assert_eq!(rows[0], [text("=1+1"), Cell::Float(0.1)]);
        assert_eq!(rows[1], [text("@SUM(A1)"), text("9223372036854775807")]);
        assert_eq!(rows[2], [text("+A1"), Cell::Empty]);
        assert_eq!(rows[3], [text(&"é".repeat(MAX_TEXT)), Cell::Flag(true)]);
    }
}
