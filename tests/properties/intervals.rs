//! Interval sets compared with sets of single nanoseconds.

use std::collections::BTreeSet;

use dormer_core::base::interval::{Interval, busy, difference, length, union};
use proptest::prelude::*;

use super::cases;

fn any_spans() -> impl Strategy<Value = Vec<Interval>> {
    let span =
        (-30..30i64, 0..12i64).prop_map(|(start, length)| Interval::new(start, start + length));
    prop::collection::vec(span, 0..12)
}

/// Every nanosecond that the spans cover.
fn nanoseconds(spans: &[Interval]) -> BTreeSet<i64> {
    spans
        .iter()
        .flat_map(|span| span.start_ns..span.end_ns)
        .collect()
}

fn is_sorted_and_disjoint(spans: &[Interval]) -> bool {
    spans
        .windows(2)
        .all(|pair| pair[0].end_ns <= pair[1].start_ns)
}

proptest! {
    #![proptest_config(cases(512))]

    #[test]
    fn a_union_covers_what_its_parts_cover(spans in any_spans()) {
        let joined = union(spans.clone());
        prop_assert!(is_sorted_and_disjoint(&joined));
        prop_assert_eq!(nanoseconds(&joined), nanoseconds(&spans));
        prop_assert_eq!(union(joined.clone()), joined, "a union is its own union");
    }

    #[test]
    fn a_difference_covers_what_only_the_first_covers(a in any_spans(), b in any_spans()) {
        let rest = difference(&union(a.clone()), &union(b.clone()));
        let expected: BTreeSet<i64> = &nanoseconds(&a) - &nanoseconds(&b);
        prop_assert!(is_sorted_and_disjoint(&rest));
        prop_assert_eq!(nanoseconds(&rest), expected);
    }

    #[test]
    fn length_counts_nanoseconds(spans in any_spans()) {
        let n_covered = nanoseconds(&spans).len() as i64;
        prop_assert_eq!(length(&union(spans.clone())), n_covered);
        prop_assert_eq!(busy(spans), n_covered);
    }
}
