//! Counts with total times.

use std::hash::Hash;

use crate::base::map::Map;
use crate::base::sort::Arrange;

/// A count and a total time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many.
    pub count: u64,
    /// Sum of their times.
    pub ns: i64,
}

impl Tally {
    pub(crate) fn add(&mut self, ns: i64) {
        self.add_many(1, ns);
    }

    pub(crate) fn add_many(&mut self, count: u64, ns: i64) {
        self.count += count;
        self.ns = self.ns.saturating_add(ns);
    }

    /// Mean time; `None` if the count is zero.
    pub(crate) fn mean_ns(&self) -> Option<i64> {
        let count = i64::try_from(self.count).ok().filter(|count| *count > 0)?;
        Some(self.ns / count)
    }
}

/// Tallies by key.
#[derive(Debug, Clone)]
pub(crate) struct Tallies<K> {
    of_keys: Map<K, Tally>,
    /// By total time, once they are sorted.
    pub(crate) rows: Vec<(K, Tally)>,
}

impl<K> Default for Tallies<K> {
    fn default() -> Self {
        Tallies {
            of_keys: Map::default(),
            rows: Vec::new(),
        }
    }
}

impl<K: Copy + Eq + Hash> Tallies<K> {
    pub(crate) fn add(&mut self, key: K, ns: i64) {
        self.of_keys.entry(key).or_default().add(ns);
    }

    /// Sorts the longest first. Nothing may be added afterwards.
    pub(crate) fn sort(&mut self) {
        self.rows = std::mem::take(&mut self.of_keys).into_iter().collect();
        self.rows.arrange_by_largest(|(_, tally)| tally.ns);
    }

    pub(crate) fn first(&self) -> Option<(K, Tally)> {
        self.rows.first().copied()
    }
}

/// How often each key occurs, and its total time; largest total time first.
pub(crate) fn tallied<K: Copy + Eq + Hash>(
    times: impl Iterator<Item = (K, i64)>,
) -> Vec<(K, u64, i64)> {
    let mut all = Tallies::default();
    times.for_each(|(key, ns)| all.add(key, ns));
    all.sort();
    let rows = all.rows.into_iter();
    rows.map(|(key, Tally { count, ns })| (key, count, ns))
        .collect()
}

/// Inserts an item into a list of the `most` longest ones, the longest first. Of equal ones the earlier is kept.
pub(crate) fn insert_longest<T>(
    kept: &mut Vec<T>,
    new: T,
    most: usize,
    length: impl Fn(&T) -> i64,
) {
    let new_length = length(&new);
    if kept.len() == most && kept.last().is_some_and(|last| length(last) >= new_length) {
        return;
    }
    let at = kept.partition_point(|one| length(one) >= new_length);
    kept.insert(at, new);
    kept.truncate(most);
}
