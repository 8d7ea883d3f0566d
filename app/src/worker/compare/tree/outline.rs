//! Where both call trees differ, and how their nodes are arranged.
//!
//! A row is a node of the [`TreeDiff`], or the GPU activity that a thread or all threads have without a call: that gets
//! a row below its heading.

use dormer_core::Profile;
use dormer_core::base::interval::sum;
use dormer_core::compare::tree::{DiffId, Place, Presence, TreeDiff};
use dormer_core::compare::{Pair, Which};

use crate::worker::tree::unfolded::Branches;

/// Flag of the row for a heading's own GPU activity; the other bits are the heading.
const OWN: u32 = 1 << 31;

/// How a row differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    Same,
    /// It is only in one trace, with everything below it.
    Only(Which),
    /// It is only in one trace, but contains calls of both.
    Wrapper(Which),
    /// Both traces have the call, but it launches different kernels.
    OtherKernels,
}

/// A node, or a heading's own GPU activity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) id: DiffId,
    pub(super) is_own: bool,
}

impl Spot {
    pub(super) fn of(row: u32) -> Spot {
        Spot {
            id: DiffId(row & !OWN),
            is_own: row & OWN != 0,
        }
    }
}

/// Where the trees differ.
#[derive(Debug)]
pub(super) struct Outline {
    /// For each node, the number of nodes above it.
    depth: Vec<u32>,
    /// For each node, whether it or something below it is marked.
    differs: Vec<bool>,
    /// For each node, whether it launches different kernels in the two traces.
    launches_others: Vec<bool>,
    /// The largest absolute difference between a row's times, in nanoseconds.
    pub(super) largest_ns: u64,
    /// A row for each place where the trees differ, largest difference first.
    pub(super) differences: Vec<u32>,
}

impl Outline {
    pub(super) fn new(diff: &TreeDiff, profiles: Pair<&Profile>) -> Outline {
        let mut outline = Outline {
            depth: Vec::with_capacity(diff.len()),
            differs: vec![false; diff.len()],
            launches_others: Vec::with_capacity(diff.len()),
            largest_ns: 0,
            differences: Vec::new(),
        };
        for (id, node) in diff.iter() {
            let above = node.parent.map(|parent| outline.depth(parent) + 1);
            outline.depth.push(above.unwrap_or(0));
            let launches_others =
                node.presence == Presence::Both && diff.launches_others(id, profiles);
            outline.launches_others.push(launches_others);
            let size = node.gpu_ns.difference().unsigned_abs();
            outline.largest_ns = outline.largest_ns.max(size);
        }
        // Children come after their parents.
        for (id, node) in diff.iter().rev() {
            let is_marked = outline.launches_others(id) || node.presence != Presence::Both;
            let differs = is_marked || outline.differs(id);
            if let Some(here) = outline.differs.get_mut(id.index()) {
                *here = differs;
            }
            if let Some(parent) = node.parent
                && let Some(parent) = outline.differs.get_mut(parent.index())
            {
                *parent |= differs;
            }
        }
        outline.differences = diff.places.iter().map(|place| goal(diff, place)).collect();
        outline
    }

    /// Whether nothing is marked.
    pub(super) fn is_same(&self) -> bool {
        !self.differs(DiffId::ROOT)
    }

    fn depth(&self, id: DiffId) -> u32 {
        self.depth.get(id.index()).copied().unwrap_or(0)
    }

    fn differs(&self, id: DiffId) -> bool {
        self.differs.get(id.index()) == Some(&true)
    }

    fn launches_others(&self, id: DiffId) -> bool {
        self.launches_others.get(id.index()) == Some(&true)
    }

    /// How a row differs.
    pub(super) fn mark(&self, diff: &TreeDiff, spot: Spot) -> Mark {
        if spot.is_own {
            return match lone_side(own_sides(diff, spot.id)) {
                Some(which) => Mark::Only(which),
                None if self.launches_others(spot.id) => Mark::OtherKernels,
                None => Mark::Same,
            };
        }
        let Some(node) = diff.get(spot.id) else {
            return Mark::Same;
        };
        match node.presence {
            Presence::Only(which) if node.is_whole => Mark::Only(which),
            Presence::Only(which) => Mark::Wrapper(which),
            // A heading's own GPU activity has a row of its own.
            Presence::Both if self.launches_others(spot.id) && !is_heading(diff, spot.id) => {
                Mark::OtherKernels
            }
            Presence::Both => Mark::Same,
        }
    }

    /// The calls that account for most of the difference of their callers, from the top.
    pub(super) fn way_to_largest(&self, diff: &TreeDiff) -> Vec<DiffId> {
        let size = |id: DiffId| {
            let node = diff.get(id);
            node.map_or(0, |node| node.gpu_ns.difference().unsigned_abs())
        };
        let next = |id: &DiffId| {
            // Of equal ones, the first.
            let children = diff.children(*id).rev();
            let largest = children.max_by_key(|child| size(*child))?;
            (size(largest) > 0 && size(largest) >= size(*id) / 2).then_some(largest)
        };
        std::iter::successors(Some(DiffId::ROOT), next).collect()
    }
}

/// The row to show for a place: its occurrence with the largest difference.
fn goal(diff: &TreeDiff, place: &Place) -> u32 {
    let occurrences = place.occurrences.iter().rev();
    let largest = occurrences.max_by_key(|work| work.busy_ns.difference().unsigned_abs());
    let Some(largest) = largest else {
        return DiffId::ROOT.0;
    };
    let calls = &largest.calls;
    match calls.target.first().or(calls.reference.first()) {
        Some(call) => call.0,
        None if is_heading(diff, largest.common) => largest.common.0 | OWN,
        None => largest.common.0,
    }
}

/// Whether it does not stand for a call: all threads, or one of them.
pub(super) fn is_heading(diff: &TreeDiff, id: DiffId) -> bool {
    diff.get(id)
        .is_some_and(|node| node.nodes == Pair::default())
}

/// Which sides have GPU activity that a call launched itself.
fn own_sides(diff: &TreeDiff, id: DiffId) -> Pair<bool> {
    Pair::of(|which| !diff.own_work(id, which).is_empty())
}

fn lone_side(sides: Pair<bool>) -> Option<Which> {
    match (sides.reference, sides.target) {
        (true, false) => Some(Which::Reference),
        (false, true) => Some(Which::Target),
        _ => None,
    }
}

/// Both trees as rows.
#[derive(Clone, Copy)]
pub(super) struct Visible<'a> {
    pub(super) diff: &'a TreeDiff,
    pub(super) outline: &'a Outline,
    /// Rows without a difference in or below them are omitted.
    pub(super) only_differences: bool,
}

impl Visible<'_> {
    fn admits(&self, row: u32) -> bool {
        if !self.only_differences {
            return true;
        }
        let spot = Spot::of(row);
        match spot.is_own {
            true => self.outline.mark(self.diff, spot) != Mark::Same,
            false => self.outline.differs(spot.id),
        }
    }

    /// The calls, then the heading's own GPU activity.
    fn all_below(&self, id: DiffId) -> impl Iterator<Item = u32> {
        let has_own = is_heading(self.diff, id) && own_sides(self.diff, id) != Pair::of(|_| false);
        let calls = self.diff.children(id).map(|child| child.0);
        calls.chain(has_own.then_some(id.0 | OWN))
    }

    /// Total duration of its GPU activity, on either side.
    pub(super) fn gpu_ns(&self, spot: Spot, profiles: Pair<&Profile>) -> Pair<i64> {
        if !spot.is_own {
            let node = self.diff.get(spot.id);
            return node.map_or(Pair::default(), |node| node.gpu_ns);
        }
        Pair::of(|which| {
            let gpu = &profiles.get(which).gpu;
            let work = self.diff.own_work(spot.id, which).iter();
            sum(work.filter_map(|id| Some(gpu.get(*id)?.span.length())))
        })
    }
}

impl Branches for Visible<'_> {
    fn below(&self, above: Option<u32>) -> Vec<u32> {
        let rows = match above.map(Spot::of) {
            None => vec![DiffId::ROOT.0],
            Some(Spot { is_own: true, .. }) => Vec::new(),
            Some(spot) => self.all_below(spot.id).collect(),
        };
        rows.into_iter().filter(|row| self.admits(*row)).collect()
    }

    fn has_children(&self, node: u32) -> bool {
        let spot = Spot::of(node);
        !spot.is_own && self.all_below(spot.id).any(|row| self.admits(row))
    }

    fn parent(&self, node: u32) -> Option<u32> {
        let spot = Spot::of(node);
        match spot.is_own {
            true => Some(spot.id.0),
            false => self.diff.get(spot.id)?.parent.map(|parent| parent.0),
        }
    }

    fn depth(&self, node: u32) -> u32 {
        let spot = Spot::of(node);
        self.outline.depth(spot.id) + u32::from(spot.is_own)
    }
}
