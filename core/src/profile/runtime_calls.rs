//! Runtime and driver calls by what they do; GPU graphs that they replayed.

use hashbrown::{HashMap, HashSet};
use rustc_hash::FxBuildHasher;

use super::launch::GraphLaunches;
use crate::names::host_calls::RuntimeCall;
use crate::trace::{EventId, LinkId, StringId, Trace};

/// What calls do; each name is looked at once.
#[derive(Debug, Default)]
pub(crate) struct RuntimeCalls {
    by_name: HashMap<StringId, RuntimeCall, FxBuildHasher>,
}

impl RuntimeCalls {
    pub(crate) fn kind(&mut self, trace: &Trace, call: EventId) -> RuntimeCall {
        let name = trace.events.name(call);
        *self
            .by_name
            .entry(name)
            .or_insert_with(|| RuntimeCall::of_name(trace.strings.get(name)))
    }
}

/// The calls in which a host thread waits for the GPU, in the order of the trace.
pub(crate) fn blocking_calls(trace: &Trace) -> impl Iterator<Item = EventId> {
    let mut calls = RuntimeCalls::default();
    let events = &trace.events;
    events.ids().filter(move |event| {
        events.category(*event).is_runtime() && calls.kind(trace, *event).is_blocking()
    })
}

/// The launches of GPU graphs in a trace.
#[derive(Debug, Default)]
pub(crate) struct GraphReplays {
    /// There are any.
    pub(crate) any: bool,
    /// When graphs were launched of whose kernels the trace has none, in order.
    pub(crate) unrecorded_ns: Vec<i64>,
}

impl GraphReplays {
    pub(crate) fn new(trace: &Trace) -> GraphReplays {
        let events = &trace.events;
        let mut graph_launches = GraphLaunches::default();
        let launches = events.ids().filter(|call| {
            events.category(*call).is_runtime() && graph_launches.contains(trace, *call)
        });
        let mut launches: Vec<(Option<LinkId>, i64)> = launches
            .map(|call| (events.correlation(call), events.ts_ns(call)))
            .collect();
        if launches.is_empty() {
            return GraphReplays::default();
        }
        let activity = events.ids();
        let activity = activity.filter(|event| events.category(*event).is_gpu());
        let recorded: HashSet<LinkId, FxBuildHasher> = activity
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
