//! Who computed when: the time in which the GPU computes, split among the operations.
//!
//! Where kernels run at once, each has an equal share of that time. So shares sum up to the time
//! in which anything is computed, however streams overlap, and not to more.

use crate::kernels::GpuEvents;
use crate::profile::Profile;
use crate::sort::Arrange;
use crate::timeline::GpuClass;

/// Fractions of a nanosecond that shares are counted in.
const FRACTION_BITS: u32 = 32;

/// The computation of a trace, split among its operations.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Shares {
    /// By position in [`Profile::operations`].
    pub(crate) operations_ns: Vec<i64>,
    /// Computation that belongs to no operation.
    pub(crate) others_ns: i64,
}

impl Shares {
    /// Splits the computation of the GPU work that counts.
    pub(crate) fn new(profile: &Profile, events: GpuEvents) -> Shares {
        let operations = profile.operations();
        // The last owner is nobody.
        let nobody = operations.len();
        let mut owners = vec![nobody; profile.gpu.len()];
        for (at, operation) in operations.iter().enumerate() {
            for work in operation.work() {
                if let Some(owner) = owners.get_mut(work.index()) {
                    *owner = at;
                }
            }
        }
        let counts = |launched: bool| launched || events == GpuEvents::All;
        let spans: Vec<Span> = profile
            .gpu
            .iter()
            .filter(|(_, work)| work.class == GpuClass::Computation)
            .filter(|(_, work)| counts(work.launched_by.is_some()))
            .map(|(id, work)| Span {
                start_ns: work.span.start_ns,
                end_ns: work.span.end_ns,
                owner: owners.get(id.index()).copied().unwrap_or(nobody),
            })
            .collect();
        let mut operations_ns = split(spans, nobody + 1);
        Shares {
            others_ns: operations_ns.pop().unwrap_or(0),
            operations_ns,
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Span {
    start_ns: i64,
    end_ns: i64,
    owner: usize,
}

/// The time of each owner, in whole nanoseconds; the sum is the length of the union of the spans.
///
/// A clock runs that stands still while nothing runs, and goes at 1/n of its speed while n spans
/// are open: the share of a span is what passes on it between its start and its end.
fn split(spans: Vec<Span>, n_owners: usize) -> Vec<i64> {
    let mut edges: Vec<(i64, bool, usize)> = Vec::with_capacity(spans.len() * 2);
    for (at, span) in spans.iter().enumerate() {
        if span.start_ns < span.end_ns {
            edges.push((span.start_ns, true, at));
            edges.push((span.end_ns, false, at));
        }
    }
    edges.arrange();
    let mut clock = 0_i128;
    let mut union_ns = 0_i128;
    let mut n_open = 0_i128;
    let mut last_ns = 0_i64;
    let mut started = vec![0_i128; spans.len()];
    let mut shares = vec![0_i128; n_owners];
    for (ns, is_start, at) in edges {
        if n_open > 0 {
            let passed = i128::from(ns) - i128::from(last_ns);
            union_ns += passed;
            clock += (passed << FRACTION_BITS) / n_open;
        }
        last_ns = ns;
        if is_start {
            n_open += 1;
            started[at] = clock;
        } else {
            n_open -= 1;
            let owner = spans.get(at).map_or(0, |span| span.owner);
            if let Some(share) = shares.get_mut(owner) {
                *share += clock - started[at];
            }
        }
    }
    whole(&shares, union_ns)
}

/// Rounds so that the sum is `whole_ns`: down, then one more for those with the largest rest.
fn whole(shares: &[i128], whole_ns: i128) -> Vec<i64> {
    let mut rounded: Vec<i128> = shares.iter().map(|share| share >> FRACTION_BITS).collect();
    let mut missing = whole_ns - rounded.iter().sum::<i128>();
    let mut by_rest: Vec<usize> = (0..shares.len()).filter(|at| shares[*at] > 0).collect();
    by_rest.arrange_by_key(|at| std::cmp::Reverse(shares[*at] & ((1 << FRACTION_BITS) - 1)));
    while missing > 0 && !by_rest.is_empty() {
        for at in &by_rest {
            if missing == 0 {
                break;
            }
            rounded[*at] += 1;
            missing -= 1;
        }
    }
    let bounded = rounded.into_iter();
    bounded
        .map(|ns| i64::try_from(ns).unwrap_or(i64::MAX))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Timetable;

    fn spans(all: &[(i64, i64, usize)]) -> Vec<Span> {
        let span = |&(start_ns, end_ns, owner): &(i64, i64, usize)| Span {
            start_ns,
            end_ns,
            owner,
        };
        all.iter().map(span).collect()
    }

    /// ```text
    /// ns   0    10   20   30   40
    /// a    [=========)              alone, then with b
    /// b         [=========)         with a, then with c
    /// c              [=========)    with b, then alone
    /// ```
    #[test]
    fn what_runs_at_once_shares_the_time() {
        let times = split(spans(&[(0, 20, 0), (10, 30, 1), (20, 40, 2)]), 3);
        assert_eq!(times, [15, 10, 15]);
    }

    #[test]
    fn shares_sum_up_to_the_union_exactly() {
        // 10 ns among three: 3⅓ each. One of them has the nanosecond that is left.
        assert_eq!(
            split(spans(&[(0, 10, 0), (0, 10, 1), (0, 10, 2)]), 3),
            [4, 3, 3]
        );
        let many: Vec<(i64, i64, usize)> = (0..97).map(|at| (at, 1000 + at * 7, 1)).collect();
        let mut all = many.clone();
        all.extend([(3, 777, 0), (5_000, 5_001, 2), (9, 9, 2)]);
        // The union is 0 to 1672, and one more.
        assert_eq!(split(spans(&all), 3).iter().sum::<i64>(), 1_673);
    }

    #[test]
    fn impossible_times_do_not_overflow() {
        let times = split(
            spans(&[(i64::MIN, i64::MAX, 0), (i64::MIN, i64::MAX, 1)]),
            2,
        );
        assert_eq!(times, [i64::MAX, i64::MAX]);
    }

    #[test]
    fn computation_belongs_to_the_operation_that_launched_it() {
        let profile = Timetable::new()
            .op("aten::mm", 0..10)
            .launch(1, 1..2)
            .op("aten::add", 10..20)
            .launch(2, 11..12)
            .launch(3, 13..14)
            .kernel(1, "gemm", 100..140)
            .stream(8)
            .kernel(2, "add", 120..160)
            .copy(3, "Memcpy DtoH", 160..200)
            .kernel(9, "unlinked", 300..310)
            .profile();
        let names: Vec<&str> = profile
            .operations()
            .iter()
            .map(|operation| operation.short_name(&profile))
            .collect();
        assert_eq!(names, ["aten::add", "aten::mm", "unlinked"]);
        let linked = Shares::new(&profile, GpuEvents::Linked);
        assert_eq!(linked.operations_ns, [30_000, 30_000, 0]);
        let all = Shares::new(&profile, GpuEvents::All);
        assert_eq!(all.operations_ns, [30_000, 30_000, 10_000]);
        assert_eq!(all.others_ns, 0);
    }
}
