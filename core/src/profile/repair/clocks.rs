//! GPU and CPU clocks that disagree: by how much, and GPU times shifted by that where the difference is constant.

use super::{ROUNDING_NS, Row, streams};
use crate::base::interval::Interval;
use crate::base::map::Set;
use crate::profile::launch::{GpuId, Launches, process};
use crate::trace::{ByName, Category, EventId, Trace};

/// With clocks that agree, work starts at most this long before its call.
const CLOCK_SLACK_NS: i64 = 10_000;

/// The longest time that work can be queued.
const LONGEST_QUEUE_NS: i64 = 10_000_000_000;

/// A wait may be recorded as ended this long before the work that it waited for starts.
const WAIT_SLACK_NS: i64 = 100_000;

/// At least this many pieces of work must show a clock difference, because a single start may be damaged.
const LEAST_PIECES: usize = 2;

/// With clocks that agree, some work starts within this time after the call that launched it.
const LONGEST_DELAY_NS: i64 = 50_000;

/// Where no work is queued, delays from launch to start differ by about this much.
const DELAY_SPREAD_NS: i64 = 25_000;

/// At least this many idle gaps must show a delay.
const LEAST_GAPS: usize = 16;

/// Shorter gaps also occur between queued kernels.
const LEAST_GAP_NS: i64 = 2_000;

/// With shifted times, at most this share of the work may still start before its call.
const MOST_EARLY_PERCENT: usize = 1;

/// Number of launches before a wait that are examined.
const LOOK_BACK: usize = 64;

/// The offset between the clocks, if half of the work is impossibly far from its calls, or if work starts before its
/// call but still in launch order.
pub(super) fn difference(
    trace: &Trace,
    launches: &Launches,
    rows: &[Row],
    offsets: &[(i64, EventId)],
) -> Option<i64> {
    let mut sorted: Vec<i64> = offsets.iter().map(|(offset_ns, _)| *offset_ns).collect();
    sorted.sort_unstable();
    let median_ns = *sorted.get(sorted.len() / 2)?;
    if !(0..=LONGEST_QUEUE_NS).contains(&median_ns) {
        // The earliest start relative to its call, ignoring the first percent, shows the offset.
        return sorted.get(sorted.len() / 100).copied();
    }
    // Most work is queued, which hides a GPU clock that is behind; work that starts immediately reveals it.
    let n_early = sorted.partition_point(|offset_ns| *offset_ns < -CLOCK_SLACK_NS);
    if n_early < LEAST_PIECES {
        return None;
    }
    let mut early = in_order(trace, launches, rows);
    early.retain(|offset_ns| *offset_ns < -CLOCK_SLACK_NS);
    // A damaged start would be before that of work launched earlier.
    let by = early.iter().min().copied();
    by.filter(|_| early.len() >= LEAST_PIECES && early.len() * 2 >= n_early)
}

/// The delay from call to start for work that runs alone and before everything launched after it on its stream.
fn in_order(trace: &Trace, launches: &Launches, rows: &[Row]) -> Vec<i64> {
    let events = &trace.events;
    let mut found = Vec::new();
    for stream in streams(rows) {
        // The first call among the work that starts later.
        let mut first_call_ns = i64::MAX;
        for (at, row) in stream.iter().enumerate().rev() {
            let call = launches.id_of(row.event);
            let Some(call) = call.and_then(|id| launches.launched_by(id)) else {
                continue;
            };
            let call_ns = events.ts_ns(call);
            let before = at.checked_sub(1).and_then(|at| stream.get(at));
            let is_alone = before.is_none_or(|before| {
                events.end_ns(before.event) <= row.start_ns.saturating_add(ROUNDING_NS)
            });
            if is_alone && call_ns <= first_call_ns {
                found.push(row.start_ns.saturating_sub(call_ns));
            }
            first_call_ns = first_call_ns.min(call_ns);
        }
    }
    found
}

/// Whether all work is on one GPU.
fn has_one_gpu(trace: &Trace, launches: &Launches) -> bool {
    let mut gpus = launches.work.iter().map(|work| process(trace, *work));
    let first = gpus.next();
    first.is_some() && gpus.all(|other| Some(other) == first)
}

/// Each piece of work with the call that launched it.
fn linked(launches: &Launches) -> impl Iterator<Item = (EventId, EventId)> {
    let work = launches.work.iter().enumerate();
    work.filter_map(|(row, &work)| Some((work, launches.launched_by(GpuId(row as u32))?)))
}

/// The delay of each piece of work that ends an idle gap of the GPU, from the end of its call to its start.
fn delays_after_gaps(trace: &Trace, launches: &Launches) -> Vec<i64> {
    let events = &trace.events;
    let all = linked(launches).map(|(work, call)| {
        let start_ns = events.ts_ns(work);
        let delay_ns = start_ns.saturating_sub(events.end_ns(call));
        (start_ns, events.end_ns(work), delay_ns)
    });
    let mut all: Vec<(i64, i64, i64)> = all.collect();
    all.sort_unstable();
    let mut end_ns = i64::MIN;
    let mut delays = Vec::new();
    for (start_ns, own_end_ns, delay_ns) in all {
        if start_ns.saturating_sub(end_ns) >= LEAST_GAP_NS {
            delays.push(delay_ns);
        }
        end_ns = end_ns.max(own_end_ns);
    }
    delays
}

/// How far the GPU clock is ahead beyond a known difference, if each piece of work starts long after its call, and most
/// of what ends an idle gap after the same time: a queue delays work by different times, and an idle GPU does not delay
/// it. Only for traces of one GPU.
pub(super) fn delayed(trace: &Trace, launches: &Launches, known_ns: i64) -> Option<i64> {
    let events = &trace.events;
    let all =
        linked(launches).map(|(work, call)| events.ts_ns(work).saturating_sub(events.end_ns(call)));
    let least_ns = all.min()?;
    let beyond_ns = least_ns.saturating_sub(known_ns);
    if beyond_ns < LONGEST_DELAY_NS || !has_one_gpu(trace, launches) {
        return None;
    }
    let delays = delays_after_gaps(trace, launches);
    let is_alike = |ns: &&i64| ns.saturating_sub(least_ns) <= DELAY_SPREAD_NS;
    let n_alike = delays.iter().filter(is_alike).count();
    (delays.len() >= LEAST_GAPS && n_alike * 2 >= delays.len()).then_some(beyond_ns)
}

/// Whether GPU times fit their calls once they are shifted back by this difference: hardly any work starts before its
/// call.
pub(super) fn is_constant(trace: &Trace, launches: &Launches, by_ns: i64) -> bool {
    let events = &trace.events;
    let mut delays: Vec<i64> = linked(launches)
        .map(|(work, call)| {
            let delay_ns = events.ts_ns(work).saturating_sub(events.ts_ns(call));
            delay_ns.saturating_sub(by_ns)
        })
        .collect();
    delays.sort_unstable();
    let n_early = delays.partition_point(|delay_ns| *delay_ns < -CLOCK_SLACK_NS);
    let median_ns = delays.get(delays.len() / 2);
    n_early * 100 <= delays.len() * MOST_EARLY_PERCENT
        && median_ns.is_some_and(|ns| (-CLOCK_SLACK_NS..=LONGEST_QUEUE_NS).contains(ns))
        && has_one_gpu(trace, launches)
}

/// Shifts everything on the GPU back by the difference of the clocks.
pub(super) fn shift(trace: &mut Trace, by_ns: i64) {
    let events = &trace.events;
    let is_on_gpu = |of: Category| of.is_gpu() || of == Category::GpuUserAnnotation;
    let on_gpu: Vec<EventId> = events.of_category(is_on_gpu).collect();
    for event in on_gpu {
        trace.events.move_by_ns(event, by_ns.saturating_neg());
    }
}

/// How far the GPU clock is ahead, if work starts after the CPU has waited for everything launched. Only for traces of
/// one GPU and one process.
pub(super) fn late(trace: &Trace, launches: &Launches) -> Option<i64> {
    let events = &trace.events;
    if !has_one_gpu(trace, launches) {
        return None;
    }
    let mut tracks = launches.work.iter().map(|work| events.track(*work));
    let track = tracks.next()?;
    let has_one_stream = tracks.all(|other| other == track);
    let linked = linked(launches).map(|(work, call)| (events.end_ns(call), work));
    let mut linked: Vec<(i64, EventId)> = linked.collect();
    linked.sort_unstable();
    let host = process(trace, launches.launches.first()?.call);
    let to_host = launches.launches.iter().filter(|launch| {
        let work = launches.work.get(launch.work.index());
        work.is_some_and(|work| {
            events.category(*work) == Category::GpuMemcpy && trace.name(*work).contains("-> Host")
        })
    });
    let copies_to_host: Set<EventId> = to_host.map(|launch| launch.call).collect();
    let mut waits = ByName::new(waits_for);
    let waits = events.of_category(Category::is_runtime).filter(|id| {
        let is_wait = match waits.of(trace, *id) {
            Some(WaitsFor::Gpu) => true,
            Some(WaitsFor::Stream) => has_one_stream,
            Some(WaitsFor::Copy) => has_one_stream && copies_to_host.contains(id),
            None => false,
        };
        is_wait && process(trace, *id) == host
    });
    let mut waits: Vec<Interval> = waits.map(|id| events.span(id)).collect();
    waits.sort_unstable();
    let late = waits.iter().flat_map(|wait| {
        let end = linked.partition_point(|(launched_ns, _)| *launched_ns <= wait.start_ns);
        let before = linked.get(..end).unwrap_or_default().iter().rev();
        // Work runs approximately in launch order.
        let late = before.take(LOOK_BACK).map(|(_, work)| *work);
        let starts_late =
            |work: &EventId| events.ts_ns(*work).saturating_sub(wait.end_ns) > WAIT_SLACK_NS;
        // The wait returned when the last of it had ended.
        let ends = late.take_while(starts_late);
        ends.map(|work| events.end_ns(work).saturating_sub(wait.end_ns))
    });
    let late: Vec<i64> = late.collect();
    let by = late.iter().max().copied();
    by.filter(|_| late.len() >= LEAST_PIECES)
}

/// What a call waits for before it returns.
#[derive(Debug, Clone, Copy)]
enum WaitsFor {
    /// All work on the GPU.
    Gpu,
    /// All work on one stream.
    Stream,
    /// The copy that it launches, if it is to the host, and so everything before it on its stream.
    Copy,
}

fn waits_for(call: &str) -> Option<WaitsFor> {
    match call {
        "cudaDeviceSynchronize" | "hipDeviceSynchronize" | "cuCtxSynchronize" => {
            Some(WaitsFor::Gpu)
        }
        "cudaStreamSynchronize" | "hipStreamSynchronize" | "cuStreamSynchronize" => {
            Some(WaitsFor::Stream)
        }
        "cudaMemcpy" | "hipMemcpy" | "hipMemcpyWithStream" => Some(WaitsFor::Copy),
        _ => None,
    }
}
