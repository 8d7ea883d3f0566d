//! Merges two trees level by level, without recursion, as Python stacks are deep.

use std::collections::VecDeque;

use super::children::{Item, Matcher, Wrappers};
use super::skeleton::Skeleton;
use super::{DiffId, DiffNode, Presence, TreeDiff};
use crate::base::interval::sum;
use crate::compare::{Pair, Which};
use crate::profile::Profile;
use crate::profile::cpu::tree::Frames;
use crate::trace::StringTable;

/// The row above all threads.
const ROOT: u32 = 0;

/// What the children of a node are computed from.
enum Inside {
    /// All calls of a subtree of one side.
    Copy(Which, u32),
    /// Two lists of calls.
    Compare(Pair<Vec<u32>>),
    /// The rest of chains of wrappers, from these positions on.
    Wrapped(Wrappers, Pair<usize>),
}

struct Child {
    rows: Pair<Option<u32>>,
    inside: Inside,
}

pub(crate) fn merge(
    sides: Pair<&Skeleton>,
    profiles: Pair<&Profile>,
    names: StringTable,
) -> TreeDiff {
    let mut merger = Merger {
        matcher: Matcher { sides },
        diff: TreeDiff {
            frames: Frames::Without,
            names,
            nodes: Vec::new(),
            work: Pair::default(),
            places: Vec::new(),
        },
        open: VecDeque::new(),
    };
    merger.run();
    let mut diff = merger.diff;
    sum_up(&mut diff, profiles);
    diff
}

struct Merger<'a> {
    matcher: Matcher<'a>,
    diff: TreeDiff,
    open: VecDeque<(DiffId, Inside)>,
}

impl Merger<'_> {
    fn run(&mut self) {
        let root = self.both(Pair::of(|_| ROOT));
        self.add(None, root);
        while let Some((id, inside)) = self.open.pop_front() {
            let first = self.diff.nodes.len() as u32;
            for child in self.children(inside) {
                self.add(Some(id), child);
            }
            let end = self.diff.nodes.len() as u32;
            if let Some(node) = self.diff.nodes.get_mut(id.index()) {
                node.children = first..end;
            }
        }
    }

    fn children(&self, inside: Inside) -> Vec<Child> {
        match inside {
            Inside::Copy(which, row) => {
                let children = self.matcher.children(which, row).into_iter();
                children.map(|row| one(which, row)).collect()
            }
            Inside::Compare(lists) => {
                let items = self.matcher.compare(&lists).into_iter();
                items.flat_map(|item| self.child(item)).collect()
            }
            Inside::Wrapped(wrappers, at) => self.next_wrapper(wrappers, at),
        }
    }

    fn child(&self, item: Item) -> Vec<Child> {
        match item {
            Item::Both(rows) => vec![self.both(rows)],
            Item::One(which, row) => vec![one(which, row)],
            Item::Around(wrappers) => self.next_wrapper(wrappers, Pair::default()),
        }
    }

    /// The outermost remaining wrapper, with all others inside: those of the reference before those of the target, then
    /// the call at which the chains meet.
    fn next_wrapper(&self, wrappers: Wrappers, at: Pair<usize>) -> Vec<Child> {
        let is_before = |which: Which| at.get(which) < wrappers.meet.get(which);
        let row = |which: Which| wrappers.chains.get(which).get(*at.get(which)).copied();
        let which = match (is_before(Which::Reference), is_before(Which::Target)) {
            (true, _) => Which::Reference,
            (false, true) => Which::Target,
            (false, false) => {
                let rows = Pair::of(row).both();
                return match rows {
                    Some(rows) => vec![self.both(rows)],
                    None => self.children(Inside::Compare(wrappers.inside)),
                };
            }
        };
        let Some(row) = row(which) else {
            return Vec::new();
        };
        let mut next = at;
        *next.get_mut(which) += 1;
        vec![Child {
            inside: Inside::Wrapped(wrappers, next),
            ..one(which, row)
        }]
    }

    fn both(&self, rows: Pair<u32>) -> Child {
        let lists = Pair::of(|which| self.matcher.children(which, *rows.get(which)));
        Child {
            rows: rows.map(Some),
            inside: Inside::Compare(lists),
        }
    }

    fn add(&mut self, parent: Option<DiffId>, child: Child) {
        let id = DiffId(self.diff.nodes.len() as u32);
        let sides = self.matcher.sides;
        let presence = match (child.rows.reference, child.rows.target) {
            (Some(_), None) => Presence::Only(Which::Reference),
            (None, Some(_)) => Presence::Only(Which::Target),
            _ => Presence::Both,
        };
        let row = |which: Which| {
            let row = (*child.rows.get(which))?;
            Some(sides.get(which).row(row))
        };
        let known = row(Which::Target).or_else(|| row(Which::Reference));
        let mut own_work = Pair::of(|_| 0..0);
        for which in Which::ALL {
            let work = self.diff.work.get_mut(which);
            let start = work.len() as u32;
            if let Some(row) = child.rows.get(which) {
                work.extend(sides.get(which).own_work(*row));
            }
            *own_work.get_mut(which) = start..work.len() as u32;
        }
        self.diff.nodes.push(DiffNode {
            presence,
            nodes: Pair::of(|which| row(which)?.node),
            name: known.map_or(StringTable::EMPTY, |row| row.name),
            is_op: known.is_some_and(|row| row.is_op),
            parent,
            children: 0..0,
            own_work,
            gpu_ns: Pair::default(),
            is_whole: presence != Presence::Both,
        });
        self.open.push_back((id, child.inside));
    }
}

fn one(which: Which, row: u32) -> Child {
    Child {
        rows: Pair::only(which, Some(row)),
        inside: Inside::Copy(which, row),
    }
}

/// Sums up times from the leaves, and finds the nodes that have calls of both sides below them.
fn sum_up(diff: &mut TreeDiff, profiles: Pair<&Profile>) {
    for at in (0..diff.nodes.len()).rev() {
        let id = DiffId(at as u32);
        let own = Pair::of(|which| {
            let gpu = &profiles.get(which).gpu;
            let work = diff.own_work(id, which).iter();
            sum(work.filter_map(|id| Some(gpu.get(*id)?.span.length())))
        });
        // Children come after their parents, so their times are already included.
        let node = &mut diff.nodes[at];
        node.gpu_ns = node.gpu_ns.plus(own);
        let (gpu_ns, is_whole) = (node.gpu_ns, node.is_whole);
        if let Some(parent) = node.parent
            && let Some(parent) = diff.nodes.get_mut(parent.index())
        {
            parent.gpu_ns = parent.gpu_ns.plus(gpu_ns);
            parent.is_whole &= is_whole;
        }
    }
}
