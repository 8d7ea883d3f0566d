//! Text for the terminal: tables with columns padded to their widest cell, and names without control characters.

use std::io::{self, Write};

use crate::stdout::Out;

/// Writes rows below their headings, with two spaces between columns. Columns whose heading starts with `>` contain
/// numbers and are right-aligned.
pub(crate) fn write<const N: usize>(
    out: &mut Out,
    heads: [&str; N],
    rows: &[[String; N]],
) -> io::Result<()> {
    let labels = heads.map(|head| head.strip_prefix('>').unwrap_or(head));
    let printed = |row: &[String; N]| row.each_ref().map(|cell| out.text(cell).into_owned());
    let rows: Vec<[String; N]> = rows.iter().map(printed).collect();
    let widths: [usize; N] = std::array::from_fn(|column| {
        let cells = rows.iter().map(|row| width(&row[column]));
        cells.max().unwrap_or(0).max(width(labels[column]))
    });
    let mut write_row = |cells: [&str; N]| {
        let mut line = String::new();
        for ((cell, head), wanted) in cells.into_iter().zip(heads).zip(widths) {
            let padding = " ".repeat(wanted - width(cell));
            match head.starts_with('>') {
                true => line.extend([&padding, cell, "  "]),
                false => line.extend([cell, &padding, "  "]),
            }
        }
        writeln!(out, "{}", line.trim_end())
    };
    write_row(labels)?;
    for row in &rows {
        write_row(row.each_ref().map(String::as_str))?;
    }
    Ok(())
}

/// The same after an empty line; nothing if there are no rows.
pub(crate) fn section<const N: usize>(
    out: &mut Out,
    heads: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> io::Result<()> {
    let rows: Vec<[String; N]> = rows.into_iter().collect();
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    write(out, heads, &rows)
}

/// Text of a trace for a terminal: control characters, which could move its cursor, become U+FFFD.
pub(crate) fn printable(text: &str) -> String {
    text.replace(char::is_control, "\u{fffd}")
}

/// The display width in columns; close enough for names and numbers.
fn width(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_right_and_text_left() {
        let rows =
            [["aten::mm", "9.87 µs"], ["x", "1\u{202F}012 ms"]].map(|row| row.map(str::to_owned));
        let mut bytes = Vec::new();
        let mut out = Out::new(&mut bytes, false);
        write(&mut out, ["name", ">time"], &rows).expect("a Vec takes any bytes");
        assert_eq!(
            String::from_utf8_lossy(&bytes),
            "\
name         time
aten::mm  9.87 µs
x         1012 ms
"
        );
    }
}
