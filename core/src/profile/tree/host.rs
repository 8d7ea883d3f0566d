//! Which host call runs inside which: nesting by time on one thread.

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
    pub(super) fn nest(&mut self, trace: &Trace, calls: impl Iterator<Item = (i64, EventId)>) {
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
            let parent = self.open.last().map_or(Self::ROOT, |top| top.node);
            let depth = u16::try_from(self.open.len()).unwrap_or(u16::MAX);
            let node = self.push(event, parent, depth);
            self.open.push(Open { node, end_ns });
        }
        while !self.open.is_empty() {
            self.close();
        }
    }

    /// Gives the strays nodes of their own, behind all others, so that their GPU activity is found.
    /// Returns the first of these nodes.
    pub(super) fn append_strays(&mut self) -> u32 {
        let first = self.event.len() as u32;
        for event in std::mem::take(&mut self.strays) {
            self.push(event, Self::ROOT, 0);
        }
        first
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
        let end = self.event.len() as u32;
        if let Some(top) = self.open.pop()
            && let Some(subtree_end) = self.subtree_end.get_mut(top.node as usize)
        {
            *subtree_end = end;
        }
    }
}
