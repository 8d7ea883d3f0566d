//! What each name cost itself, and who called it.

use std::ops::Range;

use super::{Label, Merged, MergedId, MergedTree};
use crate::base::map::{Map, Set};
use crate::profile::tree::Cost;

/// A top-down tree the other way around. Its roots are the names that cost something themselves;
/// below each stand its callers, with what it cost when they called it.
///
/// The cost of a node with those below is that of the root's calls with all that they called; of
/// calls inside each other the outermost counts.
///
/// All callers of all names are many times as many nodes as the tree was made from: those below a
/// node are made when they are first asked for.
#[derive(Debug)]
pub struct BottomUp {
    top_down: MergedTree,
    /// Each after the one above it; siblings beside each other.
    nodes: Vec<Node>,
    n_roots: u32,
}

#[derive(Debug)]
struct Node {
    of: Merged,
    parent: Option<MergedId>,
    depth: u16,
    /// What of the top-down tree it is made from, in the order of that.
    parts: Vec<Part>,
    /// The last call of the root's name whose cost with all below counts here, and all below it.
    counted: Range<u32>,
    /// `None` as long as nobody asked.
    callers: Option<Range<u32>>,
}

/// A node of the top-down tree, as part of a node of this one.
#[derive(Debug, Clone, Copy)]
struct Part {
    /// One of the root's name.
    root: MergedId,
    /// That, or who called it, as many levels up as the node is deep.
    call: MergedId,
}

impl BottomUp {
    /// Turns a top-down tree around.
    pub fn new(top_down: MergedTree) -> BottomUp {
        let ids = || {
            top_down
                .ids()
                .filter_map(|id| Some((id, top_down.get(id)?)))
        };
        let costly: Set<Label> = ids()
            .filter(|(_, of)| of.own != Cost::default())
            .map(|(_, of)| of.label)
            .collect();
        let parts = ids().filter(|(_, of)| costly.contains(&of.label));
        let parts = parts.map(|(id, _)| Part { root: id, call: id });
        let parts: Vec<Part> = parts.collect();
        let mut tree = BottomUp {
            top_down,
            nodes: Vec::new(),
            n_roots: 0,
        };
        tree.n_roots = tree.add(None, parts).end;
        tree
    }

    /// The names, in the order in which the trace has them.
    pub fn roots(&self) -> impl Iterator<Item = MergedId> + use<> {
        (0..self.n_roots).map(MergedId)
    }

    /// Who called what a node is, in that way.
    pub fn callers(&mut self, node: MergedId) -> impl Iterator<Item = MergedId> + use<> {
        self.made_callers(node).unwrap_or_default().map(MergedId)
    }

    fn made_callers(&mut self, node: MergedId) -> Option<Range<u32>> {
        let of = self.nodes.get(node.index())?;
        if let Some(callers) = &of.callers {
            return Some(callers.clone());
        }
        let parts = of.parts.iter().filter_map(|part| {
            let call = self.top_down.parent(part.call)?;
            Some(Part { call, ..*part })
        });
        let parts = parts.collect();
        let callers = self.add(Some(node), parts);
        if let Some(of) = self.nodes.get_mut(node.index()) {
            of.callers = Some(callers.clone());
        }
        Some(callers)
    }

    /// True for a node with nodes below it.
    pub fn has_callers(&self, node: MergedId) -> bool {
        let parts = self.nodes.get(node.index()).map(|of| &of.parts);
        let mut parts = parts.into_iter().flatten();
        parts.any(|part| self.top_down.parent(part.call).is_some())
    }

    /// A node; `None` for one that was not made.
    pub fn get(&self, node: MergedId) -> Option<&Merged> {
        self.nodes.get(node.index()).map(|node| &node.of)
    }

    /// The node above.
    pub fn parent(&self, node: MergedId) -> Option<MergedId> {
        self.nodes.get(node.index())?.parent
    }

    /// Number of nodes above.
    pub fn depth(&self, node: MergedId) -> u16 {
        self.nodes.get(node.index()).map_or(0, |node| node.depth)
    }

    /// Makes the nodes below one, or the roots: parts of one label are one node.
    fn add(&mut self, parent: Option<MergedId>, parts: Vec<Part>) -> Range<u32> {
        let first = self.nodes.len();
        let depth = parent.map_or(0, |parent| self.depth(parent).saturating_add(1));
        let mut index: Map<Label, usize> = Map::default();
        for part in parts {
            let Some(call) = self.top_down.get(part.call) else {
                continue;
            };
            let next = self.nodes.len();
            let at = *index.entry(call.label).or_insert(next);
            if at == next {
                self.nodes.push(Node {
                    of: Merged {
                        own: Cost::default(),
                        all: Cost::default(),
                        n_calls: 0,
                        ..*call
                    },
                    parent,
                    depth,
                    parts: Vec::new(),
                    counted: 0..0,
                    callers: None,
                });
            }
            if let (Some(node), Some(root)) = (self.nodes.get_mut(at), self.top_down.get(part.root))
            {
                node.of.n_calls = node.of.n_calls.saturating_add(root.n_calls);
                node.of.own += root.own;
                if !node.counted.contains(&part.root.0) {
                    node.of.all += root.all;
                    node.counted = self.top_down.subtree(part.root);
                }
                node.parts.push(part);
            }
        }
        first as u32..self.nodes.len() as u32
    }
}
