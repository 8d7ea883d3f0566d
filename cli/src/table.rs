//! Tables as text: columns padded to their widest cell.

use std::io::{self, Write};

/// Where the cells of a column stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    /// Text.
    Left,
    /// Numbers with their unit.
    Right,
}

/// Writes rows below a header, two spaces between the columns.
pub(crate) fn write<const N: usize>(
    out: &mut dyn Write,
    header: [(&str, Align); N],
    rows: &[[String; N]],
) -> io::Result<()> {
    let widths: [usize; N] = std::array::from_fn(|column| {
        let cells = rows.iter().map(|row| width(&row[column]));
        cells.max().unwrap_or(0).max(width(header[column].0))
    });
    let mut write_row = |cells: [&str; N]| {
        let mut line = String::new();
        for ((cell, (_, align)), wanted) in cells.into_iter().zip(header).zip(widths) {
            let padding = " ".repeat(wanted - width(cell));
            match align {
                Align::Left => line.extend([cell, &padding, "  "]),
                Align::Right => line.extend([&padding, cell, "  "]),
            }
        }
        writeln!(out, "{}", line.trim_end())
    };
    write_row(header.map(|(label, _)| label))?;
    for row in rows {
        write_row(row.each_ref().map(String::as_str))?;
    }
    Ok(())
}

/// Text of a trace for a terminal: control characters, which may move its cursor, become U+FFFD.
pub(crate) fn printable(text: &str) -> String {
    text.replace(char::is_control, "\u{fffd}")
}

/// Columns on a terminal; close enough for names and numbers.
fn width(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_right_and_text_left() {
        let header = [("name", Align::Left), ("time", Align::Right)];
        let rows = [["aten::mm", "9.87 µs"], ["x", "12 ms"]].map(|row| row.map(str::to_owned));
        let mut out = Vec::new();
        write(&mut out, header, &rows).expect("a Vec takes any bytes");
        assert_eq!(
            String::from_utf8_lossy(&out),
            "\
name         time
aten::mm  9.87 µs
x           12 ms
"
        );
    }
}
