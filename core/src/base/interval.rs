//! Time intervals in integer nanoseconds: union, difference and length.

use serde::{Deserialize, Serialize};

/// A span of time. `end_ns` is never before `start_ns`.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
pub struct Interval {
    /// First nanosecond.
    pub start_ns: i64,
    /// The nanosecond after the last one.
    pub end_ns: i64,
}

impl Interval {
    /// All time.
    pub const ALL: Interval = Interval {
        start_ns: i64::MIN,
        end_ns: i64::MAX,
    };

    /// A span; one that would end before it starts is empty.
    #[inline]
    pub fn new(start_ns: i64, end_ns: i64) -> Interval {
        Interval {
            start_ns,
            end_ns: end_ns.max(start_ns),
        }
    }

    /// Nanoseconds from start to end.
    #[inline]
    pub fn length(self) -> i64 {
        self.end_ns.saturating_sub(self.start_ns)
    }

    /// True for a time at or after the start and before the end.
    #[inline]
    pub fn contains(self, ns: i64) -> bool {
        self.start_ns <= ns && ns < self.end_ns
    }

    /// The intersection of two spans; empty if they only touch, `None` if they are apart.
    pub fn overlap(self, other: Interval) -> Option<Interval> {
        let start_ns = self.start_ns.max(other.start_ns);
        let end_ns = self.end_ns.min(other.end_ns);
        (start_ns <= end_ns).then_some(Interval { start_ns, end_ns })
    }

    /// The shortest span around both.
    pub fn hull(self, other: Interval) -> Interval {
        Interval {
            start_ns: self.start_ns.min(other.start_ns),
            end_ns: self.end_ns.max(other.end_ns),
        }
    }
}

/// The union of spans in any order: sorted and disjoint. Touching spans are merged.
pub fn union(mut spans: Vec<Interval>) -> Vec<Interval> {
    if !spans.is_sorted() {
        spans.sort_unstable();
    }
    spans.dedup_by(|span, last| {
        let is_joined = span.start_ns <= last.end_ns;
        if is_joined {
            last.end_ns = last.end_ns.max(span.end_ns);
        }
        is_joined
    });
    spans
}

/// The gaps of `whole` that `spans` leave: before the first, between them, and after the last. `spans` are those of a
/// union (sorted, disjoint) that touch `whole`.
pub(crate) fn gaps_in(whole: Interval, spans: &[Interval]) -> impl Iterator<Item = Interval> + '_ {
    let ends = std::iter::once(whole.start_ns).chain(spans.iter().map(|span| span.end_ns));
    let starts = spans.iter().map(|span| span.start_ns);
    let starts = starts.chain(std::iter::once(whole.end_ns));
    ends.zip(starts)
        .filter(|(end_ns, start_ns)| end_ns < start_ns)
        .map(|(end_ns, start_ns)| Interval::new(end_ns, start_ns))
}

/// The parts of `spans` that `others` do not cover. Both are unions (sorted, disjoint).
pub fn difference(spans: &[Interval], others: &[Interval]) -> Vec<Interval> {
    let rest = spans.iter().flat_map(|span| {
        let first = others.partition_point(|other| other.end_ns <= span.start_ns);
        let end = others.partition_point(|other| other.start_ns < span.end_ns);
        gaps_in(*span, others.get(first..end).unwrap_or_default())
    });
    rest.collect()
}

/// Total length of disjoint spans.
pub fn length(spans: &[Interval]) -> i64 {
    sum(spans.iter().map(|span| span.length()))
}

/// A sum of lengths. Impossible times in a broken trace must not overflow it.
pub fn sum(lengths: impl IntoIterator<Item = i64>) -> i64 {
    lengths.into_iter().fold(0, i64::saturating_add)
}

/// The sum of all lengths before each position, and the total as one more element.
pub(crate) fn running_sums(lengths: impl IntoIterator<Item = i64>) -> Vec<i64> {
    let mut all = 0_i64;
    let sums = lengths.into_iter().map(|length| {
        all = all.saturating_add(length);
        all
    });
    std::iter::once(0).chain(sums).collect()
}

/// Total time covered by at least one of the spans.
pub fn busy(spans: impl IntoIterator<Item = Interval>) -> i64 {
    let mut spans = spans.into_iter();
    // Most ops launch one kernel.
    let (Some(first), second) = (spans.next(), spans.next()) else {
        return 0;
    };
    let Some(second) = second else {
        return first.length();
    };
    length(&union([first, second].into_iter().chain(spans).collect()))
}

/// A union of spans with fast queries of how much of a span it covers.
#[derive(Debug, Clone, Default)]
pub struct Coverage {
    spans: Vec<Interval>,
    /// The length of all spans before each span, and the total as one more element.
    before: Vec<i64>,
}

impl Coverage {
    /// Takes a union (sorted, disjoint).
    pub fn new(spans: Vec<Interval>) -> Coverage {
        let before = running_sums(spans.iter().map(|span| span.length()));
        Coverage { spans, before }
    }

    /// How much of a span is covered: the length of the spans that overlap it, minus the parts of the first and the
    /// last that lie outside.
    pub fn within(&self, span: Interval) -> i64 {
        let spans = &self.spans;
        let first = spans.partition_point(|covered| covered.end_ns <= span.start_ns);
        let end = spans.partition_point(|covered| covered.start_ns < span.end_ns);
        let Some([head, ..]) = spans.get(first..end) else {
            return 0;
        };
        let outside_before = span.start_ns.saturating_sub(head.start_ns).max(0);
        let outside_after = spans[end - 1].end_ns.saturating_sub(span.end_ns).max(0);
        self.before[end]
            .saturating_sub(self.before[first])
            .saturating_sub(outside_before)
            .saturating_sub(outside_after)
    }
}

/// A share of a whole in percent; `None` if the whole is zero. Uses a single division, so that rounding does not move a
/// share that is exactly at a threshold.
pub fn percent_of(part_ns: i64, whole_ns: i64) -> Option<f64> {
    (whole_ns > 0).then(|| part_ns as f64 * 100.0 / whole_ns as f64)
}

/// The same; 0 if the whole is zero.
pub(crate) fn percent_or_zero(part_ns: i64, whole_ns: i64) -> f64 {
    percent_of(part_ns, whole_ns).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coverage_is_the_length_of_what_is_covered() {
        let covered = Coverage::new(spans(&[(0, 10), (20, 30), (40, 50)]));
        let cases = [
            ((0, 50), 30),
            ((5, 45), 20),
            ((22, 28), 6),
            ((10, 20), 0),
            ((-5, 1), 1),
            ((48, 99), 2),
            ((25, 25), 0),
            ((99, 120), 0),
        ];
        for ((start, end), expected) in cases {
            let within = covered.within(Interval::new(start, end));
            assert_eq!(within, expected, "{start}..{end}");
        }
        assert_eq!(Coverage::default().within(Interval::new(0, 9)), 0);
    }

    fn spans(pairs: &[(i64, i64)]) -> Vec<Interval> {
        let pairs = pairs.iter();
        pairs
            .map(|&(start, end)| Interval::new(start, end))
            .collect()
    }

    #[test]
    fn gaps_of_a_span_lie_between_others_and_at_its_ends() {
        let span = Interval::new;
        let of = |spans: &[Interval]| gaps_in(span(0, 10), spans).collect::<Vec<_>>();
        assert_eq!(of(&[]), [span(0, 10)]);
        assert_eq!(of(&[span(0, 10)]), []);
        assert_eq!(
            of(&[span(2, 4), span(5, 9)]),
            [span(0, 2), span(4, 5), span(9, 10)]
        );
    }

    #[test]
    fn a_union_is_sorted_and_joins_what_overlaps_or_touches() {
        let check = |input: &[(i64, i64)], expected: &[(i64, i64)]| {
            assert_eq!(union(spans(input)), spans(expected), "{input:?}");
        };
        check(&[], &[]);
        check(&[(5, 7), (1, 3)], &[(1, 3), (5, 7)]);
        check(&[(1, 3), (3, 7)], &[(1, 7)]);
        check(&[(1, 9), (2, 3), (8, 12)], &[(1, 12)]);
        check(&[(4, 4), (1, 2)], &[(1, 2), (4, 4)]);
    }

    #[test]
    fn a_difference_keeps_what_is_not_covered() {
        let check = |from: &[(i64, i64)], minus: &[(i64, i64)], expected: &[(i64, i64)]| {
            assert_eq!(
                difference(&spans(from), &spans(minus)),
                spans(expected),
                "{from:?} minus {minus:?}"
            );
        };
        check(&[(0, 10)], &[], &[(0, 10)]);
        check(&[(0, 10)], &[(3, 5)], &[(0, 3), (5, 10)]);
        check(&[(0, 10)], &[(0, 10)], &[]);
        check(&[(0, 4), (6, 10)], &[(3, 8)], &[(0, 3), (8, 10)]);
        check(&[(0, 4), (6, 10)], &[(-5, 1), (9, 20)], &[(1, 4), (6, 9)]);
        check(&[(0, 2), (4, 6)], &[(0, 6)], &[]);
    }

    #[test]
    fn busy_time_counts_overlaps_once() {
        assert_eq!(busy(spans(&[])), 0);
        assert_eq!(busy(spans(&[(2, 9)])), 7);
        assert_eq!(busy(spans(&[(2, 9), (4, 12), (20, 21)])), 11);
    }
}
