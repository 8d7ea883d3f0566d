//! Operators that launch GPU activity themselves.
//!
//! A kernel belongs to the innermost operator around its launch: `aten::linear` calls `aten::mm`,
//! which launches, so the kernel is `aten::mm`'s. A launch outside any operator stands for itself,
//! as `cudaMemcpyAsync` or `hipGraphLaunch` do. Collectives belong to none.

#[cfg(test)]
mod tests;

use std::ops::Range;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::base::interval::sum;
use crate::base::sort::Arrange;
use crate::names::op_category;
use crate::profile::kernels::GpuTable;
use crate::profile::launch::GpuId;
use crate::profile::recompute::Recompute;
use crate::profile::tree::{CallTree, NodeId};
use crate::trace::{Category, EventId, StringId, Trace};

/// A row of the [`OpTable`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OpId(pub u32);

impl OpId {
    /// The row as an index.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// One call of an operator that launched GPU activity itself.
#[derive(Debug, Clone)]
pub struct Op {
    /// The call; a runtime call, where no operator is around the launch.
    pub event: EventId,
    /// Its place in the call tree.
    pub node: NodeId,
    /// Its name.
    pub name: StringId,
    /// The reference's label.
    pub category: &'static str,
    /// Its own kernels, as a range of [`OpTable::kernels`].
    kernels: Range<u32>,
    /// Time during which one of its own kernels runs.
    pub direct_ns: i64,
    /// The same with all that was launched below it, collectives included.
    pub subtree_ns: i64,
    /// Runs while activations are computed again.
    pub is_recompute: bool,
}

/// All calls of one operator.
#[derive(Debug, Clone)]
pub struct OpGroup {
    /// The operator.
    pub name: StringId,
    /// Runs while activations are computed again.
    pub is_recompute: bool,
    /// Its calls, as a range of [`OpTable::calls`].
    calls: Range<u32>,
    /// The labels its calls have, sorted.
    pub categories: Vec<&'static str>,
    /// Sum over the calls.
    pub direct_ns: i64,
    /// Sum over the calls.
    pub subtree_ns: i64,
}

/// Operators with their kernels, in order of time.
#[derive(Debug, Default)]
pub struct OpTable {
    ops: Vec<Op>,
    /// Kernels of all ops, op after op; those of one op in order of time.
    kernels: Vec<GpuId>,
    op_of: Vec<Option<OpId>>,
    groups: Vec<OpGroup>,
    /// Calls of all groups, group after group; those of one group in order of time.
    by_name: Vec<OpId>,
}

impl OpTable {
    /// Finds the operator of every kernel.
    pub fn new(
        trace: &Trace,
        tree: &CallTree,
        gpu: &GpuTable,
        recompute: Option<&Recompute>,
    ) -> OpTable {
        let mut owned = Owned::collect(trace, tree, gpu);
        owned.sort_by_time(trace, tree, gpu);
        let mut table = OpTable {
            ops: Vec::with_capacity(owned.owners.len()),
            kernels: owned.work.iter().map(|&(_, work)| work).collect(),
            op_of: vec![None; gpu.len()],
            ..OpTable::default()
        };
        let mut labels: HashMap<_, &'static str, FxBuildHasher> = HashMap::default();
        let mut start = 0;
        for (op, &node) in owned.owners.iter().enumerate() {
            let id = OpId(op as u32);
            let n_kernels = owned
                .work
                .get(start..)
                .unwrap_or_default()
                .partition_point(|&(owner, _)| owner == id.0);
            let range = start..start + n_kernels;
            start = range.end;
            let kernels = table.kernels.get(range.clone()).unwrap_or_default();
            for kernel in kernels {
                if let Some(slot) = table.op_of.get_mut(kernel.index()) {
                    *slot = Some(id);
                }
            }
            let Some(event) = tree.event(node) else {
                continue;
            };
            let name = trace.events.name(event);
            let first_kernel = kernels.first().and_then(|kernel| gpu.get(*kernel));
            let first_kernel = first_kernel.map(|kernel| kernel.name);
            table.ops.push(Op {
                event,
                node,
                name,
                category: labels.entry((name, first_kernel)).or_insert_with(|| {
                    op_category(
                        trace.strings.get(name),
                        first_kernel.map(|kernel| trace.strings.get(kernel)),
                    )
                }),
                direct_ns: gpu.busy_ns(kernels),
                kernels: range.start as u32..range.end as u32,
                subtree_ns: gpu.busy_ns(tree.gpu_work(node)),
                is_recompute: recompute.is_some_and(|recompute| recompute.has_node(node)),
            });
        }
        table.group_by_name();
        table
    }

    /// Number of calls.
    pub fn len(&self) -> usize {
        self.ops.len()
    }

    /// True when no launch was found.
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// One call; `None` for an id of another table.
    #[inline]
    pub fn get(&self, id: OpId) -> Option<&Op> {
        self.ops.get(id.index())
    }

    /// All calls, in order of time.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (OpId, &Op)> {
        self.ops
            .iter()
            .enumerate()
            .map(|(row, op)| (OpId(row as u32), op))
    }

    /// The kernels, copies and fills that a call launched itself, in order of time.
    pub fn kernels(&self, op: &Op) -> &[GpuId] {
        self.kernels
            .get(op.kernels.start as usize..op.kernels.end as usize)
            .unwrap_or_default()
    }

    /// The call that owns a piece of GPU activity.
    pub fn op_of(&self, work: GpuId) -> Option<OpId> {
        self.op_of.get(work.index()).copied().flatten()
    }

    /// Calls by name, the longest-running first.
    pub fn groups(&self) -> &[OpGroup] {
        &self.groups
    }

    /// The calls of a group, in order of time.
    pub fn calls(&self, group: &OpGroup) -> &[OpId] {
        self.by_name
            .get(group.calls.start as usize..group.calls.end as usize)
            .unwrap_or_default()
    }

    /// GPU time of all calls, each by itself.
    pub fn direct_ns(&self) -> i64 {
        sum(self.groups.iter().map(|group| group.direct_ns))
    }

    fn group_by_name(&mut self) {
        let mut index: HashMap<(StringId, bool), usize, FxBuildHasher> = HashMap::default();
        let mut groups: Vec<(OpGroup, Vec<OpId>)> = Vec::new();
        for (id, op) in self.iter() {
            let row = *index
                .entry((op.name, op.is_recompute))
                .or_insert(groups.len());
            if row == groups.len() {
                let group = OpGroup {
                    name: op.name,
                    is_recompute: op.is_recompute,
                    calls: 0..0,
                    categories: Vec::new(),
                    direct_ns: 0,
                    subtree_ns: 0,
                };
                groups.push((group, Vec::new()));
            }
            let (group, calls) = &mut groups[row];
            calls.push(id);
            group.direct_ns = group.direct_ns.saturating_add(op.direct_ns);
            group.subtree_ns = group.subtree_ns.saturating_add(op.subtree_ns);
            if !group.categories.contains(&op.category) {
                group.categories.push(op.category);
            }
        }
        groups.arrange_by_key(|(group, _)| std::cmp::Reverse(group.direct_ns));
        for (mut group, calls) in groups {
            let start = self.by_name.len() as u32;
            self.by_name.extend(calls);
            group.calls = start..self.by_name.len() as u32;
            group.categories.arrange();
            self.groups.push(group);
        }
    }
}

impl OpGroup {
    /// Number of calls.
    pub fn n_calls(&self) -> usize {
        self.calls.len()
    }
}

/// Owners of GPU activity, and (owner, work) pairs.
struct Owned {
    owners: Vec<NodeId>,
    work: Vec<(u32, GpuId)>,
}

impl Owned {
    fn collect(trace: &Trace, tree: &CallTree, gpu: &GpuTable) -> Owned {
        const NO_OWNER: u32 = u32::MAX;
        let skipped = trace.strings.find("execute");
        let mut owned = Owned {
            owners: Vec::new(),
            work: Vec::with_capacity(gpu.len()),
        };
        let mut owner_of_node = vec![NO_OWNER; tree.len()];
        for (id, work) in gpu.iter() {
            if work.is_collective {
                continue;
            }
            let Some(call) = work.launched_by.and_then(|call| tree.node_of(call)) else {
                continue;
            };
            let node = owner(trace, tree, call, skipped);
            let Some(slot) = owner_of_node.get_mut(node.index()) else {
                continue;
            };
            if *slot == NO_OWNER {
                *slot = owned.owners.len() as u32;
                owned.owners.push(node);
            }
            owned.work.push((*slot, id));
        }
        owned
    }

    /// Orders owners by start, and work by owner and start; ties as they were found.
    fn sort_by_time(&mut self, trace: &Trace, tree: &CallTree, gpu: &GpuTable) {
        let start_ns = |node: NodeId| tree.event(node).map(|event| trace.events.ts_ns(event));
        let mut order: Vec<(Option<i64>, u32)> = self
            .owners
            .iter()
            .enumerate()
            .map(|(row, node)| (start_ns(*node), row as u32))
            .collect();
        order.arrange();
        let mut new_row = vec![0; order.len()];
        for (row, &(_, old)) in order.iter().enumerate() {
            new_row[old as usize] = row as u32;
        }
        self.owners = order
            .iter()
            .map(|&(_, old)| self.owners[old as usize])
            .collect();
        for (owner, _) in &mut self.work {
            *owner = new_row[*owner as usize];
        }
        self.work.arrange_by_cached_key(|&(owner, work)| {
            (owner, gpu.get(work).map(|work| work.span.start_ns), work)
        });
    }
}

/// The operator whose work a call launches, or the call itself.
///
/// `execute` is the shell that graph runtimes put around their operators; it is looked through,
/// and so are Python frames. A runtime call around the call ends the search.
fn owner(trace: &Trace, tree: &CallTree, call: NodeId, skipped: Option<StringId>) -> NodeId {
    for node in tree.ancestors(call) {
        match tree.category(trace, node) {
            Category::PythonFunction => {}
            Category::CpuOp => {
                let name = tree.event(node).map(|event| trace.events.name(event));
                if name != skipped {
                    return node;
                }
            }
            _ => return call,
        }
    }
    call
}
