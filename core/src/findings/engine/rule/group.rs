//! What one rule matched.

use super::{Subject, Words};
use crate::assess::{Input, Thresholds};
use crate::base::format;
use crate::base::group::grouped;
use crate::base::interval::sum;
use crate::findings::engine::compute::{
    Gate, are_large, at_efficiency, efficiency, n_calls, subject, sum_of, time_and_share, time_ns,
};
use crate::findings::engine::finding::Impact;
use crate::findings::engine::outcome::Row;

/// The time of each operation, summed, in the order in which operations first appear.
pub(crate) fn times_by_operation(
    times: impl IntoIterator<Item = (usize, i64)>,
) -> Vec<(usize, i64)> {
    grouped(times, |sum: &mut i64, ns| *sum = sum.saturating_add(ns))
}

/// What one rule matched, longest first.
pub(crate) struct Group<'g, 'a, S: Subject> {
    pub(crate) input: &'g Input<'a>,
    /// The data about each.
    pub(crate) observed: Vec<&'g S::Of<'a>>,
    /// Their operations.
    pub(crate) rows: Vec<&'g Row>,
}

impl<'g, 'a, S: Subject> Group<'g, 'a, S> {
    pub(crate) fn new(input: &'g Input<'a>, observed: Vec<&'g S::Of<'a>>) -> Group<'g, 'a, S> {
        let rows = observed
            .iter()
            .filter_map(|observed| (S::ROW)(observed))
            .collect();
        Group {
            input,
            observed,
            rows,
        }
    }

    /// The longest.
    pub(crate) fn first(&self) -> &'g S::Of<'a> {
        self.observed
            .first()
            .expect("no rule makes a group of nothing")
    }

    pub(crate) fn time_ns(&self) -> i64 {
        time_ns(&self.rows)
    }

    /// Whether its operations together are large enough to be a bottleneck of their kind.
    pub(crate) fn is_large(&self, gate_ms: fn(&Thresholds) -> f64) -> bool {
        let gate = Gate::of(self.input, gate_ms(&self.input.options.thresholds));
        are_large(self.input, &self.rows, &gate)
    }

    /// Whether its operations are so much of the computation that a change of the model pays, whatever their speed.
    pub(crate) fn is_much(&self) -> bool {
        let share = self.input.percent_of_compute(self.time_ns());
        let least = self.input.options.thresholds.medium_percent_of_compute;
        share.is_some_and(|share| share >= least)
    }

    /// The mean kernel time of `n` calls.
    pub(crate) fn mean_ns(&self, n: u64) -> i64 {
        self.time_ns() / i64::try_from(n.max(1)).unwrap_or(i64::MAX)
    }

    pub(crate) fn sum(&self, ns: impl Fn(&S::Of<'a>) -> i64) -> i64 {
        sum(self.observed.iter().map(|observed| ns(observed)))
    }

    pub(crate) fn any(&self, is: impl Fn(&S::Of<'a>) -> bool) -> bool {
        self.observed.iter().any(|observed| is(observed))
    }

    pub(crate) fn is_mostly(&self, is: impl Fn(&S::Of<'a>) -> bool) -> bool {
        let each = self.observed.iter().zip(&self.rows);
        let of_it = each.filter(|(observed, _)| is(observed));
        sum(of_it.map(|(_, row)| row.time_ns)) > self.time_ns() / 2
    }
}

/// The total saving of some rows, and the middle of each, by position. Not generic, like the functions below: compiled
/// once for all analyses.
pub(super) fn impacts(
    rows: &[&Row],
    of: &dyn Fn(usize, &Row) -> Option<Impact>,
) -> (Option<Impact>, Vec<(usize, i64)>) {
    let each = rows.iter().enumerate();
    sum_of(each.filter_map(|(at, row)| Some((row.operation, of(at, row)?))))
}

/// The same, computed from the time saved for each.
pub(super) fn times(
    rows: &[&Row],
    impact: fn(i64) -> Impact,
    of: &dyn Fn(usize, &Row) -> Option<i64>,
) -> (Option<Impact>, Vec<(usize, i64)>) {
    let each = rows.iter().enumerate();
    let each = each.filter_map(|(at, row)| Some((row.operation, of(at, row)?)));
    let mut each: Vec<(usize, i64)> = each.collect();
    let all_ns = sum(each.iter().map(|(_, ns)| *ns));
    let all = (!each.is_empty()).then(|| impact(all_ns));
    for (_, ns) in &mut each {
        *ns = impact(*ns).mid_ns;
    }
    (all, each)
}

/// The words available for all groups of operations.
pub(super) fn words(input: &Input, rows: &[&Row]) -> Words {
    if rows.is_empty() {
        return Vec::new();
    }
    let subject = subject(input, rows);
    let time = time_and_share(time_ns(rows), input);
    let at = at_efficiency(efficiency(rows));
    vec![
        ("figures", format!("{subject}: {time}{at}")),
        ("subject", subject),
        ("time", time),
        ("at", at),
        ("calls", format::counted(n_calls(rows), "call")),
    ]
}
