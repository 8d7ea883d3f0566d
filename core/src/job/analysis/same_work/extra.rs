//! Work that a rank has and others lack: more calls, other shapes, other operators.

use std::cmp::Reverse;

use serde::Serialize;

use super::{Item, keep_most, text};
use crate::base::interval::sum;
use crate::base::sort::Arrange;
use crate::job::analysis::roles::Layout;

/// An operator must take this much longer on the rank than on the others, in percent of its time there, so that shapes
/// that differ on every rank are not reported.
const LEAST_MORE_PERCENT: i64 = 5;

/// Work that a rank has more of than others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct MoreWork {
    /// As an index into the ranks of the job.
    pub(crate) rank: usize,
    pub(crate) kernel: String,
    pub(crate) op: String,
    pub(crate) shapes: String,
    pub(crate) calls: u64,
    /// The median of the others of its stage.
    pub(crate) peers_calls: u64,
    /// How long the additional calls take.
    pub(crate) excess_ns: i64,
}

/// The work that ranks have more of, over all steps; items are sorted by key, rank and step.
pub(super) fn find(
    items: &[Item],
    texts: &[String],
    layout: &Layout,
    n_ranks: usize,
) -> Vec<MoreWork> {
    let mut rows = Vec::new();
    // Whatever the shapes: how much more time a rank spends in a kernel and operator, at the speed of the others.
    let of_kernel = |item: &Item| (item.key.0, item.key.1);
    for of_kernel in items.chunk_by(|one, other| of_kernel(one) == of_kernel(other)) {
        let times = sums(of_kernel, n_ranks, usual_ns);
        let others = layout.medians_of_peers(&times);
        for of_key in of_kernel.chunk_by(|one, other| one.key == other.key) {
            let calls = |item: &Item| i64::try_from(item.calls).unwrap_or(i64::MAX);
            let calls = sums(of_key, n_ranks, calls);
            let peers = layout.medians_of_peers(&calls);
            for of_rank in of_key.chunk_by(|one, other| one.rank == other.rank) {
                let Some(first) = of_rank.first() else {
                    continue;
                };
                let at = |values: &[i64]| values.get(first.rank).copied().unwrap_or(0);
                let more_ns = at(&times).saturating_sub(at(&others));
                let (calls, peers) = (at(&calls), at(&peers));
                let is_more =
                    more_ns.saturating_mul(100) > at(&others).saturating_mul(LEAST_MORE_PERCENT);
                if calls <= peers || !is_more {
                    continue;
                }
                let total_ns = sum(of_rank.iter().map(usual_ns));
                let beyond = i128::from(total_ns) * i128::from(calls - peers) / i128::from(calls);
                let (kernel, op, shapes) = first.key;
                rows.push(MoreWork {
                    rank: first.rank,
                    kernel: text(texts, kernel),
                    op: text(texts, op),
                    shapes: text(texts, shapes),
                    calls: calls.unsigned_abs(),
                    peers_calls: peers.unsigned_abs(),
                    excess_ns: (beyond as i64).min(more_ns),
                });
            }
        }
    }
    rows.arrange_by_cached_key(|row| {
        let texts = (row.kernel.clone(), row.op.clone(), row.shapes.clone());
        (Reverse(row.excess_ns), row.rank, texts)
    });
    keep_most(&mut rows, |row| row.rank);
    rows
}

/// The time of work at the speed of the other ranks.
fn usual_ns(item: &Item) -> i64 {
    item.expected_ns.unwrap_or(item.total_ns)
}

/// Sums a number by rank.
fn sums(items: &[Item], n_ranks: usize, number: impl Fn(&Item) -> i64) -> Vec<i64> {
    let mut sums = vec![0_i64; n_ranks];
    for item in items {
        if let Some(sum) = sums.get_mut(item.rank) {
            *sum = sum.saturating_add(number(item));
        }
    }
    sums
}
