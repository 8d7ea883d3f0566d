//! Changes between two runs that exceed the noise.
//!
//! **The rule.** A figure became slower if its minimum now is above its maximum then, and its median increased by more
//! than [`FLOOR`]. Two runs of the same build draw values from the same distribution: the chance that five of them all
//! lie above five others is 1 in 252, with three and three 1 in 20. So no estimate of the noise is needed, and an
//! outlier only makes the rule more conservative.
//!
//! Times of a trace are compared both in seconds and in multiples of their own run's G, and must be slower in both: a
//! slower machine only affects the seconds, and an unusual G only affects the ratio.

use std::fmt;

use super::figure::{Figure, G, Record, Role, Table, Unit, median};

/// Changes below this share of the previous median are ignored.
pub(crate) const FLOOR: f64 = 0.02;

/// Runs with fewer values are compared with a warning.
const FEW: usize = 4;

/// The result of comparing two runs.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    /// What became slower or larger, one sentence each.
    pub(crate) worse: Vec<String>,
    pub(crate) better: Vec<String>,
    /// What could not be compared, and why.
    pub(crate) notes: Vec<String>,
}

impl fmt::Display for Changes {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        for (what, lines) in [
            ("note", &self.notes),
            ("faster or smaller", &self.better),
            ("slower or larger", &self.worse),
        ] {
            for line in lines {
                writeln!(out, "{what}: {line}")?;
            }
        }
        let n = self.worse.len();
        write!(
            out,
            "{n} of the figures became slower or larger by more than the noise."
        )
    }
}

/// Compares the figures with those of an earlier run.
pub(crate) fn changes(then: &Record, now: &Record) -> Changes {
    let mut changes = Changes::default();
    if then.machine != now.machine || then.browser != now.browser {
        changes.notes.push(format!(
            "another machine or browser: {}; {} then, {}; {} now",
            then.machine, then.browser, now.machine, now.browser
        ));
    }
    if [then, now]
        .iter()
        .any(|record| (record.n_runs as usize) < FEW)
    {
        let few = format!("fewer than {FEW} runs: expect a change by chance");
        changes.notes.push(few);
    }
    for (when, busy) in [("then", then.busy), ("now", now.busy)] {
        if busy > 0.0 {
            let share = 100.0 * busy;
            let note = format!("other work took {share:.0} % of the machine {when}");
            changes.notes.push(note);
        }
    }
    let others = other_traces(then, now);
    for trace in &others {
        let note = format!("{trace}: another trace of that name, not compared");
        changes.notes.push(note);
    }
    for figure in &now.figures {
        let is_judged = figure.role != Role::Fact && !others.contains(&figure.of);
        let Some(earlier) = then
            .find(figure.table, &figure.of, &figure.name)
            .filter(|_| is_judged)
        else {
            continue;
        };
        let [old, new] =
            [(then, earlier), (now, figure)].map(|(record, figure)| scales(record, figure));
        let all = |is_worse: &dyn Fn(&[f64], &[f64]) -> bool| {
            old.iter().zip(&new).all(|(old, new)| is_worse(old, new))
        };
        let sentence = || {
            let part = 100.0 * (figure.median() / earlier.median() - 1.0);
            let part = match part.is_finite() {
                true => format!(": {part:+.0} %"),
                false => String::new(),
            };
            let table = figure.table.name();
            format!(
                "{}, {table}, {}: {} then, {} now{part}",
                figure.of,
                figure.name,
                earlier.text(),
                figure.text()
            )
        };
        if all(&is_above) {
            changes.worse.push(sentence());
        } else if all(&|old, new| is_above(new, old)) {
            changes.better.push(sentence());
        }
    }
    changes
}

/// Whether all values now are above all values then, and by more than the floor.
pub(crate) fn is_above(then: &[f64], now: &[f64]) -> bool {
    let greatest = then.iter().copied().fold(f64::NAN, f64::max);
    let least = now.iter().copied().fold(f64::NAN, f64::min);
    least > greatest && median(now) > median(then) * (1.0 + FLOOR)
}

/// The values themselves, and for times also in multiples of G, if the run has it.
fn scales(record: &Record, figure: &Figure) -> Vec<Vec<f64>> {
    let mut scales = vec![figure.values.clone()];
    let g = record.find(Table::Opens, &figure.of, G);
    if let (Unit::Time, Some(g)) = (figure.unit, g) {
        let g = g.median();
        scales.push(figure.values.iter().map(|value| value / g).collect());
    }
    scales
}

/// Traces with the same name but another length.
fn other_traces(then: &Record, now: &Record) -> Vec<String> {
    let lengths = |record: &Record| {
        let facts = record.figures.clone().into_iter();
        facts.filter(|figure| figure.role == Role::Fact && figure.unit == Unit::Megabytes)
    };
    let mut others = Vec::new();
    for old in lengths(then) {
        let new = now.find(old.table, &old.of, &old.name);
        let is_other = new.is_some_and(|new| new.median().total_cmp(&old.median()).is_ne());
        if is_other {
            others.push(old.of);
        }
    }
    others
}
