//! Builds a [`MergedTree`].

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::{Label, Merged, MergedTree, Node};
use crate::profile::Profile;
use crate::profile::cpu::tree::cost::own_cpu_of_all;
use crate::profile::cpu::tree::{Cost, Launched, NodeId, Owner};

/// Nodes in the order of creation: parents before children.
#[derive(Default)]
pub(super) struct Builder {
    nodes: Vec<Node>,
    index: HashMap<(u32, Label), u32, FxBuildHasher>,
}

impl Builder {
    /// The parent of roots.
    pub(super) const TOP: u32 = MergedTree::NONE;

    /// The child of a node with a given label; created on first use, with `first` as its first call.
    pub(super) fn below(&mut self, parent: u32, label: Label, first: NodeId) -> u32 {
        let next = self.nodes.len() as u32;
        let node = *self.index.entry((parent, label)).or_insert(next);
        if node == next {
            let depth = match self.nodes.get(parent as usize) {
                Some(parent) => parent.depth.saturating_add(1),
                None => 0,
            };
            self.nodes.push(Node {
                of: Merged {
                    label,
                    own: Cost::default(),
                    all: Cost::default(),
                    n_calls: 0,
                    first,
                },
                parent,
                subtree_end: next,
                depth,
            });
        }
        node
    }

    pub(super) fn count(&mut self, node: u32, n_calls: u32) {
        if let Some(Node { of, .. }) = self.nodes.get_mut(node as usize) {
            of.n_calls = of.n_calls.saturating_add(n_calls);
        }
    }

    /// Adds CPU time to the self cost of a node; may be negative.
    pub(super) fn add_cpu(&mut self, node: u32, cpu_ns: i64) {
        let cost = Cost {
            cpu_ns,
            ..Cost::default()
        };
        self.add_own(node, cost);
    }

    /// Adds to the self cost of a node.
    fn add_own(&mut self, node: u32, cost: Cost) {
        if let Some(Node { of, .. }) = self.nodes.get_mut(node as usize) {
            of.own += cost;
        }
    }

    /// Assigns the cost of each call to its node and computes totals. `place` has a node for each node of the full
    /// tree.
    pub(super) fn finish(mut self, profile: &Profile, place: &[u32]) -> MergedTree {
        let (trace, tree) = (&profile.trace, profile.full_tree());
        for (own_ns, &node) in own_cpu_of_all(trace, tree).into_iter().zip(place) {
            self.add_cpu(node, own_ns);
        }
        for (call, gpu_ns) in Launched::new(profile, Owner::Operator).pieces() {
            let cost = Cost {
                gpu_ns,
                cpu_ns: 0,
                n_work: 1,
            };
            if let Some(&node) = place.get(call.index()) {
                self.add_own(node, cost);
            }
        }
        for node in (0..self.nodes.len()).rev() {
            let Some(Node { of, parent, .. }) = self.nodes.get_mut(node) else {
                continue;
            };
            of.all += of.own;
            let (parent, all) = (*parent, of.all);
            if let Some(Node { of, .. }) = self.nodes.get_mut(parent as usize) {
                of.all += all;
            }
        }
        self.in_order()
    }

    /// Reorders the nodes depth-first.
    fn in_order(self) -> MergedTree {
        let n_nodes = self.nodes.len();
        // Last child first, so that they are popped from a stack in order of creation.
        let mut children: Vec<Vec<u32>> = vec![Vec::new(); n_nodes];
        let mut waiting = Vec::new();
        for (node, of) in self.nodes.iter().enumerate().rev() {
            match children.get_mut(of.parent as usize) {
                Some(siblings) => siblings.push(node as u32),
                None => waiting.push((node as u32, MergedTree::NONE)),
            }
        }
        let mut old: Vec<Option<Node>> = self.nodes.into_iter().map(Some).collect();
        let mut nodes: Vec<Node> = Vec::with_capacity(n_nodes);
        while let Some((from, parent)) = waiting.pop() {
            let Some(node) = old[from as usize].take() else {
                continue;
            };
            let id = nodes.len() as u32;
            nodes.push(Node {
                parent,
                subtree_end: id + 1,
                ..node
            });
            let below = children[from as usize].iter();
            waiting.extend(below.map(|child| (*child, id)));
        }
        for node in (0..nodes.len()).rev() {
            let Some((parent, end)) = nodes.get(node).map(|of| (of.parent, of.subtree_end)) else {
                continue;
            };
            if let Some(parent) = nodes.get_mut(parent as usize) {
                parent.subtree_end = parent.subtree_end.max(end);
            }
        }
        MergedTree { nodes }
    }
}
