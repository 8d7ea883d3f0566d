//! When the GPU idles.

use crate::base::interval::Interval;
use crate::base::sort::Arrange;
use crate::profile::Profile;
use crate::profile::kernels::GpuEvents;
use crate::profile::launch::GpuId;

/// A time in which no stream works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gap {
    pub(crate) span: Interval,
    /// What ended last before it; `None` at the start of a window, and for work that ran into it.
    pub(crate) before: Option<GpuId>,
    /// What begins first after it; `None` at the end of a window.
    pub(crate) after: Option<GpuId>,
    /// No idle time: GPU work runs in it that does not count, for want of its launch.
    pub(crate) is_filled: bool,
}

/// The idle times between the first start and the last end of some GPU work, in order, and those
/// at the ends of a window. They are what the union of the timeline leaves out. Where work that
/// does not count runs in one, it is split: that time is no idle time.
pub(crate) fn gaps(profile: &Profile, events: GpuEvents) -> Vec<Gap> {
    let own = profile
        .gpu
        .iter()
        .filter(|(_, work)| events == GpuEvents::All || work.launched_by.is_some())
        .filter_map(|(id, work)| Some((profile.counted(work.span)?, Some(id))));
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
                is_filled: false,
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
            is_filled: false,
        });
    }
    match events {
        GpuEvents::Linked => split(gaps, &uncounted(profile)),
        GpuEvents::All => gaps,
    }
}

/// When work runs that does not count, in order, with the row of what begins and of what ends each
/// time; none for work of other windows.
fn uncounted(profile: &Profile) -> Vec<Filled> {
    let own = profile.gpu.iter();
    let own = own.filter(|(_, work)| work.launched_by.is_none());
    let own = own.filter_map(|(id, work)| Some((profile.counted(work.span)?, Some(id))));
    let beside = profile.beside(GpuEvents::All);
    let beside = beside.filter(|work| !work.is_linked);
    let mut work: Vec<(Interval, Option<GpuId>)> =
        own.chain(beside.map(|work| (work.span, None))).collect();
    work.arrange();
    let mut filled: Vec<Filled> = Vec::new();
    for (span, id) in work {
        match filled.last_mut() {
            Some(last) if span.start_ns <= last.span.end_ns => {
                if span.end_ns > last.span.end_ns {
                    (last.span.end_ns, last.last) = (span.end_ns, id);
                }
            }
            _ => filled.push(Filled {
                span,
                first: id,
                last: id,
            }),
        }
    }
    filled
}

/// A time in which work runs that does not count.
#[derive(Debug, Clone, Copy)]
struct Filled {
    span: Interval,
    first: Option<GpuId>,
    last: Option<GpuId>,
}

/// Cuts gaps where such work begins and ends.
fn split(gaps: Vec<Gap>, filled: &[Filled]) -> Vec<Gap> {
    if filled.is_empty() {
        return gaps;
    }
    let mut parts = Vec::with_capacity(gaps.len());
    for gap in gaps {
        let from = filled.partition_point(|one| one.span.end_ns <= gap.span.start_ns);
        let inside = filled.get(from..).unwrap_or_default().iter();
        let (mut since_ns, mut before) = (gap.span.start_ns, gap.before);
        for one in inside.take_while(|one| one.span.start_ns < gap.span.end_ns) {
            let begins_ns = one.span.start_ns.max(since_ns);
            let ends_ns = one.span.end_ns.min(gap.span.end_ns);
            let mut add = |span: Interval, before, after, is_filled| {
                if span.length() > 0 {
                    parts.push(Gap {
                        span,
                        before,
                        after,
                        is_filled,
                    });
                }
            };
            add(Interval::new(since_ns, begins_ns), before, one.first, false);
            add(Interval::new(begins_ns, ends_ns), one.first, one.last, true);
            (since_ns, before) = (ends_ns, one.last);
        }
        if since_ns < gap.span.end_ns {
            parts.push(Gap {
                span: Interval::new(since_ns, gap.span.end_ns),
                before,
                ..gap
            });
        }
    }
    parts
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

    /// ```text
    /// µs         0    10   20   30   40
    /// stream 7   [=a==)              [=b==)
    /// stream 9         [==?====)             its launch is not known
    /// ```
    #[test]
    fn work_that_does_not_count_is_no_gap() {
        let profile = Timetable::new()
            .op("aten::mm", 0..5)
            .launch(1, 0..1)
            .launch(2, 2..3)
            .kernel(1, "a", 0..10)
            .kernel(2, "b", 40..50)
            .stream(9)
            .kernel(3, "unlinked", 12..28)
            .profile();
        let found = |events: GpuEvents| -> Vec<(i64, i64, bool)> {
            let gaps = gaps(&profile, events).into_iter();
            gaps.map(|gap| {
                let Interval { start_ns, end_ns } = gap.span;
                (start_ns / 1000, end_ns / 1000, gap.is_filled)
            })
            .collect()
        };
        let linked = [(10, 12, false), (12, 28, true), (28, 40, false)];
        assert_eq!(found(GpuEvents::Linked), linked);
        assert_eq!(found(GpuEvents::All), [(10, 12, false), (28, 40, false)]);
    }
}
