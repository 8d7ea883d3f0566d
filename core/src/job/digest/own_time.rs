//! The time of a rank between two of its collectives, split by what it did. This needs no clock of another rank.

use super::OwnTime;
use crate::base::interval::{Coverage, Interval, difference, union};
use crate::base::sort::{Arrange, Arranged};

/// What a rank did besides its collectives.
pub(super) struct Activity {
    work: Coverage,
    copies: Coverage,
    /// Times in which nothing ran: before the first activity and between two, with the time the next was launched.
    gaps: Vec<Gap>,
}

/// A time in which nothing runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gap {
    pub(super) span: Interval,
    /// When the next activity was launched; `None` where unknown.
    pub(super) launched_ns: Option<i64>,
}

impl Gap {
    /// The part of it in which the next activity was not launched yet.
    pub(super) fn late(self) -> Interval {
        let Interval { start_ns, end_ns } = self.span;
        let until_ns = self
            .launched_ns
            .map_or(start_ns, |ns| ns.min(end_ns).max(start_ns));
        Interval::new(start_ns, until_ns)
    }
}

/// The time of an activity, and when it was launched.
pub(super) type Ran = (Interval, Option<i64>);

impl Activity {
    /// From computing kernels, copies, and all activity including communication. Where steps show that the rank started
    /// before its first activity, nothing ran in the time in between.
    pub(super) fn new(
        work: Vec<Interval>,
        copies: Vec<Interval>,
        mut all: Vec<Ran>,
        begin_ns: Option<i64>,
    ) -> Activity {
        let work = union(work);
        let copies = difference(&union(copies), &work);
        all.arrange();
        let mut gaps = Vec::new();
        let mut until_ns = begin_ns;
        for (span, launched_ns) in all {
            if let Some(until_ns) = until_ns.filter(|until_ns| span.start_ns > *until_ns) {
                let span = Interval::new(until_ns, span.start_ns);
                gaps.push(Gap { span, launched_ns });
            }
            until_ns = until_ns.max(Some(span.end_ns));
        }
        Activity {
            work: Coverage::new(work),
            copies: Coverage::new(copies),
            gaps,
        }
    }

    /// How a time splits, and the gaps in it that are late.
    pub(super) fn split(&self, span: Interval) -> (OwnTime, Vec<Gap>) {
        let first = self
            .gaps
            .partition_point(|gap| gap.span.end_ns <= span.start_ns);
        let gaps = self.gaps.iter().skip(first);
        let gaps = gaps.take_while(|gap| gap.span.start_ns < span.end_ns);
        let (mut late_ns, mut late_gaps) = (0, Vec::new());
        for gap in gaps {
            let late = gap.late().overlap(span).map_or(0, Interval::length);
            if late > 0 {
                late_gaps.push(*gap);
            }
            late_ns += late;
        }
        let own = OwnTime {
            total_ns: span.length(),
            work_ns: self.work.within(span),
            copies_ns: self.copies.within(span),
            late_ns,
        };
        (own, late_gaps)
    }

    /// How much of a time work covers.
    pub(super) fn work_within(&self, span: Interval) -> i64 {
        self.work.within(span)
    }
}

/// For each span, the index of the last one that ended before it started.
pub(super) fn before(spans: &[Interval]) -> Vec<Option<u32>> {
    let by_end = (spans.iter().zip(0..))
        .map(|(span, at)| (span.end_ns, at))
        .arranged();
    let of = spans.iter().zip(0_u32..).map(|(span, at)| {
        let ended = by_end.partition_point(|(end_ns, _)| *end_ns <= span.start_ns);
        let ended = by_end.get(..ended)?.iter().rev();
        ended.map(|(_, other)| *other).find(|other| *other != at)
    });
    of.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ```text
    /// ns        0        10       20       30       40       50
    /// work      [========)                 [====)
    /// copies         [=======)
    /// launched                         ↑28 of the work at 30
    /// ```
    #[test]
    fn own_time_is_work_copies_late_and_idle() {
        let span = Interval::new;
        let activity = Activity::new(
            vec![span(0, 10), span(30, 35)],
            vec![span(5, 15)],
            vec![
                (span(0, 10), None),
                (span(5, 15), Some(1)),
                (span(30, 35), Some(28)),
                (span(50, 60), Some(20)),
            ],
            None,
        );
        let (own, late) = activity.split(span(0, 50));
        assert_eq!(
            own,
            OwnTime {
                total_ns: 50,
                work_ns: 15,
                copies_ns: 5,
                late_ns: 13,
            }
        );
        // 2 ns after the launch at 28, and 15 before 50, which was launched long before.
        assert_eq!(own.idle_ns(), 17);
        let late: Vec<Interval> = late.iter().map(|gap| gap.span).collect();
        assert_eq!(late, [span(15, 30)]);
    }

    /// ```text
    /// ns        0              40      50   60
    /// work                             [====)
    /// launched                 ↑40
    /// step      [=============================
    /// ```
    #[test]
    fn a_host_is_late_before_the_first_kernel_too() {
        let span = Interval::new;
        let ran = vec![(span(50, 60), Some(40))];
        let first = |begin_ns| {
            let activity = Activity::new(vec![span(50, 60)], Vec::new(), ran.clone(), begin_ns);
            let (own, late) = activity.split(span(0, 60));
            (own.late_ns, own.idle_ns(), late.first().map(|gap| gap.span))
        };
        assert_eq!(first(Some(0)), (40, 10, Some(span(0, 50))));
        // If the start of the rank is unknown, so is whether it was late.
        assert_eq!(first(None), (0, 50, None));
    }

    #[test]
    fn what_ended_last_comes_before() {
        let spans = [(0, 4), (5, 20), (6, 8), (9, 12), (20, 21)];
        let spans = spans.map(|(start, end)| Interval::new(start, end));
        assert_eq!(before(&spans), [None, Some(0), Some(0), Some(2), Some(1)]);
    }
}
