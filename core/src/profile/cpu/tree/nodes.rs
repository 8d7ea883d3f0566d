//! Nests the CPU calls of a thread by time.

use std::ops::Range;

use super::Frames;
use crate::trace::{EventId, NarrowColumn, Trace, Wide};

/// A call may outlast its caller by less than this, because profilers round both ends separately.
const BLEED_NS: i64 = 1_000;

/// A root call may end less than this after the start of the next one: times are written in microseconds with three
/// digits, so start and duration are each off by up to half a nanosecond, and by more if the profiler's clock is
/// coarser.
const ROUNDING_NS: i64 = 10;

/// A call that is still open.
#[derive(Debug, Clone, Copy)]
struct Open {
    node: u32,
    end_ns: i64,
}

/// Number of nodes between two nodes: almost always small, because the nodes of a call directly follow it.
#[derive(Debug, Clone, Copy)]
struct Distance(u32);

impl Wide for Distance {
    type Narrow = u16;
    const ESCAPE: u16 = u16::MAX;

    #[inline]
    fn narrow(self) -> Option<u16> {
        u16::try_from(self.0)
            .ok()
            .filter(|distance| *distance != Self::ESCAPE)
    }

    #[inline]
    fn widen(narrow: u16) -> Distance {
        Distance(narrow.into())
    }
}

/// The nodes of the call tree during construction: each subtree is a contiguous range.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    pub(super) event: Vec<EventId>,
    /// Distance to the parent; 0 for a root.
    to_parent: NarrowColumn<Distance>,
    /// Number of nodes in its subtree, including itself.
    subtree_len: NarrowColumn<Distance>,
    /// Depth, up to [`Nodes::DEEP`].
    depths: Vec<u8>,
    /// Calls that start in one call and end after it.
    pub(super) strays: Vec<EventId>,
    open: Vec<Open>,
    /// All calls, if more nodes are created than there are calls; otherwise the calls are in `event` until nodes
    /// replace them.
    calls: Option<Vec<EventId>>,
}

impl Nodes {
    pub(super) const ROOT: u32 = u32::MAX;
    /// This deep or deeper: counted on demand.
    const DEEP: u8 = u8::MAX;

    pub(super) fn with_capacity(n_nodes: usize) -> Nodes {
        Nodes {
            event: Vec::with_capacity(n_nodes),
            ..Nodes::with_depth_capacity(n_nodes)
        }
    }

    /// No nodes yet for these calls, which are ordered thread by thread.
    pub(super) fn of(calls: Vec<EventId>, trace: &Trace) -> Nodes {
        let nodes = Nodes::with_depth_capacity(calls.len());
        match trace.captured.is_empty() {
            true => Nodes {
                event: calls,
                ..nodes
            },
            false => Nodes {
                calls: Some(calls),
                ..nodes
            },
        }
    }

    fn with_depth_capacity(n_nodes: usize) -> Nodes {
        Nodes {
            depths: Vec::with_capacity(n_nodes),
            ..Nodes::default()
        }
    }

    /// Number of nodes.
    pub(super) fn len(&self) -> u32 {
        self.depths.len() as u32
    }

    /// The caller of a node; `None` for a root.
    #[inline]
    pub(super) fn parent(&self, node: u32) -> Option<u32> {
        let Distance(distance) = self.to_parent.get(node as usize)?;
        (distance > 0).then(|| node.saturating_sub(distance))
    }

    /// One past the last node of the subtree.
    #[inline]
    pub(super) fn subtree_end(&self, node: u32) -> Option<u32> {
        let Distance(len) = self.subtree_len.get(node as usize)?;
        Some(node.saturating_add(len))
    }

    /// Adds the calls of one thread, sorted by start. Of calls that start together, the first in the file is the outer
    /// one.
    pub(super) fn nest(&mut self, trace: &Trace, frames: Frames, calls: Range<usize>) {
        for at in calls {
            let all = self.calls.as_ref().unwrap_or(&self.event);
            let Some(event) = all.get(at).copied() else {
                continue;
            };
            let start_ns = trace.events.ts_ns(event);
            while self.open.last().is_some_and(|top| start_ns >= top.end_ns) {
                self.close();
            }
            let mut end_ns = trace.events.end_ns(event);
            if let Some(top) = self.open.last()
                && end_ns > top.end_ns
            {
                let most_ns = match self.open.len() {
                    1 => ROUNDING_NS,
                    _ => BLEED_NS,
                };
                if top.end_ns - start_ns >= most_ns {
                    // A launch belongs to the call that it starts in, whatever its recorded duration.
                    if !trace.events.category(event).is_runtime() {
                        self.strays.push(event);
                        continue;
                    }
                    end_ns = top.end_ns;
                } else {
                    self.close();
                }
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

    /// Adds nodes for the strays after all others, so that their GPU activity is found. Returns the first of these
    /// nodes.
    pub(super) fn append_strays(&mut self, trace: &Trace, frames: Frames) -> u32 {
        let first = self.len();
        self.calls = None;
        self.event.truncate(self.depths.len());
        for event in std::mem::take(&mut self.strays) {
            let node = self.push(event, Self::ROOT);
            self.put_below(trace, frames, event, node);
        }
        first
    }

    /// Adds the captured calls below a launch that replays them.
    fn put_below(&mut self, trace: &Trace, frames: Frames, launch: EventId, node: u32) {
        if !trace.captured.is_below(launch) {
            return;
        }
        // The open calls, innermost last: the depth of each among the added calls, and its node.
        let mut above: Vec<(u16, u32)> = Vec::new();
        let add = |nodes: &mut Nodes, above: &[(u16, u32)], event: EventId| {
            let parent = above.last().map_or(node, |(_, node)| *node);
            nodes.push(event, parent)
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

    /// Ends the subtree of a node at the last node added.
    fn end(&mut self, node: Option<(u16, u32)>) {
        if let Some((_, node)) = node {
            let len = self.len().saturating_sub(node);
            // A node without children keeps the length that it was added with.
            if len > 1 {
                self.subtree_len.set(node as usize, Distance(len));
            }
        }
    }

    /// Adds a call below the open calls.
    fn open(&mut self, event: EventId, end_ns: i64) -> u32 {
        let parent = self.open.last().map_or(Self::ROOT, |top| top.node);
        let node = self.push(event, parent);
        self.open.push(Open { node, end_ns });
        node
    }

    fn push(&mut self, event: EventId, parent: u32) -> u32 {
        let node = self.len();
        self.add(event, parent, node + 1);
        node
    }

    /// Adds a node with an existing parent and a known subtree end.
    pub(super) fn add(&mut self, event: EventId, parent: u32, subtree_end: u32) {
        let node = self.len();
        match self.event.get_mut(node as usize) {
            Some(call) => *call = event,
            None => self.event.push(event),
        }
        // `parent` of a root is larger than any node, so the distance becomes 0.
        let distance = node.saturating_sub(parent);
        self.to_parent.push(Distance(distance));
        let len = subtree_end.saturating_sub(node);
        self.subtree_len.push(Distance(len));
        let above = self.depths.get(parent as usize);
        self.depths
            .push(above.map_or(0, |above| above.saturating_add(1)));
    }

    /// The depth of a node.
    pub(super) fn depth(&self, node: u32) -> u16 {
        let known = |node: u32| self.depths.get(node as usize).copied();
        let (mut node, mut below) = (node, 0_u16);
        while known(node) == Some(Self::DEEP) {
            node = self.parent(node).unwrap_or(Self::ROOT);
            below = below.saturating_add(1);
        }
        below.saturating_add(known(node).map_or(0, u16::from))
    }

    fn close(&mut self) {
        let top = self.open.pop();
        self.end(top.map(|top| (0, top.node)));
    }
}
