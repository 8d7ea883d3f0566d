//! A tree as a list of rows: some nodes are open, and their children are shown.
//!
//! Rows are in one list, depth first, so that a window of rows is a slice. Opening a node inserts its children after
//! it; closing removes everything below it.

use std::collections::HashSet;

use crate::protocol::{Branch, TreePage, TreeStep, TreeTarget};

/// A tree whose nodes are numbers.
pub(in crate::worker) trait Branches {
    /// The children of a node, or the top-level nodes, in display order.
    fn below(&self, above: Option<u32>) -> Vec<u32>;
    /// `true` for a node with children; `false` for a node of another tree.
    fn has_children(&self, node: u32) -> bool;
    /// The parent; `None` at the top.
    fn parent(&self, node: u32) -> Option<u32>;
    /// The number of ancestors.
    fn depth(&self, node: u32) -> u32;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::worker) struct Row {
    pub(in crate::worker) node: u32,
    /// Position among its siblings, from 1.
    pub(in crate::worker) position: u32,
    /// Number of siblings, itself included.
    pub(in crate::worker) siblings: u32,
}

/// Which nodes are open, and the resulting rows.
#[derive(Debug, Default)]
pub(in crate::worker) struct Unfolded {
    open: HashSet<u32>,
    /// Every row that is shown, depth first.
    shown: Vec<Row>,
}

impl Unfolded {
    /// The rows, from top to bottom.
    pub(in crate::worker) fn rows(&self) -> &[Row] {
        &self.shown
    }

    /// Some of the rows, in the format for the page.
    pub(in crate::worker) fn page<T>(
        &self,
        offset: usize,
        count: usize,
        row: impl Fn(&Row) -> T,
    ) -> TreePage<T> {
        TreePage {
            total: self.shown.len(),
            offset,
            rows: self
                .shown
                .iter()
                .skip(offset)
                .take(count)
                .map(row)
                .collect(),
        }
    }

    /// The position of a row in the tree.
    pub(in crate::worker) fn branch(&self, tree: &dyn Branches, row: &Row) -> Branch {
        let is_open = || self.is_open(row.node);
        Branch {
            depth: tree.depth(row.node),
            position: row.position,
            siblings: row.siblings,
            open: tree.has_children(row.node).then(is_open),
        }
    }

    /// Whether a node's children are shown, once the node itself is.
    pub(in crate::worker) fn is_open(&self, node: u32) -> bool {
        self.open.contains(&node)
    }

    fn position(&self, node: u32) -> Option<usize> {
        self.shown.iter().position(|row| row.node == node)
    }

    /// The position of a node; `None` if it is not shown.
    pub(in crate::worker) fn target(&self, node: u32) -> Option<TreeTarget> {
        let row = self.position(node)?;
        Some(TreeTarget { row, node })
    }

    /// Performs a step that is the same for all trees; returns the node that it leads to.
    pub(in crate::worker) fn step(&mut self, tree: &dyn Branches, step: &TreeStep) -> Option<u32> {
        match *step {
            TreeStep::Toggle(node) => {
                self.toggle(tree, node);
                Some(node)
            }
            TreeStep::Reveal(node) => {
                self.reveal(tree, node);
                Some(node)
            }
            TreeStep::Parent(node) => tree.parent(node),
            _ => None,
        }
    }

    /// Closes all nodes and removes all rows.
    pub(in crate::worker) fn clear(&mut self) {
        self.open.clear();
        self.shown.clear();
    }

    /// Rebuilds the rows after the tree was sorted or filtered differently.
    pub(in crate::worker) fn renew(&mut self, tree: &dyn Branches) {
        self.shown = unfold(tree, None, &|node| self.open.contains(&node));
    }

    /// Closes everything except some nodes.
    pub(in crate::worker) fn open_only(&mut self, tree: &dyn Branches, open: HashSet<u32>) {
        self.open = open;
        self.renew(tree);
    }

    /// Shows a node's children, or hides them; does nothing for a node that is not shown.
    pub(in crate::worker) fn toggle(&mut self, tree: &dyn Branches, node: u32) {
        if !tree.has_children(node) {
            return;
        }
        let Some(row) = self.position(node) else {
            return;
        };
        if self.open.remove(&node) {
            let depth = tree.depth(node);
            let deeper = self.shown.iter().skip(row + 1);
            let n_deeper = deeper
                .take_while(|row| tree.depth(row.node) > depth)
                .count();
            self.shown.drain(row + 1..row + 1 + n_deeper);
        } else {
            self.open.insert(node);
            let below = unfold(tree, Some(node), &|node| self.open.contains(&node));
            self.shown.splice(row + 1..row + 1, below);
        }
    }

    /// Opens everything above a node.
    pub(in crate::worker) fn reveal(&mut self, tree: &dyn Branches, node: u32) {
        let above = std::iter::successors(tree.parent(node), |node| tree.parent(*node));
        let mut closed: Vec<u32> = above.filter(|node| !self.open.contains(node)).collect();
        // Nodes below the outermost closed one are not shown: only that one changes the list.
        if let Some(outermost) = closed.pop() {
            self.open.extend(closed);
            self.toggle(tree, outermost);
        }
    }
}

/// Everything below a node, or the whole tree, down to closed nodes. Calls nest as deep as the trace says, so this uses
/// an explicit stack.
pub(in crate::worker) fn unfold(
    tree: &dyn Branches,
    above: Option<u32>,
    is_open: &dyn Fn(u32) -> bool,
) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut waiting = siblings(tree.below(above));
    while let Some(row) = waiting.pop() {
        rows.push(row);
        if is_open(row.node) && tree.has_children(row.node) {
            waiting.append(&mut siblings(tree.below(Some(row.node))));
        }
    }
    rows
}

/// In reverse order.
fn siblings(nodes: Vec<u32>) -> Vec<Row> {
    let siblings = nodes.len() as u32;
    let rows = (1..).zip(nodes).map(|(position, node)| Row {
        node,
        position,
        siblings,
    });
    let mut rows: Vec<Row> = rows.collect();
    rows.reverse();
    rows
}
