//! Work that takes longer on a rank than the same work on others, by kernel and by category.

use std::cmp::Reverse;

use serde::Serialize;

use super::{Item, Key, SameWork, keep_most, text};
use crate::base::interval::sum;
use crate::base::map::Map;
use crate::base::sort::{Arrange, Arranged};
use crate::job::digest::TextId;

/// Work that takes longer on a rank than on others.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct SlowWork {
    /// As an index into the ranks of the job.
    pub(crate) rank: usize,
    pub(crate) kernel: String,
    pub(crate) op: String,
    pub(crate) shapes: String,
    pub(crate) category: String,
    pub(crate) calls: u64,
    pub(crate) total_ns: i64,
    /// How long the same number of calls takes at the median of all ranks, step by step.
    pub(crate) expected_ns: i64,
    /// Number of ranks that have this work.
    pub(crate) n_ranks: usize,
}

impl SlowWork {
    /// Time per call, on average.
    pub(crate) fn mean_ns(&self) -> f64 {
        self.total_ns as f64 / self.calls.max(1) as f64
    }

    /// Time per call at the median of all ranks.
    pub(crate) fn peers_ns(&self) -> f64 {
        self.expected_ns as f64 / self.calls.max(1) as f64
    }

    /// How many times as long it takes.
    pub(crate) fn ratio(&self) -> f64 {
        self.total_ns as f64 / self.expected_ns.max(1) as f64
    }

    /// How much longer it takes.
    pub(crate) fn excess_ns(&self) -> i64 {
        self.total_ns.saturating_sub(self.expected_ns)
    }
}

/// Kernels of one category on a rank, in one step or in all.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct SlowCategory {
    pub(crate) category: String,
    /// Number of distinct combinations of kernel, operator and shapes.
    pub(crate) n: usize,
    pub(crate) shared_ns: i64,
    pub(crate) expected_ns: i64,
}

/// A kernel (without a GPU, an operator) on a rank in some steps, over all shapes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SlowKernel {
    pub(crate) name: String,
    pub(crate) shared_ns: i64,
    pub(crate) expected_ns: i64,
    /// Number of distinct combinations of kernel, operator and shapes.
    pub(crate) n: usize,
}

impl SlowKernel {
    /// How many times as long it takes.
    pub(crate) fn ratio(&self) -> f64 {
        self.shared_ns as f64 / self.expected_ns.max(1) as f64
    }

    /// How much longer it takes.
    pub(crate) fn excess_ns(&self) -> i64 {
        self.shared_ns.saturating_sub(self.expected_ns)
    }
}

impl SameWork {
    /// The work that a rank shares with others in some steps, with its expected time at the median of all ranks.
    fn shared_of(&self, rank: usize, steps: &[usize]) -> impl Iterator<Item = (&Item, i64)> {
        let is_of = move |item: &&Item| {
            item.rank == rank && item.step.is_some_and(|step| steps.contains(&step))
        };
        let items = self.items.iter().filter(is_of);
        items.filter_map(|item| Some((item, item.expected_ns?)))
    }

    /// The kernel of a rank (without a GPU, the operator) with the largest excess over other ranks in some steps.
    pub(crate) fn slowest(&self, rank: usize, steps: &[usize]) -> Option<SlowKernel> {
        let mut sums: Map<TextId, (i64, i64, Vec<Key>)> = Map::default();
        for (item, expected_ns) in self.shared_of(rank, steps) {
            let (kernel, op, _) = item.key;
            let has_kernel = self
                .texts
                .get(kernel as usize)
                .is_some_and(|of| !of.is_empty());
            let sum = sums
                .entry(if has_kernel { kernel } else { op })
                .or_default();
            sum.0 = sum.0.saturating_add(item.total_ns);
            sum.1 = sum.1.saturating_add(expected_ns);
            // Rows with the same key are adjacent.
            if sum.2.last() != Some(&item.key) {
                sum.2.push(item.key);
            }
        }
        let sums = sums.into_iter();
        let most =
            sums.max_by_key(|(name, (own, expected, _))| (own.saturating_sub(*expected), *name));
        most.map(|(name, (shared_ns, expected_ns, keys))| SlowKernel {
            name: text(&self.texts, name),
            shared_ns,
            expected_ns,
            n: keys.len(),
        })
    }

    /// The work that a rank shares with others, by category, in some steps; largest excess first.
    pub(crate) fn categories(&self, rank: usize, steps: &[usize]) -> Vec<SlowCategory> {
        let mut found: Vec<(TextId, Vec<Key>, SlowCategory)> = Vec::new();
        for (item, expected_ns) in self.shared_of(rank, steps) {
            let known = found
                .iter()
                .position(|(category, ..)| *category == item.category);
            let at = known.unwrap_or_else(|| {
                let category = SlowCategory {
                    category: text(&self.texts, item.category),
                    n: 0,
                    shared_ns: 0,
                    expected_ns: 0,
                };
                found.push((item.category, Vec::new(), category));
                found.len() - 1
            });
            if let Some((_, keys, category)) = found.get_mut(at) {
                // Rows with the same key are adjacent.
                if keys.last() != Some(&item.key) {
                    keys.push(item.key);
                }
                category.n = keys.len();
                category.shared_ns = category.shared_ns.saturating_add(item.total_ns);
                category.expected_ns = category.expected_ns.saturating_add(expected_ns);
            }
        }
        found
            .into_iter()
            .map(|(.., of)| of)
            .arranged_by_cached_key(|of| {
                (
                    Reverse(of.shared_ns.saturating_sub(of.expected_ns)),
                    of.category.clone(),
                )
            })
    }
}

/// The rows with the largest excess; items are sorted by key, rank and step.
pub(super) fn find(items: &[Item], texts: &[String]) -> Vec<SlowWork> {
    let mut rows: Vec<SlowWork> = Vec::new();
    for of_key in items.chunk_by(|one, other| one.key == other.key) {
        let mut of_ranks = of_key.chunk_by(|one, other| one.rank == other.rank);
        let n_ranks = of_ranks.clone().count();
        if n_ranks < 2 {
            continue;
        }
        rows.extend(of_ranks.by_ref().filter_map(|items| {
            let shared = || items.iter().filter(|item| item.expected_ns.is_some());
            let first = shared().next()?;
            let (kernel, op, shapes) = first.key;
            let row = SlowWork {
                rank: first.rank,
                kernel: text(texts, kernel),
                op: text(texts, op),
                shapes: text(texts, shapes),
                category: text(texts, first.category),
                calls: shared().map(|item| item.calls).sum(),
                total_ns: sum(shared().map(|item| item.total_ns)),
                expected_ns: sum(shared().filter_map(|item| item.expected_ns)),
                n_ranks,
            };
            (row.excess_ns() > 0).then_some(row)
        }));
    }
    rows.arrange_by(|one, other| {
        let by_excess = other.excess_ns().cmp(&one.excess_ns());
        let key = |of: &SlowWork| (of.rank, of.kernel.clone(), of.op.clone(), of.shapes.clone());
        by_excess.then_with(|| key(one).cmp(&key(other)))
    });
    keep_most(&mut rows, |row| row.rank);
    rows
}
