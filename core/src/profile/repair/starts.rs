//! Impossible starts: zero, before the launching call, or far from all CPU activity.

use super::{SECOND_NS, SLACK_NS, few};
use crate::base::interval::Interval;
use crate::profile::launch::{GpuId, Launches};
use crate::trace::{EventId, Trace};

/// No work runs farther than this from its call, or from all CPU activity.
const FAR_NS: i64 = 3_600_000_000_000;

/// Work that starts at zero in a trace whose clock started long before.
pub(super) fn zero_starts(trace: &Trace, launches: &Launches) -> Vec<EventId> {
    let events = &trace.events;
    let work = launches.work.iter().copied();
    let zeros: Vec<EventId> = work.filter(|id| events.ts_ns(*id) == 0).collect();
    if zeros.is_empty() {
        return zeros;
    }
    let others = events.ids().map(|id| events.ts_ns(id));
    match others.filter(|ts_ns| *ts_ns != 0).min() {
        Some(first_ns) if first_ns >= SECOND_NS => zeros,
        _ => Vec::new(),
    }
}

/// The delay from call to start for each piece of work with a known call.
pub(super) fn offsets(
    trace: &Trace,
    launches: &Launches,
    without: &[EventId],
) -> Vec<(i64, EventId)> {
    let work = launches.work.iter().enumerate();
    let linked = work.filter_map(|(row, &event)| {
        let call = launches.launched_by(GpuId(row as u32))?;
        let call_ns = trace.events.ts_ns(call);
        Some((trace.events.ts_ns(event).saturating_sub(call_ns), event))
    });
    linked
        .filter(|(_, event)| without.binary_search(event).is_err())
        .collect()
}

/// Work that starts before its call, or far from it or from everything on the CPU.
pub(super) fn far_starts(
    trace: &Trace,
    launches: &Launches,
    host: Option<Interval>,
    offsets: &[(i64, EventId)],
) -> Vec<EventId> {
    let outside = |span: std::ops::RangeInclusive<i64>| -> Vec<EventId> {
        let wrong = offsets.iter().filter(|(offset, _)| !span.contains(offset));
        wrong.map(|(_, event)| *event).collect()
    };
    // At least half of the work is at a plausible distance, so work this far from its call is damaged. Small negative
    // distances may be clock drift.
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
