//! Which calls of the backward pass belong to which operators of the forward pass.

use crate::base::map::Map;
use crate::base::sort::Arrange;
use crate::profile::Profile;
use crate::profile::cpu::autograd::{Autograd, is_engine_call};
use crate::profile::cpu::tree::NodeId;
use crate::trace::EventId;

/// The operator of each autograd engine call, as nodes of the full tree.
#[derive(Debug, Default)]
pub(super) struct Links {
    forward_of: Map<NodeId, NodeId>,
}

impl Links {
    /// Uses autograd's sequence numbers. If both passes run on one thread, as on a machine without a GPU, the operator
    /// is the last call with the same number before the engine call.
    pub(super) fn new(profile: &Profile) -> Links {
        let (trace, tree) = (&profile.trace, profile.full_tree());
        let events = &trace.events;
        let autograd = Autograd::new(trace);
        let mut numbered = trace.sequence_numbers.clone();
        // Of calls that start together, the last one is the innermost.
        numbered.arrange_by_key(|&(event, _)| (events.ts_ns(event), event));
        let mut last: Map<i64, EventId> = Map::default();
        let mut links = Links::default();
        for (event, number) in numbered {
            let name = trace.name(event);
            if !is_engine_call(name) {
                if !is_backward(name) {
                    last.insert(number, event);
                }
                continue;
            }
            let before = last.get(&number).copied();
            let before = before.filter(|forward| events.track(*forward) == events.track(event));
            let Some(forward) = autograd.forward_of(event).or(before) else {
                continue;
            };
            let ran_before = events.ts_ns(forward) < events.ts_ns(event);
            if let (Some(forward), Some(call), true) =
                (tree.node_of(forward), tree.node_of(event), ran_before)
                && !tree.subtree(forward).contains(&call.0)
            {
                links.forward_of.insert(call, forward);
            }
        }
        links
    }

    pub(super) fn is_empty(&self) -> bool {
        self.forward_of.is_empty()
    }

    pub(super) fn forward_of(&self, engine_call: NodeId) -> Option<NodeId> {
        self.forward_of.get(&engine_call).copied()
    }
}

/// Whether a call is a backward function, `MulBackward0`. Inside of an engine call, it has the number of that call.
fn is_backward(name: &str) -> bool {
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit());
    name.ends_with("Backward")
}
