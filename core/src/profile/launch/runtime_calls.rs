//! Runtime and driver calls by what they do; replays of GPU graphs.

use crate::base::map::Set;
use crate::names::runtime_calls::RuntimeCall;
use crate::profile::launch::is_graph_launch;
use crate::trace::{Category, EventId, LinkId, Trace};

/// The calls in which a CPU thread waits for the GPU, in trace order.
pub(crate) fn blocking_calls(trace: &Trace) -> impl Iterator<Item = EventId> {
    let is_blocking = |name: &str| RuntimeCall::of_name(name).is_blocking();
    let calls = trace.named(Category::is_runtime, is_blocking);
    calls.filter(|event| !trace.captured.has(*event))
}

/// Whether the profiler records no gaps while the queue is busy: on ROCm, a kernel's recorded start is then the end of
/// the previous kernel.
pub(crate) fn records_busy_queues(trace: &Trace) -> bool {
    let calls = [
        "hipGraphLaunch",
        "hipLaunchKernel",
        "hipModuleLaunchKernel",
        "hipExtModuleLaunchKernel",
    ];
    calls.iter().any(|call| trace.strings.find(call).is_some())
}

/// Between the nodes of a graph, the GPU is idle for 1 to 3 µs, with any vendor.
pub(crate) const NODE_GAP_NS: i64 = 3_000;

/// The graph launches of a trace.
#[derive(Debug, Default)]
pub(crate) struct GraphReplays {
    pub(crate) any: bool,
    /// Times of the graph launches without recorded kernels, in order.
    pub(crate) unrecorded_ns: Vec<i64>,
}

impl GraphReplays {
    pub(crate) fn new(trace: &Trace) -> GraphReplays {
        let events = &trace.events;
        let launches = trace.named(Category::is_runtime, is_graph_launch);
        let mut launches: Vec<(Option<LinkId>, i64)> = launches
            .map(|call| (events.correlation(call), events.ts_ns(call)))
            .collect();
        if launches.is_empty() {
            return GraphReplays::default();
        }
        let activity = events.of_category(Category::is_gpu);
        let recorded: Set<LinkId> = activity
            .filter_map(|event| events.correlation(event))
            .collect();
        launches.retain(|(id, _)| id.is_some_and(|id| !recorded.contains(&id)));
        let mut unrecorded_ns: Vec<i64> = launches.into_iter().map(|(_, at_ns)| at_ns).collect();
        unrecorded_ns.sort_unstable();
        GraphReplays {
            any: true,
            unrecorded_ns,
        }
    }
}
