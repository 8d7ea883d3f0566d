//! Other trees of the same calls: what calls of one name cost together.
//!
//! | tree | a node is |
//! |---|---|
//! | [top-down](MergedTree::top_down) | all calls of a name that were called in the same way |
//! | [bottom-up](BottomUp) | a name with what it cost itself; below it, who called it |
//! | [by module](MergedTree::by_module) | a module or a named range; below it, the operators it ran |
//! | [forward and backward](MergedTree::forward_and_backward) | the same, with the backward pass of an operator under it |
//! | [of classes](ClassTree) | of any of these but the bottom-up one: siblings of one class of modules |
//!
//! GPU activity belongs to the operator that launched it. Nothing counts twice, also not where calls
//! call themselves: in all but the bottom-up tree the cost of a subtree is the sum of the own
//! costs in it, and the roots together cost what the trace costs. In the trees with named ranges the
//! time on the CPU that passes in a range and in no call comes on top. In the bottom-up tree that is
//! so for the own costs of the roots; each of their callers has its share of them.

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
use crate::base::format::without_number;
use crate::base::row_id::row_id;
use crate::trace::{StringId, Trace};

row_id! {
    /// A node of a [`MergedTree`].
    MergedId
}

/// What a node stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Label {
    /// Calls of this name.
    Call(StringId),
    /// Modules of the class of this one.
    Class(StringId),
    /// Ranges that the program named; a number behind `#`, as in `ProfilerStep#3`, does not tell
    /// them apart.
    Annotation(StringId),
    /// What runs in no module.
    OutsideModules,
    /// What runs in no named range, in a trace without modules.
    OutsideAnnotations,
}

impl Label {
    /// For people.
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

/// All calls that are one node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Merged {
    /// What they have in common.
    pub label: Label,
    /// What they cost without those below.
    pub own: Cost,
    /// What they cost with those below.
    pub all: Cost,
    /// How many there are; zero for a heading.
    pub n_calls: u32,
    /// The first of them in the [full tree](crate::Profile::full_tree); below an annotation or a
    /// heading, the first call there.
    pub first: NodeId,
}

/// A node and its place.
#[derive(Debug)]
struct Node {
    of: Merged,
    /// [`MergedTree::NONE`] for a root.
    parent: u32,
    /// The node after the last one of the subtree.
    subtree_end: u32,
    depth: u16,
}

/// Calls put together by name. Nodes lie in depth-first order, so that a subtree is a range.
/// 80 bytes a node; there are far fewer nodes than calls.
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

    /// True for a trace without host calls.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// All nodes, each before its children; siblings in the order in which the trace has them.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = MergedId> + ExactSizeIterator + use<> {
        (0..self.len() as u32).map(MergedId)
    }

    /// A node; `None` for one of another tree.
    #[inline]
    pub fn get(&self, node: MergedId) -> Option<&Merged> {
        self.nodes.get(node.index()).map(|node| &node.of)
    }

    /// The nodes that nothing is above.
    pub fn roots(&self) -> impl Iterator<Item = MergedId> + '_ {
        self.siblings(0..self.len() as u32)
    }

    /// The nodes right below one.
    pub fn children(&self, node: MergedId) -> impl Iterator<Item = MergedId> + '_ {
        let subtree = self.subtree(node);
        self.siblings(subtree.start.saturating_add(1)..subtree.end)
    }

    /// True for a node with nodes below it.
    pub fn has_children(&self, node: MergedId) -> bool {
        self.subtree(node).len() > 1
    }

    /// A node and all below it, as a range of ids.
    #[inline]
    pub fn subtree(&self, node: MergedId) -> Range<u32> {
        let end = self.nodes.get(node.index()).map(|node| node.subtree_end);
        node.0..end.unwrap_or(node.0)
    }

    /// The node above.
    pub fn parent(&self, node: MergedId) -> Option<MergedId> {
        let parent = self.nodes.get(node.index())?.parent;
        (parent != Self::NONE).then_some(MergedId(parent))
    }

    /// Number of nodes above.
    pub fn depth(&self, node: MergedId) -> u16 {
        self.nodes.get(node.index()).map_or(0, |node| node.depth)
    }

    fn siblings(&self, range: Range<u32>) -> impl Iterator<Item = MergedId> + '_ {
        siblings(range, move |node| self.subtree(MergedId(node)).end).map(MergedId)
    }
}

/// `ProfilerStep` of `ProfilerStep#3`.
fn without_step(name: &str) -> &str {
    match name.rsplit_once('#') {
        Some((name, step))
            if !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            name
        }
        _ => name,
    }
}
