//! GPU and CPU clocks that disagree.

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

/// How far the GPU clock is ahead, if work starts after the CPU has waited for everything launched. Only for traces of
/// one GPU and one process.
pub(super) fn late(trace: &Trace, launches: &Launches) -> Option<i64> {
    let events = &trace.events;
    let mut gpus = launches.work.iter().map(|work| process(trace, *work));
    let gpu = gpus.next()?;
    if !gpus.all(|other| other == gpu) {
        return None;
    }
    let mut tracks = launches.work.iter().map(|work| events.track(*work));
    let track = tracks.next()?;
    let has_one_stream = tracks.all(|other| other == track);
    let linked = (0..launches.work.len() as u32).map(GpuId);
    let mut linked: Vec<(i64, EventId)> = linked
        .filter_map(|id| {
            let work = launches.work.get(id.index())?;
            Some((events.end_ns(launches.launched_by(id)?), *work))
        })
        .collect();
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
        let late = before
            .take(LOOK_BACK)
            .map(move |(_, work)| events.ts_ns(*work).saturating_sub(wait.end_ns));
        late.take_while(|late_ns| *late_ns > WAIT_SLACK_NS)
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
