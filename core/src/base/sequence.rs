//! Aligns two sequences: a long common subsequence.
//!
//! Common prefixes and suffixes are matched first, then elements that occur once in each sequence: the longest
//! ascending chain of these is fixed, and the segments between are aligned separately. The rest consists of repeated
//! names. There the shortest edit is searched, up to [`MAX_EDITS`]; beyond that, the nearest equal elements are
//! matched. So the time is bounded, and the result is deterministic.

use crate::base::map::Map;
use crate::base::sort::Arrange;
use std::ops::Range;

/// The maximum number of insertions and deletions of the shortest edit. The cost is quadratic: half a million steps.
const MAX_EDITS: usize = 1024;
/// At most this many nested splits at unique elements.
const MAX_SPLITS: u32 = 64;
/// How far ahead the nearest equal elements are searched.
const WINDOW: usize = 48;

/// Positions of matched equal elements, ascending in both sequences.
pub(crate) fn align(a: &[u64], b: &[u64]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    let mut open = vec![Segment {
        a: 0..a.len(),
        b: 0..b.len(),
        n_splits: 0,
    }];
    while let Some(mut segment) = open.pop() {
        segment.trim(a, b, &mut pairs);
        if segment.a.is_empty() || segment.b.is_empty() {
            continue;
        }
        let anchors = match segment.n_splits < MAX_SPLITS {
            true => anchors(a, b, &segment),
            false => Vec::new(),
        };
        match anchors.is_empty() {
            true => align_repeated(a, b, &segment, &mut pairs),
            false => segment.split(&anchors, &mut open),
        }
        pairs.extend(anchors);
    }
    pairs.arrange();
    pairs
}

struct Segment {
    a: Range<usize>,
    b: Range<usize>,
    n_splits: u32,
}

impl Segment {
    /// Matches and removes the common prefix and suffix.
    fn trim(&mut self, a: &[u64], b: &[u64], pairs: &mut Vec<(usize, usize)>) {
        while !self.a.is_empty() && !self.b.is_empty() && a[self.a.start] == b[self.b.start] {
            pairs.push((self.a.start, self.b.start));
            self.a.start += 1;
            self.b.start += 1;
        }
        while !self.a.is_empty() && !self.b.is_empty() && a[self.a.end - 1] == b[self.b.end - 1] {
            self.a.end -= 1;
            self.b.end -= 1;
            pairs.push((self.a.end, self.b.end));
        }
    }

    /// Splits the segment at its anchors.
    fn split(&self, anchors: &[(usize, usize)], open: &mut Vec<Segment>) {
        let (mut from_a, mut from_b) = (self.a.start, self.b.start);
        let end = (self.a.end, self.b.end);
        for &(to_a, to_b) in anchors.iter().chain([&end]) {
            open.push(Segment {
                a: from_a..to_a,
                b: from_b..to_b,
                n_splits: self.n_splits + 1,
            });
            (from_a, from_b) = (to_a + 1, to_b + 1);
        }
    }
}

/// The longest chain, ascending in both segments, of elements that occur once in each.
fn anchors(a: &[u64], b: &[u64], segment: &Segment) -> Vec<(usize, usize)> {
    let mut places: Map<u64, [(usize, usize); 2]> = Map::default();
    for (side, (keys, range)) in [(a, &segment.a), (b, &segment.b)].into_iter().enumerate() {
        for at in range.clone() {
            let (count, last) = &mut places.entry(keys[at]).or_default()[side];
            *count += 1;
            *last = at;
        }
    }
    let unique = segment.a.clone().filter_map(|at| match places.get(&a[at]) {
        Some([(1, _), (1, other)]) => Some((at, *other)),
        _ => None,
    });
    longest_rising(&unique.collect::<Vec<_>>())
}

/// The longest chain with ascending second parts; the first parts are ascending already.
fn longest_rising(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // By chain length: the pair with the smallest second part that ends such a chain.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (at, &(_, second)) in pairs.iter().enumerate() {
        let length = ends.partition_point(|&end| pairs[end].1 < second);
        before.push(length.checked_sub(1).map(|shorter| ends[shorter]));
        match ends.get_mut(length) {
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    let mut row: Vec<(usize, usize)> =
        std::iter::successors(ends.last().copied(), |&at| before[at])
            .map(|at| pairs[at])
            .collect();
    row.reverse();
    row
}

/// Aligns repeated elements. Those that only one side has cannot match and are removed first.
fn align_repeated(a: &[u64], b: &[u64], segment: &Segment, pairs: &mut Vec<(usize, usize)>) {
    let mut known: Map<u64, [bool; 2]> = Map::default();
    for (side, (keys, range)) in [(a, &segment.a), (b, &segment.b)].into_iter().enumerate() {
        for at in range.clone() {
            known.entry(keys[at]).or_default()[side] = true;
        }
    }
    let shared = |keys: &[u64], range: &Range<usize>| -> Vec<usize> {
        let is_shared = |at: &usize| known.get(&keys[*at]) == Some(&[true, true]);
        range.clone().filter(is_shared).collect()
    };
    let (rows_a, rows_b) = (shared(a, &segment.a), shared(b, &segment.b));
    let keys_a: Vec<u64> = rows_a.iter().map(|&at| a[at]).collect();
    let keys_b: Vec<u64> = rows_b.iter().map(|&at| b[at]).collect();
    let found = shortest_edit(&keys_a, &keys_b).unwrap_or_else(|| nearest(&keys_a, &keys_b));
    pairs.extend(found.into_iter().map(|(i, j)| (rows_a[i], rows_b[j])));
}

/// The shortest edit, after Myers (1986); `None` if it takes more than [`MAX_EDITS`].
fn shortest_edit(a: &[u64], b: &[u64]) -> Option<Vec<(usize, usize)>> {
    let most = (a.len() + b.len()).min(MAX_EDITS);
    // By diagonal k = i - j: the furthest position in `a`. With `edits` edits, diagonal k is at index k + edits.
    let mut rounds: Vec<Vec<usize>> = Vec::new();
    let mut last: Vec<usize> = Vec::new();
    for edits in 0..=most {
        let mut reach = vec![0; 2 * edits + 1];
        for at in (0..=2 * edits).step_by(2) {
            let mut i = start_of(&last, edits, at);
            // The diagonal is `at - edits`.
            while i < a.len() && i + edits >= at && i + edits - at < b.len() {
                if a[i] != b[i + edits - at] {
                    break;
                }
                i += 1;
            }
            reach[at] = i;
            if i >= a.len() && i + edits >= at && i + edits - at >= b.len() {
                rounds.push(last);
                return Some(backtrack(&rounds, a.len(), b.len(), edits));
            }
        }
        rounds.push(std::mem::replace(&mut last, reach));
    }
    None
}

/// Where a diagonal starts after one more edit: one further along `a` than the diagonal below, or as far along `a` as
/// the one above. `last` has the reach with one edit less, so its indices are shifted by one.
fn start_of(last: &[usize], edits: usize, at: usize) -> usize {
    if edits == 0 {
        return 0;
    }
    // Diagonal k - 1 is at index (k - 1) + (edits - 1) = at - 2, diagonal k + 1 at `at`.
    let below = at.checked_sub(2).and_then(|at| last.get(at));
    let above = last.get(at);
    match (below, above) {
        (Some(below), Some(above)) => (below + 1).max(*above),
        (Some(below), None) => below + 1,
        (None, Some(above)) => *above,
        (None, None) => 0,
    }
}

/// Walks back along the path of [`shortest_edit`] and collects its matches. `rounds[d]` is the reach with d - 1 edits.
fn backtrack(rounds: &[Vec<usize>], n: usize, m: usize, edits: usize) -> Vec<(usize, usize)> {
    let (mut i, mut j) = (n, m);
    let mut pairs = Vec::new();
    for edits in (0..=edits).rev() {
        let last = rounds.get(edits).map_or(&[][..], Vec::as_slice);
        // The index of diagonal i - j for this number of edits.
        let at = (i + edits).saturating_sub(j);
        let start = start_of(last, edits, at);
        while i > start && j > 0 {
            i -= 1;
            j -= 1;
            pairs.push((i, j));
        }
        if edits == 0 {
            break;
        }
        let below = at.checked_sub(2).and_then(|at| last.get(at));
        match below {
            Some(below) if below + 1 == start => i = i.saturating_sub(1),
            _ => j = j.saturating_sub(1),
        }
    }
    pairs.reverse();
    pairs
}

/// Matches the nearest equal elements: those that skip the fewest elements on both sides in total.
fn nearest(a: &[u64], b: &[u64]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        let ahead = (0..WINDOW).find_map(|skipped| {
            (0..=skipped)
                .map(|in_b| (i + skipped - in_b, j + in_b))
                .find(|&(i, j)| a.get(i).is_some_and(|key| b.get(j) == Some(key)))
        });
        match ahead {
            Some(found) => {
                pairs.push(found);
                (i, j) = (found.0 + 1, found.1 + 1);
            }
            None => (i, j) = (i + 1, j + 1),
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> Vec<u64> {
        text.bytes().map(u64::from).collect()
    }

    /// The common subsequence as text.
    fn common(a: &str, b: &str) -> String {
        let pairs = align(&keys(a), &keys(b));
        assert!(
            pairs.is_sorted_by(|x, y| x.0 < y.0 && x.1 < y.1),
            "{pairs:?}"
        );
        let letters = pairs.iter().map(|&(i, j)| {
            assert_eq!(a.as_bytes()[i], b.as_bytes()[j]);
            char::from(a.as_bytes()[i])
        });
        letters.collect()
    }

    #[test]
    fn what_both_have_in_order() {
        let cases = [
            ("", "", ""),
            ("abc", "", ""),
            ("abc", "abc", "abc"),
            ("abc", "xyz", ""),
            ("abcd", "acd", "acd"),
            ("abcabba", "cbabac", "baba"),
            ("aaaa", "aa", "aa"),
            ("qaaaaz", "aaxaa", "aaaa"),
            // Unique elements are fixed, even if the longest common subsequence is elsewhere.
            ("1aa", "aa1", "1"),
        ];
        for (a, b, expected) in cases {
            assert_eq!(
                common(a, b).len(),
                expected.len(),
                "{a} {b}: {}",
                common(a, b)
            );
        }
    }

    #[test]
    fn the_shortest_edit_is_as_long_as_the_table_says() {
        // A small random generator: sequences of few distinct letters, all of which repeat.
        let mut state = 7_u64;
        let mut next = |n: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % n
        };
        for _ in 0..200 {
            let mut sequence = |n: u64| -> Vec<u64> { (0..next(n)).map(|_| next(3)).collect() };
            let (a, b) = (sequence(30), sequence(30));
            let found = shortest_edit(&a, &b).unwrap();
            assert!(found.is_sorted_by(|x, y| x.0 < y.0 && x.1 < y.1));
            assert!(found.iter().all(|&(i, j)| a[i] == b[j]));
            assert_eq!(found.len(), by_table(&a, &b), "{a:?} {b:?}");
        }
    }

    /// Length of the longest common subsequence.
    fn by_table(a: &[u64], b: &[u64]) -> usize {
        let mut row = vec![0; b.len() + 1];
        for x in a {
            let mut corner = 0;
            for (j, y) in b.iter().enumerate() {
                let above = row[j + 1];
                row[j + 1] = match x == y {
                    true => corner + 1,
                    false => above.max(row[j]),
                };
                corner = above;
            }
        }
        row[b.len()]
    }

    #[test]
    fn twenty_thousand_in_another_order_take_no_time() {
        let a: Vec<u64> = (0..20_000).map(|at| at * 7 % 13).collect();
        let b: Vec<u64> = (0..20_000).map(|at| at * at % 11).collect();
        let pairs = align(&a, &b);
        assert!(pairs.len() > 4_000, "{}", pairs.len());
        assert!(pairs.iter().all(|&(i, j)| a[i] == b[j]));
        let reversed: Vec<u64> = (0..20_000).rev().collect();
        assert_eq!(
            align(&(0..20_000).collect::<Vec<u64>>(), &reversed).len(),
            1
        );
    }
}
