//! The call tree with some nodes open: what the Call tree view shows.
//!
//! | module | what is in it |
//! |---|---|
//! | [`flame`] | the tree as blocks |
//! | [`replays`] | what graph launches replay: layers and kernels |
//! | [`shape`] | the calls, in the way that was chosen |
//! | [`unfolded`] | which nodes are open, and the rows that makes |
//! | [`search`] | going from one node of a name to the next |

use std::collections::{HashMap, HashSet};

use dormer_core::names::Family;
use dormer_core::profile::ops::Op;
use dormer_core::profile::tree::Label;
use dormer_core::trace::{EventId, StringId};
use dormer_core::{Profile, base::format};

use super::families::{Families, launched_collectives};
use crate::protocol::{
    FindInTree, Sort, TreeChange, TreeLook, TreeMode, TreePage, TreeRow, TreeRowsQuery, TreeStep,
};
use dormer_core::report::details::launching_call;
use search::Search;
use shape::{Calls, Item, Shape};
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
                    target: item.and_then(|item| self.unfolded.target(item)),
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
        let mut keep = look.keep;
        let is_other_mode = self.mode != look.mode;
        if is_other_mode || self.sort != look.sort || self.shape.is_none() {
            self.search = Search::default();
        }
        if is_other_mode {
            let call = keep
                .zip(self.calls(profile))
                .and_then(|(item, calls)| calls.call(item));
            self.mode = look.mode;
            self.shape = None;
            self.unfolded.clear();
            self.sort = look.sort.clone();
            let calls = self.calls(profile);
            keep = calls
                .zip(call)
                .and_then(|(calls, call)| calls.of_call(call));
        }
        self.sort = look.sort.clone();
        let calls = self.calls(profile)?;
        self.unfolded.renew(&calls);
        self.reveal(&calls, keep?)
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
        if let TreeStep::Look(look) = step {
            return self.look(profile, look);
        }
        let calls = &self.calls(profile)?;
        match *step {
            TreeStep::Reveal(node) => self.reveal(calls, node),
            TreeStep::RevealEvent(uid) => self.reveal(calls, self.call(profile, uid)?),
            TreeStep::Hottest(from) => self.follow_hottest(calls, from),
            TreeStep::ToDepth(depth) => {
                let mut open = HashSet::new();
                let mut waiting = calls.roots();
                while let Some(item) = waiting.pop() {
                    if calls.depth(item) < depth && calls.has_children(item) {
                        open.insert(item);
                        waiting.append(&mut calls.children(item));
                    }
                }
                self.unfolded.open_only(calls, open);
                None
            }
            TreeStep::CloseAll => {
                self.unfolded.open_only(calls, HashSet::new());
                None
            }
            _ => self.unfolded.step(calls, step),
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
        Some(node.0)
    }

    /// Goes to the next row whose name contains a text, and opens what lies above it. Where callers
    /// stand below, of all the names and of those callers that are shown.
    fn find(&mut self, profile: &Profile, query: &FindInTree) -> Option<TreeChange> {
        let calls = self.calls(profile)?;
        let mut known: HashMap<StringId, bool> = HashMap::new();
        if self.mode == TreeMode::BottomUp {
            // Callers are the same names again, in many times as many places.
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
        let unfolded = &mut self.unfolded;
        self.search.find(unfolded, &calls, query, contains)
    }

    /// The tree; when it is first asked for, opens the first screen: what has the most GPU time.
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
        self.unfolded.renew(&calls);
        if self.mode != TreeMode::BottomUp
            && let Some(hottest) = self.hottest_child(&calls, None)
        {
            self.unfolded.toggle(&calls, hottest);
        }
        Some(calls)
    }

    /// Opens everything above an item; `None` when the tree has no such item.
    fn reveal(&mut self, calls: &Calls, item: Item) -> Option<Item> {
        if !calls.knows(item) {
            return None;
        }
        self.unfolded.reveal(calls, item);
        Some(item)
    }

    /// Opens the child with the most time, level by level, and ends at the call below which no
    /// single child has most of it.
    fn follow_hottest(&mut self, calls: &Calls, from: Option<Item>) -> Option<Item> {
        let from = from
            .and_then(|item| self.reveal(calls, item))
            .filter(|item| self.heat(calls, *item) > 0);
        let mut here = match from {
            Some(item) => item,
            None => self.hottest_child(calls, None)?,
        };
        while let Some(child) = self.hottest_child(calls, Some(here)) {
            if !self.unfolded.is_open(here) {
                self.unfolded.toggle(calls, here);
            }
            here = child;
        }
        Some(here)
    }

    /// Of equal ones the first. Bottom-up it is what a name cost itself that its callers share.
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

    /// The time that the hottest path follows: on the GPU; on the CPU, where nothing runs on the
    /// GPU.
    fn heat(&self, calls: &Calls, item: Item) -> i64 {
        let (gpu_ns, cpu_ns) = calls.times(item);
        if self.all_gpu_ns > 0 { gpu_ns } else { cpu_ns }
    }

    /// The family of calls that launch GPU activity themselves.
    fn family(&self, calls: &Calls, item: Item) -> Option<Family> {
        if calls.replayed(item).is_some() {
            let trace = &calls.profile.trace;
            let kernel = trace.events.name(calls.event(item)?);
            return Some(self.families.of_kernel(None, trace.strings.get(kernel)));
        }
        let Some(of) = calls.merged(item) else {
            return self.launching.get(&calls.event(item)?).copied();
        };
        let Label::Call(name) = of.label else {
            return None;
        };
        let name = calls.profile.trace.strings.get(name);
        (of.own.n_work > 0).then(|| self.families.of_op(name))
    }

    fn row(&self, calls: &Calls, row: &Row) -> TreeRow {
        let item = row.node;
        let of = calls.figures(item);
        let name = calls.name(item);
        let shown = format::middle_ellipsis(&name, NAME_CHARS);
        let family = self.family(calls, item);
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
            node: item,
            branch: self.unfolded.branch(calls, row),
            whole: (shown != name).then_some(name),
            name: shown,
            kind: calls.kind(item).to_owned(),
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
            uid: calls
                .event(item)
                .map(|event| calls.profile.trace.events.uid(event)),
        }
    }
}

mod flame;
mod replays;
pub(super) mod search;
pub(super) mod shape;
#[cfg(test)]
mod tests;
pub(super) mod unfolded;
