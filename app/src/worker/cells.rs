//! Cells as text, as numbers, and in sort order.

use std::cmp::Ordering;

use dormer_core::base::format;
use dormer_core::report::sheet::{Cell, Column, Unit};

use crate::protocol::FAMILY;

/// A cell as text, with its unit.
pub(super) fn text(column: &Column, cell: &Cell) -> String {
    match (cell, column.unit) {
        (Cell::Empty, _) => String::new(),
        (Cell::Text(text), _) => plain_list(text),
        (Cell::Flag(flag), _) => if *flag { "yes" } else { "no" }.to_owned(),
        (Cell::Int(number), Unit::Count) => match u64::try_from(*number) {
            Ok(count) => format::count(count),
            Err(_) => number.to_string(),
        },
        (Cell::Int(number), Unit::Number | Unit::Text | Unit::Flag) => number.to_string(),
        (cell, unit) => match (number(cell), unit) {
            (Some(number), Unit::Us) => format::time_us(number),
            (Some(number), Unit::Ms) => format::time_us(number * 1e3),
            (Some(number), Unit::Percent) => format::percent(number),
            (Some(number), _) => format::number(number),
            (None, _) => String::new(),
        },
    }
}

/// A cell as a spreadsheet reads it: numbers ungrouped, to six digits, in the unit of [`plain_unit`].
pub(super) fn plain(column: &Column, cell: &Cell) -> String {
    let number = match (number(cell), column.unit) {
        (Some(us), Unit::Us) => us / 1e3,
        (Some(number), Unit::Ms | Unit::Percent | Unit::Number | Unit::Count) => number,
        _ => return text(column, cell),
    };
    let rounded = format!("{number:.5e}").parse::<f64>();
    rounded.map_or(String::new(), |number| number.to_string())
}

/// The unit of numbers that are written without.
pub(super) fn plain_unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Us | Unit::Ms => "ms",
        Unit::Percent => "%",
        _ => "",
    }
}

pub(super) fn number(cell: &Cell) -> Option<f64> {
    match cell {
        Cell::Int(number) => Some(*number as f64),
        Cell::Float(number) => Some(*number),
        Cell::Flag(flag) => Some(f64::from(u8::from(*flag))),
        Cell::Text(_) | Cell::Empty => None,
    }
}

/// Compares two cells of a column; unknown values come last in either direction.
pub(super) fn compare(one: Option<&Cell>, other: Option<&Cell>, descending: bool) -> Ordering {
    let known = |cell: Option<&Cell>| cell.is_some_and(|cell| *cell != Cell::Empty);
    match (known(one), known(other)) {
        (true, true) => {}
        (one, other) => return other.cmp(&one),
    }
    let ordering = match (one.and_then(number), other.and_then(number)) {
        (Some(one), Some(other)) => one.total_cmp(&other),
        (None, None) => words(one).cmp(&words(other)),
        (one, other) => one.is_some().cmp(&other.is_some()),
    };
    match descending {
        true => ordering.reverse(),
        false => ordering,
    }
}

fn words(cell: Option<&Cell>) -> Option<&str> {
    match cell {
        Some(Cell::Text(text)) => Some(text),
        _ => None,
    }
}

/// A column's label as displayed: the values have units, so the label does not need one.
pub(super) fn plain_label(label: &str, unit: Unit) -> String {
    if label == FAMILY {
        return "Category".to_owned();
    }
    let is_unit = |word: &&str| match unit {
        Unit::Us | Unit::Ms => matches!(*word, "us" | "ms" | "(µs)" | "(ms)"),
        Unit::Percent => *word == "(%)",
        _ => false,
    };
    let words = label.split([' ', '_']).filter(|word| !is_unit(word));
    let label = words.collect::<Vec<_>>().join(" ").replace("cpu ", "CPU ");
    format::capitalized(&label)
}

/// A list of names in the reference's format, `['GEMM', 'other']`, as `GEMM, other`.
fn plain_list(text: &str) -> String {
    match text
        .strip_prefix("['")
        .and_then(|text| text.strip_suffix("']"))
    {
        Some(names) => names.replace("', '", ", "),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spreadsheet_gets_numbers() {
        let plain = |cell, unit| {
            let (label, doc) = ("", "");
            plain(&Column { label, unit, doc }, &cell)
        };
        assert_eq!(plain(Cell::Float(4_061.234_56), Unit::Us), "4.06123");
        assert_eq!(plain(Cell::Float(-0.05), Unit::Ms), "-0.05");
        assert_eq!(plain(Cell::Int(1_234_567), Unit::Text), "1234567");
        assert_eq!(plain(Cell::Int(12_000), Unit::Count), "12000");
        assert_eq!(plain(Cell::Text("8×2".into()), Unit::Text), "8×2");
        assert_eq!(plain(Cell::Empty, Unit::Us), "");
    }

    /// The label omits a unit that the values have; other units stay.
    #[test]
    fn a_label_has_no_unit_where_the_value_has_one() {
        for (label, unit, expected) in [
            (
                "Kernel duration (µs)_mean",
                Unit::Us,
                "Kernel duration mean",
            ),
            ("total_duration_us", Unit::Us, "Total duration"),
            ("duration_us_median", Unit::Us, "Duration median"),
            ("self_cpu_time_ms", Unit::Ms, "Self CPU time"),
            ("start ms", Unit::Ms, "Start"),
            ("Percentage (%)", Unit::Percent, "Percentage"),
            ("Data Moved (MB)", Unit::Number, "Data Moved (MB)"),
            (FAMILY, Unit::Text, "Category"),
        ] {
            assert_eq!(plain_label(label, unit), expected);
        }
        assert_eq!(plain_list("['GEMM', 'other']"), "GEMM, other");
    }
}
