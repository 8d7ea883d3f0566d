//! The merged call trees of both traces, with the places where they differ.
//!
//! It contains only calls that led to GPU activity, and each GPU activity belongs to exactly one node, the call that
//! launched it. Calls of both traces are one node; a call of one trace alone is a node of its own at its place. So both
//! trees can be shown side by side, and the times of each side add up.

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
use crate::profile::cpu::tree::{CallTree, Frames, NodeId};
use crate::profile::launch::GpuId;
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
    /// Its node in the [call tree](TreeDiff::call_tree) of each trace that has it; always `None` for a thread and for
    /// the root.
    pub nodes: Pair<Option<NodeId>>,
    /// Its name without parts that differ between runs.
    name: StringId,
    /// Whether it is an operator.
    pub is_op: bool,
    /// The call around it; `None` for the root.
    pub parent: Option<DiffId>,
    /// The calls in it, in order.
    children: Range<u32>,
    own_work: Pair<Range<u32>>,
    /// Sum of the durations of the GPU activity launched in it and below it, for each side.
    pub gpu_ns: Pair<i64>,
    /// Whether it and everything below it belongs to one trace alone. False for a wrapper around calls of both.
    pub is_whole: bool,
}

/// The merged call trees of both traces.
#[derive(Debug)]
pub struct TreeDiff {
    /// Whether Python frames are compared: both traces have them.
    pub frames: Frames,
    /// The names of calls of both traces, each once.
    names: StringTable,
    /// Parents before their children.
    nodes: Vec<DiffNode>,
    work: Pair<Vec<GpuId>>,
    /// The places where the two differ, largest time difference first.
    pub places: Vec<Place>,
}

impl TreeDiff {
    /// Compares the call trees of two traces.
    pub fn new(reference: Side, target: Side) -> TreeDiff {
        let sides = Pair { reference, target };
        let profiles = sides.map(|side| side.profile);
        let has_frames =
            profiles.reference.has_python_frames() && profiles.target.has_python_frames();
        let frames = match has_frames {
            true => Frames::With,
            false => Frames::Without,
        };
        let mut names = StringTable::default();
        let skeletons = profiles.map(|profile| {
            let tree = call_tree(profile, frames);
            Skeleton::new(profile, tree, frames, &mut names)
        });
        let mut diff = merge::merge(skeletons.as_ref(), profiles, names);
        diff.frames = frames;
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

    /// Always false, as there is always a root.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// One node; `None` for an id of another tree.
    pub fn get(&self, id: DiffId) -> Option<&DiffNode> {
        self.nodes.get(id.index())
    }

    /// The name of a call, without parts that differ between runs: addresses, line numbers, instance numbers.
    pub fn name(&self, id: DiffId) -> &str {
        self.get(id).map_or("", |node| self.names.get(node.name))
    }

    /// The calls in a call, in order; at a place where both have their own, the reference's come first.
    pub fn children(&self, id: DiffId) -> impl DoubleEndedIterator<Item = DiffId> + use<> {
        let range = self.get(id).map_or(0..0, |node| node.children.clone());
        range.map(DiffId)
    }

    /// The GPU activity of one side that a call launched itself, in launch order.
    pub fn own_work(&self, id: DiffId, which: Which) -> &[GpuId] {
        let range = self.get(id).map(|node| node.own_work.get(which).clone());
        let range = range.unwrap_or(0..0);
        let work = self.work.get(which);
        work.get(range.start as usize..range.end as usize)
            .unwrap_or_default()
    }

    /// The GPU activity of one side in a call and below it.
    pub fn gpu_work(&self, id: DiffId, which: Which) -> Vec<GpuId> {
        let mut work = Vec::new();
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            work.extend(self.own_work(id, which));
            open.extend(self.children(id).rev());
        }
        work
    }

    /// Whether a call itself launches different kernels in the two traces.
    pub fn launches_others(&self, id: DiffId, profiles: Pair<&Profile>) -> bool {
        let kernels = Pair::of(|which| {
            let work = self.own_work(id, which).iter();
            work.map(move |id| places::kernel(profiles.get(which), *id))
        });
        !kernels.reference.eq(kernels.target)
    }

    /// The nearest enclosing call that both have, or the call itself.
    pub fn common(&self, id: DiffId) -> DiffId {
        let parent = |id: &DiffId| self.get(*id)?.parent;
        let mut above = std::iter::successors(Some(id), parent);
        let is_common = |id: &DiffId| {
            let node = self.get(*id);
            node.is_some_and(|node| node.presence == Presence::Both)
        };
        above.find(is_common).unwrap_or(DiffId::ROOT)
    }

    /// The tree that [`DiffNode::nodes`] refers to.
    pub fn call_tree<'a>(&self, profile: &'a Profile) -> &'a CallTree {
        call_tree(profile, self.frames)
    }
}

fn call_tree(profile: &Profile, frames: Frames) -> &CallTree {
    match frames {
        Frames::With => profile.full_tree(),
        Frames::Without => &profile.tree,
    }
}
