//! Launches of kernels that are not in the trace: the profiler was told to keep some kernels only, or lost buffers.

use crate::base::map::Set;
use crate::trace::{ByName, EventId, LinkId, Trace};

use super::is_graph_launch;

/// Fewer may be kernels that failed, or that a tool left out.
const LEAST_PERCENT: usize = 5;
const LEAST: usize = 10;

/// The kernel launches between the first and the last one with a recorded kernel that have none. Zero if they are few,
/// and where graphs are captured, as nothing runs then.
pub(super) fn count(trace: &Trace, calls: &[EventId], work: &[EventId]) -> usize {
    let events = &trace.events;
    let ids = work.iter().filter_map(|event| events.correlation(*event));
    let recorded: Set<LinkId> = ids.collect();
    let mut captures = ByName::new(|name| name.contains("BeginCapture") || is_graph_launch(name));
    if recorded.is_empty() || calls.iter().any(|call| captures.of(trace, *call)) {
        return 0;
    }
    let mut is_launch = ByName::new(launches_kernel);
    let launches = calls.iter().filter(|call| is_launch.of(trace, **call));
    let mut launches: Vec<(i64, bool)> = launches
        .filter_map(|call| {
            let is_recorded = recorded.contains(&events.correlation(*call)?);
            Some((events.ts_ns(*call), is_recorded))
        })
        .collect();
    launches.sort_unstable();
    let is_recorded = |(_, is_recorded): &(i64, bool)| *is_recorded;
    let first = launches.iter().position(is_recorded);
    let last = launches.iter().rposition(is_recorded);
    let between = first.zip(last);
    let between = between.and_then(|(first, last)| launches.get(first..=last));
    let between = between.unwrap_or_default();
    let n = between.iter().filter(|launch| !is_recorded(launch)).count();
    match n >= LEAST && n * 100 >= between.len() * LEAST_PERCENT {
        true => n,
        false => 0,
    }
}

/// Whether a call launches one kernel, by its name: `cudaLaunchKernelExC`, `hipModuleLaunchKernel`, `urEnqueueKernelLaunch`.
fn launches_kernel(name: &str) -> bool {
    name.contains("LaunchKernel") || name.contains("KernelLaunch")
}
