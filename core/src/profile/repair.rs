//! GPU times that cannot be true, found before anything is computed from them.
//!
//! Work on one stream runs one piece after the other, none runs before the call that launched it,
//! and none far from all that the CPU did. A few pieces that break this have damaged times; many
//! mean that the trace is of another kind, and then nothing is touched.

use crate::base::format;
use crate::base::interval::{Interval, sum};
use crate::import::warning::{WarningKind, Warnings};
use crate::profile::launch::{GpuId, Launches};
use crate::profile::timeline::is_communication_name;
use crate::trace::{Category, EventId, Trace, TrackId};

/// Clocks and rounding let work overlap, or begin before its call, by no more than this.
const SLACK_NS: i64 = 1_000_000;

/// Clocks that agree let work begin before its call by no more than this.
const CLOCK_SLACK_NS: i64 = 10_000;

/// Collectives of some profilers share a track with what runs beside them.
const COLLECTIVE_SLACK_NS: i64 = 1_000_000_000;

/// Longer no work waits for its GPU.
const LONGEST_QUEUE_NS: i64 = 10_000_000_000;

/// Farther from its call, or from all that the CPU did, no work runs.
const FAR_NS: i64 = 3_600_000_000_000;

/// The clock of a trace does not begin with it, if its first event is later than this.
const SECOND_NS: i64 = 1_000_000_000;

/// Of the work that is looked at, so much at most can be damaged.
const MOST_DAMAGED_PERCENT: usize = 10;

/// Nor is a last piece of work true that takes seconds, so many times as long as any other, and ends
/// long after all that was recorded of the CPU.
const LONGEST_OF_ALL: i64 = 10;

/// Takes out what cannot be true, says so, and returns who launched the rest and how far the
/// clocks of GPU and host are apart, where they do not fit together.
pub(crate) fn mend(trace: &mut Trace, warnings: &mut Warnings) -> (Launches, Option<i64>) {
    let mut launches = Launches::new(trace);
    let host = host_span(trace);
    let zeros = zero_starts(trace, &launches);
    let offsets = offsets(trace, &launches, &zeros);
    let clocks = clock_difference(&offsets);
    let mut left_out = zeros;
    if clocks.is_none() {
        left_out.extend(far_starts(trace, &launches, host, &offsets));
    }
    left_out.sort_unstable();
    left_out.dedup();
    // Where captures are merged, the times were mended before.
    if !left_out.is_empty() && trace.captured.is_empty() {
        warnings.add_many(WarningKind::ImpossibleStart, left_out.len() as u64, None);
        trace.leave_out(&left_out);
        launches = Launches::new(trace);
    }
    if let Some(difference_ns) = clocks {
        let apart = format::time_ns(difference_ns.saturating_abs());
        let detail = format!("They are about {apart} apart.");
        warnings.add_with(WarningKind::ClocksDiffer, 1, None, detail);
    }
    let overlong = overlong(trace, &launches, host.filter(|_| clocks.is_none()));
    if !overlong.is_empty() {
        let claimed = overlong.iter().filter_map(|id| trace.events.dur_ns(*id));
        let claimed = format::time_ns(sum(claimed));
        let on = streams(trace, &overlong);
        let detail = format!("What is unknown now claimed to take {claimed}{on}.");
        let count = overlong.len() as u64;
        warnings.add_with(WarningKind::OverlongDuration, count, None, detail);
        for event in overlong {
            trace.events.set_dur_ns(event, None);
        }
    }
    (launches, clocks)
}

/// From the first start to the last end on the CPU; the profiler's own span counts too.
fn host_span(trace: &Trace) -> Option<Interval> {
    let events = &trace.events;
    let host = events.ids().filter(|id| {
        let category = events.category(*id);
        !category.is_gpu() && category != Category::GpuUserAnnotation
    });
    host.map(|id| events.span(id)).reduce(Interval::hull)
}

/// Work that starts at zero in a trace whose clock began long before.
fn zero_starts(trace: &Trace, launches: &Launches) -> Vec<EventId> {
    let events = &trace.events;
    let work = launches.work.iter().copied();
    let zeros: Vec<EventId> = work.filter(|id| events.ts_ns(*id) == 0).collect();
    if zeros.is_empty() {
        return zeros;
    }
    let others = events.ids().map(|id| events.ts_ns(id));
    let first = others.filter(|ts_ns| *ts_ns != 0).min();
    match first {
        Some(first_ns) if first_ns >= SECOND_NS => zeros,
        _ => Vec::new(),
    }
}

/// How long after its call each piece of work starts, for those whose call is known.
fn offsets(trace: &Trace, launches: &Launches, without: &[EventId]) -> Vec<(i64, EventId)> {
    let work = launches.work.iter().enumerate();
    let linked = work.filter_map(|(row, &event)| {
        let call = launches.launched_by(GpuId(row as u32))?;
        let call_ns = trace.events.ts_ns(call);
        let offset_ns = trace.events.ts_ns(event).saturating_sub(call_ns);
        Some((offset_ns, event))
    });
    linked
        .filter(|(_, event)| without.binary_search(event).is_err())
        .collect()
}

/// How far the clocks are apart, where half of the work is so far from its calls as cannot be, or
/// much of it starts before them: work that queues hides that of the rest. What starts first after
/// its call, but for the hundredth part, tells how far.
fn clock_difference(offsets: &[(i64, EventId)]) -> Option<i64> {
    let mut sorted: Vec<i64> = offsets.iter().map(|(offset_ns, _)| *offset_ns).collect();
    sorted.sort_unstable();
    let median_ns = *sorted.get(sorted.len() / 2)?;
    let first = |of: &[i64]| of.get(of.len() / 100).copied();
    if !(0..=LONGEST_QUEUE_NS).contains(&median_ns) {
        return first(&sorted);
    }
    // What lies seconds before its call has a damaged time.
    let near = sorted.partition_point(|offset_ns| *offset_ns < -SECOND_NS);
    let near = sorted.get(near..)?;
    let n_early = near.partition_point(|offset_ns| *offset_ns < -CLOCK_SLACK_NS);
    (n_early * 100 > near.len() * MOST_DAMAGED_PERCENT)
        .then(|| first(near))
        .flatten()
}

/// Work that starts before its call, or far from it or from everything on the CPU.
fn far_starts(
    trace: &Trace,
    launches: &Launches,
    host: Option<Interval>,
    offsets: &[(i64, EventId)],
) -> Vec<EventId> {
    let outside = |span: std::ops::RangeInclusive<i64>| -> Vec<EventId> {
        let wrong = offsets.iter().filter(|(offset, _)| !span.contains(offset));
        wrong.map(|(_, event)| *event).collect()
    };
    // Half of the work at least is where it can be: what is so far from its call is not. A little
    // before it, clocks may have drifted.
    let mut found = outside(-SECOND_NS..=FAR_NS);
    found.extend(few(outside(-SLACK_NS..=FAR_NS), offsets.len()));
    if let Some(host) = host {
        let near = Interval::new(
            host.start_ns.saturating_sub(FAR_NS),
            host.end_ns.saturating_add(FAR_NS),
        );
        let work = launches.work.iter().copied();
        let far = work.filter(|event| !near.contains(trace.events.ts_ns(*event)));
        found.extend(few(far.collect(), launches.work.len()));
    }
    found
}

/// Work that reaches past later starts on its stream, or as the last one far past all else. Work of
/// one graph may run at once.
fn overlong(trace: &Trace, launches: &Launches, host: Option<Interval>) -> Vec<EventId> {
    let events = &trace.events;
    let is_collective = |event| is_communication_name(trace.name(event));
    let row = |id: EventId| (events.track(id), events.ts_ns(id), id);
    let mut rows: Vec<(TrackId, i64, EventId)> = launches.work.iter().copied().map(row).collect();
    rows.sort_unstable();
    let mut found = Vec::new();
    let mut last = Vec::new();
    for stream in rows.chunk_by(|(one, ..), (other, ..)| one == other) {
        let claims_too_much = |at: usize| {
            let &(_, _, event) = stream.get(at)?;
            let end_ns = events.end_ns(event).saturating_sub(SLACK_NS);
            // Looks past a few pieces of the same graph.
            let later = stream.get(at + 1..)?.iter().take(64);
            let later = later.take_while(|(_, start_ns, _)| *start_ns < end_ns);
            let graph = events.correlation(event);
            let mut others =
                later.filter(|(.., other)| graph.is_none() || events.correlation(*other) != graph);
            let (_, next_ns, _) = others.next()?;
            let over_ns = events.end_ns(event).saturating_sub(*next_ns);
            (over_ns > COLLECTIVE_SLACK_NS || !is_collective(event)).then_some(event)
        };
        let overlong: Vec<EventId> = (0..stream.len()).filter_map(claims_too_much).collect();
        found.extend(few(overlong, stream.len()));
        last.extend(stream.last().map(|(.., event)| *event));
    }
    found.sort_unstable();
    last.sort_unstable();
    if let Some(host) = host {
        let others = launches.work.iter().copied().filter(|event| {
            found.binary_search(event).is_err() && last.binary_search(event).is_err()
        });
        let longest_ns = others.filter_map(|event| events.dur_ns(event)).max();
        found.extend(last.into_iter().filter(|&event| {
            let times = events.dur_ns(event).zip(longest_ns);
            times.is_some_and(|(dur_ns, longest_ns)| {
                dur_ns > SECOND_NS
                    && dur_ns / LONGEST_OF_ALL > longest_ns
                    && events.end_ns(event) > host.end_ns.saturating_add(SECOND_NS)
                    && !is_collective(event)
            })
        }));
        found.sort_unstable();
    }
    found
}

/// What is found, if it is little of all.
fn few(found: Vec<EventId>, n_all: usize) -> Vec<EventId> {
    match found.len() * 100 <= n_all * MOST_DAMAGED_PERCENT {
        true => found,
        false => Vec::new(),
    }
}

/// " on stream 7" where a number tells it.
fn streams(trace: &Trace, work: &[EventId]) -> String {
    const SHOWN: usize = 3;
    let tid = |id: &EventId| {
        let track = trace.tracks.get(trace.events.track(*id))?;
        trace.strings.get(track.tid).parse::<u64>().ok()
    };
    let mut tids: Vec<u64> = work.iter().filter_map(tid).collect();
    tids.sort_unstable();
    tids.dedup();
    let shown: Vec<String> = tids.iter().map(u64::to_string).collect();
    match shown.as_slice() {
        [] => String::new(),
        [only] => format!(" on stream {only}"),
        all if all.len() <= SHOWN => format!(" on streams {}", all.join(", ")),
        all => format!(" on {} streams", all.len()),
    }
}

#[cfg(test)]
mod tests {
    use crate::import::warning::WarningKind::{self, *};
    use crate::profile::Profile;
    use crate::testing::Timetable;

    /// Some time after a machine was started, in microseconds.
    const EPOCH: f64 = 5_000_000_000.0;

    /// Twenty launches 100 µs apart, each with 50 µs of work 20 µs later; the work of one of them
    /// has this start, relative to its call, and this duration.
    fn profile(start_us: f64, dur_us: f64) -> Profile {
        twenty(|launch| match launch {
            4 => (EPOCH + 400.0 + start_us, dur_us),
            _ => (EPOCH + f64::from(launch) * 100.0 + 20.0, 50.0),
        })
    }

    fn twenty(work: impl Fn(u32) -> (f64, f64)) -> Profile {
        let mut timetable = Timetable::new().op("aten::mm", EPOCH..EPOCH + 2_000.0);
        for launch in 0..20 {
            let call = EPOCH + f64::from(launch) * 100.0;
            timetable = timetable.launch(launch, call..call + 5.0);
        }
        for launch in 0..20 {
            let (start, dur) = work(launch);
            timetable = timetable.kernel(launch, "gemm", start..start + dur);
        }
        timetable.profile()
    }

    fn warned(profile: &Profile) -> Vec<(WarningKind, u64)> {
        let warnings = profile.warnings.iter();
        warnings
            .map(|warning| (warning.kind, warning.count))
            .filter(|(kind, _)| *kind != UntoldGpuTime)
            .collect()
    }

    #[test]
    fn a_duration_that_reaches_past_later_work_is_unknown() {
        // The next start is 100 µs after this one: to 1.1 ms it may be the clock.
        assert_eq!(warned(&profile(20.0, 1_100.0)), []);
        let damaged = profile(20.0, 3_150_000.0);
        assert_eq!(warned(&damaged), [(OverlongDuration, 1)]);
        assert_eq!(
            damaged.warnings.get(OverlongDuration).unwrap().detail,
            "What is unknown now claimed to take 3\u{202f}150 ms on stream 7."
        );
        let busy_ns = damaged.gpu.iter().map(|(_, work)| work.span.length());
        assert_eq!(busy_ns.sum::<i64>(), 19 * 50_000);
    }

    #[test]
    fn the_last_duration_may_not_reach_far_past_the_recording() {
        // Up to a second past the host.
        let last = |dur_us: f64| {
            let start = |launch| EPOCH + f64::from(launch) * 100.0 + 20.0;
            twenty(|launch| match launch {
                19 => (start(launch), dur_us),
                _ => (start(launch), 50.0),
            })
        };
        assert_eq!(warned(&last(900_000.0)), []);
        assert_eq!(warned(&last(1_100_000.0)), [(OverlongDuration, 1)]);
    }

    #[test]
    fn where_streams_are_not_serial_nothing_is_repaired() {
        let side_by_side = twenty(|launch| (EPOCH + f64::from(launch) * 100.0 + 20.0, 5_000.0));
        assert_eq!(warned(&side_by_side), []);
    }

    #[test]
    fn work_with_a_start_that_cannot_be_is_left_out() {
        // From its call on, up to an hour later, it can be.
        assert_eq!(warned(&profile(-900.0, 50.0)), []);
        for start_us in [-1_100.0, -1e6, 3_601e6, -EPOCH - 400.0] {
            let damaged = profile(start_us, 50.0);
            assert_eq!(warned(&damaged), [(ImpossibleStart, 1)], "{start_us}");
            assert_eq!(damaged.gpu.len(), 19);
            assert_eq!(damaged.launches.n_unlinked(), 0);
        }
    }

    #[test]
    fn clocks_that_differ_are_told() {
        for (off_us, apart) in [
            (-300.0, "They are about 280 µs apart."),
            (3.6e9, "They are about 3\u{202f}600 s apart."),
        ] {
            let skewed = twenty(|launch| (EPOCH + f64::from(launch) * 100.0 + 20.0 + off_us, 50.0));
            assert_eq!(warned(&skewed), [(ClocksDiffer, 1)]);
            let detail = &skewed.warnings.get(ClocksDiffer).unwrap().detail;
            assert_eq!(detail, apart);
            assert_eq!(skewed.gpu.len(), 20);
            assert!(skewed.without_idle_causes().is_some());
        }
    }

    /// Launches come every 100 µs and their work takes 150: each starts 50 µs later after its call
    /// than the one before. With a clock that is 300 µs early, the first six of twenty start before.
    #[test]
    fn a_queue_hides_no_difference_of_clocks() {
        let queued = |early_us: f64| {
            twenty(|launch| {
                let start = EPOCH + 20.0 + f64::from(launch) * 150.0;
                (start - early_us, 150.0)
            })
        };
        assert_eq!(warned(&queued(0.0)), []);
        let early = queued(300.0);
        assert_eq!(warned(&early), [(ClocksDiffer, 1)]);
        let detail = &early.warnings.get(ClocksDiffer).unwrap().detail;
        assert_eq!(detail, "They are about 280 µs apart.");
    }
}
