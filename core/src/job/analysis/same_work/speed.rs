//! Steps in which all ranks take longer for the same work than in their other steps.

use super::Item;
use crate::base::stats::{median, quantile_ns};

/// The speed of a rank is known from at least this many steps.
const LEAST_STEPS: usize = 4;

/// The faster steps are the reference: slow ones may be most of a recording.
const QUICK: f64 = 0.25;

/// A step is slow from this factor on.
const LEAST_FACTOR: f64 = 1.1;

/// At least two steps must be as fast as this.
const USUAL_FACTOR: f64 = 1.05;

/// A step in which all ranks are slow.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SlowSpeed {
    /// As an index into the steps of the job.
    pub(crate) step: usize,
    /// For each rank, how many times as long as in its faster steps it takes for the same work.
    pub(crate) factors: Vec<f64>,
}

impl SlowSpeed {
    /// The factor of the middle rank.
    pub(crate) fn factor(&self) -> f64 {
        median(self.factors.clone())
    }
}

/// The slow steps, in order; items are sorted by key, rank and step. Most ranks must be slow: a single one is compared
/// with the others. A slow start is a warm-up.
pub(super) fn find(items: &[Item], n_steps: usize, n_ranks: usize) -> Vec<SlowSpeed> {
    let mut sums = vec![vec![(0_i64, 0_i64); n_ranks]; n_steps];
    for same in items.chunk_by(|one, next| (one.key, one.rank) == (next.key, next.rank)) {
        let in_steps = || {
            same.iter()
                .filter(|item| item.step.is_some() && item.calls > 0)
        };
        let mean_ns =
            |item: &Item| item.total_ns / i64::try_from(item.calls).unwrap_or(i64::MAX).max(1);
        let means: Vec<i64> = in_steps().map(mean_ns).collect();
        let quick_ns = match means.len() >= LEAST_STEPS {
            true => quantile_ns(means, QUICK),
            false => None,
        };
        let Some(quick_ns) = quick_ns else { continue };
        for item in in_steps() {
            let sum = item
                .step
                .and_then(|at| sums.get_mut(at)?.get_mut(item.rank));
            if let Some((all_ns, quick)) = sum {
                *all_ns = all_ns.saturating_add(item.total_ns);
                let calls = i64::try_from(item.calls).unwrap_or(i64::MAX);
                *quick = quick.saturating_add(quick_ns.saturating_mul(calls));
            }
        }
    }
    let factors = sums.iter().map(|row| {
        let known = row.iter().filter(|(_, quick_ns)| *quick_ns > 0);
        let factors: Vec<f64> = known
            .map(|(ns, quick_ns)| *ns as f64 / *quick_ns as f64)
            .collect();
        (factors.len() == n_ranks && n_ranks > 0).then_some(factors)
    });
    let steps: Vec<SlowSpeed> = factors
        .enumerate()
        .filter_map(|(step, factors)| {
            Some(SlowSpeed {
                step,
                factors: factors?,
            })
        })
        .collect();
    let n_usual = steps
        .iter()
        .filter(|step| step.factor() < USUAL_FACTOR)
        .count();
    if n_usual < 2 {
        return Vec::new();
    }
    let first_usual = steps.iter().position(|step| step.factor() < LEAST_FACTOR);
    let later = steps.into_iter().skip(first_usual.unwrap_or(0));
    later.filter(|step| step.factor() >= LEAST_FACTOR).collect()
}
