//! The call tree with some nodes open: what the Tree view shows.
//!
//! Rows of the unfolded tree lie in one list, depth first, so that a window of rows is a slice.
//! Opening a node puts its children behind it; closing takes everything deeper away.

use std::collections::{HashMap, HashSet};

use dormer_core::category::Family;
use dormer_core::launch::GpuId;
use dormer_core::ops::Op;
use dormer_core::trace::{EventId, StringId};
use dormer_core::tree::{CallTree, NodeId};
use dormer_core::{Profile, format};

use super::families::Families;
use super::findings::launching_call;
use crate::protocol::{
    Direction, FindInTree, TreeChange, TreeMatch, TreePage, TreeRow, TreeRowsQuery, TreeTarget,
    Unfold,
};

/// The page cuts names to the width of their column; longer than this none can be.
const NAME_CHARS: usize = 240;

/// A row of the view: a call, or a heading above calls. Headings come first in `protocol`'s
/// numbering of nodes, from [`Item::HEADING`] up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Item(u32);

impl Item {
    const HEADING: u32 = 1 << 31;

    fn heading(position: usize) -> Item {
        Item(Item::HEADING + position as u32)
    }

    fn kind(self) -> ItemKind {
        match self.0.checked_sub(Item::HEADING) {
            Some(position) => ItemKind::Heading(position as usize),
            None => ItemKind::Call(NodeId(self.0)),
        }
    }
}

enum ItemKind {
    /// A thread, or after the last thread the calls that have no place in one.
    Heading(usize),
    Call(NodeId),
}

/// The call tree with some nodes open.
pub struct TreeView {
    open: HashSet<Item>,
    /// Every row that is shown, depth first.
    shown: Vec<Item>,
    is_prepared: bool,
    gpu_ns: HashMap<Item, i64>,
    last_search: Option<Search>,
    /// The family of every call that launched GPU work itself.
    families: HashMap<EventId, Family>,
}

/// The call that an event is, or that launched it.
fn call(profile: &Profile, uid: u32) -> Option<Item> {
    let event = profile.trace.events.by_uid(uid)?;
    let tree = profile.full_tree();
    let launched = || tree.node_of(launching_call(profile, event)?);
    let node = tree.node_of(event).or_else(launched)?;
    Some(Item(node.0))
}

/// The calls whose name contains a text, in the order of the tree.
struct Search {
    text: String,
    matches: Vec<NodeId>,
}

impl TreeView {
    /// A view of a trace; the rest is prepared when it is first asked for anything.
    pub(super) fn new(profile: &Profile, families: &Families) -> TreeView {
        let name = |op: &Op| profile.trace.strings.get(op.name);
        TreeView {
            families: profile
                .ops
                .iter()
                .map(|(_, op)| (op.event, families.of_op(name(op))))
                .collect(),
            open: HashSet::new(),
            shown: Vec::new(),
            is_prepared: false,
            gpu_ns: HashMap::new(),
            last_search: None,
        }
    }

    /// A window of rows.
    pub fn rows(&mut self, profile: &Profile, query: &TreeRowsQuery) -> TreePage {
        self.prepare(profile);
        let tree = profile.full_tree();
        let window: Vec<Item> = self
            .shown
            .iter()
            .skip(query.offset)
            .take(query.count)
            .copied()
            .collect();
        let mut siblings = Siblings::default();
        let all_ns = self.all_gpu_ns(profile);
        let rows = window
            .into_iter()
            .map(|item| {
                let place = siblings.place(self, tree, item);
                self.row(profile, item, place, all_ns)
            })
            .collect();
        TreePage {
            total: self.shown.len(),
            offset: query.offset,
            rows,
        }
    }

    /// Opens and closes nodes.
    pub fn unfold(&mut self, profile: &Profile, unfold: Unfold) -> TreeChange {
        self.prepare(profile);
        let tree = profile.full_tree();
        let target = match unfold {
            Unfold::Toggle(node) => {
                self.toggle(tree, Item(node));
                Some(Item(node))
            }
            Unfold::Reveal(node) => self.reveal(tree, Item(node)),
            Unfold::RevealEvent(uid) => call(profile, uid).and_then(|item| self.reveal(tree, item)),
            Unfold::Parent(node) => self.parent(tree, Item(node)),
            Unfold::Hottest(from) => self.follow_hottest(profile, from.map(Item)),
            Unfold::CloseAll => {
                self.open.clear();
                self.shown = self.headings(tree);
                None
            }
        };
        TreeChange {
            total: self.shown.len(),
            target: target.and_then(|item| self.target(item)),
        }
    }

    /// Goes to the next call whose name contains a text, and opens what lies above it.
    pub fn find(&mut self, profile: &Profile, query: &FindInTree) -> Option<TreeMatch> {
        self.prepare(profile);
        let tree = profile.full_tree();
        let text = query.text.trim().to_lowercase();
        if self
            .last_search
            .as_ref()
            .is_none_or(|last| last.text != text)
        {
            let matches = matches(profile, tree, &text);
            self.last_search = Some(Search { text, matches });
        }
        let from = query.from.map(|node| self.first_call(tree, Item(node)));
        let matches = &self.last_search.as_ref()?.matches;
        let n_matches = matches.len();
        let before = |limit: u32| matches.partition_point(|node| node.0 < limit);
        let position = match (from, query.direction) {
            (None, Direction::Previous) => n_matches.checked_sub(1)?,
            (None, _) => 0,
            (Some(from), Direction::Here) => before(from),
            (Some(from), Direction::Next) => before(from.saturating_add(1)),
            (Some(from), Direction::Previous) => match before(from) {
                0 => n_matches.checked_sub(1)?,
                position => position - 1,
            },
        };
        let position = if position < n_matches { position } else { 0 };
        let item = Item(matches.get(position)?.0);
        let target = self.reveal(tree, item)?;
        Some(TreeMatch {
            target: self.target(target)?,
            position: position + 1,
            matches: n_matches,
        })
    }

    /// Opens the first screen: the thread with the most GPU time.
    fn prepare(&mut self, profile: &Profile) {
        if self.is_prepared {
            return;
        }
        self.is_prepared = true;
        let tree = profile.full_tree();
        self.shown = self.headings(tree);
        if let Some(thread) = self.hottest_child(profile, None) {
            self.toggle(tree, thread);
        }
    }

    fn headings(&self, tree: &CallTree) -> Vec<Item> {
        let n_strays = usize::from(tree.strays().len() > 0);
        (0..tree.tracks().len() + n_strays)
            .map(Item::heading)
            .collect()
    }

    fn children(&self, tree: &CallTree, item: Item) -> Vec<Item> {
        let items =
            |nodes: &mut dyn Iterator<Item = NodeId>| nodes.map(|node| Item(node.0)).collect();
        match item.kind() {
            ItemKind::Call(node) => items(&mut tree.children(node)),
            ItemKind::Heading(position) => match tree.tracks().get(position) {
                Some(thread) => {
                    let mut next = thread.nodes.start;
                    items(&mut std::iter::from_fn(|| {
                        let node = NodeId(next);
                        if next >= thread.nodes.end {
                            return None;
                        }
                        next = tree.subtree(node).end.max(next + 1);
                        Some(node)
                    }))
                }
                None => items(&mut tree.strays()),
            },
        }
    }

    fn has_children(&self, tree: &CallTree, item: Item) -> bool {
        match item.kind() {
            ItemKind::Call(node) => tree.has_children(node),
            ItemKind::Heading(_) => true,
        }
    }

    fn parent(&self, tree: &CallTree, item: Item) -> Option<Item> {
        let ItemKind::Call(node) = item.kind() else {
            return None;
        };
        if let Some(parent) = tree.parent(node) {
            return Some(Item(parent.0));
        }
        let threads = tree.tracks();
        let thread = threads
            .iter()
            .position(|thread| thread.nodes.contains(&node.0))
            .unwrap_or(threads.len());
        Some(Item::heading(thread))
    }

    fn depth(&self, tree: &CallTree, item: Item) -> u32 {
        match item.kind() {
            ItemKind::Call(node) => u32::from(tree.depth(node)) + 1,
            ItemKind::Heading(_) => 0,
        }
    }

    /// The first call of a heading; a call itself.
    fn first_call(&self, tree: &CallTree, item: Item) -> u32 {
        match item.kind() {
            ItemKind::Call(node) => node.0,
            ItemKind::Heading(position) => match tree.tracks().get(position) {
                Some(thread) => thread.nodes.start,
                None => tree.strays().next().map_or(0, |node| node.0),
            },
        }
    }

    fn target(&self, item: Item) -> Option<TreeTarget> {
        let row = self.shown.iter().position(|shown| *shown == item)?;
        Some(TreeTarget { row, node: item.0 })
    }

    fn toggle(&mut self, tree: &CallTree, item: Item) {
        if !self.has_children(tree, item) {
            return;
        }
        let Some(row) = self.shown.iter().position(|shown| *shown == item) else {
            return;
        };
        if self.open.remove(&item) {
            let depth = self.depth(tree, item);
            let deeper = self.shown.iter().skip(row + 1);
            let n_deeper = deeper
                .take_while(|shown| self.depth(tree, **shown) > depth)
                .count();
            self.shown.drain(row + 1..row + 1 + n_deeper);
        } else {
            self.open.insert(item);
            let mut below = Vec::new();
            self.append_open(tree, item, &mut below);
            self.shown.splice(row + 1..row + 1, below);
        }
    }

    /// Everything that is shown below an open item. Calls nest as deep as the trace makes them,
    /// so this keeps its own stack.
    fn append_open(&self, tree: &CallTree, item: Item, below: &mut Vec<Item>) {
        let mut waiting = self.children(tree, item);
        waiting.reverse();
        while let Some(item) = waiting.pop() {
            below.push(item);
            if self.open.contains(&item) {
                let mut children = self.children(tree, item);
                children.reverse();
                waiting.append(&mut children);
            }
        }
    }

    /// Opens everything above an item; `None` when the tree has no such item.
    fn reveal(&mut self, tree: &CallTree, item: Item) -> Option<Item> {
        let is_known = match item.kind() {
            ItemKind::Call(node) => node.index() < tree.len(),
            ItemKind::Heading(position) => position < self.headings(tree).len(),
        };
        if !is_known {
            return None;
        }
        let above: Vec<Item> =
            std::iter::successors(self.parent(tree, item), |item| self.parent(tree, *item))
                .collect();
        for item in above.into_iter().rev() {
            if !self.open.contains(&item) {
                self.toggle(tree, item);
            }
        }
        Some(item)
    }

    /// Opens the child with the most GPU time, level by level, and ends at the call below which no
    /// single child has most of it.
    fn follow_hottest(&mut self, profile: &Profile, from: Option<Item>) -> Option<Item> {
        let tree = profile.full_tree();
        let from = from
            .and_then(|item| self.reveal(tree, item))
            .filter(|item| self.gpu_ns(profile, *item) > 0);
        let mut here = match from {
            Some(item) => item,
            None => self.hottest_child(profile, None)?,
        };
        while let Some(child) = self.hottest_child(profile, Some(here)) {
            if !self.open.contains(&here) {
                self.toggle(tree, here);
            }
            here = child;
        }
        Some(here)
    }

    fn hottest_child(&mut self, profile: &Profile, item: Option<Item>) -> Option<Item> {
        let tree = profile.full_tree();
        let children = match item {
            Some(item) => self.children(tree, item),
            None => self.headings(tree),
        };
        let mut hottest: Option<(i64, Item)> = None;
        for child in children {
            let gpu_ns = self.gpu_ns(profile, child);
            if gpu_ns > hottest.map_or(0, |(most, _)| most) {
                hottest = Some((gpu_ns, child));
            }
        }
        hottest.map(|(_, item)| item)
    }

    fn gpu_work<'a>(&self, tree: &'a CallTree, item: Item) -> Vec<&'a [GpuId]> {
        match item.kind() {
            ItemKind::Call(node) => vec![tree.gpu_work(node)],
            ItemKind::Heading(_) => self
                .children(tree, item)
                .into_iter()
                .map(|child| tree.gpu_work(NodeId(child.0)))
                .collect(),
        }
    }

    /// Time during which something that the item launched was running.
    fn gpu_ns(&mut self, profile: &Profile, item: Item) -> i64 {
        if let Some(known) = self.gpu_ns.get(&item) {
            return *known;
        }
        let parts = self.gpu_work(profile.full_tree(), item);
        let gpu_ns = profile.gpu.busy_ns(&parts.concat());
        self.gpu_ns.insert(item, gpu_ns);
        gpu_ns
    }

    fn all_gpu_ns(&mut self, profile: &Profile) -> i64 {
        let headings = self.headings(profile.full_tree());
        headings
            .into_iter()
            .map(|item| self.gpu_ns(profile, item))
            .sum()
    }

    fn row(&mut self, profile: &Profile, item: Item, place: (u32, u32), all_ns: i64) -> TreeRow {
        let tree = profile.full_tree();
        let trace = &profile.trace;
        let gpu_ns = self.gpu_ns(profile, item);
        let n_work: usize = self
            .gpu_work(tree, item)
            .iter()
            .map(|part| part.len())
            .sum();
        let (name, kind, family, cpu_ns, uid) = match item.kind() {
            ItemKind::Heading(position) => (heading(profile, position), "thread", None, None, None),
            ItemKind::Call(node) => {
                let event = tree.event(node);
                let category = tree.category(trace, node);
                let name = event.map_or("", |event| trace.strings.get(trace.events.name(event)));
                let family = event.and_then(|event| self.families.get(&event).copied());
                (
                    name.to_owned(),
                    category.label(),
                    family,
                    event.and_then(|event| trace.events.dur_ns(event)),
                    event.map(|event| trace.events.uid(event)),
                )
            }
        };
        let shown = format::middle_ellipsis(&name, NAME_CHARS);
        TreeRow {
            node: item.0,
            depth: self.depth(tree, item),
            whole: (shown != name).then_some(name),
            name: shown,
            kind: kind.to_owned(),
            token: family.map_or("", Family::token).to_owned(),
            open: self
                .has_children(tree, item)
                .then(|| self.open.contains(&item)),
            gpu_time: match n_work {
                0 => String::new(),
                _ => format::time_ns(gpu_ns),
            },
            gpu_percent: (n_work > 0 && all_ns > 0).then(|| 100.0 * gpu_ns as f64 / all_ns as f64),
            gpu_count: match n_work {
                0 => String::new(),
                _ => format::count(n_work as u64),
            },
            cpu_time: cpu_ns.map(format::time_ns).unwrap_or_default(),
            position: place.0,
            siblings: place.1,
            uid,
        }
    }
}

/// Rows of one window mostly have the same parent.
#[derive(Default)]
struct Siblings {
    parent: Option<Item>,
    items: Vec<Item>,
}

impl Siblings {
    /// An item's position among its siblings, from 1, and their number.
    fn place(&mut self, view: &TreeView, tree: &CallTree, item: Item) -> (u32, u32) {
        let parent = view.parent(tree, item);
        if self.items.is_empty() || self.parent != parent {
            self.parent = parent;
            self.items = match parent {
                Some(parent) => view.children(tree, parent),
                None => view.headings(tree),
            };
        }
        let position = self.items.partition_point(|other| other.0 < item.0);
        (position as u32 + 1, self.items.len() as u32)
    }
}

/// A thread's name, or what the heading behind the last thread says.
fn heading(profile: &Profile, position: usize) -> String {
    let tree = profile.full_tree();
    let trace = &profile.trace;
    let Some(thread) = tree.tracks().get(position) else {
        return "Calls that end after the call they began in".to_owned();
    };
    let Some(track) = trace.tracks.get(thread.track) else {
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

fn matches(profile: &Profile, tree: &CallTree, text: &str) -> Vec<NodeId> {
    let trace = &profile.trace;
    let mut known: HashMap<StringId, bool> = HashMap::new();
    tree.ids()
        .filter(|node| {
            let Some(event) = tree.event(*node) else {
                return false;
            };
            let name = trace.events.name(event);
            *known
                .entry(name)
                .or_insert_with(|| trace.strings.get(name).to_lowercase().contains(text))
        })
        .collect()
}

#[cfg(test)]
mod tests;
