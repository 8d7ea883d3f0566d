//! When the GPU idles.

use crate::interval::Interval;
use crate::kernels::GpuEvents;
use crate::launch::GpuId;
use crate::profile::Profile;
use crate::sort::Arrange;

/// A time in which no stream works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Gap {
    pub(super) span: Interval,
    /// What ended last before it; `None` at the start of a window, and for work that ran into it.
    pub(super) before: Option<GpuId>,
    /// What begins first after it; `None` at the end of a window.
    pub(super) after: Option<GpuId>,
}

/// The idle times between the first start and the last end of some GPU work, in order, and those
/// at the ends of a window. They are what the union of the timeline leaves out.
pub(super) fn gaps(profile: &Profile, events: GpuEvents) -> Vec<Gap> {
    let own = profile
        .gpu
        .iter()
        .filter(|(_, work)| events == GpuEvents::All || work.launched_by.is_some())
        .map(|(id, work)| (work.span, Some(id)));
    let mut work: Vec<(Interval, Option<GpuId>)> = own.collect();
    let Some(first) = work.iter().map(|(span, _)| *span).min() else {
        return Vec::new();
    };
    // Work of other windows has no row here.
    work.extend(profile.beside(events).map(|work| (work.span, None)));
    let start_ns = |(span, id): &(Interval, Option<GpuId>)| (span.start_ns, *id);
    if !work.is_sorted_by_key(start_ns) {
        work.arrange_by_key(start_ns);
    }
    let whole = profile.gpu_span(Interval::new(first.start_ns, first.start_ns));
    let mut gaps = Vec::new();
    let (mut until_ns, mut before) = (whole.start_ns, None);
    let mut has_worked = false;
    for (span, id) in work {
        if span.start_ns > until_ns {
            gaps.push(Gap {
                span: Interval::new(until_ns, span.start_ns),
                before,
                after: id,
            });
        }
        if span.end_ns > until_ns || !has_worked {
            until_ns = until_ns.max(span.end_ns);
            before = id;
            has_worked = true;
        }
    }
    if until_ns < whole.end_ns {
        gaps.push(Gap {
            span: Interval::new(until_ns, whole.end_ns),
            before,
            after: None,
        });
    }
    gaps
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
        let found: Vec<(i64, i64, u32, u32)> = gaps(&profile, GpuEvents::All)
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
        assert!(gaps(&profile, GpuEvents::Linked).is_empty());
    }
}
