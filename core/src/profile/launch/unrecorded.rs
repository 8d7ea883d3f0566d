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

#[cfg(test)]
mod tests {
    use crate::testing::Timetable;

    /// Of a hundred launches one in `each` has a kernel.
    #[test]
    fn kernels_that_are_not_in_the_trace_are_counted() {
        let with = |each: u32| {
            (0..100).fold(Timetable::new(), |table, at| {
                let start = at * 10;
                let table = table.launch(at + 1, start..start + 2);
                match at % each {
                    0 => table.kernel(at + 1, "gemm", start + 3..start + 9),
                    _ => table,
                }
            })
        };
        let count = |table: &Timetable| table.profile().recording.n_unrecorded;
        assert_eq!(count(&with(1)), 0);
        // Those after the last recorded one may just not have ended.
        assert_eq!(count(&with(10)), 90 - 9);
        assert!(with(10).profile().without_idle_causes().is_some());
        let captured = with(10).runtime("cudaStreamBeginCapture", 0, 0..1);
        assert_eq!(count(&captured), 0);
    }
}
