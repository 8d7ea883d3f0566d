//! The self cost of each name, and its callers.

use std::ops::Range;

use super::{Label, Merged, MergedId, MergedTree};
use crate::base::map::{Map, Set};
use crate::profile::cpu::tree::Cost;

/// An inverted top-down tree. Its roots are the names with a self cost; below each are its callers, with the cost when
/// called from there.
///
/// The total cost of a node is that of the root's calls including everything below them; with recursion only the
/// outermost call counts.
///
/// The callers of all names would be many times as many nodes as the top-down tree, so the children of a node are
/// created on demand.
#[derive(Debug)]
pub struct BottomUp {
    top_down: MergedTree,
    /// Parents before children; siblings are adjacent.
    nodes: Vec<Node>,
    n_roots: u32,
}

#[derive(Debug)]
struct Node {
    of: Merged,
    parent: Option<MergedId>,
    depth: u16,
    /// The nodes of the top-down tree that it is made of, in tree order.
    parts: Vec<Part>,
    /// The subtree of the last call of the root's name whose total cost was counted here.
    counted: Range<u32>,
    /// `None` until requested.
    callers: Option<Range<u32>>,
}

/// A node of the top-down tree, as part of a node of this one.
#[derive(Debug, Clone, Copy)]
struct Part {
    /// A call of the root's name.
    root: MergedId,
    /// That call or its ancestor, as many levels up as the depth of this node.
    call: MergedId,
}

impl BottomUp {
    /// Inverts a top-down tree.
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
        let parts: Vec<Part> = parts.map(|(id, _)| Part { root: id, call: id }).collect();
        let mut tree = BottomUp {
            top_down,
            nodes: Vec::new(),
            n_roots: 0,
        };
        tree.n_roots = tree.add(None, parts).end;
        tree
    }

    /// The names, in trace order.
    pub fn roots(&self) -> impl Iterator<Item = MergedId> + use<> {
        (0..self.n_roots).map(MergedId)
    }

    /// The callers of a node, in the context of its own path.
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

    /// True for a node with callers.
    pub fn has_callers(&self, node: MergedId) -> bool {
        let parts = self.nodes.get(node.index()).map(|of| &of.parts);
        let mut parts = parts.into_iter().flatten();
        parts.any(|part| self.top_down.parent(part.call).is_some())
    }

    /// A node; `None` if it was not created.
    pub fn get(&self, node: MergedId) -> Option<&Merged> {
        self.nodes.get(node.index()).map(|node| &node.of)
    }

    /// The parent node.
    pub fn parent(&self, node: MergedId) -> Option<MergedId> {
        self.nodes.get(node.index())?.parent
    }

    /// The depth of the node.
    pub fn depth(&self, node: MergedId) -> u16 {
        self.nodes.get(node.index()).map_or(0, |node| node.depth)
    }

    /// Creates the children of a node, or the roots: parts with the same label become one node.
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
