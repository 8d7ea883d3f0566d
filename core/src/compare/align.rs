//! Matches the rows of two lists by text, since ids of one trace mean nothing in the other.

use std::hash::Hash;

use super::pair::{Pair, Which};
use crate::base::group::grouped;
use crate::base::sort::Arrange;

/// Rows of both lists with the same key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Matched<L> {
    /// The kind of key.
    pub(crate) level: L,
    /// Rows of each list; neither list is empty.
    pub(crate) rows: Pair<Vec<usize>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Alignment<L> {
    /// Matched rows, in the order of the reference, level by level.
    pub(crate) matched: Vec<Matched<L>>,
    /// Unmatched rows, in order; rows with the same first-level key are grouped.
    pub(crate) unmatched: Pair<Vec<Vec<usize>>>,
}

impl<L> Alignment<L> {
    /// What a function makes of the groups of unmatched rows of both lists, by the key that it gives, in order of first
    /// appearance. It gets the list, the position of the group in [`Alignment::unmatched`], and its rows.
    pub(crate) fn unmatched_by<K: Hash + Eq, V>(
        &self,
        key: impl Fn(Which, usize, &[usize]) -> Option<(K, V)>,
    ) -> Vec<(K, Pair<Vec<V>>)> {
        let keyed = Which::ALL.into_iter().flat_map(|which| {
            let (key, rows) = (&key, self.unmatched.get(which).iter().enumerate());
            rows.filter_map(move |(place, rows)| {
                let (key, value) = key(which, place, rows)?;
                Some((key, (which, value)))
            })
        });
        grouped(keyed, |values: &mut Pair<Vec<V>>, (which, value)| {
            values.get_mut(which).push(value);
        })
    }
}

/// Aligns two lists with these numbers of rows by the key of each row on a level; `None` for a row without one. Rows
/// that a level leaves unmatched are tried with the next level.
pub(crate) fn align<L: Copy, K: Hash + Eq + Clone>(
    n_rows: Pair<usize>,
    levels: &[L],
    key: impl Fn(L, Which, usize) -> Option<K>,
) -> Alignment<L> {
    let mut matched = Vec::new();
    let mut left = n_rows.map(|n| (0..n).collect::<Vec<usize>>());
    for &level in levels {
        let (groups, without_key) = group(&left, |which, row| key(level, which, row));
        left = without_key;
        for rows in groups {
            if rows.reference.is_empty() || rows.target.is_empty() {
                left.reference.extend(rows.reference);
                left.target.extend(rows.target);
            } else {
                matched.push(Matched { level, rows });
            }
        }
        left.reference.arrange();
        left.target.arrange();
    }
    let first = levels.first().copied();
    let unmatched = unmatched(left, |which, row| key(first?, which, row));
    Alignment { matched, unmatched }
}

/// Rows by key, in order of first appearance, and the rows without one.
fn group<K: Hash + Eq + Clone>(
    left: &Pair<Vec<usize>>,
    key: impl Fn(Which, usize) -> Option<K>,
) -> (Vec<Pair<Vec<usize>>>, Pair<Vec<usize>>) {
    let rows = Which::ALL
        .into_iter()
        .flat_map(|which| left.get(which).iter().map(move |row| (which, *row)));
    let keyed = rows.map(|(which, row)| (key(which, row), (which, row)));
    let groups = grouped(keyed, |rows: &mut Pair<Vec<usize>>, (which, row)| {
        rows.get_mut(which).push(row);
    });
    let (with, without): (Vec<_>, Vec<_>) = groups.into_iter().partition(|(key, _)| key.is_some());
    let without = without.into_iter().next().unwrap_or_default();
    (with.into_iter().map(|(_, rows)| rows).collect(), without.1)
}

fn unmatched<K: Hash + Eq + Clone>(
    left: Pair<Vec<usize>>,
    key: impl Fn(Which, usize) -> Option<K>,
) -> Pair<Vec<Vec<usize>>> {
    let (groups, without_key) = group(&left, key);
    let mut unmatched: Pair<Vec<Vec<usize>>> =
        without_key.map(|rows| rows.into_iter().map(|row| vec![row]).collect());
    for rows in groups {
        unmatched.reference.push(rows.reference);
        unmatched.target.push(rows.target);
    }
    unmatched.map(|mut rows: Vec<Vec<usize>>| {
        rows.retain(|rows| !rows.is_empty());
        rows.arrange();
        rows
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::pair;
    use super::*;

    #[test]
    fn what_one_level_leaves_the_next_one_tries() {
        // (name, detail)
        let lists = pair(
            vec![("mm", "a"), ("mm", "b"), ("add", "x"), ("norm", "n")],
            vec![
                ("add", "x"),
                ("mm", "b"),
                ("mm", "c"),
                ("mm", "c"),
                ("gelu", "g"),
            ],
        );
        let key = |is_exact, which, at: usize| {
            let (name, detail) = lists.get(which)[at];
            Some((name, if is_exact { detail } else { "" }))
        };
        let alignment = align(lists.as_ref().map(Vec::len), &[true, false], key);
        let matched = |level, reference: &[usize], target: &[usize]| Matched {
            level,
            rows: pair(reference.to_vec(), target.to_vec()),
        };
        assert_eq!(
            alignment.matched,
            [
                matched(true, &[1], &[1]),
                matched(true, &[2], &[0]),
                // Both calls of `mm` with c are matched with the one with a.
                matched(false, &[0], &[2, 3]),
            ]
        );
        assert_eq!(alignment.unmatched, pair(vec![vec![3]], vec![vec![4]]));
    }

    #[test]
    fn rows_without_a_partner_are_together_by_their_first_key() {
        let alignment = align(pair(0, 4), &[()], |(), _, row| Some(row % 2));
        assert!(alignment.matched.is_empty());
        assert_eq!(alignment.unmatched.target, [vec![0, 2], vec![1, 3]]);
    }
}
