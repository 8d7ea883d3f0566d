//! GPU times that cannot be true, found before anything is computed from them.
//!
//! Work on one stream runs one piece after the other, none runs before the call that launched it,
//! and none far from all that the CPU did. A few pieces that break this have damaged times; many
//! mean that the trace is of another kind, and then nothing is touched.

mod clocks;
mod durations;
mod starts;
#[cfg(test)]
mod tests;
mod twice;

use crate::base::format;
use crate::base::interval::{Interval, sum};
use crate::base::map::Map;
use crate::base::sort::Arrange;
use crate::import::warning::{WarningKind, Warnings};
use crate::profile::launch::Launches;
use crate::profile::timeline::GpuClass;
use crate::trace::{Category, EventId, StringId, Trace, TrackId};

/// Clocks and rounding let work overlap, or begin before its call, by no more than this.
const SLACK_NS: i64 = 1_000_000;

/// Times that are rounded to microseconds let work overlap by no more than this.
const ROUNDING_NS: i64 = 1_000;

/// The clock of a trace does not begin with it, if its first event is later than this.
const SECOND_NS: i64 = 1_000_000_000;

/// Of the work that is looked at, so much at most can be damaged.
const MOST_DAMAGED_PERCENT: usize = 10;

/// What came of the times of a trace.
pub(crate) struct Mended {
    /// Who launched what is left.
    pub(crate) launches: Launches,
    /// How far the clocks of GPU and host are apart, where they do not fit together.
    pub(crate) clocks_ns: Option<i64>,
    /// GPU activity that does not count as it was recorded.
    pub(crate) as_recorded: Vec<AsRecorded>,
}

/// GPU activity as it was recorded, of which the profile has no time: its duration counts as unknown,
/// or it is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AsRecorded {
    /// What is wrong with it.
    pub(crate) kind: WarningKind,
    pub(crate) name: StringId,
    pub(crate) class: GpuClass,
    pub(crate) start_ns: i64,
    /// Negative where it was recorded so.
    pub(crate) dur_ns: i64,
}

impl AsRecorded {
    fn of(trace: &Trace, event: EventId, kind: WarningKind, dur_ns: i64) -> AsRecorded {
        let events = &trace.events;
        AsRecorded {
            kind,
            name: events.name(event),
            class: GpuClass::of(events.category(event), trace.name(event)),
            start_ns: events.ts_ns(event),
            dur_ns,
        }
    }

    /// When it ran by what was recorded; empty for a negative duration.
    pub(crate) fn span(&self) -> Interval {
        Interval::new(self.start_ns, self.start_ns.saturating_add(self.dur_ns))
    }
}

/// A piece of work in the order of its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    track: TrackId,
    start_ns: i64,
    event: EventId,
}

impl Row {
    fn of(trace: &Trace, event: EventId) -> Row {
        Row {
            track: trace.events.track(event),
            start_ns: trace.events.ts_ns(event),
            event,
        }
    }

    fn sorted(trace: &Trace, events: impl Iterator<Item = EventId>) -> Vec<Row> {
        let mut rows: Vec<Row> = events.map(|event| Row::of(trace, event)).collect();
        rows.sort_unstable();
        rows
    }
}

/// The rows of each stream.
fn streams(rows: &[Row]) -> impl Iterator<Item = &[Row]> {
    rows.chunk_by(|one, other| one.track == other.track)
}

/// Takes out what cannot be true, and says so.
pub(crate) fn mend(trace: &mut Trace, warnings: &mut Warnings) -> Mended {
    let mut launches = Launches::new(trace);
    let mut rows = Row::sorted(trace, launches.work.iter().copied());
    let untrue = std::mem::take(&mut trace.untrue_durations);
    let untrue: Map<EventId, i64> = untrue.into_iter().collect();
    let mut as_recorded = Vec::new();

    let host = host_span(trace);
    let zeros = starts::zero_starts(trace, &launches);
    let offsets = starts::offsets(trace, &launches, &zeros);
    let mut clocks_ns = clocks::difference(trace, &launches, &rows, &offsets);
    let mut left_out = zeros;
    if clocks_ns.is_none() {
        left_out.extend(starts::far_starts(trace, &launches, host, &offsets));
    }
    left_out.sort_unstable();
    left_out.dedup();
    let mut twice = twice::work(trace, &rows, &launches);
    twice.extend(twice::calls(trace, &launches));
    twice.retain(|event| left_out.binary_search(event).is_err());
    // Where captures are merged, the times were mended before.
    if !trace.captured.is_empty() {
        left_out.clear();
        twice.clear();
    }
    for (kind, events) in [
        (WarningKind::ImpossibleStart, &left_out),
        (WarningKind::RecordedTwice, &twice),
    ] {
        warnings.add_many(kind, events.len() as u64, None);
        let work = events
            .iter()
            .filter(|id| trace.events.category(**id).is_gpu());
        as_recorded.extend(work.map(|&event| {
            let dur_ns = trace.events.dur_ns(event);
            let dur_ns = dur_ns.or(untrue.get(&event).copied()).unwrap_or(0);
            AsRecorded::of(trace, event, kind, dur_ns)
        }));
    }
    left_out.extend(twice);
    left_out.sort_unstable();
    let counted = launches.work.iter().filter_map(|event| {
        let dur_ns = *untrue.get(event)?;
        let kind = match dur_ns < 0 {
            true => WarningKind::NegativeDuration,
            false => WarningKind::ImpossibleDuration,
        };
        let is_counted = left_out.binary_search(event).is_err();
        is_counted.then(|| AsRecorded::of(trace, *event, kind, dur_ns))
    });
    as_recorded.extend(counted);
    if !left_out.is_empty() {
        trace.leave_out(&left_out);
        launches = Launches::new(trace);
        rows = Row::sorted(trace, launches.work.iter().copied());
    }

    let repeating = launches.repeating_calls().len() as u64;
    warnings.add_many(WarningKind::RepeatedCall, repeating, None);
    clocks_ns = clocks_ns.or_else(|| clocks::late(trace, &launches));
    if let Some(difference_ns) = clocks_ns {
        let apart = format::time_ns(difference_ns.saturating_abs());
        let detail = format!("They are about {apart} apart.");
        warnings.add_with(WarningKind::ClocksDiffer, 1, None, detail);
    }
    let overlong = durations::overlong(trace, &rows, host.filter(|_| clocks_ns.is_none()));
    if !overlong.is_empty() {
        let claimed = overlong.iter().filter_map(|id| trace.events.dur_ns(*id));
        let claimed = format::time_ns(sum(claimed));
        let on = on_streams(trace, &overlong);
        let detail = format!("What is unknown now claimed to take {claimed}{on}.");
        let count = overlong.len() as u64;
        warnings.add_with(WarningKind::OverlongDuration, count, None, detail);
        for event in overlong {
            let dur_ns = trace.events.dur_ns(event).unwrap_or(0);
            as_recorded.push(AsRecorded::of(
                trace,
                event,
                WarningKind::OverlongDuration,
                dur_ns,
            ));
            trace.events.set_dur_ns(event, None);
        }
    }
    let (overlapping, twice_ns) = durations::overlapping(trace, &rows);
    if !overlapping.is_empty() {
        let (twice, on) = (format::time_ns(twice_ns), on_streams(trace, &overlapping));
        let detail = format!("They share {twice}{on}.");
        let count = overlapping.len() as u64;
        warnings.add_with(WarningKind::OverlappingWork, count, None, detail);
    }
    Mended {
        launches,
        clocks_ns,
        as_recorded,
    }
}

/// From the first start to the last end on the CPU; the profiler's own span counts too.
fn host_span(trace: &Trace) -> Option<Interval> {
    let events = &trace.events;
    let host = events.of_category(|of| !of.is_gpu() && of != Category::GpuUserAnnotation);
    host.map(|id| events.span(id)).reduce(Interval::hull)
}

/// What is found, if it is little of all.
fn few(found: Vec<EventId>, n_all: usize) -> Vec<EventId> {
    match found.len() * 100 <= n_all * MOST_DAMAGED_PERCENT {
        true => found,
        false => Vec::new(),
    }
}

/// " on stream 7" where a number tells it.
fn on_streams(trace: &Trace, work: &[EventId]) -> String {
    const SHOWN: usize = 3;
    let tid = |id: &EventId| {
        let track = trace.tracks.get(trace.events.track(*id))?;
        trace.strings.get(track.tid).parse::<u64>().ok()
    };
    let mut tids: Vec<u64> = work.iter().filter_map(tid).collect();
    tids.arrange();
    tids.dedup();
    let shown: Vec<String> = tids.iter().map(u64::to_string).collect();
    match shown.as_slice() {
        [] => String::new(),
        [only] => format!(" on stream {only}"),
        all if all.len() <= SHOWN => format!(" on streams {}", all.join(", ")),
        all => format!(" on {} streams", all.len()),
    }
}
