//! The call tree with some nodes open, as shown in the Call tree view.
//!
//! | module | content |
//! |---|---|
//! | [`flame`] | the tree as blocks |
//! | [`replays`] | what graph launches replay: layers and kernels |
//! | [`shape`] | the calls, in the chosen mode |
//! | [`naming`] | the names and kinds of rows |
//! | [`visible`] | which calls are rows: the common stack is folded, calls without GPU activity are hidden |
//! | [`unfolded`] | which nodes are open, and the resulting rows |
//! | [`row`] | a call as a row, its figures as text |
//! | [`search`] | going from one matching node to the next |

use std::collections::{HashMap, HashSet};

use dormer_core::Profile;
use dormer_core::names::Family;
use dormer_core::profile::cpu::tree::MergedId;
use dormer_core::profile::operations::op_table::Op;
use dormer_core::report::details::launching_call;
use dormer_core::trace::{EventId, StringId};

use super::families::{Families, launched_collectives};
use crate::protocol::{
    FindInTree, Sort, TreeChange, TreeMode, TreePage, TreeRow, TreeRowsQuery, TreeSettings,
    TreeStep,
};
use search::Search;
use shape::{Calls, Item, Shape};
use unfolded::{Branches, Unfolded};
use visible::{Part, Visible};

/// The call tree with some nodes open.
pub struct TreeView {
    mode: TreeMode,
    /// The order of siblings.
    sort: Option<Sort>,
    /// Built on first use; the inner `None` means that the trace has no such tree.
    shape: Option<Option<Shape>>,
    all_gpu_ns: i64,
    /// Whether calls without GPU activity are rows, too.
    all_rows: bool,
    part: Part,
    unfolded: Unfolded,
    search: Search,
    families: Families,
    /// The category of every call that launched GPU activity itself.
    launching: HashMap<EventId, Family>,
}

impl TreeView {
    /// A view of a trace; the rest is built on first use.
    pub(super) fn new(profile: &Profile, families: &Families) -> TreeView {
        let strings = &profile.trace.strings;
        // A launch outside of any operator stands for its kernel.
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
            all_rows: false,
            part: Part::default(),
            unfolded: Unfolded::default(),
            search: Search::default(),
            launching: collectives.chain(ops).collect(),
            families: families.clone(),
        }
    }

    /// Opens, closes or finds nodes, or shows the tree differently.
    pub fn step(&mut self, profile: &Profile, step: &TreeStep) -> TreeChange {
        let change = match step {
            TreeStep::Find(query) => self.find(profile, query).unwrap_or_default(),
            step => {
                let item = self.stepped(profile, step);
                TreeChange {
                    target: item.and_then(|item| self.unfolded.target(item)),
                    ..TreeChange::default()
                }
            }
        };
        let total = self.unfolded.rows().len();
        let change = TreeChange {
            total,
            summary: String::new(),
            ..change
        };
        let Some(calls) = self.calls(profile) else {
            return TreeChange {
                summary: self.missing().to_owned(),
                ..change
            };
        };
        let folded = self.part.folded().iter();
        let stack = folded.map(|item| (*item, calls.counted_name(*item)));
        TreeChange {
            summary: if total == 0 { self.missing() } else { "" }.to_owned(),
            stack: stack.collect(),
            can_fold: self.part.can_fold(),
            hidden: self.part.n_hidden(&calls, &self.unfolded),
            ..change
        }
    }

    /// Sets how calls are aggregated and sorted.
    fn apply(&mut self, profile: &Profile, settings: &TreeSettings) -> Option<Item> {
        let mut keep = settings.keep;
        let is_other_mode = self.mode != settings.mode;
        if is_other_mode || self.sort != settings.sort || self.shape.is_none() {
            self.search = Search::default();
        }
        if is_other_mode {
            let call = keep
                .zip(self.calls(profile))
                .and_then(|(item, calls)| calls.call(item));
            self.mode = settings.mode;
            self.shape = None;
            self.unfolded.clear();
            self.sort = settings.sort.clone();
            self.all_rows = settings.all_rows;
            let calls = self.calls(profile);
            keep = calls
                .zip(call)
                .and_then(|(calls, call)| calls.of_call(call));
        }
        self.sort = settings.sort.clone();
        let calls = self.calls(profile)?;
        if self.all_rows != settings.all_rows {
            self.all_rows = settings.all_rows;
            self.part.start(&calls, self.hides());
        }
        self.renew(&calls);
        self.reveal(&calls, keep?)
    }

    /// The call after the folded stack, which is the only one at its level.
    fn first_row(&self, calls: &Calls) -> Option<Item> {
        self.part.folded().last()?;
        let part = &self.part;
        match *(Visible { calls, part }).below(None) {
            [only] => Some(only),
            _ => None,
        }
    }

    /// Opens the calls of the stack that are no longer folded.
    fn open_stack(&mut self, calls: &Calls) {
        let part = &self.part;
        let tree = Visible { calls, part };
        let first = part
            .innermost()
            .map(|innermost| tree.below(Some(innermost)));
        if let Some(first) = first.and_then(|below| below.first().copied()) {
            self.unfolded.reveal(&tree, first);
        }
    }

    /// If there is no GPU activity at all, nothing is hidden.
    fn hides(&self) -> bool {
        !self.all_rows && self.all_gpu_ns > 0
    }

    /// Rebuilds the rows after a change of the tree or of its order.
    fn renew(&mut self, calls: &Calls) {
        let part = &self.part;
        self.unfolded.renew(&Visible { calls, part });
    }

    fn missing(&self) -> &'static str {
        match (self.mode, &self.shape) {
            (TreeMode::Modules, Some(None)) => {
                "This trace has no modules or ranges. PyTorch's profiler records nn.Module with with_stack=True."
            }
            (TreeMode::Backward, Some(None)) => {
                "This trace has no backward pass linked to forward operators."
            }
            _ => {
                "This trace has no CPU calls. PyTorch's profiler records them with ProfilerActivity.CPU."
            }
        }
    }

    /// A window of rows.
    pub fn rows(&mut self, profile: &Profile, query: &TreeRowsQuery) -> TreePage<TreeRow> {
        match self.calls(profile) {
            Some(calls) => self
                .unfolded
                .page(query.offset, query.count, |row| self.row(&calls, row)),
            None => TreePage {
                offset: query.offset,
                ..TreePage::default()
            },
        }
    }

    /// The row that a step leads to.
    fn stepped(&mut self, profile: &Profile, step: &TreeStep) -> Option<Item> {
        if let TreeStep::Settings(settings) = step {
            return self.apply(profile, settings);
        }
        let calls = &self.calls(profile)?;
        match *step {
            TreeStep::Reveal(node) => self.reveal(calls, node),
            TreeStep::RevealEvent(uid) => self.reveal(calls, self.call(profile, uid)?),
            TreeStep::Hottest(from) => self.follow_hottest(calls, from),
            TreeStep::Instances(node) => self.split(calls, node),
            TreeStep::StartAt(node) => {
                if self.part.start_at(node) {
                    self.renew(calls);
                    self.open_stack(calls);
                }
                node
            }
            TreeStep::FoldStack => {
                self.part.fold();
                self.renew(calls);
                None
            }
            TreeStep::ToDepth(depth) => {
                let part = &self.part;
                let visible = Visible { calls, part };
                let mut open = HashSet::new();
                let mut waiting = visible.below(None);
                while let Some(item) = waiting.pop() {
                    if visible.depth(item) < depth && visible.has_children(item) {
                        open.insert(item);
                        waiting.append(&mut visible.below(Some(item)));
                    }
                }
                self.unfolded.open_only(&visible, open);
                None
            }
            TreeStep::CloseAll => {
                let part = &self.part;
                let visible = Visible { calls, part };
                self.unfolded.open_only(&visible, HashSet::new());
                None
            }
            _ => {
                let part = &self.part;
                self.unfolded.step(&Visible { calls, part }, step)
            }
        }
    }

    /// Splits a row of several modules into rows below it, or merges them again.
    fn split(&mut self, calls: &Calls, item: Item) -> Option<Item> {
        let Shape::Merged(tree) = &calls.shape else {
            return None;
        };
        let is_split = calls.is_split(item);
        tree.borrow_mut().split(MergedId(item), !is_split);
        self.search = Search::default();
        self.reveal(calls, item)?;
        let part = &self.part;
        if !self.unfolded.is_open(item) {
            self.unfolded.toggle(&Visible { calls, part }, item);
        }
        self.renew(calls);
        Some(item)
    }

    /// The call that an event is, or that launched it; the view may aggregate calls.
    fn call(&self, profile: &Profile, uid: u32) -> Option<Item> {
        if self.mode != TreeMode::Recorded {
            return None;
        }
        let event = profile.trace.events.by_uid(uid)?;
        let tree = profile.full_tree();
        let launched = || tree.node_of(launching_call(profile, event)?);
        let node = tree.node_of(event).or_else(launched)?;
        Some(node.0)
    }

    /// Goes to the next row whose name contains a text, and opens everything above it. If callers are below their
    /// callees, searches all the names, but only the visible callers.
    fn find(&mut self, profile: &Profile, query: &FindInTree) -> Option<TreeChange> {
        let calls = self.calls(profile)?;
        let mut known: HashMap<StringId, bool> = HashMap::new();
        if self.mode == TreeMode::BottomUp {
            // Callers repeat the same names many times.
            self.search.over(self.unfolded.rows());
        }
        let contains = &mut |node, text: &str| {
            let Some(name) = calls.searched(node) else {
                return false;
            };
            *known.entry(name).or_insert_with(|| {
                let name = profile.trace.strings.get(name);
                name.to_lowercase().contains(text)
            })
        };
        let found = self.search.next(&calls, query, contains)?;
        self.reveal(&calls, found.node);
        Some(TreeChange {
            target: self.unfolded.target(found.node),
            position: found.position,
            of: found.of,
            ..TreeChange::default()
        })
    }

    /// The tree; on first use, opens the first screen: what has the most GPU time.
    fn calls<'a>(&mut self, profile: &'a Profile) -> Option<Calls<'a>> {
        let is_first = self.shape.is_none();
        let shape = self
            .shape
            .get_or_insert_with(|| Shape::new(profile, self.mode));
        let calls = shape.clone().map(|shape| Calls {
            profile,
            shape,
            sort: self.sort.clone(),
        });
        if !is_first {
            return calls;
        }
        self.unfolded.clear();
        let calls = calls?;
        let linked = profile.gpu.iter().map(|(_, work)| work);
        self.all_gpu_ns = linked
            .filter(|work| work.launched_by.is_some())
            .fold(0, |sum, work| sum.saturating_add(work.span.length()));
        let hides = self.hides();
        self.part.start(&calls, hides);
        self.renew(&calls);
        self.open_stack(&calls);
        let top = self.part.innermost();
        if self.mode != TreeMode::BottomUp
            && let Some(hottest) = self.hottest_child(&calls, top)
        {
            let (calls, part) = (&calls, &self.part);
            self.unfolded.toggle(&Visible { calls, part }, hottest);
        }
        Some(calls)
    }

    /// Opens everything above an item; `None` if the tree has no such item.
    fn reveal(&mut self, calls: &Calls, item: Item) -> Option<Item> {
        if !calls.knows(item) {
            return None;
        }
        if let Shape::Merged(tree) = &calls.shape {
            tree.borrow_mut().arrange_for(MergedId(item));
        }
        let n_folded = self.part.folded().len();
        if self.part.show(calls, item) {
            self.renew(calls);
        }
        if self.part.folded().len() < n_folded {
            self.open_stack(calls);
        }
        let part = &self.part;
        self.unfolded.reveal(&Visible { calls, part }, item);
        Some(item)
    }

    /// Opens the child with the most time, level by level, down to the call below which no single child has most of it.
    fn follow_hottest(&mut self, calls: &Calls, from: Option<Item>) -> Option<Item> {
        let from = from
            .and_then(|item| self.reveal(calls, item))
            .filter(|item| self.heat(calls, *item) > 0);
        let mut here = match from {
            Some(item) => item,
            None => self.hottest_child(calls, self.part.folded().last().copied())?,
        };
        while let Some(child) = self.hottest_child(calls, Some(here)) {
            if !self.unfolded.is_open(here) {
                let part = &self.part;
                self.unfolded.toggle(&Visible { calls, part }, here);
            }
            here = child;
        }
        Some(here)
    }

    /// Of equal ones, the first. Bottom-up, this is the self time of a name, split by its callers.
    fn hottest_child(&self, calls: &Calls, above: Option<Item>) -> Option<Item> {
        let children = match above {
            Some(item) => calls.children(item),
            None => calls.roots(),
        };
        let times = children
            .into_iter()
            .map(|child| (self.heat(calls, child), child));
        let hot = times.filter(|(ns, _)| *ns > 0).rev();
        hot.max_by_key(|(ns, _)| *ns).map(|(_, child)| child)
    }

    /// The time that the hottest path follows: GPU time, or CPU time if nothing runs on the GPU.
    fn heat(&self, calls: &Calls, item: Item) -> i64 {
        let (gpu_ns, cpu_ns) = calls.times(item);
        if self.all_gpu_ns > 0 { gpu_ns } else { cpu_ns }
    }
}

mod flame;
mod naming;
mod replays;
mod row;
pub(super) mod search;
pub(super) mod shape;
#[cfg(test)]
mod tests;
pub(super) mod unfolded;
mod visible;
