//! Maps events to nodes.

use std::sync::Weak;

use super::TrackNodes;
use super::nodes::Nodes;
use crate::base::row_set::RowSet;
use crate::base::sort::partition_point_near;
use crate::trace::{EventId, Trace};

/// How the node of an event is found.
#[derive(Debug)]
pub(super) enum Index {
    /// In a list with an entry per node.
    Listed {
        /// The events that have a node.
        called: RowSet,
        /// The node of each of those events, in file order.
        nodes: Vec<u32>,
    },
    /// By thread and start. With Python frames nearly every event has a node, but few are looked up.
    Searched {
        /// The trace that owns the tree.
        trace: Weak<Trace>,
        /// Calls that do not nest in their thread, in file order.
        strays: Vec<(EventId, u32)>,
    },
}

impl Index {
    pub(super) fn listed(trace: &Trace, all: &Nodes) -> Index {
        let called = all.event.iter().map(|event| event.index());
        let called = RowSet::of(trace.events.len(), called);
        let mut nodes = vec![Nodes::ROOT; called.len()];
        for (node, event) in all.event.iter().enumerate() {
            if let Some(place) = called.place(event.index()) {
                nodes[place] = node as u32;
            }
        }
        Index::Listed { called, nodes }
    }

    /// For a trace without captures, where the calls of each thread are sorted by start.
    pub(super) fn searched(trace: Weak<Trace>, all: &Nodes, first_stray: u32) -> Index {
        let strays = all.event.iter().copied().zip(0_u32..);
        let mut strays: Vec<(EventId, u32)> = strays.skip(first_stray as usize).collect();
        strays.sort_unstable();
        Index::Searched { trace, strays }
    }

    /// The same kind of index for a part of the tree.
    pub(super) fn of_part(&self, trace: &Trace, part: &Nodes, first_stray: u32) -> Index {
        match self {
            Index::Listed { .. } => Index::listed(trace, part),
            Index::Searched { trace, .. } => Index::searched(trace.clone(), part, first_stray),
        }
    }

    /// The node of an event, which may be near another one, given all nodes and the node range of each thread.
    pub(super) fn find(
        &self,
        event: EventId,
        near: Option<u32>,
        all: &Nodes,
        tracks: &[TrackNodes],
    ) -> Option<u32> {
        match self {
            Index::Listed { called, nodes } => {
                let place = called.place(event.index())?;
                nodes.get(place).copied()
            }
            Index::Searched { trace, strays } => {
                let events = &trace.upgrade()?.events;
                let key = |event: EventId| (events.ts_ns(event), event);
                let on_thread = || {
                    let track = events.track(event);
                    let at = tracks.binary_search_by_key(&track, |nodes| nodes.track);
                    let nodes = &tracks.get(at.ok()?)?.nodes;
                    let calls = all.event.get(nodes.start as usize..nodes.end as usize)?;
                    let own = key(event);
                    let is_before = |call: &EventId| key(*call) < own;
                    let near = near.and_then(|near| near.checked_sub(nodes.start));
                    let at = match near {
                        Some(near) => partition_point_near(calls, near as usize, is_before),
                        None => calls.partition_point(is_before),
                    };
                    (calls.get(at) == Some(&event)).then_some(nodes.start + at as u32)
                };
                on_thread().or_else(|| {
                    let at = strays.binary_search_by_key(&event, |(stray, _)| *stray);
                    strays.get(at.ok()?).map(|(_, node)| *node)
                })
            }
        }
    }
}
