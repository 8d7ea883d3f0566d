//! Gaps on the timeline: times when no stream of any GPU runs anything.

use std::ops::Range;

use crate::base::interval::Interval;
use crate::base::sort::Arrange;
use crate::profile::Profile;
use crate::profile::launch::GpuId;

/// A time in which nothing runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Gap {
    /// From the end of the last activity before it to the start of the first one after it.
    pub span: Interval,
    /// The activity that ends last before it; `None` at the start of a window and after activity of another window.
    pub(crate) before: Option<GpuId>,
    /// The activity that starts first after it; `None` at the end of a window and before activity of another window.
    pub(crate) after: Option<GpuId>,
}

/// The gaps between the first start and the last end of GPU activity, in order, plus those at the ends of a window: the
/// complement of the busy time.
pub(crate) fn gaps(profile: &Profile) -> Vec<Gap> {
    let mut work = work(profile);
    let own = work.iter().filter(|(_, id)| id.is_some());
    let Some(first) = own.map(|(span, _)| *span).min() else {
        return Vec::new();
    };
    let start_ns = |(span, id): &(Interval, Option<GpuId>)| (span.start_ns, *id);
    if !work.is_sorted_by_key(start_ns) {
        work.arrange_by_key(start_ns);
    }
    let whole = profile.gpu_span(Interval::new(first.start_ns, first.start_ns));
    let mut gaps = Vec::new();
    let (mut since_ns, mut before) = (whole.start_ns, None);
    for busy in stretches(work) {
        gaps.extend(idle(since_ns..busy.span.start_ns, before, busy.first));
        (since_ns, before) = (busy.span.end_ns, busy.last);
    }
    gaps.extend(idle(since_ns..whole.end_ns, before, None));
    gaps.shrink_to_fit();
    gaps
}

/// A gap, unless the span is empty.
fn idle(span: Range<i64>, before: Option<GpuId>, after: Option<GpuId>) -> Option<Gap> {
    (span.start < span.end).then(|| Gap {
        span: Interval::new(span.start, span.end),
        before,
        after,
    })
}

/// Everything that runs, clipped to the window; without a row if it belongs to another window.
fn work(profile: &Profile) -> Vec<(Interval, Option<GpuId>)> {
    let own = profile.gpu.iter();
    let own = own.filter_map(|(id, work)| Some((profile.counted(work.span)?, Some(id))));
    own.chain(profile.overlapping_work().map(|work| (work.span, None)))
        .collect()
}

/// A time span in which something runs all the time, with the first and the last activity.
struct Stretch {
    span: Interval,
    first: Option<GpuId>,
    last: Option<GpuId>,
}

/// The union of activity that is sorted by start.
fn stretches(work: Vec<(Interval, Option<GpuId>)>) -> Vec<Stretch> {
    let mut stretches: Vec<Stretch> = Vec::new();
    for (span, id) in work {
        match stretches.last_mut() {
            Some(last) if span.start_ns <= last.span.end_ns => {
                if span.end_ns > last.span.end_ns {
                    (last.span.end_ns, last.last) = (span.end_ns, id);
                }
            }
            _ => stretches.push(Stretch {
                span,
                first: id,
                last: id,
            }),
        }
    }
    stretches
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Timetable;

    /// ```text
    /// µs          0    10   20   30   40   50
    /// stream 7    [=a==)         [=c==)
    /// stream 9      [==b==)                [d)
    /// ```
    #[test]
    fn gaps_lie_between_what_ended_last_and_what_begins_first() {
        let profile = Timetable::new()
            .kernel(1, "a", 0..10)
            .kernel(3, "c", 30..40)
            .stream(9)
            .kernel(2, "b", 5..20)
            .kernel(4, "d", 50..55)
            .profile();
        let found: Vec<(i64, i64, u32, u32)> = gaps(&profile)
            .iter()
            .map(|gap| {
                let Interval { start_ns, end_ns } = gap.span;
                let work = |id: Option<GpuId>| id.unwrap().0;
                (
                    start_ns / 1000,
                    end_ns / 1000,
                    work(gap.before),
                    work(gap.after),
                )
            })
            .collect();
        // Rows: a 0, c 1, b 2, d 3.
        assert_eq!(found, [(20, 30, 2, 1), (40, 50, 1, 3)]);
    }

    /// ```text
    /// µs         0    10   20   30   40
    /// stream 7   [=a==)              [=b==)
    /// stream 9         [==?====)             its launch is not known
    /// ```
    #[test]
    fn unattributed_activity_is_no_gap() {
        let profile = Timetable::new()
            .op("aten::mm", 0..5)
            .launched("a", 0..1, 0..10)
            .launched("b", 2..3, 40..50)
            .stream(9)
            .kernel(3, "unlinked", 12..28)
            .profile();
        let gaps = gaps(&profile).into_iter();
        let found: Vec<(i64, i64)> = gaps
            .map(|gap| (gap.span.start_ns / 1000, gap.span.end_ns / 1000))
            .collect();
        assert_eq!(found, [(10, 12), (28, 40)]);
    }
}
