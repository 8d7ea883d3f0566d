//! The call tree: what the CPU ran inside what, and the GPU activity each call led to.
//!
//! Nodes lie in depth-first order, thread after thread, so that a subtree is a contiguous range:
//! its GPU activity is a range too, of the launches sorted by node. Calls that end after the call
//! they began in ("strays") have no place; they lie behind all threads, each on its own.

mod cost;
mod host;
mod index;
mod merged;
#[cfg(test)]
mod tests;
mod within;

use std::ops::Range;
use std::sync::Arc;

use crate::base::interval::Interval;
use crate::base::row_id::row_id;
use crate::profile::launch::{GpuId, Launches};
use crate::trace::{Category, EventId, Trace, TrackId};
pub use cost::{Cost, Launched, Owner, own_cpu_ns};
use host::Nodes;
use index::Index;
pub use merged::{BottomUp, ClassTree, Instances, Label, Merged, MergedId, MergedTree, Spread};

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
    /// Its nodes, strays excepted.
    pub nodes: Range<u32>,
}

/// Host calls by nesting. 13 bytes a node, 4 more without frames, and 8 for each launch.
#[derive(Debug)]
pub struct CallTree {
    frames: Frames,
    nodes: Nodes,
    tracks: Vec<TrackNodes>,
    first_stray: u32,
    index: Index,
    /// Nodes of launching calls, ascending …
    launch_nodes: Vec<u32>,
    /// … and the work each launched.
    launch_work: Vec<GpuId>,
}

impl CallTree {
    /// Nests the calls of every thread and hangs the GPU activity below.
    pub fn new(trace: &Trace, frames: Frames, launches: &Launches) -> CallTree {
        let (nodes, tracks, first_stray) = CallTree::nested(trace, frames);
        let index = Index::listed(trace, &nodes);
        CallTree::assemble(frames, nodes, tracks, first_stray, index, launches)
    }

    /// The same with Python frames, of a trace that is shared: in less memory.
    pub(crate) fn with_frames(trace: &Arc<Trace>, launches: &Launches) -> CallTree {
        let frames = Frames::With;
        let (nodes, tracks, first_stray) = CallTree::nested(trace, frames);
        let index = match trace.captured.is_empty() {
            true => Index::searched(Arc::downgrade(trace), &nodes, first_stray),
            false => Index::listed(trace, &nodes),
        };
        CallTree::assemble(frames, nodes, tracks, first_stray, index, launches)
    }

    /// The calls of every thread by nesting, and the first of those without a place.
    fn nested(trace: &Trace, frames: Frames) -> (Nodes, Vec<TrackNodes>, u32) {
        let events = &trace.events;
        let nested = || {
            let nested = events.of_category(|of| frames.admit(of));
            let nested = nested.filter(|event| !trace.captured.has(*event));
            nested.map(|event| (events.track(event).0 as usize, event))
        };
        // Counted first, so that they lie thread after thread in one list, which becomes that of the nodes.
        let mut ends = vec![0_usize; trace.tracks.len()];
        for (track, _) in nested() {
            if let Some(n_calls) = ends.get_mut(track) {
                *n_calls += 1;
            }
        }
        let mut n_calls = 0;
        for end in &mut ends {
            n_calls += std::mem::replace(end, n_calls);
        }
        let mut calls = vec![EventId(0); n_calls];
        for (track, event) in nested() {
            if let Some(end) = ends.get_mut(track)
                && let Some(place) = calls.get_mut(*end)
            {
                *place = event;
                *end += 1;
            }
        }
        let mut start = 0;
        for end in &ends {
            let of_track = calls.get_mut(start..*end).unwrap_or_default();
            // Stable: what starts together stays in file order. By id alone: with their times beside them
            // they would take four times the memory.
            let start_ns = |call: &EventId| events.ts_ns(*call);
            if !of_track.is_sorted_by_key(start_ns) {
                of_track.sort_by_key(start_ns);
            }
            start = *end;
        }
        let mut nodes = Nodes::of(calls, trace);
        let mut tracks = Vec::new();
        let mut start = 0;
        for (track, end) in ends.into_iter().enumerate() {
            if start < end {
                let first = nodes.len();
                nodes.nest(trace, frames, start..end);
                tracks.push(TrackNodes {
                    track: TrackId(track as u32),
                    nodes: first..nodes.len(),
                });
            }
            start = end;
        }
        let first_stray = nodes.append_strays(trace, frames);
        (nodes, tracks, first_stray)
    }

    /// Nested calls with the GPU activity that they launched.
    fn assemble(
        frames: Frames,
        nodes: Nodes,
        tracks: Vec<TrackNodes>,
        first_stray: u32,
        index: Index,
        launches: &Launches,
    ) -> CallTree {
        let mut by_node: Vec<(u32, u32)> = launches
            .launches
            .iter()
            .enumerate()
            .filter_map(|(row, launch)| {
                let node = index.find(launch.call, &nodes, &tracks)?;
                Some((node, row as u32))
            })
            .collect();
        by_node.sort_unstable();
        let work = |row: u32| {
            launches
                .launches
                .get(row as usize)
                .map(|launch| launch.work)
        };
        CallTree {
            frames,
            tracks,
            first_stray,
            index,
            launch_work: by_node.iter().filter_map(|&(_, row)| work(row)).collect(),
            launch_nodes: by_node.into_iter().map(|(node, _)| node).collect(),
            nodes,
        }
    }

    /// Which calls are nodes.
    pub fn frames(&self) -> Frames {
        self.frames
    }

    /// Number of nodes, strays included.
    pub fn len(&self) -> usize {
        self.nodes.event.len()
    }

    /// True for a trace without host calls.
    pub fn is_empty(&self) -> bool {
        self.nodes.event.is_empty()
    }

    /// All nodes: thread after thread, each before its children, strays last.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = NodeId> + ExactSizeIterator + use<> {
        (0..self.len() as u32).map(NodeId)
    }

    /// The threads with host calls, in order of first appearance in the trace.
    pub fn tracks(&self) -> &[TrackNodes] {
        &self.tracks
    }

    /// Calls that end after the call they began in.
    pub fn strays(&self) -> impl ExactSizeIterator<Item = NodeId> + use<> {
        (self.first_stray..self.len() as u32).map(NodeId)
    }

    /// The outermost calls of all threads, strays excepted; on each thread in order of time.
    pub fn roots(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.siblings(0..self.first_stray)
    }

    /// What a call called, in order of time.
    pub fn children(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let subtree = self.subtree(node);
        self.siblings(subtree.start + 1..subtree.end)
    }

    /// True for a call that called something recorded, on the CPU.
    pub fn has_children(&self, node: NodeId) -> bool {
        self.subtree(node).len() > 1
    }

    /// The call itself and all below it, as a range of node ids.
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
        std::iter::successors(self.parent(node), |node| self.parent(*node))
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
        self.index
            .find(event, &self.nodes, &self.tracks)
            .map(NodeId)
    }

    /// The GPU activity of a call and all below it, in order of the launching calls.
    pub fn gpu_work(&self, node: NodeId) -> &[GpuId] {
        let subtree = self.subtree(node);
        let start = self.launch_nodes.partition_point(|&at| at < subtree.start);
        let length = self
            .launch_nodes
            .get(start..)
            .unwrap_or_default()
            .partition_point(|&at| at < subtree.end);
        self.launch_work
            .get(start..start + length)
            .unwrap_or_default()
    }

    /// The nearest operator of the program above a call.
    pub fn op_above(&self, trace: &Trace, node: NodeId) -> Option<NodeId> {
        let is_part = |node: NodeId| {
            let event = self.event(node);
            event.is_some_and(|event| trace.captured.is_part(event))
        };
        self.ancestors(node)
            .find(|node| self.category(trace, *node) == Category::CpuOp && !is_part(*node))
    }

    /// When a call ran; `None` for a node of another tree.
    pub(crate) fn span(&self, trace: &Trace, node: NodeId) -> Option<Interval> {
        self.event(node).map(|event| trace.events.span(event))
    }

    /// What a node was recorded as.
    #[inline]
    pub fn category(&self, trace: &Trace, node: NodeId) -> Category {
        self.event(node)
            .map_or(Category::Other, |event| trace.events.category(event))
    }

    fn siblings(&self, range: Range<u32>) -> impl Iterator<Item = NodeId> + '_ {
        siblings(range, move |node| self.subtree(NodeId(node)).end).map(NodeId)
    }
}

/// The outermost nodes of a range of subtrees, by where the subtree of each ends.
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
