//! Which host call runs inside which: nesting by time on one thread.

use super::Frames;
use crate::trace::{EventId, Trace};

/// A call may outlast its caller by less than this: profilers round the two ends apart.
const BLEED_NS: i64 = 1_000;

/// A call whose end has not been passed yet.
#[derive(Debug, Clone, Copy)]
struct Open {
    node: u32,
    end_ns: i64,
}

/// Nodes of the call tree in the making: each subtree is a contiguous range.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    pub(super) event: Vec<EventId>,
    /// [`Nodes::ROOT`] for a root.
    pub(super) parent: Vec<u32>,
    /// The node after the last one of the subtree.
    pub(super) subtree_end: Vec<u32>,
    /// Number of nodes above.
    pub(super) depth: Vec<u16>,
    /// Calls that begin in one call and end after it.
    pub(super) strays: Vec<EventId>,
    open: Vec<Open>,
}

impl Nodes {
    pub(super) const ROOT: u32 = u32::MAX;

    pub(super) fn with_capacity(n_nodes: usize) -> Nodes {
        Nodes {
            event: Vec::with_capacity(n_nodes),
            parent: Vec::with_capacity(n_nodes),
            subtree_end: Vec::with_capacity(n_nodes),
            depth: Vec::with_capacity(n_nodes),
            ..Nodes::default()
        }
    }

    /// Adds the calls of one thread, which come in order of their start. Of calls that start
    /// together the one that the file has first is the outer one.
    pub(super) fn nest(
        &mut self,
        trace: &Trace,
        frames: Frames,
        calls: impl Iterator<Item = (i64, EventId)>,
    ) {
        for (start_ns, event) in calls {
            while self.open.last().is_some_and(|top| start_ns >= top.end_ns) {
                self.close();
            }
            let end_ns = trace.events.end_ns(event);
            if let Some(top) = self.open.last()
                && end_ns > top.end_ns
            {
                if top.end_ns - start_ns >= BLEED_NS || self.open.len() < 2 {
                    self.strays.push(event);
                    continue;
                }
                self.close();
            }
            if let Some(operator) = trace.captured.around(event) {
                self.open(operator, end_ns);
            }
            let node = self.open(event, end_ns);
            self.put_below(trace, frames, event, node);
        }
        while !self.open.is_empty() {
            self.close();
        }
    }

    /// Gives the strays nodes of their own, behind all others, so that their GPU activity is found.
    /// Returns the first of these nodes.
    pub(super) fn append_strays(&mut self, trace: &Trace, frames: Frames) -> u32 {
        let first = self.event.len() as u32;
        for event in std::mem::take(&mut self.strays) {
            let node = self.push(event, Self::ROOT, 0);
            self.put_below(trace, frames, event, node);
        }
        first
    }

    /// Adds what a graph's capture says of a launch that replays it.
    fn put_below(&mut self, trace: &Trace, frames: Frames, launch: EventId, node: u32) {
        if !trace.captured.is_below(launch) {
            return;
        }
        let depth_of = |nodes: &Nodes, node: u32| nodes.depth.get(node as usize).copied();
        // The open calls, innermost last: how many of the added ones are above each, and its node.
        let mut above: Vec<(u16, u32)> = Vec::new();
        let add = |nodes: &mut Nodes, above: &[(u16, u32)], event: EventId| {
            let parent = above.last().map_or(node, |(_, node)| *node);
            let depth = depth_of(nodes, parent).unwrap_or(0).saturating_add(1);
            nodes.push(event, parent, depth)
        };
        for (call, depth) in trace.captured.of_launch(launch) {
            while above.last().is_some_and(|(of_last, _)| *of_last >= depth) {
                self.end(above.pop());
            }
            if let Some(operator) = trace.captured.around(call) {
                let operator = add(self, &above, operator);
                above.push((depth, operator));
            }
            if !frames.admit(trace.events.category(call)) {
                continue;
            }
            let call = add(self, &above, call);
            above.push((depth, call));
        }
        while !above.is_empty() {
            self.end(above.pop());
        }
        self.end(Some((0, node)));
    }

    /// Ends the subtree of a node with the last one that was added.
    fn end(&mut self, node: Option<(u16, u32)>) {
        let end = self.event.len() as u32;
        if let Some((_, node)) = node
            && let Some(subtree_end) = self.subtree_end.get_mut(node as usize)
        {
            *subtree_end = end;
        }
    }

    /// Adds a call below those whose ends have not been passed.
    fn open(&mut self, event: EventId, end_ns: i64) -> u32 {
        let parent = self.open.last().map_or(Self::ROOT, |top| top.node);
        let depth = u16::try_from(self.open.len()).unwrap_or(u16::MAX);
        let node = self.push(event, parent, depth);
        self.open.push(Open { node, end_ns });
        node
    }

    fn push(&mut self, event: EventId, parent: u32, depth: u16) -> u32 {
        let node = self.event.len() as u32;
        self.event.push(event);
        self.parent.push(parent);
        self.subtree_end.push(node + 1);
        self.depth.push(depth);
        node
    }

    fn close(&mut self) {
        let top = self.open.pop();
        self.end(top.map(|top| (0, top.node)));
    }
}
