//! Values of facts and tables: numbers with their unit, so that Markdown, JSON, the page and the printed report write
//! them alike.

use serde_json::{Value as Json, json};

use crate::base::format;

/// What a number is measured in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Milliseconds, in files.
    Time,
    /// Percent.
    Percent,
    /// Bytes.
    Bytes,
    /// GB/s.
    Bandwidth,
    /// TFLOPS.
    Rate,
}

impl Unit {
    /// What is appended to a key in files.
    fn suffix(self) -> &'static str {
        match self {
            Unit::Time => "_ms",
            Unit::Percent => "_percent",
            Unit::Bytes => "_bytes",
            Unit::Bandwidth => "_gbps",
            Unit::Rate => "_tflops",
        }
    }
}

/// A value with its meaning.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Unknown, or not applicable. Never written as zero.
    Empty,
    /// Unknown, but with a unit, so that its key in files has the same suffix as that of a known value.
    Unknown(Unit),
    /// Text.
    Text(String),
    /// A kernel's name or another piece of the trace, quoted as it is.
    Quoted(String),
    /// A number of things.
    Count(u64),
    /// A duration.
    Ns(i64),
    /// Percent, 0 to 100.
    Percent(f64),
    /// A number without a unit.
    Number(f64),
    /// A size.
    Bytes(u64),
    /// A bandwidth, in GB/s.
    GbPerS(f64),
    /// A rate of arithmetic, in TFLOPS.
    Tflops(f64),
    /// Yes or no.
    Flag(bool),
}

impl Value {
    /// A duration that is unknown.
    pub(crate) const NO_NS: Value = Value::Unknown(Unit::Time);
    /// A share that is unknown.
    pub(crate) const NO_PERCENT: Value = Value::Unknown(Unit::Percent);
    /// A size that is unknown.
    pub(crate) const NO_BYTES: Value = Value::Unknown(Unit::Bytes);
    /// A bandwidth that is unknown.
    pub(crate) const NO_GBPS: Value = Value::Unknown(Unit::Bandwidth);
    /// A rate of arithmetic that is unknown.
    pub(crate) const NO_TFLOPS: Value = Value::Unknown(Unit::Rate);

    /// A percentage that may be unknown.
    pub fn percent(percent: Option<f64>) -> Value {
        percent.map_or(Value::NO_PERCENT, Value::Percent)
    }

    /// A bandwidth that may be unknown.
    pub fn gbps(gbps: Option<f64>) -> Value {
        gbps.map_or(Value::NO_GBPS, Value::GbPerS)
    }

    /// A duration that may be unknown.
    pub(crate) fn ns(ns: Option<i64>) -> Value {
        ns.map_or(Value::NO_NS, Value::Ns)
    }

    /// A size that may be unknown.
    pub(crate) fn bytes(bytes: Option<u64>) -> Value {
        bytes.map_or(Value::NO_BYTES, Value::Bytes)
    }

    /// A name from the trace that may be unknown.
    pub(crate) fn quoted(name: Option<String>) -> Value {
        name.map_or(Value::Empty, Value::Quoted)
    }

    /// A number that may be unknown.
    pub fn number(number: Option<f64>) -> Value {
        number.map_or(Value::Empty, Value::Number)
    }

    /// As text for people.
    pub fn text(&self) -> String {
        match self {
            Value::Empty | Value::Unknown(_) => "–".to_owned(),
            Value::Text(text) | Value::Quoted(text) => text.clone(),
            Value::Count(count) => format::count(*count),
            Value::Ns(ns) => format::time_ns(*ns),
            Value::Percent(percent) => format::percent(*percent),
            Value::Number(number) => format::number(*number),
            Value::Bytes(bytes) => format::bytes(*bytes),
            Value::GbPerS(gbps) => format::bandwidth_gbps(*gbps),
            Value::Tflops(tflops) => format::tflops(*tflops),
            Value::Flag(flag) => if *flag { "yes" } else { "no" }.to_owned(),
        }
    }

    /// As JSON: times in milliseconds, sizes in bytes, bandwidths in GB/s, rates in TFLOPS.
    pub fn json(&self) -> Json {
        match self {
            Value::Empty | Value::Unknown(_) => Json::Null,
            Value::Text(text) | Value::Quoted(text) => json!(text),
            Value::Count(count) => json!(count),
            Value::Ns(ns) => json!(rounded(*ns as f64 / 1e6, 3)),
            Value::Percent(percent) => json!(rounded(*percent, 2)),
            Value::Number(number) | Value::GbPerS(number) | Value::Tflops(number) => {
                json!(rounded(*number, 4))
            }
            Value::Bytes(bytes) => json!(bytes),
            Value::Flag(flag) => json!(flag),
        }
    }

    /// What it is measured in; `None` if it has no unit.
    pub fn unit(&self) -> Option<Unit> {
        Some(match self {
            Value::Unknown(unit) => *unit,
            Value::Ns(_) => Unit::Time,
            Value::Percent(_) => Unit::Percent,
            Value::Bytes(_) => Unit::Bytes,
            Value::GbPerS(_) => Unit::Bandwidth,
            Value::Tflops(_) => Unit::Rate,
            _ => return None,
        })
    }

    /// What is appended to a key in JSON files to name the unit, whether the value is known or not.
    pub fn suffix(&self) -> &'static str {
        self.unit().map_or("", Unit::suffix)
    }

    /// Whether there is anything to show.
    pub fn is_known(&self) -> bool {
        !matches!(self, Value::Empty | Value::Unknown(_))
    }

    /// Whether a column of such values is right-aligned.
    pub fn is_number(&self) -> bool {
        !matches!(self, Value::Text(_) | Value::Quoted(_) | Value::Flag(_))
    }
}

/// A number for files, rounded to this many decimals.
pub fn rounded(number: f64, decimals: i32) -> f64 {
    let scale = 10_f64.powi(decimals);
    (number * scale).round() / scale
}

/// Bytes in MiB, for columns in that unit.
pub(crate) fn mib(bytes: f64) -> f64 {
    bytes / 1_048_576.0
}

/// A column of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableColumn {
    /// Its name in files.
    pub key: &'static str,
    /// Its label for people.
    pub label: &'static str,
}

/// A column with a function that makes its cells: (name in files, label, cell).
pub type CellColumn<'c, T> = (&'static str, &'static str, &'c dyn Fn(&T) -> Value);

/// The columns of a table, one per line: two words about each, and how its cell is computed from the row.
macro_rules! cell_columns {
    ($($one:expr, $other:expr, $cell:expr;)+) => {
        &[$(($one, $other, &$cell)),+]
    };
}
pub(crate) use cell_columns;

/// A small table of an analysis.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Its name in files.
    pub key: &'static str,
    /// Its title for people.
    pub title: String,
    /// Its columns.
    pub columns: Vec<TableColumn>,
    /// Its rows; each as long as `columns`.
    pub rows: Vec<Vec<Value>>,
    /// The event that each row is about, by its position in the file; empty if rows are not about events.
    pub events: Vec<Option<u32>>,
}

impl Table {
    /// A table without rows; columns are (name in files, label).
    pub fn new(
        key: &'static str,
        title: impl Into<String>,
        columns: &[(&'static str, &'static str)],
    ) -> Table {
        Table {
            key,
            title: title.into(),
            columns: columns
                .iter()
                .map(|&(key, label)| TableColumn { key, label })
                .collect(),
            rows: Vec::new(),
            events: Vec::new(),
        }
    }

    /// Adds rows.
    pub(crate) fn with_rows(self, rows: impl Iterator<Item = Vec<Value>>) -> Table {
        Table {
            rows: rows.collect(),
            ..self
        }
    }

    /// A table with a row per item.
    pub fn of<T>(
        key: &'static str,
        title: impl Into<String>,
        things: impl IntoIterator<Item = T>,
        columns: &[CellColumn<T>],
    ) -> Table {
        let names: Vec<_> = columns
            .iter()
            .map(|&(key, label, _)| (key, label))
            .collect();
        let cells = |thing: T| columns.iter().map(|(.., cell)| cell(&thing)).collect();
        Table {
            rows: things.into_iter().map(cells).collect(),
            ..Table::new(key, title, &names)
        }
    }

    /// The labels of the columns, and whether each is right-aligned.
    pub(crate) fn headings(&self) -> Vec<(String, bool)> {
        let columns = self.columns.iter().enumerate();
        columns
            .map(|(at, column)| (column.label.to_owned(), self.is_number(at)))
            .collect()
    }

    /// Whether a column is right-aligned: all its known values are numbers.
    pub fn is_number(&self, column: usize) -> bool {
        let mut cells = self.rows.iter().filter_map(|row| row.get(column));
        cells.all(Value::is_number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_written_for_people_and_for_machines() {
        let cases = [
            (Value::Empty, "–", "null"),
            (Value::NO_GBPS, "–", "null"),
            (Value::Ns(1_234_567), "1.23 ms", "1.235"),
            (Value::Percent(12.345), "12.3 %", "12.35"),
            (Value::Count(37_632), "37\u{202F}632", "37632"),
            (Value::GbPerS(5300.0), "5.30 TB/s", "5300.0"),
            (Value::Flag(true), "yes", "true"),
            (Value::Quoted("k<1>".to_owned()), "k<1>", "\"k<1>\""),
        ];
        for (value, text, json) in cases {
            assert_eq!(value.text(), text);
            assert_eq!(value.json().to_string(), json);
        }
    }

    #[test]
    fn a_key_says_its_unit_whether_the_value_is_known_or_not() {
        let cases = [
            (Value::Ns(1), Value::NO_NS, "_ms"),
            (Value::percent(Some(1.0)), Value::percent(None), "_percent"),
            (Value::Bytes(1), Value::NO_BYTES, "_bytes"),
            (Value::GbPerS(1.0), Value::NO_GBPS, "_gbps"),
            (Value::Tflops(1.0), Value::NO_TFLOPS, "_tflops"),
            (Value::number(Some(1.0)), Value::number(None), ""),
        ];
        for (known, unknown, suffix) in cases {
            assert_eq!((known.suffix(), unknown.suffix()), (suffix, suffix));
            assert_eq!((known.is_known(), unknown.is_known()), (true, false));
        }
    }
}
