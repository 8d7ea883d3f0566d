//! What an analysis says.

use std::collections::BTreeMap;

use super::assessment::Assessment;
use super::finding::Finding;
pub use super::row::Row;
use super::{AnalysisKind, Input};
use crate::base::interval::{percent_of, sum};
use crate::base::value::{Table, Value};

/// How it went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It ran.
    Done,
    /// The trace has nothing for it.
    NoData,
}

impl Status {
    /// As metrics files write it.
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
    /// For people.
    pub label: &'static str,
    /// The figure.
    pub value: Value,
}

/// What an analysis says.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Which analysis.
    pub kind: &'static AnalysisKind,
    /// How it went.
    pub status: Status,
    /// The kernel time of its operations, summed.
    pub time_ns: i64,
    /// The calls that took it. Rows may include calls that count elsewhere: those are not in here.
    pub n_calls: u64,
    /// Its operations, the longest first.
    pub rows: Vec<Row>,
    /// Its figures.
    pub facts: Vec<Fact>,
    /// Its tables.
    pub tables: Vec<Table>,
    /// What it found, in no order.
    pub findings: Vec<Finding>,
    /// Whole sentences: what could not be analysed, and why.
    pub notes: Vec<String>,
    /// What to say where nothing was found, for what is measured in another way than operations.
    pub nothing_found: Option<String>,
}

/// What the levels of its rows say of an analysis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Assessed {
    /// The level of more of its time than any other.
    pub level: Assessment,
    /// How much of its time has this level, in percent.
    pub percent: f64,
    /// How much of its time has any level, in percent.
    pub known_percent: f64,
}

/// What is counted: its name in files, for people, and whether something is so.
pub(super) type Counted<'a, T> = (&'static str, &'static str, &'a dyn Fn(&T) -> bool);

impl PartialEq for AnalysisKind {
    fn eq(&self, other: &AnalysisKind) -> bool {
        self.key == other.key
    }
}

impl Outcome {
    /// One that has nothing to say yet.
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

    pub(super) fn facts<const N: usize>(
        &mut self,
        facts: [(&'static str, &'static str, Value); N],
    ) {
        for (key, label, value) in facts {
            self.fact(key, label, value);
        }
    }

    /// Adds how many of what was seen are so.
    pub(super) fn counts<T>(&mut self, seen: &[T], counts: &[Counted<T>]) {
        for (key, label, is) in counts {
            let n = seen.iter().filter(|seen| is(seen)).count();
            self.fact(key, label, Value::Count(n as u64));
        }
    }

    /// A figure by its key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        let fact = self.facts.iter().find(|fact| fact.key == key)?;
        Some(&fact.value)
    }

    /// Share of the kernel time of all that computes.
    pub fn percent_of_compute(&self, input: &Input) -> Option<f64> {
        input.percent_of_compute(self.time_ns)
    }

    /// The % of roofline that its time reaches: the mean of its rows by time, without anomalies.
    pub fn efficiency_percent(&self) -> Option<f64> {
        weighted(self.known().map(|(row, percent)| (percent, row.time_ns)))
    }

    /// The same, each row alike.
    pub fn mean_efficiency_percent(&self) -> Option<f64> {
        weighted(self.known().map(|(_, percent)| (percent, 1)))
    }

    /// The share of its time whose efficiency is known, in percent: what the means are of.
    pub fn known_percent(&self) -> Option<f64> {
        let all_ns = sum(self.rows.iter().map(|row| row.time_ns));
        percent_of(sum(self.known().map(|(row, _)| row.time_ns)), all_ns)
    }

    /// Rows of known efficiency that are no anomalies. What is a little above the roofline is at it.
    fn known(&self) -> impl Iterator<Item = (&Row, f64)> {
        let rows = self.rows.iter().filter(|row| !row.is_anomaly);
        rows.filter_map(|row| Some((row, row.efficiency_percent?.min(100.0))))
    }

    /// The level of most of the time that has one. Shares are of all its time; rows that `says_little`
    /// picks have no level that counts. `None` where no row has one.
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

/// The mean of values by weight; `None` where nothing weighs.
pub(super) fn weighted(values: impl Iterator<Item = (f64, i64)>) -> Option<f64> {
    let (sum, weight) = values.fold((0.0, 0.0), |(sum, all), (value, weight)| {
        (sum + value * weight as f64, all + weight as f64)
    });
    (weight > 0.0).then(|| sum / weight)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_rows(rows: Vec<Row>) -> Outcome {
        let mut outcome = Outcome::new(&super::super::ANALYSES[0], Status::Done);
        outcome.rows = rows;
        outcome
    }

    /// Of 100 ns 60 are of known efficiency, a quarter of them a little above the roofline. Nothing is
    /// known of the next 20, and the last 20 are too far above it to be believed.
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

    /// Of 100 ns 40 are efficient and 20 are not; the next 30 say little, of the last 10 nothing is
    /// known.
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
