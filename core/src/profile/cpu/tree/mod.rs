//! The call tree: which CPU call ran inside which, and the GPU activity that each call led to.
//!
//! Nodes are in depth-first order, thread by thread, so a subtree is a contiguous range. Its GPU activity is also a
//! range, of the launches sorted by node. Calls that end after the call that they start in ("strays") cannot be nested;
//! they are after all threads, each on its own.

mod cost;
mod index;
mod merged;
mod nested;
mod nodes;
#[cfg(test)]
mod tests;
mod within;

use std::ops::Range;
use std::sync::Arc;

use crate::base::interval::Interval;
use crate::base::row_id::row_id;
use crate::base::sort::partition_point_near;
use crate::profile::launch::{GpuId, Launches};
use crate::trace::{Category, EventId, Trace, TrackId};
pub use cost::{Cost, Launched, Owner, own_cpu_ns};
use index::Index;
pub use merged::{BottomUp, ClassTree, Instances, Label, Merged, MergedId, MergedTree, Spread};
use nested::Nested;
use nodes::Nodes;

row_id! {
    /// A node of a [`CallTree`].
    NodeId
}

/// Which calls become nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frames {
    /// Operators, runtime and driver calls.
    Without,
    /// Python frames as well.
    With,
}

impl Frames {
    fn admit(self, category: Category) -> bool {
        match category {
            Category::CpuOp | Category::Runtime | Category::Driver => true,
            Category::PythonFunction => self == Frames::With,
            _ => false,
        }
    }
}

/// The nodes of one thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrackNodes {
    /// The thread.
    pub track: TrackId,
    /// Its nodes, excluding strays.
    pub nodes: Range<u32>,
}

/// CPU calls by nesting. 13 bytes per node, 4 more without frames, and 8 per launch.
#[derive(Debug)]
pub struct CallTree {
    frames: Frames,
    nodes: Nodes,
    tracks: Vec<TrackNodes>,
    first_stray: u32,
    index: Index,
    /// Nodes of launching calls, ascending.
    launch_nodes: Vec<u32>,
    /// The work that each of those calls launched.
    launch_work: Vec<GpuId>,
}

impl CallTree {
    /// Nests the calls of every thread and attaches the GPU activity.
    pub fn new(trace: &Trace, frames: Frames, launches: &Launches) -> CallTree {
        let nested = Nested::of(trace, frames);
        let index = Index::listed(trace, &nested.nodes);
        nested.with_launches(index, launches)
    }

    /// The same with Python frames, for a shared trace: uses less memory.
    pub(crate) fn with_frames(trace: &Arc<Trace>, launches: &Launches) -> CallTree {
        let nested = Nested::of(trace, Frames::With);
        let index = match trace.captured.is_empty() {
            true => Index::searched(Arc::downgrade(trace), &nested.nodes, nested.first_stray),
            false => Index::listed(trace, &nested.nodes),
        };
        nested.with_launches(index, launches)
    }

    /// Which calls are nodes.
    pub fn frames(&self) -> Frames {
        self.frames
    }

    /// Number of nodes, including strays.
    pub fn len(&self) -> usize {
        self.nodes.event.len()
    }

    /// True for a trace without CPU calls.
    pub fn is_empty(&self) -> bool {
        self.nodes.event.is_empty()
    }

    /// All nodes: thread by thread, parents before children, strays last.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = NodeId> + ExactSizeIterator + use<> {
        (0..self.len() as u32).map(NodeId)
    }

    /// The threads with CPU calls, in order of first appearance in the trace.
    pub fn tracks(&self) -> &[TrackNodes] {
        &self.tracks
    }

    /// Calls that end after the call that they start in.
    pub fn strays(&self) -> impl ExactSizeIterator<Item = NodeId> + use<> {
        (self.first_stray..self.len() as u32).map(NodeId)
    }

    /// The outermost calls of all threads, excluding strays; in time order per thread.
    pub fn roots(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.siblings(0..self.first_stray)
    }

    /// The direct children of a call, in time order.
    pub fn children(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let subtree = self.subtree(node);
        self.siblings(subtree.start + 1..subtree.end)
    }

    /// True if any CPU call below this one was recorded.
    pub fn has_children(&self, node: NodeId) -> bool {
        self.subtree(node).len() > 1
    }

    /// The call and everything below it, as a range of node ids.
    #[inline]
    pub fn subtree(&self, node: NodeId) -> Range<u32> {
        let end = self.nodes.subtree_end(node.0);
        node.0..end.unwrap_or(node.0)
    }

    /// The caller.
    #[inline]
    pub fn parent(&self, node: NodeId) -> Option<NodeId> {
        self.nodes.parent(node.0).map(NodeId)
    }

    /// The callers, innermost first.
    pub fn ancestors(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        self.with_ancestors(node).skip(1)
    }

    /// A call and its callers, innermost first.
    pub(crate) fn with_ancestors(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        std::iter::successors(Some(node), |node| self.parent(*node))
    }

    /// The calls around an event, innermost first; none for an event that is not in the tree.
    pub(crate) fn calls_around(&self, event: EventId) -> impl Iterator<Item = EventId> + '_ {
        let node = self.node_of(event).into_iter();
        let above = node.flat_map(|node| self.ancestors(node));
        above.filter_map(|node| self.event(node))
    }

    /// The names of the calls around an event, innermost first.
    pub(crate) fn names_around<'a>(
        &'a self,
        trace: &'a Trace,
        event: EventId,
    ) -> impl Iterator<Item = &'a str> + 'a {
        self.calls_around(event).map(|event| trace.name(event))
    }

    /// The operators around an event, innermost first.
    pub(crate) fn ops_around<'a>(
        &'a self,
        trace: &'a Trace,
        event: EventId,
    ) -> impl Iterator<Item = EventId> + 'a {
        let calls = self.calls_around(event);
        calls.filter(|call| trace.events.category(*call) == Category::CpuOp)
    }

    /// Number of callers.
    pub fn depth(&self, node: NodeId) -> u16 {
        self.nodes.depth(node.0)
    }

    /// The event of a node; `None` for a node of another tree.
    #[inline]
    pub fn event(&self, node: NodeId) -> Option<EventId> {
        self.nodes.event.get(node.index()).copied()
    }

    /// The node of an event; `None` for one that is not in the tree.
    #[inline]
    pub fn node_of(&self, event: EventId) -> Option<NodeId> {
        let node = self.index.find(event, None, &self.nodes, &self.tracks);
        node.map(NodeId)
    }

    /// The same for an event that is probably near the last one: found sooner in a tree with frames. Keeps the node as
    /// the last one.
    #[inline]
    pub(crate) fn next_node_of(&self, event: EventId, last: &mut Option<NodeId>) -> Option<NodeId> {
        let near = last.map(|node| node.0);
        let node = self.index.find(event, near, &self.nodes, &self.tracks);
        *last = node.map(NodeId).or(*last);
        node.map(NodeId)
    }

    /// The GPU activity of a call and everything below it, in order of the launching calls.
    pub fn gpu_work(&self, node: NodeId) -> &[GpuId] {
        let subtree = self.subtree(node);
        let start = self.launch_nodes.partition_point(|&at| at < subtree.start);
        let from_start = self.launch_nodes.get(start..).unwrap_or_default();
        let length = partition_point_near(from_start, 0, |at| *at < subtree.end);
        self.launch_work
            .get(start..start + length)
            .unwrap_or_default()
    }

    /// The nearest operator above a call, excluding operators that were inserted for parts of a capture.
    pub fn op_above(&self, trace: &Trace, node: NodeId) -> Option<NodeId> {
        let is_part = |node: NodeId| {
            let event = self.event(node);
            event.is_some_and(|event| trace.captured.is_part(event))
        };
        self.ancestors(node)
            .find(|node| self.category(trace, *node) == Category::CpuOp && !is_part(*node))
    }

    /// The same for an event.
    pub(crate) fn op_above_event(&self, trace: &Trace, event: EventId) -> Option<EventId> {
        self.event(self.op_above(trace, self.node_of(event)?)?)
    }

    /// When a call ran; `None` for a node of another tree.
    pub(crate) fn span(&self, trace: &Trace, node: NodeId) -> Option<Interval> {
        self.event(node).map(|event| trace.events.span(event))
    }

    /// The category of a node.
    #[inline]
    pub fn category(&self, trace: &Trace, node: NodeId) -> Category {
        self.event(node)
            .map_or(Category::Other, |event| trace.events.category(event))
    }

    fn siblings(&self, range: Range<u32>) -> impl Iterator<Item = NodeId> + '_ {
        siblings(range, move |node| self.subtree(NodeId(node)).end).map(NodeId)
    }
}

/// The outermost nodes in a range of subtrees, given where each subtree ends.
fn siblings(mut range: Range<u32>, end: impl Fn(u32) -> u32) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let node = range.start;
        if range.is_empty() {
            return None;
        }
        range.start = end(node).max(node + 1);
        Some(node)
    })
}
