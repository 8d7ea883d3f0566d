//! How much work the target does for the same number of steps: with another batch size, longer sequences, more layers,
//! each step does more or less, which makes it neither slower nor faster.

use super::amount::{Amount, AmountBy};
use super::ops::{MatchedOp, Operations};
use super::pair::{Pair, Which};
use super::words;
use crate::base::group::grouped;
use crate::base::interval::{percent_or_zero, sum};
use crate::base::sort::Arrange;
use crate::names::Family;

/// Ratios that differ by less are the same.
const SAME: f64 = 0.02;
/// The share of the time, in percent, that has to have one ratio for it to be the ratio of all work.
const UNIFORM_PERCENT: f64 = 90.0;
/// If the work of operations with less than this share of the time is known in both traces, nothing is said.
const LEAST_KNOWN_PERCENT: f64 = 50.0;
/// Maximum number of kinds of work that are named.
const N_NAMED: usize = 3;

/// The work that the target does for the same number of steps, relative to the reference.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkRatio {
    /// Target over reference: by how much the computation of the reference would take longer.
    pub ratio: f64,
    /// Whether nearly all of it grows by this ratio.
    pub is_uniform: bool,
    /// The ratio of each kind of work, in the order of its time on the reference.
    pub by_family: Vec<(Family, f64)>,
    /// Whether it is by steps of the profiler.
    pub is_per_step: bool,
}

/// The ratio of an operation, and its times; on average, those of the reference count.
type Weighted = (f64, Pair<i64>);

impl WorkRatio {
    /// `None` if it is the same or unknown.
    pub(crate) fn new(
        operations: &Operations,
        amount: &Amount,
        misses_calls: bool,
    ) -> Option<WorkRatio> {
        let computes = operations.matched.iter();
        let computes = computes.filter(|op| op.sides.reference.is_computation());
        let known = computes.filter_map(|op| {
            let weighted = (ratio_of(op, amount)?, op.times());
            Some((op.family, weighted))
        });
        let mut families: Vec<(Family, Vec<Weighted>)> = grouped(known, Vec::push);
        let all: Vec<Weighted> = families.iter().flat_map(|(_, ops)| ops.clone()).collect();
        let known_ns = time_ns(&all);
        let matched = operations.matched.iter().map(|op| op.times().reference);
        let unmatched = operations.unmatched.reference.iter();
        let whole_ns = sum(matched.chain(unmatched.map(|op| op.side.time_ns)));
        if misses_calls || percent_or_zero(known_ns, whole_ns) < LEAST_KNOWN_PERCENT {
            return None;
        }
        let ratio = mean(&all);
        let middle = median(all.clone()).unwrap_or(ratio);
        let alike = all.iter().filter(|(ratio, _)| is_same(*ratio, middle));
        let alike: Vec<Weighted> = alike.copied().collect();
        let is_most = |which: Which| {
            let ns = |ops: &[Weighted]| sum(ops.iter().map(|(_, times)| *times.get(which)));
            percent_or_zero(ns(&alike), ns(&all)) >= UNIFORM_PERCENT
        };
        let is_uniform = Which::ALL.into_iter().all(is_most);
        let ratio = if is_uniform { middle } else { ratio };
        if !is_certain(operations, amount, ratio, known_ns) {
            return None;
        }
        families.arrange_by_largest(|(_, ops)| time_ns(ops));
        (!is_same(ratio, 1.0)).then(|| WorkRatio {
            ratio,
            is_uniform,
            by_family: families
                .iter()
                .map(|(family, ops)| (*family, mean(ops)))
                .collect(),
            is_per_step: matches!(amount.by, AmountBy::Steps(_)),
        })
    }

    /// "The target does 2.39× the work per step (GEMM 2.00×, Attention 4.00×)."
    pub fn sentence(&self) -> String {
        let of = match self.is_per_step {
            true => "per step",
            false => "of the reference",
        };
        let named = self
            .by_family
            .iter()
            .take(N_NAMED)
            .map(|(family, ratio)| format!("{} {}", family.label(), words::times(*ratio)));
        let named: Vec<String> = named.collect();
        let by_kind = match self.is_uniform || named.len() < 2 {
            true => String::new(),
            false => format!(" ({})", named.join(", ")),
        };
        let times = words::times(self.ratio);
        format!("The target does {times} the work {of}{by_kind}.")
    }
}

/// Whether the time of what only one of the traces does leaves most of a ratio: calls on other sizes may be among it.
fn is_certain(operations: &Operations, amount: &Amount, ratio: f64, known_ns: i64) -> bool {
    let alone = Pair::of(|which| {
        let ops = operations.unmatched.get(which).iter();
        sum(ops.map(|op| op.side.exclusive_ns))
    });
    let more_ns = alone.target.saturating_sub(amount.scaled(alone.reference));
    let known_ns = amount.scaled(known_ns).max(1);
    let corrected = ratio + more_ns as f64 / known_ns as f64;
    (corrected - 1.0) / (ratio - 1.0) >= 0.5
}

/// The work of all calls for the same number of steps; `None` if it is unknown.
fn ratio_of(op: &MatchedOp, amount: &Amount) -> Option<f64> {
    let Pair { reference, target } = op.calls();
    let calls = target as f64 / (reference > 0).then_some(reference)? as f64;
    Some(op.judgment.sizes_ratio? * calls / amount.ratio)
}

fn is_same(one: f64, other: f64) -> bool {
    (one / other - 1.0).abs() <= SAME
}

fn time_ns(ops: &[Weighted]) -> i64 {
    sum(ops.iter().map(|(_, times)| times.reference))
}

/// Weighted by time.
fn mean(ops: &[Weighted]) -> f64 {
    let grown: f64 = ops
        .iter()
        .map(|(ratio, times)| ratio * times.reference as f64)
        .sum();
    grown / time_ns(ops).max(1) as f64
}

/// Weighted by time.
fn median(mut ops: Vec<Weighted>) -> Option<f64> {
    ops.arrange_by(|a, b| a.0.total_cmp(&b.0));
    let half_ns = time_ns(&ops) / 2;
    let mut so_far_ns = 0_i64;
    let middle = ops.iter().find(|(_, times)| {
        so_far_ns = so_far_ns.saturating_add(times.reference);
        so_far_ns >= half_ns
    });
    middle.map(|(ratio, _)| *ratio)
}
