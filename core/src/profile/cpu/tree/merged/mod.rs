//! Merged call trees: what calls with the same name cost together.
//!
//! | tree | a node is |
//! |---|---|
//! | [top-down](MergedTree::top_down) | all calls with the same name and the same call path |
//! | [bottom-up](BottomUp) | a name with its self cost; below it, its callers |
//! | [by module](MergedTree::by_module) | a module or a named range; below it, the operators it ran |
//! | [forward and backward](MergedTree::forward_and_backward) | the same, with the backward pass of an operator under it |
//! | [of classes](ClassTree) | for any of these except bottom-up: siblings of the same module class |
//!
//! GPU activity belongs to the operator that launched it. Nothing counts twice, even with recursion: in all trees
//! except bottom-up, the cost of a subtree is the sum of the self costs in it, and the roots together cost as much as
//! the trace. Trees with named ranges additionally include the CPU time that is in a range but in no call. In the
//! bottom-up tree, the same holds for the self costs of the roots, and each caller gets its share of them.

mod backward;
mod bottom_up;
mod builder;
mod classes;
mod modules;
#[cfg(test)]
mod tests;
mod top_down;

use std::ops::Range;

pub use bottom_up::BottomUp;
pub use classes::{ClassTree, Instances, Spread};

use super::{Cost, NodeId, siblings};
use crate::base::format::{is_digits, without_number};
use crate::base::row_id::row_id;
use crate::trace::{StringId, Trace};

row_id! {
    /// A node of a [`MergedTree`].
    MergedId
}

/// What a node represents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Label {
    /// Calls with this name.
    Call(StringId),
    /// Modules of the same class as this one.
    Class(StringId),
    /// Ranges named by the program, ignoring a number after `#`, as in `ProfilerStep#3`.
    Annotation(StringId),
    /// Everything outside of modules.
    OutsideModules,
    /// Everything outside of named ranges, in a trace without modules.
    OutsideAnnotations,
}

impl Label {
    /// Its name, for display.
    pub fn name(self, trace: &Trace) -> &str {
        match self {
            Label::Call(name) => trace.strings.get(name),
            Label::Class(name) => without_number(trace.strings.get(name)),
            Label::Annotation(name) => without_step(trace.strings.get(name)),
            Label::OutsideModules => "Outside modules",
            Label::OutsideAnnotations => "Outside annotations",
        }
    }
}

/// All calls that form one node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Merged {
    /// What they have in common.
    pub label: Label,
    /// Their cost, excluding descendants.
    pub own: Cost,
    /// Their cost, including descendants.
    pub all: Cost,
    /// Number of calls; zero for a heading.
    pub n_calls: u32,
    /// The first call in the [full tree](crate::Profile::full_tree); for an annotation or a heading, the first call
    /// below it.
    pub first: NodeId,
}

/// A node and its position in the tree.
#[derive(Debug)]
struct Node {
    of: Merged,
    /// [`MergedTree::NONE`] for a root.
    parent: u32,
    /// One past the last node of the subtree.
    subtree_end: u32,
    depth: u16,
}

/// Calls merged by name. Nodes are in depth-first order, so a subtree is a range. 80 bytes per node; there are far
/// fewer nodes than calls.
#[derive(Debug, Default)]
pub struct MergedTree {
    nodes: Vec<Node>,
}

impl MergedTree {
    const NONE: u32 = u32::MAX;

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// True for a trace without CPU calls.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// All nodes, parents before children; siblings in trace order.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = MergedId> + ExactSizeIterator + use<> {
        (0..self.len() as u32).map(MergedId)
    }

    /// A node; `None` for one of another tree.
    #[inline]
    pub fn get(&self, node: MergedId) -> Option<&Merged> {
        self.nodes.get(node.index()).map(|node| &node.of)
    }

    /// The root nodes.
    pub fn roots(&self) -> impl Iterator<Item = MergedId> + '_ {
        self.siblings(0..self.len() as u32)
    }

    /// The direct children of a node.
    pub fn children(&self, node: MergedId) -> impl Iterator<Item = MergedId> + '_ {
        let subtree = self.subtree(node);
        self.siblings(subtree.start.saturating_add(1)..subtree.end)
    }

    /// True for a node with children.
    pub fn has_children(&self, node: MergedId) -> bool {
        self.subtree(node).len() > 1
    }

    /// A node and all its descendants, as a range of ids.
    #[inline]
    pub fn subtree(&self, node: MergedId) -> Range<u32> {
        let end = self.nodes.get(node.index()).map(|node| node.subtree_end);
        node.0..end.unwrap_or(node.0)
    }

    /// The parent node.
    pub fn parent(&self, node: MergedId) -> Option<MergedId> {
        let parent = self.nodes.get(node.index())?.parent;
        (parent != Self::NONE).then_some(MergedId(parent))
    }

    /// The depth of the node: its number of ancestors.
    pub fn depth(&self, node: MergedId) -> u16 {
        self.nodes.get(node.index()).map_or(0, |node| node.depth)
    }

    fn siblings(&self, range: Range<u32>) -> impl Iterator<Item = MergedId> + '_ {
        siblings(range, move |node| self.subtree(MergedId(node)).end).map(MergedId)
    }
}

/// `ProfilerStep` for `ProfilerStep#3`.
fn without_step(name: &str) -> &str {
    match name.rsplit_once('#') {
        Some((name, step)) if is_digits(step) => name,
        _ => name,
    }
}
