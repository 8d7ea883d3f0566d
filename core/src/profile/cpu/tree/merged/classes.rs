//! Merges sibling modules of the same class.

use std::ops::Range;

use super::{Label, Merged, MergedId, MergedTree};
use crate::base::format::without_number;
use crate::base::interval::sum;
use crate::base::map::Map;
use crate::base::sort::Arrange;
use crate::names::is_module;
use crate::profile::cpu::tree::Cost;
use crate::trace::{StringId, Trace};

/// A [`MergedTree`] in which sibling modules of the same class are one node: `Block_0` to `Block_23` become `Block`
/// with 24 instances, and their children are merged in the same way.
///
/// A node with several modules can be split: then its children are the individual modules.
///
/// Nodes are created on demand: opening a tree creates only a few.
#[derive(Debug)]
pub struct ClassTree {
    tree: MergedTree,
    /// By module name: the first name of the same class.
    class_of: Map<StringId, StringId>,
    /// Parents before children; siblings are adjacent.
    nodes: Vec<Node>,
    n_roots: u32,
}

#[derive(Debug)]
struct Node {
    of: Merged,
    instances: Option<Instances>,
    parent: Option<MergedId>,
    depth: u16,
    /// The nodes of the underlying tree that it is made of, ascending.
    parts: Vec<MergedId>,
    /// `None` until requested.
    merged: Option<Range<u32>>,
    /// One for each module; `None` until requested.
    single: Option<Range<u32>>,
    is_split: bool,
}

/// The modules of one class that a node represents, and how their times vary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instances {
    /// Number of modules, at least two.
    pub n: u32,
    /// GPU time.
    pub gpu: Spread,
    /// CPU time.
    pub cpu: Spread,
}

/// The distribution of the times of some modules, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spread {
    /// The minimum.
    pub least_ns: i64,
    /// The mean, rounded.
    pub mean_ns: i64,
    /// The maximum.
    pub most_ns: i64,
}

impl Spread {
    fn of(times: impl Iterator<Item = i64> + Clone) -> Spread {
        let n = i64::try_from(times.clone().count()).unwrap_or(i64::MAX);
        let all_ns = sum(times.clone());
        Spread {
            least_ns: times.clone().min().unwrap_or(0),
            mean_ns: all_ns.checked_div(n).unwrap_or(0),
            most_ns: times.max().unwrap_or(0),
        }
    }
}

impl ClassTree {
    /// Merges the siblings of a tree.
    pub fn new(trace: &Trace, tree: MergedTree) -> ClassTree {
        let mut first: Map<&str, StringId> = Map::default();
        let names = trace.strings.iter().filter(|(_, name)| is_module(name));
        let class_of = names.map(|(id, name)| {
            let first = *first.entry(without_number(name)).or_insert(id);
            (id, first)
        });
        let mut classes = ClassTree {
            class_of: class_of.collect(),
            tree,
            nodes: Vec::new(),
            n_roots: 0,
        };
        let roots = classes.tree.roots().collect();
        classes.n_roots = classes.add(None, roots, true).end;
        classes
    }

    /// The underlying tree.
    pub fn of_names(&self) -> &MergedTree {
        &self.tree
    }

    /// The root nodes, in trace order.
    pub fn roots(&self) -> impl Iterator<Item = MergedId> + use<> {
        (0..self.n_roots).map(MergedId)
    }

    /// The direct children of a node, in trace order; the individual modules if it is split.
    pub fn children(&mut self, node: MergedId) -> impl Iterator<Item = MergedId> + use<> {
        let is_split = self.is_split(node);
        let children = self.made_children(node, is_split).unwrap_or_default();
        children.map(MergedId)
    }

    fn made_children(&mut self, node: MergedId, single: bool) -> Option<Range<u32>> {
        let of = self.nodes.get(node.index())?;
        let made = if single { &of.single } else { &of.merged };
        if let Some(made) = made {
            return Some(made.clone());
        }
        let parts = match single {
            true => of.parts.clone(),
            false => {
                let below = |part: &MergedId| self.tree.children(*part);
                of.parts.iter().flat_map(below).collect()
            }
        };
        let made = self.add(Some(node), parts, !single);
        let of = self.nodes.get_mut(node.index())?;
        let place = match single {
            true => &mut of.single,
            false => &mut of.merged,
        };
        *place = Some(made.clone());
        Some(made)
    }

    /// True for a node with children.
    pub fn has_children(&self, node: MergedId) -> bool {
        let of = self.nodes.get(node.index());
        of.is_some_and(|of| {
            of.is_split || of.parts.iter().any(|part| self.tree.has_children(*part))
        })
    }

    /// A node; `None` if it was not created.
    pub fn get(&self, node: MergedId) -> Option<&Merged> {
        self.nodes.get(node.index()).map(|node| &node.of)
    }

    /// The modules that a node represents; `None` if it is a single one or not a module.
    pub fn instances(&self, node: MergedId) -> Option<Instances> {
        self.nodes.get(node.index())?.instances
    }

    /// Whether the modules of a node are shown individually.
    pub fn is_split(&self, node: MergedId) -> bool {
        self.nodes
            .get(node.index())
            .is_some_and(|node| node.is_split)
    }

    /// Splits a node into its modules, or merges them again; no effect on a node with a single module.
    pub fn split(&mut self, node: MergedId, is_split: bool) {
        if let Some(of) = self.nodes.get_mut(node.index()) {
            of.is_split = is_split && of.instances.is_some();
        }
    }

    /// The parent node.
    pub fn parent(&self, node: MergedId) -> Option<MergedId> {
        self.nodes.get(node.index())?.parent
    }

    /// The depth of the node.
    pub fn depth(&self, node: MergedId) -> u16 {
        self.nodes.get(node.index()).map_or(0, |node| node.depth)
    }

    /// Splits or merges the ancestors of a node so that each of them, and the node itself, is among the children of its
    /// parent.
    pub fn arrange_for(&mut self, node: MergedId) {
        let mut child = node;
        while let Some(parent) = self.parent(child) {
            let single = self.nodes.get(parent.index());
            let single = single.and_then(|parent| parent.single.clone());
            self.split(parent, single.is_some_and(|one| one.contains(&child.0)));
            child = parent;
        }
    }

    /// The node that contains a node of the underlying tree; `None` for a node of another tree.
    pub fn holding(&mut self, name: MergedId) -> Option<MergedId> {
        self.tree.get(name)?;
        let mut way: Vec<MergedId> =
            std::iter::successors(Some(name), |node| self.tree.parent(*node)).collect();
        let mut siblings: Vec<MergedId> = self.roots().collect();
        loop {
            let part = way.pop()?;
            let mut here = siblings.into_iter().find(|id| self.has_part(*id, part))?;
            if self.is_split(here) {
                let mut single = self.children(here);
                here = single.find(|id| self.has_part(*id, part))?;
            }
            if way.is_empty() {
                return Some(here);
            }
            siblings = self.children(here).collect();
        }
    }

    fn has_part(&self, node: MergedId, part: MergedId) -> bool {
        let of = self.nodes.get(node.index());
        of.is_some_and(|of| of.parts.binary_search(&part).is_ok())
    }

    fn class(&self, label: Label) -> Label {
        match label {
            Label::Call(name) => match self.class_of.get(&name) {
                Some(class) => Label::Class(*class),
                None => label,
            },
            _ => label,
        }
    }

    /// Creates the children of a node, or the roots: parts with the same class, or with the same name, become one node.
    fn add(
        &mut self,
        parent: Option<MergedId>,
        parts: Vec<MergedId>,
        by_class: bool,
    ) -> Range<u32> {
        let first = self.nodes.len();
        let depth = parent.map_or(0, |parent| self.depth(parent).saturating_add(1));
        let mut index: Map<Label, usize> = Map::default();
        for part in parts {
            let Some(of) = self.tree.get(part) else {
                continue;
            };
            let label = match by_class {
                true => self.class(of.label),
                false => of.label,
            };
            let next = self.nodes.len();
            let at = *index.entry(label).or_insert(next);
            match self.nodes.get_mut(at) {
                None => self.nodes.push(Node {
                    of: *of,
                    instances: None,
                    parent,
                    depth,
                    parts: vec![part],
                    merged: None,
                    single: None,
                    is_split: false,
                }),
                Some(node) => {
                    node.of.own += of.own;
                    node.of.all += of.all;
                    node.of.n_calls = node.of.n_calls.saturating_add(of.n_calls);
                    node.parts.push(part);
                }
            }
        }
        let end = self.nodes.len();
        for at in first..end {
            self.count_instances(at);
        }
        first as u32..end as u32
    }

    /// Labels a node with several module names by their class.
    fn count_instances(&mut self, at: usize) {
        let Some(node) = self.nodes.get_mut(at) else {
            return;
        };
        // The same part may come from two parents; sorted so that it can be found.
        node.parts.arrange();
        if node.parts.len() < 2 {
            return;
        }
        let mut by_name: Map<Label, Cost> = Map::default();
        for of in node.parts.iter().filter_map(|part| self.tree.get(*part)) {
            *by_name.entry(of.label).or_default() += of.all;
        }
        let Label::Call(name) = node.of.label else {
            return;
        };
        if let (Some(class), true) = (self.class_of.get(&name), by_name.len() > 1) {
            node.of.label = Label::Class(*class);
            node.instances = Some(Instances {
                n: by_name.len() as u32,
                gpu: Spread::of(by_name.values().map(|cost| cost.gpu_ns)),
                cpu: Spread::of(by_name.values().map(|cost| cost.cpu_ns)),
            });
        }
    }
}
