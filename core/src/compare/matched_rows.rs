//! Rows matched by name: kernels, modules, CPU operators, kinds of work.

use std::hash::Hash;

use super::align::{Alignment, align};
use super::pair::{Pair, Which};
use crate::base::sort::Arrange;
use crate::base::tally::Tally;

/// A row of both traces or of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named<K, T> {
    /// Its key.
    pub key: K,
    /// Its measurements; `None` for a trace without the row.
    pub sides: Pair<Option<T>>,
}

/// The measurements of a row.
pub trait Timed {
    /// Its time in nanoseconds.
    fn ns(&self) -> i64;
}

impl Timed for Tally {
    fn ns(&self) -> i64 {
        self.ns
    }
}

impl<K, T: PartialEq> Named<K, T> {
    /// Whether both sides are equal.
    pub(crate) fn is_same(&self) -> bool {
        self.sides.reference == self.sides.target
    }
}

impl<K, T: Timed> Named<K, T> {
    /// Its time in each trace; 0 in a trace without it.
    pub fn times(&self) -> Pair<i64> {
        self.sides
            .as_ref()
            .map(|side| side.as_ref().map_or(0, Timed::ns))
    }

    /// Whether both traces have it.
    pub fn is_matched(&self) -> bool {
        self.sides.reference.is_some() && self.sides.target.is_some()
    }
}

/// Joins the rows of two lists, longest first; each key occurs once per list.
pub(crate) fn by_key<K, T>(lists: &Pair<Vec<(K, T)>>) -> Vec<Named<K, T>>
where
    K: Hash + Eq + Clone,
    T: Timed + Clone,
{
    let alignment = align(lists.as_ref().map(Vec::len), &[()], |(), which, row| {
        lists.get(which).get(row).map(|(key, _)| key)
    });
    let row = |which: Which, rows: &[usize]| {
        let row = rows.first().and_then(|row| lists.get(which).get(*row));
        row.cloned()
    };
    side_by_side(&alignment, row)
}

/// Joins aligned rows, longest first; `of` merges the rows of one trace.
pub(crate) fn side_by_side<K: Clone, T: Timed, L>(
    alignment: &Alignment<L>,
    of: impl Fn(Which, &[usize]) -> Option<(K, T)>,
) -> Vec<Named<K, T>> {
    let mut named: Vec<Named<K, T>> = Vec::new();
    let mut push = |sides: Pair<Option<(K, T)>>| {
        let key = sides.target.as_ref().or(sides.reference.as_ref());
        if let Some((key, _)) = key {
            named.push(Named {
                key: key.clone(),
                sides: sides.map(|side| side.map(|(_, value)| value)),
            });
        }
    };
    for matched in &alignment.matched {
        push(Pair::of(|which| of(which, matched.rows.get(which))));
    }
    for which in Which::ALL {
        for rows in alignment.unmatched.get(which) {
            push(Pair::only(which, of(which, rows)));
        }
    }
    // Stable sort: ties keep order of appearance.
    named.arrange_by_key(|named| {
        let times = named.times();
        std::cmp::Reverse(times.reference.max(times.target))
    });
    named
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::testing::pair;

    #[test]
    fn rows_stand_side_by_side_by_their_name() {
        let tally = |count, ns| Tally { count, ns };
        let rows = by_key(&pair(
            vec![("gemm", tally(2, 50)), ("softmax", tally(1, 70))],
            vec![("copy", tally(1, 5)), ("gemm", tally(2, 80))],
        ));
        let seen = rows.iter();
        let seen = seen.map(|row| (row.key, row.times().difference(), row.is_matched()));
        assert!(seen.eq([
            ("gemm", 30, true),
            ("softmax", -70, false),
            ("copy", 5, false)
        ]));
    }
}
