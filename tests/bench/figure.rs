//! Measurements: each figure with all of its values, in the format in which a run saves them.

use serde::{Deserialize, Serialize};

/// Everything measured in one run.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Record {
    pub(crate) machine: String,
    pub(crate) browser: String,
    /// The measured page and command line.
    pub(crate) build: String,
    /// The number of measurements per figure.
    pub(crate) n_runs: u32,
    /// The share of CPU time used by other programs before a trace was measured, if it was high.
    pub(crate) busy: f64,
    pub(crate) figures: Vec<Figure>,
}

/// One figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Figure {
    pub(crate) table: Table,
    /// The trace; for sizes, the compressor.
    pub(crate) of: String,
    pub(crate) name: String,
    pub(crate) unit: Unit,
    pub(crate) role: Role,
    /// Seconds, bytes or counts, in the order of measurement.
    pub(crate) values: Vec<f64>,
}

/// The table that shows a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Table {
    Opens,
    Memory,
    Choices,
    Stages,
    Ranks,
    Frames,
    Keys,
    Size,
}

impl Table {
    /// Its name in a document.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Table::Opens => "opens",
            Table::Memory => "memory",
            Table::Choices => "choices",
            Table::Stages => "stages",
            Table::Ranks => "ranks",
            Table::Frames => "frames",
            Table::Keys => "keys",
            Table::Size => "size",
        }
    }
}

/// The unit for displaying values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Unit {
    /// From seconds, in ms or s.
    Time,
    /// From bytes, in MB.
    Megabytes,
    /// From bytes, in KB.
    Kilobytes,
    Count,
}

/// The meaning of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Role {
    /// A property of the input, such as the length of a trace: neither good nor bad.
    Fact,
    /// Lower is better.
    Cost,
    /// Lower is better; also shown as a multiple of [`G`].
    CostInG,
    /// Lower is better; also shown as a multiple of [`JSON`].
    CostInJson,
}

/// The time of `gzip -dc TRACE | wc -c`.
pub(crate) const G: &str = "G";
/// The length of the decompressed trace.
pub(crate) const JSON: &str = "JSON";

impl Record {
    /// Adds a figure; does nothing if it could not be measured.
    pub(crate) fn add(
        &mut self,
        (table, of): (Table, &str),
        name: &str,
        (unit, role): (Unit, Role),
        values: Vec<f64>,
    ) {
        if !values.is_empty() {
            self.figures.push(Figure {
                table,
                of: of.to_owned(),
                name: name.to_owned(),
                unit,
                role,
                values,
            });
        }
    }

    /// A figure of a trace.
    pub(crate) fn find(&self, table: Table, of: &str, name: &str) -> Option<&Figure> {
        let mut figures = self.figures.iter();
        figures.find(|figure| (figure.table, &*figure.of, &*figure.name) == (table, of, name))
    }
}

impl Figure {
    /// The median.
    pub(crate) fn median(&self) -> f64 {
        median(&self.values)
    }

    /// The minimum and maximum.
    pub(crate) fn spread(&self) -> [f64; 2] {
        let least = self.values.iter().copied().fold(f64::NAN, f64::min);
        let greatest = self.values.iter().copied().fold(f64::NAN, f64::max);
        [least, greatest]
    }

    /// The median with its unit, and the spread if there is one: `406 ms (399–423)`.
    pub(crate) fn text(&self) -> String {
        let median = self.median();
        let (scale, unit) = match self.unit {
            Unit::Time if median < 0.9995 => (1e3, " ms"),
            Unit::Time => (1.0, " s"),
            Unit::Megabytes => (1e-6, " MB"),
            Unit::Kilobytes => (1e-3, " KB"),
            Unit::Count => (1.0, ""),
        };
        let decimals = match (self.unit, median * scale) {
            (Unit::Kilobytes | Unit::Count, _) => 0,
            (_, large) if large >= 99.95 => 0,
            (_, middle) if middle >= 9.995 => 1,
            _ => 2,
        };
        let number = |value: f64| grouped(value * scale, decimals);
        let [least, greatest] = self.spread().map(number);
        let spread = match least == greatest {
            true => String::new(),
            false => format!(" ({least}–{greatest})"),
        };
        format!("{}{unit}{spread}", number(median))
    }
}

/// The median: the middle value, or the mean of the two in the middle. NaN if there are no values.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match (
        values.len() % 2,
        values.get(middle.wrapping_sub(1)..=middle),
    ) {
        (0, Some([below, above])) => f64::midpoint(*below, *above),
        _ => values.get(middle).copied().unwrap_or(f64::NAN),
    }
}

/// The smallest value that at least this share of all values does not exceed. NaN if there are no values.
pub(crate) fn quantile(values: &[f64], share: f64) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let at = (values.len() as f64 * share).ceil() as usize;
    let value = values.get(at.saturating_sub(1));
    value.copied().unwrap_or(f64::NAN)
}

/// Formats 1234567.8 as 1,234,568, or with decimals.
fn grouped(number: f64, decimals: usize) -> String {
    let text = format!("{number:.decimals$}");
    let (whole, fraction) = match text.split_once('.') {
        Some((whole, fraction)) => (whole, format!(".{fraction}")),
        None => (text.as_str(), String::new()),
    };
    let groups = whole.as_bytes().rchunks(3).rev();
    let groups: Vec<_> = groups.map(String::from_utf8_lossy).collect();
    groups.join(",") + fraction.as_str()
}
