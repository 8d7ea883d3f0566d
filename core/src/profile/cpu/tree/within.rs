//! The part of a call tree that belongs to a window.

use std::collections::BTreeSet;

use super::nested::Nested;
use super::nodes::Nodes;
use super::{CallTree, NodeId, TrackNodes};
use crate::base::interval::Interval;
use crate::profile::launch::Launches;
use crate::trace::{Trace, TrackId};

impl CallTree {
    /// The calls that start in a span, those that launched the given work, and all their callers. The nesting stays the
    /// same as in the whole tree.
    pub fn within(&self, trace: &Trace, launches: &Launches, span: Interval) -> CallTree {
        let is_kept = self.kept(trace, launches, span);
        // By node: the number of kept nodes before it, which is its new id.
        let mut new_id = Vec::with_capacity(is_kept.len() + 1);
        let mut n_kept = 0_u32;
        new_id.push(n_kept);
        new_id.extend(is_kept.iter().map(|is_kept| {
            n_kept += u32::from(*is_kept);
            n_kept
        }));
        let renamed = |node: u32| new_id.get(node as usize).copied().unwrap_or(n_kept);
        let mut nodes = Nodes::with_capacity(n_kept as usize);
        for (node, _) in self.ids().zip(&is_kept).filter(|(_, is_kept)| **is_kept) {
            let Some(event) = self.event(node) else {
                continue;
            };
            let parent = self.parent(node);
            let parent = parent.map_or(Nodes::ROOT, |parent| renamed(parent.0));
            nodes.add(event, parent, renamed(self.subtree(node).end));
        }
        let tracks = self.tracks.iter().map(|track| TrackNodes {
            track: track.track,
            nodes: renamed(track.nodes.start)..renamed(track.nodes.end),
        });
        let first_stray = renamed(self.first_stray);
        // A thread may have only strays.
        let strays = nodes.event.get(first_stray as usize..).unwrap_or_default();
        let of_strays: BTreeSet<TrackId> = strays
            .iter()
            .map(|event| trace.events.track(*event))
            .collect();
        let tracks = tracks
            .filter(|track| !track.nodes.is_empty() || of_strays.contains(&track.track))
            .collect();
        let index = self.index.of_part(trace, &nodes, first_stray);
        let nested = Nested {
            frames: self.frames,
            nodes,
            tracks,
            first_stray,
        };
        nested.with_launches(index, launches)
    }

    /// By node: whether it is kept.
    fn kept(&self, trace: &Trace, launches: &Launches, span: Interval) -> Vec<bool> {
        let starts_inside = |node: NodeId| {
            self.event(node)
                .is_some_and(|event| span.contains(trace.events.ts_ns(event)))
        };
        let mut is_kept: Vec<bool> = self.ids().map(starts_inside).collect();
        let launching = launches.launches.iter();
        for node in launching.filter_map(|launch| self.node_of(launch.call)) {
            if let Some(slot) = is_kept.get_mut(node.index()) {
                *slot = true;
            }
        }
        // Parents come before children.
        for node in self.ids().rev() {
            if is_kept.get(node.index()).copied().unwrap_or(false)
                && let Some(caller) = self.parent(node)
                && let Some(slot) = is_kept.get_mut(caller.index())
            {
                *slot = true;
            }
        }
        is_kept
    }
}
