//! Text for the terminal: tables with columns padded to their widest cell, and names without control characters.

use std::io::{self, Write};

use dormer_core::base::format;

use crate::stdout::Out;

/// Writes rows below their headings, with two spaces between columns. Columns whose heading starts with `>` contain
/// numbers and are right-aligned. A column of names, whose heading starts with `~`, is shortened if the rows are somewhat
/// wider than the terminal.
pub(crate) fn write<const N: usize>(
    out: &mut Out,
    heads: [&str; N],
    rows: &[[String; N]],
) -> io::Result<()> {
    let labels = heads.map(|head| head.trim_start_matches(['>', '~']));
    let printed = |row: &[String; N]| row.each_ref().map(|cell| out.text(cell).into_owned());
    let mut rows: Vec<[String; N]> = rows.iter().map(printed).collect();
    let mut widths: [usize; N] = std::array::from_fn(|column| {
        let cells = rows.iter().map(|row| width(&row[column]));
        cells.max().unwrap_or(0).max(width(labels[column]))
    });
    if let Some((column, most)) = shortened(out, heads, widths) {
        for row in &mut rows {
            row[column] = format::middle_ellipsis(&row[column], most);
        }
        widths[column] = most;
    }
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

/// The column that is shortened so that the rows fit the terminal, and its width then. It keeps half of its width:
/// otherwise the terminal may break the rows.
fn shortened<const N: usize>(
    out: &Out,
    heads: [&str; N],
    widths: [usize; N],
) -> Option<(usize, usize)> {
    let all = widths.iter().sum::<usize>() + 2 * (N - 1);
    let excess = all.checked_sub(out.width()?).filter(|excess| *excess > 0)?;
    let column = heads.iter().position(|head| head.starts_with('~'))?;
    let most = widths[column].checked_sub(excess)?;
    let is_enough = most * 2 >= widths[column] && most >= width(heads[column]);
    is_enough.then_some((column, most))
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
    fn a_name_is_shortened_where_the_terminal_is_a_little_too_narrow() {
        let rows = [["vectorized_elementwise_kernel", "1.00 ms"]].map(|row| row.map(str::to_owned));
        let at = |width: usize| {
            let mut bytes = Vec::new();
            let mut out = Out::new(&mut bytes, true).with_width(Some(width));
            write(&mut out, ["~name", ">time"], &rows).expect("a Vec takes any bytes");
            let text = String::from_utf8_lossy(&bytes).into_owned();
            text.lines().nth(1).unwrap_or_default().to_owned()
        };
        assert_eq!(at(38), "vectorized_elementwise_kernel  1.00 ms");
        let short = at(30);
        assert!(
            short.contains('…') && short.chars().count() == 30,
            "{short}"
        );
        assert_eq!(at(10), at(38));
    }

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
