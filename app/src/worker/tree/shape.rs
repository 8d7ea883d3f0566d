//! The calls in the chosen mode: as recorded, or aggregated by name.

use std::cell::{Ref, RefCell};
use std::cmp::Reverse;
use std::rc::Rc;

use dormer_core::Profile;
use dormer_core::base::sort::Arrange;
use dormer_core::profile::cpu::tree::{
    BottomUp, CallTree, ClassTree, Cost, Instances, Launched, Merged, MergedId, MergedTree, NodeId,
    Owner, own_cpu_ns,
};
use dormer_core::trace::{EventId, StringId, Trace, TrackId};

use super::replays::{Node, Replays, What};
use super::unfolded::Branches;
use crate::protocol::{Sort, TreeMode, tree_sort};

/// A row of the view: a call, a node of aggregated calls, or a heading above calls. Headings come first in `protocol`'s
/// numbering of nodes, from [`HEADING`] up.
pub(super) type Item = u32;

const HEADING: Item = 1 << 31;

fn heading(position: usize) -> Item {
    HEADING + position as u32
}

/// The position of a heading: that of a thread, or after the last thread for calls outside of threads.
pub(super) fn as_heading(item: Item) -> Option<usize> {
    let position = item.checked_sub(HEADING)?;
    Some(position as usize)
}

/// The figures of a row.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Figures {
    /// Total, with everything below.
    pub(super) all: Cost,
    /// Self.
    pub(super) own: Cost,
    /// `None` if the node is not a call.
    pub(super) n_calls: Option<u32>,
    /// Whether the CPU time is known.
    pub(super) has_cpu: bool,
}

/// The calls in one of the modes. Cheap to clone.
#[derive(Clone)]
pub(super) enum Shape {
    /// Every call individually, by thread; below graph launches, the layers that they replay.
    Recorded(Rc<Launched>, Rc<Replays>),
    /// Calls aggregated by name, and modules by class; built on demand.
    Merged(Rc<RefCell<ClassTree>>),
    /// Names above their callers, which are built on demand.
    Callers(Rc<RefCell<BottomUp>>),
}

impl Shape {
    /// `None` if the trace has no calls to aggregate that way.
    pub(super) fn new(profile: &Profile, mode: TreeMode) -> Option<Shape> {
        let merged = match mode {
            TreeMode::Recorded => {
                let launched = Launched::new(profile, Owner::Launch);
                let replays = Replays::new(profile);
                return Some(Shape::Recorded(Rc::new(launched), Rc::new(replays)));
            }
            TreeMode::TopDown => MergedTree::top_down(profile),
            TreeMode::BottomUp => {
                let callers = BottomUp::new(MergedTree::top_down(profile));
                return Some(Shape::Callers(Rc::new(RefCell::new(callers))));
            }
            TreeMode::Modules => MergedTree::by_module(profile)?,
            TreeMode::Backward => MergedTree::forward_and_backward(profile)?,
        };
        let classes = ClassTree::new(&profile.trace, merged);
        Some(Shape::Merged(Rc::new(RefCell::new(classes))))
    }
}

/// The calls of a trace as the view shows them.
pub(super) struct Calls<'a> {
    pub(super) profile: &'a Profile,
    pub(super) shape: Shape,
    pub(super) sort: Option<Sort>,
}

impl Calls<'_> {
    /// The top-level items, in trace order.
    pub(super) fn roots(&self) -> Vec<Item> {
        match &self.shape {
            Shape::Recorded(..) => {
                let tree = self.profile.full_tree();
                let n_strays = usize::from(tree.strays().len() > 0);
                let n_headings = tree.tracks().len() + n_strays;
                (0..n_headings).map(heading).collect()
            }
            Shape::Merged(tree) => items(tree.borrow().roots()),
            Shape::Callers(tree) => items(tree.borrow().roots()),
        }
    }

    /// The children, in trace order.
    pub(super) fn children(&self, item: Item) -> Vec<Item> {
        match (&self.shape, as_heading(item)) {
            (Shape::Merged(tree), _) => items(tree.borrow_mut().children(MergedId(item))),
            (Shape::Callers(tree), _) => items(tree.borrow_mut().callers(MergedId(item))),
            (Shape::Recorded(_, replays), None) => match replays.below(item) {
                Some(below) => below.collect(),
                None => {
                    let children = self.profile.full_tree().children(NodeId(item));
                    children.map(|node| node.0).collect()
                }
            },
            (Shape::Recorded(..), Some(position)) => {
                below_heading(self.profile.full_tree(), position)
            }
        }
    }

    pub(super) fn knows(&self, item: Item) -> bool {
        match (&self.shape, as_heading(item)) {
            (Shape::Merged(_) | Shape::Callers(_), _) => self.merged(item).is_some(),
            (Shape::Recorded(_, replays), None) => {
                replays.get(item).is_some() || (item as usize) < self.profile.full_tree().len()
            }
            (Shape::Recorded(..), Some(position)) => position < self.roots().len(),
        }
    }

    /// The calls that a row aggregates; `None` for a heading, and for a single call.
    pub(super) fn merged(&self, item: Item) -> Option<Merged> {
        let node = MergedId(item);
        match &self.shape {
            Shape::Recorded(..) => None,
            Shape::Merged(tree) => tree.borrow().get(node).copied(),
            Shape::Callers(tree) => tree.borrow().get(node).copied(),
        }
    }

    /// The modules that a row stands for, if there are several.
    pub(super) fn instances(&self, item: Item) -> Option<Instances> {
        self.classes()?.instances(MergedId(item))
    }

    /// Whether the modules of a row are split into rows below it.
    pub(super) fn is_split(&self, item: Item) -> bool {
        let classes = self.classes();
        classes.is_some_and(|tree| tree.is_split(MergedId(item)))
    }

    fn classes(&self) -> Option<Ref<'_, ClassTree>> {
        match &self.shape {
            Shape::Merged(tree) => Some(tree.borrow()),
            Shape::Recorded(..) | Shape::Callers(_) => None,
        }
    }

    /// A layer or a kernel of a replay; `None` for a call or a heading.
    pub(super) fn replayed(&self, item: Item) -> Option<&Node> {
        match &self.shape {
            Shape::Recorded(_, replays) => replays.get(item),
            Shape::Merged(_) | Shape::Callers(_) => None,
        }
    }

    /// The call or kernel of a row, or the first of its calls; `None` for a thread and a layer.
    pub(super) fn event(&self, item: Item) -> Option<EventId> {
        if let Some(node) = self.replayed(item) {
            return match node.what {
                What::Work(event) => Some(event),
                What::Part(_) => None,
            };
        }
        let node = match (&self.shape, as_heading(item)) {
            (_, Some(_)) => return None,
            (Shape::Recorded(..), None) => NodeId(item),
            (Shape::Merged(_) | Shape::Callers(_), None) => self.merged(item)?.first,
        };
        self.profile.full_tree().event(node)
    }

    /// The first call that an item stands for; `None` for a thread.
    pub(super) fn call(&self, item: Item) -> Option<NodeId> {
        self.profile.full_tree().node_of(self.event(item)?)
    }

    pub(super) fn figures(&self, item: Item) -> Figures {
        let launched = match &self.shape {
            Shape::Recorded(launched, _) => launched,
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
        let (trace, tree) = (&self.profile.trace, self.profile.full_tree());
        if let Some(node) = self.replayed(item) {
            let is_work = matches!(node.what, What::Work(_));
            return Figures {
                all: node.cost,
                own: if is_work { node.cost } else { Cost::default() },
                ..Figures::default()
            };
        }
        let Some(position) = as_heading(item) else {
            let node = NodeId(item);
            let event = tree.event(node);
            let cpu_ns = event.and_then(|event| trace.events.dur_ns(event));
            return Figures {
                all: Cost {
                    cpu_ns: cpu_ns.unwrap_or(0),
                    ..launched.within(tree.subtree(node))
                },
                own: Cost {
                    cpu_ns: own_cpu_ns(trace, tree, node),
                    ..launched.within(item..item.saturating_add(1))
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

    /// Whether it or something below it launched GPU activity.
    pub(super) fn has_work(&self, item: Item) -> bool {
        let all = match (&self.shape, as_heading(item), self.replayed(item)) {
            (Shape::Recorded(launched, _), None, None) => {
                launched.within(self.profile.full_tree().subtree(NodeId(item)))
            }
            _ => self.figures(item).all,
        };
        all.n_work > 0
    }

    /// GPU and CPU time, including everything below; if callers are below, the self time of the top name.
    pub(super) fn times(&self, item: Item) -> (i64, i64) {
        let of = self.figures(item);
        let cost = match self.shape {
            Shape::Callers(_) => of.own,
            _ => of.all,
        };
        let cpu_ns = match of.has_cpu {
            true => cost.cpu_ns,
            // A thread has no time of its own, only that of its calls.
            false => {
                let children = self.children(item).into_iter();
                let times = children.map(|child| self.figures(child).all.cpu_ns);
                times.fold(0, i64::saturating_add)
            }
        };
        (cost.gpu_ns.max(0), cpu_ns.max(0))
    }

    /// Sorts siblings, which come in trace order.
    pub(super) fn sort(&self, items: &mut [Item]) {
        let Some(sort) = &self.sort else {
            return;
        };
        if sort.column == tree_sort::NAME {
            items.arrange_by_cached_key(|item| self.name(*item).to_lowercase());
            if sort.descending {
                items.reverse();
            }
            return;
        }
        let key = |item: &Item| {
            let of = self.figures(*item);
            match sort.column.as_str() {
                tree_sort::GPU => of.all.gpu_ns,
                tree_sort::GPU_SELF => of.own.gpu_ns,
                tree_sort::CPU => of.all.cpu_ns,
                tree_sort::CPU_SELF => of.own.cpu_ns,
                tree_sort::CALLS => i64::from(of.n_calls.unwrap_or(0)),
                tree_sort::KERNELS => i64::try_from(of.all.n_work).unwrap_or(i64::MAX),
                _ => 0,
            }
        };
        // Stable: equal items stay in trace order.
        match sort.descending {
            true => items.arrange_by_cached_key(|item| Reverse(key(item))),
            false => items.arrange_by_cached_key(key),
        }
    }
}

impl Branches for Calls<'_> {
    fn below(&self, above: Option<Item>) -> Vec<Item> {
        let mut items = match above {
            Some(item) => self.children(item),
            None => self.roots(),
        };
        self.sort(&mut items);
        items
    }

    fn has_children(&self, item: Item) -> bool {
        match (&self.shape, as_heading(item)) {
            (Shape::Merged(tree), _) => tree.borrow().has_children(MergedId(item)),
            (Shape::Callers(tree), _) => tree.borrow().has_callers(MergedId(item)),
            (Shape::Recorded(_, replays), None) => match replays.below(item) {
                Some(mut below) => below.next().is_some(),
                None => self.profile.full_tree().has_children(NodeId(item)),
            },
            (Shape::Recorded(..), Some(_)) => self.knows(item),
        }
    }

    fn parent(&self, item: Item) -> Option<Item> {
        if as_heading(item).is_some() {
            return None;
        }
        if let Some(node) = self.replayed(item) {
            return Some(node.parent);
        }
        let tree = match &self.shape {
            Shape::Merged(tree) => {
                let parent = tree.borrow().parent(MergedId(item));
                return parent.map(|node| node.0);
            }
            Shape::Callers(tree) => {
                let parent = tree.borrow().parent(MergedId(item));
                return parent.map(|node| node.0);
            }
            Shape::Recorded(..) => self.profile.full_tree(),
        };
        if let Some(parent) = tree.parent(NodeId(item)) {
            return Some(parent.0);
        }
        let threads = tree.tracks();
        let thread = threads
            .iter()
            .position(|thread| thread.nodes.contains(&item))
            .unwrap_or(threads.len());
        Some(heading(thread))
    }

    fn depth(&self, item: Item) -> u32 {
        match (&self.shape, as_heading(item)) {
            (_, Some(_)) => 0,
            (Shape::Merged(tree), None) => u32::from(tree.borrow().depth(MergedId(item))),
            (Shape::Callers(tree), None) => u32::from(tree.borrow().depth(MergedId(item))),
            (Shape::Recorded(..), None) => {
                let mut call = item;
                while let Some(node) = self.replayed(call) {
                    call = node.parent;
                }
                let inside = self.replayed(item).map_or(0, |node| node.depth);
                u32::from(self.profile.full_tree().depth(NodeId(call))) + 1 + inside
            }
        }
    }
}

fn items(nodes: impl Iterator<Item = MergedId>) -> Vec<Item> {
    nodes.map(|node| node.0).collect()
}

/// The outermost calls of a thread, or the calls outside of threads.
fn below_heading(tree: &CallTree, position: usize) -> Vec<Item> {
    let Some(thread) = tree.tracks().get(position) else {
        return tree.strays().map(|node| node.0).collect();
    };
    let mut items = Vec::new();
    let mut next = thread.nodes.start;
    while next < thread.nodes.end {
        items.push(next);
        next = tree.subtree(NodeId(next)).end.max(next + 1);
    }
    items
}

/// The name of a thread, with its process.
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
