//! The nesting of calls, from which the call tree is made.

use super::index::Index;
use super::nodes::Nodes;
use super::{CallTree, Frames, TrackNodes};
use crate::profile::launch::Launches;
use crate::trace::{EventId, Trace, TrackId};

/// Calls by nesting, without what they launched.
pub(super) struct Nested {
    pub(super) frames: Frames,
    pub(super) nodes: Nodes,
    pub(super) tracks: Vec<TrackNodes>,
    pub(super) first_stray: u32,
}

impl Nested {
    /// The calls of every thread by nesting.
    pub(super) fn of(trace: &Trace, frames: Frames) -> Nested {
        let events = &trace.events;
        let nested = || {
            let nested = events.of_category(|of| frames.admit(of));
            let nested = nested.filter(|event| !trace.captured.has(*event));
            nested.map(|event| (events.track(event).0 as usize, event))
        };
        // Counted first, so that they can be stored thread by thread in a single list, which becomes the node list.
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
            // Stable sort: calls that start together stay in file order. Sorts ids only: with their times they would
            // take four times the memory.
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
        Nested {
            frames,
            nodes,
            tracks,
            first_stray,
        }
    }

    /// The tree with the GPU activity that its calls launched; `index` finds their nodes.
    pub(super) fn with_launches(self, index: Index, launches: &Launches) -> CallTree {
        let mut by_node: Vec<(u32, u32)> = Vec::with_capacity(launches.launches.len());
        for (launch, row) in launches.launches.iter().zip(0_u32..) {
            // Launches of one thread follow one another.
            let last = by_node.last().map(|(node, _)| *node);
            let node = index.find(launch.call, last, &self.nodes, &self.tracks);
            by_node.extend(node.map(|node| (node, row)));
        }
        by_node.sort_unstable();
        let work = |row: u32| {
            launches
                .launches
                .get(row as usize)
                .map(|launch| launch.work)
        };
        CallTree {
            frames: self.frames,
            tracks: self.tracks,
            first_stray: self.first_stray,
            index,
            launch_work: by_node.iter().filter_map(|&(_, row)| work(row)).collect(),
            launch_nodes: by_node.into_iter().map(|(node, _)| node).collect(),
            nodes: self.nodes,
        }
    }
}
