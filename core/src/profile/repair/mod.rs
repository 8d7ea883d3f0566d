//! Finds impossible GPU times before anything is computed from them.
//!
//! Work on one stream runs sequentially, none of it runs before the call that launched it, and none runs far from all
//! CPU activity. A few pieces that violate this have damaged times; many mean that the trace is of a different kind,
//! and nothing is changed.

mod clocks;
mod duplicates;
mod durations;
mod starts;
#[cfg(test)]
mod tests;

use crate::base::format;
use crate::base::interval::{Interval, sum};
use crate::base::map::Map;
use crate::base::sort::Arranged;
use crate::import::warning::{WarningKind, Warnings};
use crate::profile::gpu::timeline::GpuClass;
use crate::profile::launch::Launches;
use crate::trace::{Category, EventId, StringId, Trace, TrackId};

/// Clock differences and rounding let work overlap, or start before its call, by at most this.
const SLACK_NS: i64 = 1_000_000;

/// Rounding to microseconds lets work overlap by at most this.
const ROUNDING_NS: i64 = 1_000;

/// If its first event is later than this, a trace does not start at time zero.
const SECOND_NS: i64 = 1_000_000_000;

/// At most this share of the examined work may be damaged.
const MOST_DAMAGED_PERCENT: usize = 10;

/// The result of repairing the times of a trace.
pub(crate) struct Repaired {
    /// The launches of the remaining events.
    pub(crate) launches: Launches,
    /// Offset between the GPU and CPU clocks, if they disagree and GPU times could not be shifted.
    pub(crate) clocks_ns: Option<i64>,
    /// GPU activity whose recorded times are not used.
    pub(crate) as_recorded: Vec<AsRecorded>,
}

/// GPU activity as it was recorded whose time the profile does not use: its duration counts as unknown, or the event is
/// excluded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AsRecorded {
    /// What is wrong with it.
    pub(crate) kind: WarningKind,
    pub(crate) name: StringId,
    pub(crate) class: GpuClass,
    pub(crate) start_ns: i64,
    /// Negative if recorded as such.
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

    /// When it ran according to the recording; empty for a negative duration.
    pub(crate) fn span(&self) -> Interval {
        Interval::new(self.start_ns, self.start_ns.saturating_add(self.dur_ns))
    }
}

/// A piece of work, ordered by stream and start.
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

/// Removes impossible times and events, and adds warnings about them.
pub(crate) fn repair(trace: &mut Trace, warnings: &mut Warnings) -> Repaired {
    let host = cpu_span(trace);
    let mut repair = Repair::new(trace, warnings);
    let clocks_ns = repair.leave_out_impossible(host);
    let repeating = repair.launches.repeating_calls().len() as u64;
    let kind = WarningKind::RepeatedCall;
    repair.warnings.add_many(kind, repeating, None);
    let clocks_ns = repair.align_clocks(clocks_ns);
    repair.forget_overlong(host.filter(|_| clocks_ns.is_none()));
    repair.warn_of_overlap();
    Repaired {
        launches: repair.launches,
        clocks_ns,
        as_recorded: repair.as_recorded,
    }
}

/// A trace under repair.
struct Repair<'a> {
    trace: &'a mut Trace,
    warnings: &'a mut Warnings,
    launches: Launches,
    rows: Vec<Row>,
    as_recorded: Vec<AsRecorded>,
}

impl<'a> Repair<'a> {
    fn new(trace: &'a mut Trace, warnings: &'a mut Warnings) -> Repair<'a> {
        let launches = Launches::new(trace);
        Repair {
            rows: Row::sorted(trace, launches.work.iter().copied()),
            launches,
            trace,
            warnings,
            as_recorded: Vec::new(),
        }
    }

    /// Removes events with impossible starts and those that were recorded twice. Returns how far the clocks of GPU and
    /// CPU are apart, if kernels that start before their calls show it.
    fn leave_out_impossible(&mut self, host: Option<Interval>) -> Option<i64> {
        let untrue = std::mem::take(&mut self.trace.unreliable_durations);
        let untrue: Map<EventId, i64> = untrue.into_iter().collect();
        let (trace, launches) = (&*self.trace, &self.launches);
        let zeros = starts::zero_starts(trace, launches);
        let offsets = starts::offsets(trace, launches, &zeros);
        let clocks_ns = clocks::difference(trace, launches, &self.rows, &offsets);
        let mut left_out = zeros;
        if clocks_ns.is_none() {
            left_out.extend(starts::far_starts(trace, launches, host, &offsets));
        }
        left_out.sort_unstable();
        left_out.dedup();
        let mut duplicates = duplicates::work(trace, &self.rows, launches);
        duplicates.extend(duplicates::calls(trace, launches));
        duplicates.retain(|event| left_out.binary_search(event).is_err());
        // If captures are merged, the times were repaired earlier.
        if !trace.captured.is_empty() {
            left_out.clear();
            duplicates.clear();
        }
        for (kind, events) in [
            (WarningKind::ImpossibleStart, &left_out),
            (WarningKind::RecordedTwice, &duplicates),
        ] {
            self.warnings.add_many(kind, events.len() as u64, None);
            let work = events
                .iter()
                .filter(|id| trace.events.category(**id).is_gpu());
            self.as_recorded.extend(work.map(|&event| {
                let dur_ns = trace.events.dur_ns(event);
                let dur_ns = dur_ns.or(untrue.get(&event).copied()).unwrap_or(0);
                AsRecorded::of(trace, event, kind, dur_ns)
            }));
        }
        left_out.extend(duplicates);
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
        self.as_recorded.extend(counted);
        if !left_out.is_empty() {
            self.trace.leave_out(&left_out);
            self.launches = Launches::new(self.trace);
            self.sort_rows();
        }
        clocks_ns
    }

    fn sort_rows(&mut self) {
        self.rows = Row::sorted(self.trace, self.launches.work.iter().copied());
    }

    /// Shifts GPU times by a constant difference between the clocks. Returns a difference that is not constant.
    fn align_clocks(&mut self, clocks_ns: Option<i64>) -> Option<i64> {
        let (trace, launches) = (&*self.trace, &self.launches);
        let clocks_ns = clocks_ns.or_else(|| clocks::late(trace, launches));
        let known_ns = clocks_ns.unwrap_or(0);
        // A wait that returns late hides a part of the difference.
        let beyond_ns = clocks::delayed(trace, launches, known_ns);
        let all_ns = beyond_ns.map(|ns| known_ns.saturating_add(ns));
        let difference_ns = all_ns.or(clocks_ns)?;
        let is_constant = clocks::is_constant(trace, launches, difference_ns);
        let kind = match is_constant {
            true => WarningKind::ClocksShifted,
            false => WarningKind::ClocksDiffer,
        };
        let apart = format::time_ns(difference_ns.saturating_abs());
        let detail = format!("They are about {apart} apart.");
        self.warnings.add_with(kind, 1, None, detail);
        if !is_constant {
            return Some(difference_ns);
        }
        clocks::shift(self.trace, difference_ns);
        self.sort_rows();
        None
    }

    /// Makes durations unknown that are too long to be true.
    fn forget_overlong(&mut self, host: Option<Interval>) {
        let trace = &mut *self.trace;
        let overlong = durations::overlong(trace, &self.rows, host);
        if overlong.is_empty() {
            return;
        }
        let kind = WarningKind::OverlongDuration;
        let claimed = overlong.iter().filter_map(|id| trace.events.dur_ns(*id));
        let claimed = format::time_ns(sum(claimed));
        let on = on_streams(trace, &overlong);
        let detail = format!("The invalid durations add up to {claimed}{on}.");
        let count = overlong.len() as u64;
        self.warnings.add_with(kind, count, None, detail);
        for event in overlong {
            let dur_ns = trace.events.dur_ns(event).unwrap_or(0);
            let as_recorded = AsRecorded::of(trace, event, kind, dur_ns);
            self.as_recorded.push(as_recorded);
            trace.events.set_dur_ns(event, None);
        }
    }

    fn warn_of_overlap(&mut self) {
        let (overlapping, twice_ns) = durations::overlapping(self.trace, &self.rows);
        if overlapping.is_empty() {
            return;
        }
        let (twice, on) = (
            format::time_ns(twice_ns),
            on_streams(self.trace, &overlapping),
        );
        let detail = format!("They share {twice}{on}.");
        let count = overlapping.len() as u64;
        let kind = WarningKind::OverlappingWork;
        self.warnings.add_with(kind, count, None, detail);
    }
}

/// From the first start to the last end on the CPU, including the profiler's own span.
fn cpu_span(trace: &Trace) -> Option<Interval> {
    let events = &trace.events;
    let host = events.of_category(|of| !of.is_gpu() && of != Category::GpuUserAnnotation);
    host.map(|id| events.span(id)).reduce(Interval::hull)
}

/// What was found, if it is a small share of all.
fn few(found: Vec<EventId>, n_all: usize) -> Vec<EventId> {
    match found.len() * 100 <= n_all * MOST_DAMAGED_PERCENT {
        true => found,
        false => Vec::new(),
    }
}

/// " on stream 7" if streams have numbers.
fn on_streams(trace: &Trace, work: &[EventId]) -> String {
    const SHOWN: usize = 3;
    let tid = |id: &EventId| {
        let track = trace.tracks.get(trace.events.track(*id))?;
        trace.strings.get(track.tid).parse::<u64>().ok()
    };
    let tids = work.iter().filter_map(tid).distinct();
    let shown: Vec<String> = tids.iter().map(u64::to_string).collect();
    match shown.as_slice() {
        [] => String::new(),
        [only] => format!(" on stream {only}"),
        all if all.len() <= SHOWN => format!(" on streams {}", all.join(", ")),
        all => format!(" on {} streams", all.len()),
    }
}
