//! The calls of a trace that led to GPU activity, and nothing else: the input of the comparison.
//!
//! Runtime and driver calls are left out, because each vendor has its own; their GPU activity belongs to the enclosing
//! call. A call with several GPU activities, such as a graph launch, is kept.

use crate::base::map::Map;
use crate::base::sort::Arrange;
use crate::names::normalized::normal;
use crate::profile::Profile;
use crate::profile::cpu::tree::{CallTree, Frames, NodeId, TrackNodes};
use crate::profile::launch::{GpuId, is_graph_launch};
use crate::trace::{Category, StringId, StringTable, TrackId};

/// The name of the row above all threads.
const ALL: &str = "all threads";
/// The name of the row above the calls of a thread; real thread names differ in every run.
const THREAD: &str = "thread";
/// The common name for a launch of many kernels, whatever the vendor calls it.
const GRAPH: &str = "graph launch";

/// A call. Rows are in depth-first order, so a subtree is a range of rows.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    /// Its node in the call tree; `None` for a thread, and for the row above all threads.
    pub(crate) node: Option<NodeId>,
    pub(crate) name: StringId,
    /// Whether it is an operator: a small unit, which differs as a whole.
    pub(crate) is_op: bool,
    /// The row after the last one below it.
    end: u32,
    /// Where its GPU activity starts; that of the calls below it follows.
    first_work: u32,
    end_of_own: u32,
    /// A hash of its name and everything below it.
    pub(crate) deep: u64,
    /// A hash of its name and of the names of the calls it made.
    pub(crate) shallow: u64,
}

impl Row {
    pub(crate) fn name_key(&self) -> u64 {
        u64::from(self.name.0)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Skeleton {
    rows: Vec<Row>,
    /// The GPU activity of all rows, row by row; within a row in the order of the launching calls.
    work: Vec<GpuId>,
}

impl Skeleton {
    /// For a call tree of the profile; `frames` says whether Python frames become rows. GPU activity without a known
    /// call belongs to the row above all threads.
    pub(crate) fn new(
        profile: &Profile,
        tree: &CallTree,
        frames: Frames,
        names: &mut StringTable,
    ) -> Skeleton {
        let source = Source::new(profile, tree, frames);
        let mut names = Names {
            keys: Map::default(),
            names,
        };
        let mut skeleton = Skeleton::default();
        skeleton.open(None, names.names.intern(ALL), false);
        skeleton.work.extend(&source.unlinked);
        skeleton.close_own(0);
        let strays: Vec<NodeId> = tree.strays().collect();
        for track in tree.tracks() {
            skeleton.add_thread(&source, track, &strays, &mut names);
        }
        skeleton.close(0);
        skeleton.hash();
        skeleton
    }

    /// Adds the calls of a thread that led to GPU activity; nothing without any.
    fn add_thread(
        &mut self,
        source: &Source,
        track: &TrackNodes,
        strays: &[NodeId],
        names: &mut Names,
    ) {
        let (profile, tree) = (source.profile, source.tree);
        let of_track = |node: &NodeId| {
            let event = tree.event(*node);
            event.is_some_and(|event| profile.trace.events.track(event) == track.track)
        };
        let nodes = track.nodes.clone().map(NodeId);
        let nodes = nodes.chain(strays.iter().copied().filter(of_track));
        let mut nodes = nodes.filter(|node| source.is_above_work(*node)).peekable();
        if nodes.peek().is_none() {
            return;
        }
        let thread = self.open(None, names.names.intern(THREAD), false);
        let outside = source.outside.iter();
        let outside = outside.filter(|(owner, _)| *owner == track.track);
        self.work.extend(outside.map(|(_, id)| *id));
        self.close_own(thread);
        // Open rows, each with the end of its subtree in the call tree.
        let mut open: Vec<(u32, u32)> = Vec::new();
        for node in nodes {
            while let Some((row, _)) = open.pop_if(|(_, end)| *end <= node.0) {
                self.close(row);
            }
            let Some(event) = tree.event(node).filter(|_| source.stays(node)) else {
                continue;
            };
            let is_op = tree.category(&profile.trace, node) == Category::CpuOp;
            let key = names.key(profile, profile.trace.events.name(event));
            let row = self.open(Some(node), key, is_op);
            self.work.extend(source.of(node));
            self.close_own(row);
            open.push((row, tree.subtree(node).end));
        }
        while let Some((row, _)) = open.pop() {
            self.close(row);
        }
        self.close(thread);
    }

    /// One row; the id has to come from this skeleton.
    pub(crate) fn row(&self, row: u32) -> &Row {
        &self.rows[row as usize]
    }

    pub(crate) fn children(&self, row: u32) -> impl Iterator<Item = u32> + '_ {
        let end = self.row(row).end;
        std::iter::successors((row + 1 < end).then_some(row + 1), move |&child| {
            Some(self.row(child).end).filter(|&next| next < end)
        })
    }

    pub(crate) fn own_work(&self, row: u32) -> &[GpuId] {
        let row = self.row(row);
        &self.work[row.first_work as usize..row.end_of_own as usize]
    }

    /// A call, the only call it made, and so on, while there is exactly one.
    pub(crate) fn chain(&self, row: u32) -> Vec<u32> {
        std::iter::successors(Some(row), |&row| self.only_child(row)).collect()
    }

    /// The last call of its [chain](Skeleton::chain).
    pub(crate) fn core(&self, row: u32) -> u32 {
        let chain = std::iter::successors(Some(row), |&row| self.only_child(row));
        chain.last().unwrap_or(row)
    }

    fn only_child(&self, row: u32) -> Option<u32> {
        let mut children = self.children(row);
        let only = children.next()?;
        (children.next().is_none() && self.own_work(row).is_empty()).then_some(only)
    }

    fn open(&mut self, node: Option<NodeId>, name: StringId, is_op: bool) -> u32 {
        let row = self.rows.len() as u32;
        let at = self.work.len() as u32;
        self.rows.push(Row {
            node,
            name,
            is_op,
            end: row + 1,
            first_work: at,
            end_of_own: at,
            deep: 0,
            shallow: 0,
        });
        row
    }

    fn close_own(&mut self, row: u32) {
        self.rows[row as usize].end_of_own = self.work.len() as u32;
    }

    fn close(&mut self, row: u32) {
        self.rows[row as usize].end = self.rows.len() as u32;
    }

    fn hash(&mut self) {
        for row in (0..self.rows.len() as u32).rev() {
            let name = self.row(row).name_key();
            let (mut deep, mut shallow) = (mixed(0, name), mixed(1, name));
            for child in self.children(row) {
                let child = self.row(child);
                deep = mixed(deep, child.deep);
                shallow = mixed(shallow, child.name_key());
            }
            let row = &mut self.rows[row as usize];
            (row.deep, row.shallow) = (deep, shallow);
        }
    }
}

/// Adds a value to a hash. Two subtrees whose hashes collide would be considered equal, but they are still compared
/// call by call.
fn mixed(hash: u64, value: u64) -> u64 {
    let mixed = (hash.rotate_left(23) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ (mixed >> 29)
}

/// The names of rows, each interned once.
struct Names<'a> {
    keys: Map<StringId, StringId>,
    names: &'a mut StringTable,
}

impl Names<'_> {
    /// The name of the row of a call.
    fn key(&mut self, profile: &Profile, name: StringId) -> StringId {
        let names = &mut *self.names;
        let key = self.keys.entry(name);
        *key.or_insert_with(|| match profile.trace.strings.get(name) {
            name if is_graph_launch(name) => names.intern(GRAPH),
            name => names.intern(&normal(name)),
        })
    }
}

/// A call tree, and the GPU activity of the nodes that are kept.
struct Source<'a> {
    profile: &'a Profile,
    tree: &'a CallTree,
    frames: Frames,
    /// For each node: whether it or a call below it launched anything.
    is_above_work: Vec<bool>,
    /// Sorted by node; within a node in time order.
    by_node: Vec<(NodeId, GpuId)>,
    /// Activity launched on a thread outside all kept calls, in the order of the launching calls.
    outside: Vec<(TrackId, GpuId)>,
    unlinked: Vec<GpuId>,
}

impl<'a> Source<'a> {
    fn new(profile: &'a Profile, tree: &'a CallTree, frames: Frames) -> Source<'a> {
        let mut source = Source {
            profile,
            tree,
            frames,
            is_above_work: vec![false; tree.len()],
            by_node: Vec::with_capacity(profile.gpu.len()),
            outside: Vec::new(),
            unlinked: Vec::new(),
        };
        let mut launches = Vec::with_capacity(profile.gpu.len());
        for (id, work) in profile.gpu.iter() {
            match work.launched_by.and_then(|call| tree.node_of(call)) {
                Some(node) => launches.push((node, work.span.start_ns, id)),
                None => source.unlinked.push(id),
            }
        }
        launches.arrange();
        source.by_node = launches.iter().map(|&(node, _, id)| (node, id)).collect();
        for &(node, ..) in &launches {
            for above in tree.with_ancestors(node) {
                let Some(is_above) = source.is_above_work.get_mut(above.index()) else {
                    break;
                };
                if std::mem::replace(is_above, true) {
                    break;
                }
            }
        }
        // From the launching calls up to the nodes that are kept.
        let owner = |node: NodeId| {
            let mut above = tree.with_ancestors(node);
            above.find(|node| source.stays(*node))
        };
        let owners: Vec<Option<NodeId>> = launches.iter().map(|&(node, ..)| owner(node)).collect();
        let mut by_node = Vec::with_capacity(launches.len());
        for (owner, (node, _, id)) in owners.into_iter().zip(launches) {
            match (owner, tree.event(node)) {
                (Some(owner), _) => by_node.push((owner, id)),
                (None, Some(call)) => {
                    let track = profile.trace.events.track(call);
                    source.outside.push((track, id));
                }
                (None, None) => source.unlinked.push(id),
            }
        }
        // Stable sort: in the order of the launching calls.
        by_node.arrange_by_key(|(owner, _)| *owner);
        source.by_node = by_node;
        source
    }

    fn is_above_work(&self, node: NodeId) -> bool {
        self.is_above_work.get(node.index()) == Some(&true)
    }

    fn of(&self, node: NodeId) -> impl Iterator<Item = GpuId> + '_ {
        let start = self.by_node.partition_point(|(owner, _)| *owner < node);
        let rest = self.by_node.get(start..).unwrap_or_default().iter();
        rest.take_while(move |(owner, _)| *owner == node)
            .map(|(_, id)| *id)
    }

    /// Whether a node of the call tree becomes a row: an operator, a frame, or a runtime call that launched several GPU
    /// activities. The activity of other nodes belongs to the enclosing call.
    fn stays(&self, node: NodeId) -> bool {
        match self.tree.category(&self.profile.trace, node) {
            Category::CpuOp => true,
            Category::PythonFunction => self.frames == Frames::With,
            Category::Runtime | Category::Driver => self.of(node).nth(1).is_some(),
            _ => false,
        }
    }
}
