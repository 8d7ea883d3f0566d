//! The call tree with some nodes open: what the Call tree view shows.
//!
//! | module | what is in it |
//! |---|---|
//! | [`flame`] | the tree as blocks |
//! | [`shape`] | the calls, in the way that was chosen |
//! | [`unfolded`] | which nodes are open, and the rows that makes |
//! | [`search`] | going from one node of a name to the next |

use std::collections::{HashMap, HashSet};

use dormer_core::names::Family;
use dormer_core::profile::ops::Op;
use dormer_core::trace::{EventId, StringId};
use dormer_core::{Profile, base::format};

use super::families::{Families, launched_collectives};
use crate::protocol::{
    FindInTree, Sort, TreeChange, TreeLook, TreeMode, TreePage, TreeRow, TreeRowsQuery, TreeStep,
};
use dormer_core::report::details::launching_call;
use search::Search;
use shape::{Item, Shape};
use unfolded::{Branches, Row, Unfolded};

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
    unfolded: Unfolded,
    search: Search,
    families: Families,
    /// The family of every call that launched GPU activity itself.
    launching: HashMap<EventId, Family>,
}

/// The calls as the view sorts them.
struct Sorted<'a> {
    profile: &'a Profile,
    shape: &'a Shape,
    sort: Option<&'a Sort>,
}

impl Branches for Sorted<'_> {
    fn below(&self, above: Option<u32>) -> Vec<u32> {
        let mut items = match above {
            Some(node) => self.shape.children(self.profile, Item(node)),
            None => self.shape.roots(self.profile),
        };
        self.shape.sort(self.profile, self.sort, &mut items);
        items.into_iter().map(|item| item.0).collect()
    }

    fn has_children(&self, node: u32) -> bool {
        self.shape.has_children(self.profile, Item(node))
    }

    fn parent(&self, node: u32) -> Option<u32> {
        let parent = self.shape.parent(self.profile, Item(node));
        parent.map(|item| item.0)
    }

    fn depth(&self, node: u32) -> u32 {
        self.shape.depth(self.profile, Item(node))
    }
}

impl TreeView {
    /// A view of a trace; the rest is prepared when it is first asked for anything.
    pub(super) fn new(profile: &Profile, families: &Families) -> TreeView {
        let strings = &profile.trace.strings;
        // A launch that no operator is around stands for its kernel.
        let family = |op: &Op| {
            let kernel = profile.ops.kernels(op).first();
            let work = kernel.and_then(|work| profile.gpu.get(*work));
            match work.filter(|work| work.parent_op.is_none()) {
                Some(work) => families.of_kernel(None, strings.get(work.name)),
                None => families.of_op(strings.get(op.name)),
            }
        };
        let collectives = launched_collectives(profile);
        let collectives = collectives.map(|(call, _)| (call, Family::Communication));
        let ops = profile.ops.iter().map(|(_, op)| (op.event, family(op)));
        TreeView {
            mode: TreeMode::Recorded,
            sort: None,
            shape: None,
            all_gpu_ns: 0,
            unfolded: Unfolded::default(),
            search: Search::default(),
            launching: collectives.chain(ops).collect(),
            families: families.clone(),
        }
    }

    /// Opens, closes or finds nodes, or shows the tree in another way.
    pub fn step(&mut self, profile: &Profile, step: &TreeStep) -> TreeChange {
        let change = match step {
            TreeStep::Find(query) => self.find(profile, query).unwrap_or_default(),
            step => {
                let item = self.stepped(profile, step);
                TreeChange {
                    target: item.and_then(|item| self.unfolded.target(item.0)),
                    ..TreeChange::default()
                }
            }
        };
        let total = self.unfolded.rows().len();
        let missing = if total == 0 { self.missing() } else { "" };
        TreeChange {
            total,
            says: missing.to_owned(),
            ..change
        }
    }

    /// Chooses how calls are put together and sorted.
    fn look(&mut self, profile: &Profile, look: &TreeLook) -> Option<Item> {
        let mut keep = look.keep.map(Item);
        if self.mode != look.mode {
            let call = keep
                .zip(self.shape(profile))
                .and_then(|(item, shape)| shape.call(profile, item));
            self.mode = look.mode;
            self.shape = None;
            self.unfolded.clear();
            self.sort = look.sort.clone();
            self.search = Search::default();
            let shape = self.shape(profile);
            keep = shape
                .zip(call)
                .and_then(|(shape, call)| shape.of_call(profile, call));
        } else if self.sort != look.sort || self.shape.is_none() {
            self.sort = look.sort.clone();
            self.search = Search::default();
        }
        let shape = self.shape(profile);
        if let Some(shape) = &shape {
            let tree = sorted(profile, shape, &self.sort);
            self.unfolded.renew(&tree);
        }
        self.reveal(profile, &shape?, keep?)
    }

    fn missing(&self) -> &'static str {
        match (self.mode, &self.shape) {
            (TreeMode::Modules, Some(None)) => {
                "This trace has no modules or ranges. Record with with_stack=True to see GPU time by nn.Module."
            }
            (TreeMode::Backward, Some(None)) => {
                "This trace has no backward pass linked to forward operators."
            }
            _ => "This trace has no CPU calls. Record with ProfilerActivity.CPU to see them.",
        }
    }

    /// A window of rows.
    pub fn rows(&mut self, profile: &Profile, query: &TreeRowsQuery) -> TreePage<TreeRow> {
        match self.shape(profile) {
            Some(shape) => self.unfolded.page(query.offset, query.count, |row| {
                self.row(profile, &shape, row)
            }),
            None => TreePage {
                total: 0,
                offset: query.offset,
                rows: Vec::new(),
            },
        }
    }

    /// The row that a step leads to.
    fn stepped(&mut self, profile: &Profile, step: &TreeStep) -> Option<Item> {
        if let TreeStep::Look(look) = step {
            return self.look(profile, look);
        }
        let shape = &self.shape(profile)?;
        let tree = sorted(profile, shape, &self.sort);
        match *step {
            TreeStep::Reveal(node) => self.reveal(profile, shape, Item(node)),
            TreeStep::RevealEvent(uid) => {
                let item = self.call(profile, uid)?;
                self.reveal(profile, shape, item)
            }
            TreeStep::Hottest(from) => self.follow_hottest(profile, shape, from.map(Item)),
            TreeStep::ToDepth(depth) => {
                let mut open = HashSet::new();
                let mut waiting = shape.roots(profile);
                while let Some(item) = waiting.pop() {
                    if shape.depth(profile, item) < depth && shape.has_children(profile, item) {
                        open.insert(item.0);
                        waiting.append(&mut shape.children(profile, item));
                    }
                }
                self.unfolded.open_only(&tree, open);
                None
            }
            TreeStep::CloseAll => {
                self.unfolded.open_only(&tree, HashSet::new());
                None
            }
            _ => self.unfolded.step(&tree, step).map(Item),
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

    /// Goes to the next row whose name contains a text, and opens what lies above it. Where callers
    /// stand below, of all the names and of those callers that are shown.
    fn find(&mut self, profile: &Profile, query: &FindInTree) -> Option<TreeChange> {
        let shape = self.shape(profile)?;
        let tree = sorted(profile, &shape, &self.sort);
        let mut known: HashMap<StringId, bool> = HashMap::new();
        if self.mode == TreeMode::BottomUp {
            // Callers are the same names again, in many times as many places.
            self.search.over(self.unfolded.rows());
        }
        let contains = &mut |node, text: &str| {
            let Some(name) = shape.searched(profile, Item(node)) else {
                return false;
            };
            *known.entry(name).or_insert_with(|| {
                let name = profile.trace.strings.get(name);
                name.to_lowercase().contains(text)
            })
        };
        let unfolded = &mut self.unfolded;
        self.search.find(unfolded, &tree, query, contains)
    }

    /// The tree; when it is first asked for, opens the first screen: what has the most GPU time.
    fn shape(&mut self, profile: &Profile) -> Option<Shape> {
        if let Some(shape) = &self.shape {
            return shape.clone();
        }
        let shape = Shape::new(profile, self.mode);
        self.shape = Some(shape.clone());
        self.unfolded.clear();
        let shape = shape?;
        let linked = profile.gpu.iter().map(|(_, work)| work);
        self.all_gpu_ns = linked
            .filter(|work| work.launched_by.is_some())
            .fold(0, |sum, work| sum.saturating_add(work.span.length()));
        let tree = sorted(profile, &shape, &self.sort);
        self.unfolded.renew(&tree);
        if self.mode != TreeMode::BottomUp
            && let Some(hottest) = self.hottest_child(profile, &shape, None)
        {
            self.unfolded.toggle(&tree, hottest.0);
        }
        Some(shape)
    }

    /// Opens everything above an item; `None` when the tree has no such item.
    fn reveal(&mut self, profile: &Profile, shape: &Shape, item: Item) -> Option<Item> {
        if !shape.knows(profile, item) {
            return None;
        }
        let tree = sorted(profile, shape, &self.sort);
        self.unfolded.reveal(&tree, item.0);
        Some(item)
    }

    /// Opens the child with the most time, level by level, and ends at the call below which no
    /// single child has most of it.
    fn follow_hottest(
        &mut self,
        profile: &Profile,
        shape: &Shape,
        from: Option<Item>,
    ) -> Option<Item> {
        let from = from
            .and_then(|item| self.reveal(profile, shape, item))
            .filter(|item| self.heat(profile, shape, *item) > 0);
        let mut here = match from {
            Some(item) => item,
            None => self.hottest_child(profile, shape, None)?,
        };
        while let Some(child) = self.hottest_child(profile, shape, Some(here)) {
            if !self.unfolded.is_open(here.0) {
                let tree = sorted(profile, shape, &self.sort);
                self.unfolded.toggle(&tree, here.0);
            }
            here = child;
        }
        Some(here)
    }

    /// Of equal ones the first. Bottom-up it is what a name cost itself that its callers share.
    fn hottest_child(&self, profile: &Profile, shape: &Shape, above: Option<Item>) -> Option<Item> {
        let mut hottest: Option<(i64, Item)> = None;
        let children = match above {
            Some(item) => shape.children(profile, item),
            None => shape.roots(profile),
        };
        for child in children {
            let ns = self.heat(profile, shape, child);
            if ns > hottest.map_or(0, |(most, _)| most) {
                hottest = Some((ns, child));
            }
        }
        hottest.map(|(_, item)| item)
    }

    /// The time that the hottest path follows: on the GPU; on the CPU, where nothing runs on the
    /// GPU.
    fn heat(&self, profile: &Profile, shape: &Shape, item: Item) -> i64 {
        let (gpu_ns, cpu_ns) = self.times(profile, shape, item);
        if self.all_gpu_ns > 0 { gpu_ns } else { cpu_ns }
    }

    /// GPU and CPU time: with all below it; where callers stand below, of what the name at the top
    /// cost itself.
    fn times(&self, profile: &Profile, shape: &Shape, item: Item) -> (i64, i64) {
        let of = shape.figures(profile, item);
        let cost = match self.mode {
            TreeMode::BottomUp => of.own,
            _ => of.all,
        };
        let cpu_ns = match of.has_cpu {
            true => cost.cpu_ns,
            // A thread has no time of its own: it has that of its calls.
            false => {
                let children = shape.children(profile, item).into_iter();
                let times = children.map(|child| shape.figures(profile, child).all.cpu_ns);
                times.fold(0, i64::saturating_add)
            }
        };
        (cost.gpu_ns.max(0), cpu_ns.max(0))
    }

    fn row(&self, profile: &Profile, shape: &Shape, row: &Row) -> TreeRow {
        let item = Item(row.node);
        let of = shape.figures(profile, item);
        let name = shape.name(profile, item);
        let shown = format::middle_ellipsis(&name, NAME_CHARS);
        let family = shape.family(profile, &self.launching, &self.families, item);
        let gpu = |cost: dormer_core::profile::tree::Cost| match cost.n_work {
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
            branch: self
                .unfolded
                .branch(&sorted(profile, shape, &self.sort), row),
            whole: (shown != name).then_some(name),
            name: shown,
            kind: shape.kind(profile, item).to_owned(),
            token: family.map_or("", Family::token).to_owned(),
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
            uid: shape
                .event(profile, item)
                .map(|event| profile.trace.events.uid(event)),
        }
    }
}

fn sorted<'a>(profile: &'a Profile, shape: &'a Shape, sort: &'a Option<Sort>) -> Sorted<'a> {
    Sorted {
        profile,
        shape,
        sort: sort.as_ref(),
    }
}

mod flame;
pub(super) mod search;
pub(super) mod shape;
#[cfg(test)]
mod tests;
pub(super) mod unfolded;
