//! The calls in the way that was chosen: as they were recorded, or put together by name.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use dormer_core::Profile;
use dormer_core::base::sort::Arrange;
use dormer_core::names::Family;
use dormer_core::profile::tree::{
    BottomUp, CallTree, Cost, Label, Launched, Merged, MergedId, MergedTree, NodeId, Owner,
    own_cpu_ns,
};
use dormer_core::trace::{Category, EventId, StringId, Trace, TrackId};

use super::super::families::Families;
use crate::protocol::{Sort, TreeMode, tree_sort};

/// A row of the view: a call, a node of calls, or a heading above calls. Headings come first in
/// `protocol`'s numbering of nodes, from [`Item::HEADING`] up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Item(pub(super) u32);

impl Item {
    const HEADING: u32 = 1 << 31;

    fn heading(position: usize) -> Item {
        Item(Item::HEADING + position as u32)
    }

    /// Of a thread, or after the last thread of the calls that have no place in one.
    fn as_heading(self) -> Option<usize> {
        let position = self.0.checked_sub(Item::HEADING)?;
        Some(position as usize)
    }
}

/// What is said of a row.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Figures {
    /// With all below.
    pub(super) all: Cost,
    /// Without.
    pub(super) own: Cost,
    /// `None` where a node is no call.
    pub(super) n_calls: Option<u32>,
    /// The CPU time is known.
    pub(super) has_cpu: bool,
}

/// The calls, one way. Cheap to clone.
#[derive(Clone)]
pub(super) enum Shape {
    /// Every call by itself, by thread.
    Recorded(Rc<Launched>),
    /// Calls of a name together.
    Merged(Rc<MergedTree>),
    /// Names above their callers, which are made as they are asked for.
    Callers(Rc<RefCell<BottomUp>>),
}

impl Shape {
    /// `None` where the trace has nothing to be put together that way.
    pub(super) fn new(profile: &Profile, mode: TreeMode) -> Option<Shape> {
        let merged = match mode {
            TreeMode::Recorded => {
                let launched = Launched::new(profile, Owner::Launch);
                return Some(Shape::Recorded(Rc::new(launched)));
            }
            TreeMode::TopDown => MergedTree::top_down(profile),
            TreeMode::BottomUp => {
                let callers = BottomUp::new(MergedTree::top_down(profile));
                return Some(Shape::Callers(Rc::new(RefCell::new(callers))));
            }
            TreeMode::Modules => MergedTree::by_module(profile)?,
            TreeMode::Backward => MergedTree::forward_and_backward(profile)?,
        };
        Some(Shape::Merged(Rc::new(merged)))
    }

    /// What nothing is above, in the order of the trace.
    pub(super) fn roots(&self, profile: &Profile) -> Vec<Item> {
        match self {
            Shape::Recorded(_) => {
                let tree = profile.full_tree();
                let n_strays = usize::from(tree.strays().len() > 0);
                let n_headings = tree.tracks().len() + n_strays;
                (0..n_headings).map(Item::heading).collect()
            }
            Shape::Merged(tree) => items(tree.roots()),
            Shape::Callers(tree) => items(tree.borrow().roots()),
        }
    }

    /// What is right below, in the order of the trace.
    pub(super) fn children(&self, profile: &Profile, item: Item) -> Vec<Item> {
        match (self, item.as_heading()) {
            (Shape::Merged(tree), _) => items(tree.children(MergedId(item.0))),
            (Shape::Callers(tree), _) => items(tree.borrow_mut().callers(MergedId(item.0))),
            (Shape::Recorded(_), None) => {
                let children = profile.full_tree().children(NodeId(item.0));
                children.map(|node| Item(node.0)).collect()
            }
            (Shape::Recorded(_), Some(position)) => below_heading(profile.full_tree(), position),
        }
    }

    pub(super) fn has_children(&self, profile: &Profile, item: Item) -> bool {
        match (self, item.as_heading()) {
            (Shape::Merged(tree), _) => tree.has_children(MergedId(item.0)),
            (Shape::Callers(tree), _) => tree.borrow().has_callers(MergedId(item.0)),
            (Shape::Recorded(_), None) => profile.full_tree().has_children(NodeId(item.0)),
            (Shape::Recorded(_), Some(_)) => self.knows(profile, item),
        }
    }

    pub(super) fn knows(&self, profile: &Profile, item: Item) -> bool {
        match (self, item.as_heading()) {
            (Shape::Merged(_) | Shape::Callers(_), _) => self.merged(item).is_some(),
            (Shape::Recorded(_), None) => (item.0 as usize) < profile.full_tree().len(),
            (Shape::Recorded(_), Some(position)) => position < self.roots(profile).len(),
        }
    }

    /// The calls that a row stands for together; `None` for a heading, and for a call by itself.
    fn merged(&self, item: Item) -> Option<Merged> {
        let node = MergedId(item.0);
        match self {
            Shape::Recorded(_) => None,
            Shape::Merged(tree) => tree.get(node).copied(),
            Shape::Callers(tree) => tree.borrow().get(node).copied(),
        }
    }

    pub(super) fn parent(&self, profile: &Profile, item: Item) -> Option<Item> {
        if item.as_heading().is_some() {
            return None;
        }
        let tree = match self {
            Shape::Merged(tree) => return tree.parent(MergedId(item.0)).map(|node| Item(node.0)),
            Shape::Callers(tree) => {
                let parent = tree.borrow().parent(MergedId(item.0));
                return parent.map(|node| Item(node.0));
            }
            Shape::Recorded(_) => profile.full_tree(),
        };
        if let Some(parent) = tree.parent(NodeId(item.0)) {
            return Some(Item(parent.0));
        }
        let threads = tree.tracks();
        let thread = threads
            .iter()
            .position(|thread| thread.nodes.contains(&item.0))
            .unwrap_or(threads.len());
        Some(Item::heading(thread))
    }

    pub(super) fn depth(&self, profile: &Profile, item: Item) -> u32 {
        match (self, item.as_heading()) {
            (_, Some(_)) => 0,
            (Shape::Merged(tree), None) => u32::from(tree.depth(MergedId(item.0))),
            (Shape::Callers(tree), None) => u32::from(tree.borrow().depth(MergedId(item.0))),
            (Shape::Recorded(_), None) => u32::from(profile.full_tree().depth(NodeId(item.0))) + 1,
        }
    }

    /// The call of a row, or the first of its calls; `None` for a thread.
    pub(super) fn event(&self, profile: &Profile, item: Item) -> Option<EventId> {
        let node = match (self, item.as_heading()) {
            (_, Some(_)) => return None,
            (Shape::Recorded(_), None) => NodeId(item.0),
            (Shape::Merged(_) | Shape::Callers(_), None) => self.merged(item)?.first,
        };
        profile.full_tree().event(node)
    }

    /// The first call that an item stands for; `None` for a thread.
    pub(super) fn call(&self, profile: &Profile, item: Item) -> Option<NodeId> {
        profile.full_tree().node_of(self.event(profile, item)?)
    }

    /// The item that a call is, or that stands for calls of its name: of several that whose place is
    /// most like the call's.
    pub(super) fn of_call(&self, profile: &Profile, call: NodeId) -> Option<Item> {
        let (events, calls) = (&profile.trace.events, profile.full_tree());
        let name = |node: NodeId| calls.event(node).map(|event| events.name(event));
        let label = Label::Call(name(call)?);
        let is_same = |item: &Item| self.merged(*item).is_some_and(|of| of.label == label);
        let tree = match self {
            Shape::Recorded(_) => return Some(Item(call.0)),
            // Below the names stand callers.
            Shape::Callers(_) => return self.roots(profile).into_iter().find(is_same),
            Shape::Merged(tree) => tree,
        };
        let around: HashSet<StringId> = calls.ancestors(call).filter_map(name).collect();
        // Nodes above it that the call has around it, less those that it has not.
        let likeness = |item: MergedId| {
            let above = std::iter::successors(tree.parent(item), |node| tree.parent(*node));
            above.fold(0_i32, |likeness, node| {
                match tree.get(node).map(|of| of.label) {
                    Some(Label::Call(name)) if around.contains(&name) => likeness + 1,
                    Some(Label::Call(_)) => likeness - 1,
                    _ => likeness,
                }
            })
        };
        let same = tree.ids().filter(|node| is_same(&Item(node.0)));
        // Of equal ones the first.
        let most = same.rev().max_by_key(|item| likeness(*item));
        most.map(|item| Item(item.0))
    }

    /// The name that a search looks at; `None` for a heading.
    pub(super) fn searched(&self, profile: &Profile, item: Item) -> Option<StringId> {
        match (self, item.as_heading()) {
            (Shape::Merged(_) | Shape::Callers(_), None) => match self.merged(item)?.label {
                Label::Call(name) | Label::Annotation(name) => Some(name),
                Label::OutsideModules | Label::OutsideAnnotations => None,
            },
            _ => {
                let event = self.event(profile, item)?;
                Some(profile.trace.events.name(event))
            }
        }
    }

    /// The name that is shown.
    pub(super) fn name(&self, profile: &Profile, item: Item) -> String {
        let trace = &profile.trace;
        match (self, item.as_heading()) {
            (_, Some(position)) => heading(profile, position),
            (Shape::Merged(_) | Shape::Callers(_), None) => {
                let name = self.merged(item).map(|of| of.label.name(trace));
                name.unwrap_or_default().to_owned()
            }
            (Shape::Recorded(_), None) => {
                let name = self.searched(profile, item);
                name.map_or("", |name| trace.strings.get(name)).to_owned()
            }
        }
    }

    /// What a row is, in words.
    pub(super) fn kind(&self, profile: &Profile, item: Item) -> &'static str {
        if item.as_heading().is_some() {
            return "thread";
        }
        match self.merged(item).map(|of| of.label) {
            Some(Label::Annotation(_)) => return Category::UserAnnotation.label(),
            Some(Label::OutsideModules | Label::OutsideAnnotations) => return "",
            Some(Label::Call(_)) | None => {}
        }
        let event = self.event(profile, item);
        event.map_or("", |event| profile.trace.events.category(event).label())
    }

    /// The family of calls that launch GPU activity themselves.
    pub(super) fn family(
        &self,
        profile: &Profile,
        launching: &HashMap<EventId, Family>,
        families: &Families,
        item: Item,
    ) -> Option<Family> {
        if let Shape::Recorded(_) = self {
            return launching.get(&self.event(profile, item)?).copied();
        }
        let of = self.merged(item)?;
        let Label::Call(name) = of.label else {
            return None;
        };
        (of.own.n_work > 0).then(|| families.of_op(profile.trace.strings.get(name)))
    }

    pub(super) fn figures(&self, profile: &Profile, item: Item) -> Figures {
        let launched = match self {
            Shape::Recorded(launched) => launched,
            Shape::Merged(_) | Shape::Callers(_) => {
                return self
                    .merged(item)
                    .map_or_else(Figures::default, |of| Figures {
                        all: of.all,
                        own: of.own,
                        n_calls: (of.n_calls > 0).then_some(of.n_calls),
                        has_cpu: true,
                    });
            }
        };
        let (trace, tree) = (&profile.trace, profile.full_tree());
        let Some(position) = item.as_heading() else {
            let node = NodeId(item.0);
            let event = tree.event(node);
            let cpu_ns = event.and_then(|event| trace.events.dur_ns(event));
            return Figures {
                all: Cost {
                    cpu_ns: cpu_ns.unwrap_or(0),
                    ..launched.within(tree.subtree(node))
                },
                own: Cost {
                    cpu_ns: own_cpu_ns(trace, tree, node),
                    ..launched.within(item.0..item.0.saturating_add(1))
                },
                n_calls: None,
                has_cpu: cpu_ns.is_some(),
            };
        };
        let first_stray = tree.len().saturating_sub(tree.strays().len()) as u32;
        let thread = tree.tracks().get(position);
        let nodes = thread.map_or(first_stray..tree.len() as u32, |thread| {
            thread.nodes.clone()
        });
        Figures {
            all: launched.within(nodes),
            ..Figures::default()
        }
    }

    /// Puts siblings, which come in the order of the trace, into another one.
    pub(super) fn sort(&self, profile: &Profile, sort: Option<&Sort>, items: &mut [Item]) {
        let Some(sort) = sort else {
            return;
        };
        if sort.column == tree_sort::NAME {
            items.arrange_by_cached_key(|item| self.name(profile, *item).to_lowercase());
            if sort.descending {
                items.reverse();
            }
            return;
        }
        let key = |item: &Item| {
            let of = self.figures(profile, *item);
            match sort.column.as_str() {
                tree_sort::GPU => of.all.gpu_ns,
                tree_sort::GPU_OWN => of.own.gpu_ns,
                tree_sort::CPU => of.all.cpu_ns,
                tree_sort::CPU_OWN => of.own.cpu_ns,
                tree_sort::CALLS => i64::from(of.n_calls.unwrap_or(0)),
                tree_sort::KERNELS => i64::try_from(of.all.n_work).unwrap_or(i64::MAX),
                _ => 0,
            }
        };
        // Stable: what is equal stays in the order of the trace.
        match sort.descending {
            true => items.arrange_by_cached_key(|item| Reverse(key(item))),
            false => items.arrange_by_cached_key(key),
        }
    }
}

fn items(nodes: impl Iterator<Item = MergedId>) -> Vec<Item> {
    nodes.map(|node| Item(node.0)).collect()
}

/// The outermost calls of a thread, or the calls that have no place in one.
fn below_heading(tree: &CallTree, position: usize) -> Vec<Item> {
    let Some(thread) = tree.tracks().get(position) else {
        return tree.strays().map(|node| Item(node.0)).collect();
    };
    let mut items = Vec::new();
    let mut next = thread.nodes.start;
    while next < thread.nodes.end {
        items.push(Item(next));
        next = tree.subtree(NodeId(next)).end.max(next + 1);
    }
    items
}

/// A thread's name, or what the heading behind the last thread says.
fn heading(profile: &Profile, position: usize) -> String {
    let tree = profile.full_tree();
    let trace = &profile.trace;
    let Some(thread) = tree.tracks().get(position) else {
        return "Unfinished or overlapping calls".to_owned();
    };
    thread_name(trace, thread.track)
}

/// The name of a thread, with that of its process.
pub(in crate::worker) fn thread_name(trace: &Trace, track: TrackId) -> String {
    let Some(track) = trace.tracks.get(track) else {
        return String::new();
    };
    let name = |id: Option<StringId>| {
        id.map(|id| trace.strings.get(id))
            .filter(|name| !name.is_empty())
    };
    match (name(track.process_name), name(track.thread_name)) {
        (Some(process), Some(thread)) => format!("{process} · {thread}"),
        (Some(process), None) => format!("{process} · thread {}", trace.strings.get(track.tid)),
        (None, Some(thread)) => thread.to_owned(),
        (None, None) => format!("thread {}", trace.strings.get(track.tid)),
    }
}
