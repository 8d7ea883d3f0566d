//! Finds the rows of two lists that belong together, by text: ids of one trace mean nothing in the
//! other.

use std::hash::Hash;

use super::pair::{Pair, Which};
use crate::base::group::grouped;
use crate::base::sort::Arrange;

/// Rows of both lists that have the same key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Matched<L> {
    /// The kind of key.
    pub(crate) level: L,
    /// Rows of each list; neither is empty.
    pub(crate) rows: Pair<Vec<usize>>,
}

/// Two lists, row by row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Alignment<L> {
    /// What belongs together, in the order of the reference, level by level.
    pub(crate) matched: Vec<Matched<L>>,
    /// What has no partner, in order; rows with the same key of the first level together.
    pub(crate) lone: Pair<Vec<Vec<usize>>>,
}

/// Aligns two lists of so many rows by the key that each row has on a level; `None` for a row
/// without one. What a level leaves unmatched is tried with the next.
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
    let lone = lone(left, |which, row| key(first?, which, row));
    Alignment { matched, lone }
}

/// Rows by key, in order of first appearance, and those without one.
fn group<K: Hash + Eq + Clone>(
    left: &Pair<Vec<usize>>,
    key: impl Fn(Which, usize) -> Option<K>,
) -> (Vec<Pair<Vec<usize>>>, Pair<Vec<usize>>) {
    let rows = Which::BOTH.into_iter().flat_map(|which| {
        let rows = left.get(which).iter();
        rows.map(move |row| (which, *row))
    });
    let keyed = rows.map(|(which, row)| (key(which, row), (which, row)));
    let groups = grouped(keyed, |rows: &mut Pair<Vec<usize>>, (which, row)| {
        rows.get_mut(which).push(row);
    });
    let (with, without): (Vec<_>, Vec<_>) = groups.into_iter().partition(|(key, _)| key.is_some());
    let without = without.into_iter().next().unwrap_or_default();
    (with.into_iter().map(|(_, rows)| rows).collect(), without.1)
}

fn lone<K: Hash + Eq + Clone>(
    left: Pair<Vec<usize>>,
    key: impl Fn(Which, usize) -> Option<K>,
) -> Pair<Vec<Vec<usize>>> {
    let (groups, without_key) = group(&left, key);
    let mut lone: Pair<Vec<Vec<usize>>> =
        without_key.map(|rows| rows.into_iter().map(|row| vec![row]).collect());
    for rows in groups {
        lone.reference.push(rows.reference);
        lone.target.push(rows.target);
    }
    lone.map(|mut rows: Vec<Vec<usize>>| {
        rows.retain(|rows| !rows.is_empty());
        rows.arrange();
        rows
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_level_leaves_the_next_one_tries() {
        // (name, detail)
        let reference = [("mm", "a"), ("mm", "b"), ("add", "x"), ("norm", "n")];
        let target = [
            ("add", "x"),
            ("mm", "b"),
            ("mm", "c"),
            ("mm", "c"),
            ("gelu", "g"),
        ];
        let row = |which, row: usize| match which {
            Which::Reference => reference[row],
            Which::Target => target[row],
        };
        let key = |is_exact, which, at| {
            let (name, detail) = row(which, at);
            Some((name, if is_exact { detail } else { "" }))
        };
        let sides = Pair {
            reference: reference.len(),
            target: target.len(),
        };
        let alignment = align(sides, &[true, false], key);
        let found: Vec<(bool, &[usize], &[usize])> = alignment
            .matched
            .iter()
            .map(|matched| {
                (
                    matched.level,
                    &matched.rows.reference[..],
                    &matched.rows.target[..],
                )
            })
            .collect();
        assert_eq!(
            found,
            [
                (true, &[1][..], &[1][..]),
                (true, &[2], &[0]),
                // Both calls of `mm` with c stand against the one with a.
                (false, &[0], &[2, 3]),
            ]
        );
        assert_eq!(alignment.lone.reference, [vec![3]]);
        assert_eq!(alignment.lone.target, [vec![4]]);
    }

    #[test]
    fn rows_without_a_partner_are_together_by_their_first_key() {
        let sides = Pair {
            reference: 0,
            target: 4,
        };
        let alignment = align(sides, &[()], |(), _, row| Some(row % 2));
        assert!(alignment.matched.is_empty());
        assert_eq!(alignment.lone.target, [vec![0, 2], vec![1, 3]]);
    }
}
