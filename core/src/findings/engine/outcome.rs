//! The outcome of an analysis.

use std::collections::BTreeMap;

use super::assessment::Assessment;
use super::finding::Finding;
pub use super::row::Row;
use crate::base::interval::{percent_of, sum};
use crate::base::value::{Table, Value};
use crate::findings::{AnalysisKind, Input};

/// Whether an analysis ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It ran.
    Done,
    /// The trace has nothing for it.
    NoData,
}

impl Status {
    /// Its name in metrics files.
    pub fn key(self) -> &'static str {
        match self {
            Status::Done => "OK",
            Status::NoData => "NO_DATA",
        }
    }
}

/// A figure of an analysis.
#[derive(Debug, Clone, PartialEq)]
pub struct Fact {
    /// Its name in files.
    pub key: &'static str,
    /// The display name.
    pub label: &'static str,
    /// The figure.
    pub value: Value,
}

/// What a note is about, for views that show an outcome in parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topic {
    /// The whole analysis.
    General,
    /// The code that the CPU runs.
    Code,
    /// Communication between GPUs.
    Communication,
    /// Memory copies.
    Copies,
}

/// A sentence about what could not be analyzed, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// What it is about.
    pub topic: Topic,
    /// The sentence.
    pub text: String,
}

impl Topic {
    /// A note about it.
    pub(crate) fn note(self, text: impl Into<String>) -> Note {
        Note {
            topic: self,
            text: text.into(),
        }
    }
}

/// The outcome of an analysis.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The analysis.
    pub kind: &'static AnalysisKind,
    /// Whether it ran.
    pub status: Status,
    /// The kernel time of its operations, summed.
    pub time_ns: i64,
    /// The calls that took it. Rows may include calls that count elsewhere; those are not included here.
    pub n_calls: u64,
    /// Its operations, longest first.
    pub rows: Vec<Row>,
    /// Its figures.
    pub facts: Vec<Fact>,
    /// Its tables.
    pub tables: Vec<Table>,
    /// What it found, in any order.
    pub findings: Vec<Finding>,
    /// What could not be analyzed, and why.
    pub notes: Vec<Note>,
    /// What to say if nothing was found, for analyses that do not measure operations.
    pub nothing_found: Option<String>,
}

/// An overall rating of an analysis, from the levels of its rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Assessed {
    /// The level with the most time.
    pub level: Assessment,
    /// How much of its time has this level, in percent.
    pub percent: f64,
    /// How much of its time has any level, in percent.
    pub known_percent: f64,
}

/// A count: its name in files, its display name, and the predicate to count.
pub(crate) type Counted<'a, T> = (&'static str, &'static str, &'a dyn Fn(&T) -> bool);

impl PartialEq for AnalysisKind {
    fn eq(&self, other: &AnalysisKind) -> bool {
        self.key == other.key
    }
}

impl Outcome {
    /// An empty outcome.
    pub fn new(kind: &'static AnalysisKind, status: Status) -> Outcome {
        Outcome {
            kind,
            status,
            time_ns: 0,
            n_calls: 0,
            rows: Vec::new(),
            facts: Vec::new(),
            tables: Vec::new(),
            findings: Vec::new(),
            notes: Vec::new(),
            nothing_found: None,
        }
    }

    /// Adds a figure.
    pub fn fact(&mut self, key: &'static str, label: &'static str, value: Value) {
        self.facts.push(Fact { key, label, value });
    }

    /// Adds a note about the whole analysis.
    pub(crate) fn note(&mut self, text: impl Into<String>) {
        self.notes.push(Topic::General.note(text));
    }

    /// Adds notes about the whole analysis.
    pub(crate) fn add_notes(&mut self, texts: impl IntoIterator<Item = String>) {
        texts.into_iter().for_each(|text| self.note(text));
    }

    /// The sentences of its notes.
    pub fn note_texts(&self) -> impl Iterator<Item = &str> {
        self.notes.iter().map(|note| &*note.text)
    }

    pub(crate) fn facts<const N: usize>(
        &mut self,
        facts: [(&'static str, &'static str, Value); N],
    ) {
        for (key, label, value) in facts {
            self.fact(key, label, value);
        }
    }

    /// Adds counts of the items for which the predicates hold.
    pub(crate) fn counts<T>(&mut self, observed: &[T], counts: &[Counted<T>]) {
        for (key, label, is) in counts {
            let n = observed.iter().filter(|observed| is(observed)).count();
            self.fact(key, label, Value::Count(n as u64));
        }
    }

    /// A figure by its key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        Some(&self.facts.iter().find(|fact| fact.key == key)?.value)
    }

    /// The share of its kernel time in that of all computation.
    pub fn percent_of_compute(&self, input: &Input) -> Option<f64> {
        input.percent_of_compute(self.time_ns)
    }

    /// The % of roofline that it reaches: the time-weighted mean of its rows, without anomalies.
    pub fn efficiency_percent(&self) -> Option<f64> {
        weighted(self.known().map(|(row, percent)| (percent, row.time_ns)))
    }

    /// The same with equal weights.
    pub fn mean_efficiency_percent(&self) -> Option<f64> {
        weighted(self.known().map(|(_, percent)| (percent, 1)))
    }

    /// The share of its time with known efficiency, in percent: the basis of the means.
    pub fn known_percent(&self) -> Option<f64> {
        let all_ns = sum(self.rows.iter().map(|row| row.time_ns));
        percent_of(sum(self.known().map(|(row, _)| row.time_ns)), all_ns)
    }

    /// Rows of known efficiency that are not anomalies. Slightly above the roofline counts as at the roofline.
    fn known(&self) -> impl Iterator<Item = (&Row, f64)> {
        let rows = self.rows.iter().filter(|row| !row.is_anomaly);
        rows.filter_map(|row| Some((row, row.efficiency_percent?.min(100.0))))
    }

    /// The level with the most time. Shares are relative to all its time; the levels of rows selected by `says_little`
    /// are ignored. `None` if no row has a level.
    pub fn assessment(&self, says_little: impl Fn(&Row) -> bool) -> Option<Assessed> {
        let mut of_level: BTreeMap<Assessment, i64> = BTreeMap::new();
        for row in self.rows.iter().filter(|row| !says_little(row)) {
            if let Some(level) = row.assessment {
                let ns = of_level.entry(level).or_default();
                *ns = ns.saturating_add(row.time_ns);
            }
        }
        let all_ns = sum(self.rows.iter().map(|row| row.time_ns));
        let percent = |ns: i64| (all_ns > 0).then(|| ns as f64 / all_ns as f64 * 100.0);
        let known_percent = percent(sum(of_level.values().copied()))?;
        let (level, ns) = of_level.into_iter().max_by_key(|(_, ns)| *ns)?;
        Some(Assessed {
            level,
            percent: percent(ns)?,
            known_percent,
        })
    }
}

/// The weighted mean of values; `None` if the total weight is zero.
pub(crate) fn weighted(values: impl Iterator<Item = (f64, i64)>) -> Option<f64> {
    let (sum, weight) = values.fold((0.0, 0.0), |(sum, all), (value, weight)| {
        (sum + value * weight as f64, all + weight as f64)
    });
    (weight > 0.0).then(|| sum / weight)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_rows(rows: Vec<Row>) -> Outcome {
        let mut outcome = Outcome::new(&crate::findings::ANALYSES[0], Status::Done);
        outcome.rows = rows;
        outcome
    }

    /// 60 of 100 ns have known efficiency, a quarter of these slightly above the roofline. Nothing is known about the
    /// next 20, and the last 20 are implausibly far above it.
    #[test]
    fn means_are_of_what_is_known_and_never_above_the_roofline() {
        let row = |time_ns, efficiency_percent, is_anomaly| Row {
            time_ns,
            efficiency_percent,
            is_anomaly,
            ..Row::default()
        };
        assert_eq!(of_rows(Vec::new()).known_percent(), None);
        let outcome = of_rows(vec![
            row(45, Some(40.0), false),
            row(15, Some(106.0), false),
            row(20, None, false),
            row(20, Some(300.0), true),
        ]);
        // (45 · 40 + 15 · 100) / 60.
        assert_eq!(outcome.efficiency_percent(), Some(55.0));
        assert_eq!(outcome.mean_efficiency_percent(), Some(70.0));
        assert_eq!(outcome.known_percent(), Some(60.0));
    }

    /// 40 of 100 ns are efficient and 20 are not; the next 30 are ignored, and nothing is known about the last 10.
    #[test]
    fn a_level_is_that_of_a_share_of_all_time() {
        use Assessment::{Good, NeedsInvestigation};
        let row = |time_ns, n_calls, assessment| Row {
            time_ns,
            n_calls,
            assessment,
            ..Row::default()
        };
        let outcome = of_rows(vec![
            row(40, 1, Some(Good)),
            row(30, 100, Some(NeedsInvestigation)),
            row(20, 1, Some(NeedsInvestigation)),
            row(10, 1, None),
        ]);
        let expected = Assessed {
            level: Good,
            percent: 40.0,
            known_percent: 60.0,
        };
        let assessed = outcome.assessment(|row| row.n_calls == 100);
        assert_eq!(assessed, Some(expected));
        assert_eq!(outcome.assessment(|_| true), None);
    }

    #[test]
    fn a_mean_by_weight() {
        let mean = weighted([(10.0, 3), (50.0, 1)].into_iter());
        assert_eq!(mean, Some(20.0));
        assert_eq!(weighted([(10.0, 0)].into_iter()), None);
    }
}
