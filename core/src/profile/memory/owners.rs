//! Which operator allocated a block.

use super::curve::Reported;
use crate::base::map::Map;
use crate::base::sort::Arrange;
use crate::names::memory::is_allocating;
use crate::profile::Profile;
use crate::profile::cpu::tree::{CallTree, NodeId, TrackNodes};
use crate::trace::{Category, EventId, MemoryEvent, Trace, TrackId};

/// An allocation: time, device, block.
type Request = (i64, usize, usize);

/// Assigns each block to the operator that allocated it: the innermost on the thread at that time.
pub(super) fn add(trace: &Trace, tree: &CallTree, devices: &mut [Reported]) {
    let mut requests: Map<TrackId, Vec<Request>> = Map::default();
    for (at, device) in devices.iter().enumerate() {
        let events = device.events.iter().filter(|event| event.bytes > 0);
        for (block, event) in events.enumerate().take(device.memory.blocks.len()) {
            let MemoryEvent { ts_ns, track, .. } = *event;
            requests.entry(track).or_default().push((ts_ns, at, block));
        }
    }
    for track in tree.tracks() {
        let Some(mut requests) = requests.remove(&track.track) else {
            continue;
        };
        requests.arrange();
        of_track(trace, tree, track, &requests, |device, block, call| {
            let blocks = devices.get_mut(device).map(|one| &mut one.memory.blocks);
            if let Some(block) = blocks.and_then(|blocks| blocks.get_mut(block)) {
                block.call = Some(call);
            }
        });
    }
}

/// Walks the calls and allocations of a thread together, both in time order.
fn of_track(
    trace: &Trace,
    tree: &CallTree,
    track: &TrackNodes,
    requests: &[Request],
    mut found: impl FnMut(usize, usize, EventId),
) {
    let mut left = track.nodes.clone();
    // The last call that has started, with its callers, innermost last.
    let mut open: Vec<NodeId> = Vec::new();
    for &(ts_ns, device, block) in requests {
        while !left.is_empty() {
            let node = NodeId(left.start);
            let event = tree.event(node);
            // Calls recorded during graph capture have times of another recording.
            let is_own = |event: &EventId| !trace.captured.has(*event);
            if let Some(event) = event.filter(is_own) {
                if trace.events.ts_ns(event) > ts_ns {
                    break;
                }
                let parent = tree.parent(node);
                while open.last().is_some_and(|last| Some(*last) != parent) {
                    open.pop();
                }
                open.push(node);
            }
            left.start += 1;
        }
        let calls = open.iter().rev().filter_map(|node| tree.event(*node));
        let mut running = calls.filter(|call| {
            let is_operator = trace.events.category(*call) == Category::CpuOp;
            is_operator && trace.events.end_ns(*call) >= ts_ns
        });
        if let Some(call) = running.next() {
            found(device, block, call);
        }
    }
}

/// The operator that memory was allocated for: the call itself or, if that only allocates, its caller.
pub(crate) fn requester(profile: &Profile, call: EventId) -> EventId {
    let trace = &profile.trace;
    if !is_allocating(trace.name(call)) {
        return call;
    }
    let mut ops = profile.tree.ops_around(trace, call);
    let caller = ops.find(|op| !is_allocating(trace.name(*op)));
    caller.unwrap_or(call)
}
