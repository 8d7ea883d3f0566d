//! The call trees of both traces as one, with the places where they differ.
//!
//! Only calls that led to GPU work are in it, and each piece of GPU work is in exactly one node of
//! it, the call that launched it. Calls of both traces are one node; what one trace alone has
//! stands where it would be, on its own. So both trees can be shown side by side, and the times of
//! each side sum up.

mod children;
mod merge;
mod places;
mod skeleton;
#[cfg(test)]
mod tests;

use std::ops::Range;

use super::{Pair, Side, Which};
use crate::base::row_id::row_id;
use crate::profile::Profile;
use crate::profile::launch::GpuId;
use crate::profile::tree::{CallTree, NodeId};
use crate::trace::{StringId, StringTable};
pub use places::{Place, PlaceWork};
use skeleton::Skeleton;

row_id! {
    /// A node of a [`TreeDiff`].
    #[derive(Default)]
    DiffId
}

impl DiffId {
    /// The node above all threads of both traces.
    pub const ROOT: DiffId = DiffId(0);
}

/// Which traces have a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Presence {
    /// Both.
    Both,
    /// One of them.
    Only(Which),
}

/// A call of one trace or of both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffNode {
    /// Which traces have it.
    pub presence: Presence,
    /// Its place in the [call tree](TreeDiff::call_tree) of each trace that has it; `None` for a
    /// thread and for the root, too.
    pub nodes: Pair<Option<NodeId>>,
    /// Without what a run decides.
    name: StringId,
    /// It is an operator.
    pub is_op: bool,
    /// The call around it; `None` for the root.
    pub parent: Option<DiffId>,
    /// The calls in it, in order.
    children: Range<u32>,
    own_work: Pair<Range<u32>>,
    /// Durations of the GPU work launched in it and below it, summed; of each side.
    pub gpu_ns: Pair<i64>,
    /// It and all below it is of one trace alone. False for a wrapper, around calls of both.
    pub is_whole: bool,
}

/// The call trees of both traces as one.
#[derive(Debug)]
pub struct TreeDiff {
    /// Python frames are compared: both traces have them.
    pub has_frames: bool,
    /// The names of calls of both traces, each once.
    names: StringTable,
    /// Parents before their children.
    nodes: Vec<DiffNode>,
    work: Pair<Vec<GpuId>>,
    /// Where the two differ, those whose time differs most first.
    pub places: Vec<Place>,
}

impl TreeDiff {
    /// Compares the call trees of two traces.
    pub fn new(reference: Side, target: Side) -> TreeDiff {
        let sides = Pair { reference, target };
        let profiles = sides.map(|side| side.profile);
        let has_frames =
            profiles.reference.has_python_frames() && profiles.target.has_python_frames();
        let mut names = StringTable::default();
        let skeletons = profiles.map(|profile| {
            let tree = call_tree(profile, has_frames);
            Skeleton::new(profile, tree, has_frames, &mut names)
        });
        let mut diff = merge::merge(skeletons.as_ref(), profiles, names);
        diff.has_frames = has_frames;
        diff.places = places::places(&diff, profiles);
        diff
    }

    /// All nodes, parents before their children.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (DiffId, &DiffNode)> + ExactSizeIterator {
        let rows = self.nodes.iter().enumerate();
        rows.map(|(row, node)| (DiffId(row as u32), node))
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Never true: the root is always there.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// One node; `None` for an id of another tree.
    pub fn get(&self, id: DiffId) -> Option<&DiffNode> {
        self.nodes.get(id.index())
    }

    /// The name of a call, without what a run decides: addresses, line numbers, numbers of
    /// instances.
    pub fn name(&self, id: DiffId) -> &str {
        self.get(id).map_or("", |node| self.names.get(node.name))
    }

    /// The calls in a call, in order: where both have their own there, first the reference's.
    pub fn children(&self, id: DiffId) -> impl DoubleEndedIterator<Item = DiffId> + use<> {
        let range = self.get(id).map_or(0..0, |node| node.children.clone());
        range.map(DiffId)
    }

    /// The GPU work that a call launched itself, of one side, in order of launch.
    pub fn own_work(&self, id: DiffId, which: Which) -> &[GpuId] {
        let range = self.get(id).map(|node| node.own_work.get(which).clone());
        let range = range.unwrap_or(0..0);
        let work = self.work.get(which);
        work.get(range.start as usize..range.end as usize)
            .unwrap_or_default()
    }

    /// All GPU work of a call and below it, of one side.
    pub fn gpu_work(&self, id: DiffId, which: Which) -> Vec<GpuId> {
        let mut work = Vec::new();
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            work.extend(self.own_work(id, which));
            open.extend(self.children(id).rev());
        }
        work
    }

    /// True where a call launches itself other kernels in one trace than in the other.
    pub fn launches_others(&self, id: DiffId, profiles: Pair<&Profile>) -> bool {
        let kernels = Pair::of(|which| {
            let work = self.own_work(id, which).iter();
            work.map(move |id| places::kernel(profiles.get(which), *id))
        });
        !kernels.reference.eq(kernels.target)
    }

    /// The nearest call of both around a call, or the call itself.
    pub fn common(&self, id: DiffId) -> DiffId {
        let parent = |id: &DiffId| self.get(*id)?.parent;
        let mut above = std::iter::successors(Some(id), parent);
        let is_common = |id: &DiffId| {
            let node = self.get(*id);
            node.is_some_and(|node| node.presence == Presence::Both)
        };
        above.find(is_common).unwrap_or(DiffId::ROOT)
    }

    /// The tree that [`DiffNode::nodes`] are of.
    pub fn call_tree<'a>(&self, profile: &'a Profile) -> &'a CallTree {
        call_tree(profile, self.has_frames)
    }
}

fn call_tree(profile: &Profile, has_frames: bool) -> &CallTree {
    match has_frames {
        true => profile.full_tree(),
        false => &profile.tree,
    }
}
