//! The call tree with some nodes open: what the Tree view shows.
//!
//! Rows of the unfolded tree lie in one list, depth first, so that a window of rows is a slice.
//! Opening a node puts its children behind it; closing takes everything deeper away.

use std::collections::{HashMap, HashSet};

use dormer_core::category::Family;
use dormer_core::ops::Op;
use dormer_core::trace::{EventId, StringId};
use dormer_core::{Profile, format};

use super::families::Families;
use super::findings::launching_call;
use crate::protocol::{
    Direction, FindInTree, Sort, TreeChange, TreeFacts, TreeLook, TreeMatch, TreeMode, TreePage,
    TreeRow, TreeRowsQuery, TreeTarget, Unfold,
};
use shape::{Item, Shape};

/// The page cuts names to the width of their column; longer than this none can be.
const NAME_CHARS: usize = 240;

/// The call tree with some nodes open.
pub struct TreeView {
    mode: TreeMode,
    /// The order of siblings.
    sort: Option<Sort>,
    /// Made when it is first asked for anything; `None` inside where the trace has no such tree.
    shape: Option<Option<Shape>>,
    all_gpu_ns: i64,
    open: HashSet<Item>,
    /// Every row that is shown, depth first.
    shown: Vec<Item>,
    /// All rows, depth first, as if everything were open; made when something is searched.
    everything: Vec<Item>,
    last_search: Option<Search>,
    siblings: Siblings,
    families: Families,
    /// The family of every call that launched GPU work itself.
    launching: HashMap<EventId, Family>,
}

/// The rows whose name contains a text, as positions among all rows.
struct Search {
    text: String,
    matches: Vec<usize>,
}

impl TreeView {
    /// A view of a trace; the rest is prepared when it is first asked for anything.
    pub(super) fn new(profile: &Profile, families: &Families) -> TreeView {
        let name = |op: &Op| profile.trace.strings.get(op.name);
        TreeView {
            mode: TreeMode::Recorded,
            sort: None,
            shape: None,
            all_gpu_ns: 0,
            open: HashSet::new(),
            shown: Vec::new(),
            everything: Vec::new(),
            last_search: None,
            siblings: Siblings::default(),
            launching: profile
                .ops
                .iter()
                .map(|(_, op)| (op.event, families.of_op(name(op))))
                .collect(),
            families: families.clone(),
        }
    }

    /// Chooses how calls are put together and sorted.
    pub fn look(&mut self, profile: &Profile, look: &TreeLook) -> TreeFacts {
        if self.mode != look.mode {
            self.mode = look.mode;
            self.shape = None;
            self.open.clear();
        }
        if self.sort != look.sort || self.shape.is_none() {
            self.sort = look.sort.clone();
            self.everything.clear();
            self.last_search = None;
            self.siblings = Siblings::default();
        }
        let shape = self.shape(profile);
        if let Some(shape) = &shape {
            self.show_open(profile, shape);
        }
        TreeFacts {
            total: self.shown.len(),
            missing: self.shown.is_empty().then(|| self.missing().to_owned()),
        }
    }

    fn missing(&self) -> &'static str {
        match (self.mode, &self.shape) {
            (TreeMode::Modules, Some(None)) => {
                "This trace names no modules and no ranges. Record with with_stack=True to see GPU time by nn.Module."
            }
            (TreeMode::Backward, Some(None)) => {
                "This trace has no backward pass that can be linked to its forward operators, as in inference."
            }
            _ => {
                "This trace has no calls of the host. Record with ProfilerActivity.CPU to see them."
            }
        }
    }

    /// A window of rows.
    pub fn rows(&mut self, profile: &Profile, query: &TreeRowsQuery) -> TreePage {
        let mut rows = Vec::new();
        if let Some(shape) = self.shape(profile) {
            let window = self.shown.iter().skip(query.offset).take(query.count);
            let mut siblings = std::mem::take(&mut self.siblings);
            for item in window.copied() {
                let place = siblings.place(self, profile, &shape, item);
                rows.push(self.row(profile, &shape, item, place));
            }
            self.siblings = siblings;
        }
        TreePage {
            total: self.shown.len(),
            offset: query.offset,
            rows,
        }
    }

    /// Opens and closes nodes.
    pub fn unfold(&mut self, profile: &Profile, unfold: Unfold) -> TreeChange {
        let shape = self.shape(profile);
        let target = shape.and_then(|shape| self.unfolded(profile, &shape, unfold));
        TreeChange {
            total: self.shown.len(),
            target: target.and_then(|item| self.target(item)),
        }
    }

    fn unfolded(&mut self, profile: &Profile, shape: &Shape, unfold: Unfold) -> Option<Item> {
        match unfold {
            Unfold::Toggle(node) => {
                self.toggle(profile, shape, Item(node));
                Some(Item(node))
            }
            Unfold::Reveal(node) => self.reveal(profile, shape, Item(node)),
            Unfold::RevealEvent(uid) => {
                let item = self.call(profile, uid)?;
                self.reveal(profile, shape, item)
            }
            Unfold::Parent(node) => shape.parent(profile, Item(node)),
            Unfold::Hottest(from) => self.follow_hottest(profile, shape, from.map(Item)),
            Unfold::ToDepth(depth) => {
                self.open.clear();
                let mut waiting = shape.roots(profile);
                while let Some(item) = waiting.pop() {
                    if shape.depth(profile, item) < depth && shape.has_children(profile, item) {
                        self.open.insert(item);
                        waiting.append(&mut shape.children(profile, item));
                    }
                }
                self.show_open(profile, shape);
                None
            }
            Unfold::CloseAll => {
                self.open.clear();
                self.show_open(profile, shape);
                None
            }
        }
    }

    /// The call that an event is, or that launched it; the view may show calls together.
    fn call(&self, profile: &Profile, uid: u32) -> Option<Item> {
        if self.mode != TreeMode::Recorded {
            return None;
        }
        let event = profile.trace.events.by_uid(uid)?;
        let tree = profile.full_tree();
        let launched = || tree.node_of(launching_call(profile, event)?);
        let node = tree.node_of(event).or_else(launched)?;
        Some(Item(node.0))
    }

    /// Goes to the next row whose name contains a text, and opens what lies above it.
    pub fn find(&mut self, profile: &Profile, query: &FindInTree) -> Option<TreeMatch> {
        let shape = self.shape(profile)?;
        if self.everything.is_empty() {
            self.everything = self.below(profile, &shape, None, |_| true);
        }
        let text = query.text.trim().to_lowercase();
        if self
            .last_search
            .as_ref()
            .is_none_or(|last| last.text != text)
        {
            let matches = matches(profile, &shape, &self.everything, &text);
            self.last_search = Some(Search { text, matches });
        }
        let place = |node: u32| self.everything.iter().position(|item| item.0 == node);
        let from = query.from.map(|node| place(node).unwrap_or(0));
        let matches = &self.last_search.as_ref()?.matches;
        let n_matches = matches.len();
        let before = |limit: usize| matches.partition_point(|row| *row < limit);
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
        let item = *self.everything.get(*matches.get(position)?)?;
        let target = self.reveal(profile, &shape, item)?;
        Some(TreeMatch {
            target: self.target(target)?,
            position: position + 1,
            matches: n_matches,
        })
    }

    /// The tree; when it is first asked for, opens the first screen: what has the most GPU time.
    fn shape(&mut self, profile: &Profile) -> Option<Shape> {
        if let Some(shape) = &self.shape {
            return shape.clone();
        }
        let shape = Shape::new(profile, self.mode);
        self.shape = Some(shape.clone());
        self.shown = Vec::new();
        let shape = shape?;
        let linked = profile.gpu.iter().map(|(_, work)| work);
        self.all_gpu_ns = linked
            .filter(|work| work.launched_by.is_some())
            .fold(0, |sum, work| sum.saturating_add(work.span.length()));
        self.show_open(profile, &shape);
        if self.mode != TreeMode::BottomUp
            && let Some(hottest) = self.hottest_child(profile, &shape, None)
        {
            self.toggle(profile, &shape, hottest);
        }
        Some(shape)
    }

    /// What is right below an item, or at the top, as the view sorts it.
    fn sorted(&self, profile: &Profile, shape: &Shape, above: Option<Item>) -> Vec<Item> {
        let mut items = match above {
            Some(item) => shape.children(profile, item),
            None => shape.roots(profile),
        };
        shape.sort(profile, self.sort.as_ref(), &mut items);
        items
    }

    fn target(&self, item: Item) -> Option<TreeTarget> {
        let row = self.shown.iter().position(|shown| *shown == item)?;
        Some(TreeTarget { row, node: item.0 })
    }

    fn show_open(&mut self, profile: &Profile, shape: &Shape) {
        self.shown = self.below(profile, shape, None, |item| self.open.contains(&item));
    }

    fn toggle(&mut self, profile: &Profile, shape: &Shape, item: Item) {
        if !shape.has_children(profile, item) {
            return;
        }
        let Some(row) = self.shown.iter().position(|shown| *shown == item) else {
            return;
        };
        if self.open.remove(&item) {
            let depth = shape.depth(profile, item);
            let deeper = self.shown.iter().skip(row + 1);
            let n_deeper = deeper
                .take_while(|shown| shape.depth(profile, **shown) > depth)
                .count();
            self.shown.drain(row + 1..row + 1 + n_deeper);
        } else {
            self.open.insert(item);
            let is_open = |item| self.open.contains(&item);
            let below = self.below(profile, shape, Some(item), is_open);
            self.shown.splice(row + 1..row + 1, below);
        }
    }

    /// Everything below an item, or all of it, down to what is not open. Calls nest as deep as the
    /// trace makes them, so this keeps its own stack.
    fn below(
        &self,
        profile: &Profile,
        shape: &Shape,
        above: Option<Item>,
        is_open: impl Fn(Item) -> bool,
    ) -> Vec<Item> {
        let mut below = Vec::new();
        let mut waiting = self.sorted(profile, shape, above);
        waiting.reverse();
        while let Some(item) = waiting.pop() {
            below.push(item);
            if is_open(item) && shape.has_children(profile, item) {
                let mut children = self.sorted(profile, shape, Some(item));
                children.reverse();
                waiting.append(&mut children);
            }
        }
        below
    }

    /// Opens everything above an item; `None` when the tree has no such item.
    fn reveal(&mut self, profile: &Profile, shape: &Shape, item: Item) -> Option<Item> {
        if !shape.knows(profile, item) {
            return None;
        }
        let parent = |item: &Item| shape.parent(profile, *item);
        let above: Vec<Item> = std::iter::successors(parent(&item), parent).collect();
        for item in above.into_iter().rev() {
            if !self.open.contains(&item) {
                self.toggle(profile, shape, item);
            }
        }
        Some(item)
    }

    /// Opens the child with the most GPU time, level by level, and ends at the call below which no
    /// single child has most of it.
    fn follow_hottest(
        &mut self,
        profile: &Profile,
        shape: &Shape,
        from: Option<Item>,
    ) -> Option<Item> {
        let from = from
            .and_then(|item| self.reveal(profile, shape, item))
            .filter(|item| shape.figures(profile, *item).all.gpu_ns > 0);
        let mut here = match from {
            Some(item) => item,
            None => self.hottest_child(profile, shape, None)?,
        };
        while let Some(child) = self.hottest_child(profile, shape, Some(here)) {
            if !self.open.contains(&here) {
                self.toggle(profile, shape, here);
            }
            here = child;
        }
        Some(here)
    }

    /// Of equal ones the first. Bottom-up it is what a name cost itself that its callers share.
    fn hottest_child(&self, profile: &Profile, shape: &Shape, above: Option<Item>) -> Option<Item> {
        let mut hottest: Option<(i64, Item)> = None;
        for child in self.sorted(profile, shape, above) {
            let of = shape.figures(profile, child);
            let gpu_ns = match self.mode {
                TreeMode::BottomUp => of.own.gpu_ns,
                _ => of.all.gpu_ns,
            };
            if gpu_ns > hottest.map_or(0, |(most, _)| most) {
                hottest = Some((gpu_ns, child));
            }
        }
        hottest.map(|(_, item)| item)
    }

    fn row(&self, profile: &Profile, shape: &Shape, item: Item, place: (u32, u32)) -> TreeRow {
        let of = shape.figures(profile, item);
        let name = shape.name(profile, item);
        let shown = format::middle_ellipsis(&name, NAME_CHARS);
        let family = shape.family(profile, &self.launching, &self.families, item);
        let gpu = |cost: dormer_core::tree::Cost| match cost.n_work {
            0 => String::new(),
            _ => format::time_ns(cost.gpu_ns),
        };
        let cpu = |ns: i64| match of.has_cpu {
            true => format::time_ns(ns),
            false => String::new(),
        };
        let has_share = of.all.n_work > 0 && self.all_gpu_ns > 0;
        TreeRow {
            node: item.0,
            depth: shape.depth(profile, item),
            whole: (shown != name).then_some(name),
            name: shown,
            kind: shape.kind(profile, item).to_owned(),
            token: family.map_or("", Family::token).to_owned(),
            open: shape
                .has_children(profile, item)
                .then(|| self.open.contains(&item)),
            gpu_time: gpu(of.all),
            gpu_own: gpu(of.own),
            gpu_percent: has_share.then(|| 100.0 * of.all.gpu_ns as f64 / self.all_gpu_ns as f64),
            gpu_count: match of.all.n_work {
                0 => String::new(),
                n_work => format::count(n_work),
            },
            cpu_time: cpu(of.all.cpu_ns),
            cpu_own: cpu(of.own.cpu_ns),
            calls: of
                .n_calls
                .map(|n_calls| format::count(u64::from(n_calls)))
                .unwrap_or_default(),
            position: place.0,
            siblings: place.1,
            uid: shape
                .event(profile, item)
                .map(|event| profile.trace.events.uid(event)),
        }
    }
}

/// Rows of one window mostly have the same parent, and stand one behind the other.
#[derive(Default)]
struct Siblings {
    parent: Option<Item>,
    items: Vec<Item>,
    last: usize,
}

impl Siblings {
    /// An item's position among its siblings, from 1, and their number.
    fn place(
        &mut self,
        view: &TreeView,
        profile: &Profile,
        shape: &Shape,
        item: Item,
    ) -> (u32, u32) {
        let parent = shape.parent(profile, item);
        if self.items.is_empty() || self.parent != parent {
            self.parent = parent;
            self.items = view.sorted(profile, shape, parent);
            self.last = 0;
        }
        let from_last = self.items.iter().skip(self.last);
        let position = match from_last.clone().position(|other| *other == item) {
            Some(position) => self.last + position,
            None => self
                .items
                .iter()
                .position(|other| *other == item)
                .unwrap_or(0),
        };
        self.last = position;
        (position as u32 + 1, self.items.len() as u32)
    }
}

/// Positions of the rows whose name contains a text.
fn matches(profile: &Profile, shape: &Shape, rows: &[Item], text: &str) -> Vec<usize> {
    let mut known: HashMap<StringId, bool> = HashMap::new();
    let mut is_match = |item: Item| {
        let Some(name) = shape.searched(profile, item) else {
            return false;
        };
        *known.entry(name).or_insert_with(|| {
            let name = profile.trace.strings.get(name);
            name.to_lowercase().contains(text)
        })
    };
    let rows = rows.iter().enumerate();
    rows.filter(|(_, item)| is_match(**item))
        .map(|(row, _)| row)
        .collect()
}

mod shape;
#[cfg(test)]
mod tests;
