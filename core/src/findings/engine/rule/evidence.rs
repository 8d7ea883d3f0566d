//! What a finding is based on: figures, operations, and what following it saves.

use super::group::{impacts, times};
use super::{Group, Rule, Subject};
use crate::assess::Input;
use crate::assess::waterfall::{Cause, Waterfall};
use crate::findings::engine::assessment::Band;
use crate::findings::engine::compute::{
    efficiency, impact, impact_of_steps, priority_by, replay, time_ns,
};
use crate::findings::engine::finding::{Finding, Impact, Priority};
use crate::findings::engine::outcome::Row;

pub(crate) enum Saves<S: Subject> {
    /// The gap to 75–100 % of the roofline; by rule of thumb without a model.
    Gap,
    /// The gap to what such kernels usually reach.
    Usual(Band),
    /// Measured time that would not be spent.
    Measured(for<'a> fn(&Input<'a>, &S::Of<'a>) -> i64),
    /// The steps between roofline and measured time that the advice removes.
    Steps(&'static [Cause]),
    /// An upper bound for each; `None` where unknown.
    AtMost(for<'a> fn(&Input<'a>, &S::Of<'a>) -> Option<i64>),
    All,
    Heuristic,
    Each(for<'a> fn(&Input<'a>, &S::Of<'a>) -> Option<Impact>),
    /// The value in the [evidence](Subject::evidence); for subjects that are not operations.
    Evidence,
    /// Memory, which costs no time.
    Memory,
    /// A trace does not show it.
    Unknown,
    /// No time: there is nothing to change.
    Nothing,
}

impl<S: Subject> Saves<S> {
    pub(crate) fn label(&self) -> &'static str {
        match self {
            Saves::Gap => "the gap to 75–100 % of the roofline",
            Saves::Usual(_) => "the gap to the efficiency that such kernels usually reach",
            Saves::Measured(_) => "the measured time of kernels that would not run",
            Saves::Steps(_) => "the time of its cause, between roofline and measured time",
            Saves::AtMost(_) | Saves::Evidence => "up to the time that the cause takes",
            Saves::All => "up to all of its time",
            Saves::Heuristic => "15–45 % of its time, a rule of thumb",
            Saves::Each(_) => "what each operation can save",
            Saves::Memory => "GPU memory, no time",
            Saves::Unknown => "not quantifiable from a trace",
            Saves::Nothing => "none",
        }
    }

    /// The saving of a group, and the part of the middle of it that comes from each operation.
    fn of<'a>(&self, group: &Group<'_, 'a, S>) -> (Option<Impact>, Vec<(usize, i64)>) {
        let (input, rows) = (group.input, &group.rows[..]);
        let observed = |at: usize| group.observed[at];
        match self {
            Saves::Gap => impact(input, rows),
            Saves::Evidence | Saves::Memory | Saves::Unknown | Saves::Nothing => (None, Vec::new()),
            Saves::Usual(band) => impacts(rows, &|_, row| Impact::of_usual(row, *band)),
            Saves::Steps(causes) => impacts(rows, &|_, row| {
                impact_of_steps(&Waterfall::of(input, row.operation)?, causes)
            }),
            Saves::Heuristic => impacts(rows, &|_, row| Some(Impact::heuristic(row.time_ns))),
            Saves::Each(impact) => impacts(rows, &|at, _| impact(input, observed(at))),
            Saves::Measured(ns) => times(rows, Impact::measured, &|at, _| {
                Some(ns(input, observed(at)))
            }),
            Saves::AtMost(ns) => times(rows, Impact::at_most, &|at, _| ns(input, observed(at))),
            Saves::All => times(rows, Impact::at_most, &|_, row| Some(row.time_ns)),
        }
    }
}

/// What a finding is based on: the finding, still without the texts of its rule.
pub(crate) type Evidence = Finding;

impl Evidence {
    /// Evidence about a measured time, for struct update syntax.
    pub(crate) fn new(priority: Priority, time_ns: i64) -> Evidence {
        Evidence {
            priority,
            time_ns,
            ..Evidence::default()
        }
    }

    /// Evidence about a measured time in or next to operations; the priority follows from its share of the computation.
    pub(crate) fn of_time(input: &Input, operations: Vec<usize>, time_ns: i64) -> Evidence {
        let share = input.percent_of_compute(time_ns);
        Evidence {
            operations,
            ..Evidence::new(priority_by(input, share, None, true), time_ns)
        }
    }

    /// Evidence about operations, from their figures.
    pub(crate) fn of_operations<S: Subject>(group: &Group<S>, rule: &Rule<S>) -> Option<Evidence> {
        let replay = |row| replay(group.input, row).filter(|_| rule.has_reproducer);
        let (impact, savings) = rule.saves.of(group);
        Some(Evidence {
            impact,
            savings,
            replay: replay(group.rows.first()?),
            ..Evidence::of_rows(group.input, &group.rows, rule.is_pattern)
        })
    }

    /// The same without savings and reproducer. Not generic: compiled once for all analyses.
    fn of_rows(input: &Input, rows: &[&Row], is_pattern: bool) -> Evidence {
        let (time_ns, efficiency_percent) = (time_ns(rows), efficiency(rows));
        // The priority of a finding follows from all its operations together.
        let share = input.percent_of_compute(time_ns);
        let priority = priority_by(input, share, efficiency_percent, is_pattern);
        Evidence {
            operations: rows.iter().map(|row| row.operation).collect(),
            efficiency_percent,
            ..Evidence::new(priority, time_ns)
        }
    }
}
