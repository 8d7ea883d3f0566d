//! Operators that launch GPU activity themselves.
//!
//! A kernel belongs to the innermost operator around its launch: `aten::linear` calls `aten::mm`, which launches the
//! kernel, so it belongs to `aten::mm`. A launch outside of any operator, such as `cudaMemcpyAsync` or
//! `hipGraphLaunch`, counts as an operator. Collectives belong to none.

#[cfg(test)]
mod tests;

use std::ops::Range;

use crate::base::group::grouped;
use crate::base::interval::sum;
use crate::base::map::Map;
use crate::base::row_id::row_id;
use crate::base::sort::{Arrange, Arranged};
use crate::names::op_category;
use crate::profile::cpu::recompute::Recompute;
use crate::profile::cpu::tree::{CallTree, NodeId};
use crate::profile::gpu::kernels::GpuTable;
use crate::profile::launch::GpuId;
use crate::trace::{Category, EventId, StringId, Trace};

row_id! {
    /// A row of the [`OpTable`].
    OpId
}

/// One call of an operator that launched GPU activity itself.
#[derive(Debug, Clone)]
pub struct Op {
    /// The call; the runtime call if the launch is outside of operators.
    pub event: EventId,
    /// Its node in the call tree.
    pub node: NodeId,
    /// Its name.
    pub name: StringId,
    /// The reference's label.
    pub category: &'static str,
    /// Its own kernels, as a range of [`OpTable::kernels`].
    kernels: Range<u32>,
    /// Time during which one of its own kernels runs.
    pub direct_ns: i64,
    /// The same including everything launched below it, collectives too.
    pub subtree_ns: i64,
    /// Runs during activation recomputation.
    pub is_recompute: bool,
}

/// All calls of one operator.
#[derive(Debug, Clone)]
pub struct OpGroup {
    /// The operator.
    pub name: StringId,
    /// Runs during activation recomputation.
    pub is_recompute: bool,
    /// Its calls, as a range of [`OpTable::calls`].
    calls: Range<u32>,
    /// The labels of its calls, sorted.
    pub categories: Vec<&'static str>,
    /// Sum over the calls.
    pub direct_ns: i64,
    /// Sum over the calls.
    pub subtree_ns: i64,
}

/// Operators with their kernels, in time order.
#[derive(Debug, Default)]
pub struct OpTable {
    ops: Vec<Op>,
    /// Kernels of all ops, op by op; those of one op in time order.
    kernels: Vec<GpuId>,
    op_of: Vec<Option<OpId>>,
    groups: Vec<OpGroup>,
    /// Calls of all groups, group by group; those of one group in time order.
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
        let pieces = pieces(trace, tree, gpu);
        let n_ops = pieces.chunk_by(|one, next| one.found == next.found).count();
        let mut table = OpTable {
            ops: Vec::with_capacity(n_ops),
            kernels: pieces.iter().map(|piece| piece.work).collect(),
            op_of: vec![None; gpu.len()],
            ..OpTable::default()
        };
        let mut labels: Map<_, &'static str> = Map::default();
        let mut start = 0;
        for of_op in pieces.chunk_by(|one, next| one.found == next.found) {
            let (id, range) = (OpId(table.ops.len() as u32), start..start + of_op.len());
            start = range.end;
            let kernels = table.kernels.get(range.clone()).unwrap_or_default();
            for kernel in kernels {
                if let Some(slot) = table.op_of.get_mut(kernel.index()) {
                    *slot = Some(id);
                }
            }
            let Some(node) = of_op.first().map(|piece| piece.owner) else {
                continue;
            };
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

    /// True if no launch was found.
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// One call; `None` for an id of another table.
    #[inline]
    pub fn get(&self, id: OpId) -> Option<&Op> {
        self.ops.get(id.index())
    }

    /// All calls, in time order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (OpId, &Op)> {
        self.ops
            .iter()
            .enumerate()
            .map(|(row, op)| (OpId(row as u32), op))
    }

    /// The kernels, copies and fills that a call launched itself, in time order.
    pub fn kernels(&self, op: &Op) -> &[GpuId] {
        self.kernels
            .get(op.kernels.start as usize..op.kernels.end as usize)
            .unwrap_or_default()
    }

    /// The call that owns a piece of GPU activity.
    pub(crate) fn op_of(&self, work: GpuId) -> Option<OpId> {
        self.op_of.get(work.index()).copied().flatten()
    }

    /// Calls by name, longest-running first.
    pub fn groups(&self) -> &[OpGroup] {
        &self.groups
    }

    /// The calls of a group, in time order.
    pub fn calls(&self, group: &OpGroup) -> &[OpId] {
        self.by_name
            .get(group.calls.start as usize..group.calls.end as usize)
            .unwrap_or_default()
    }

    /// Sum of the GPU times of all calls, overlapping or not.
    pub fn direct_ns(&self) -> i64 {
        sum(self.groups.iter().map(|group| group.direct_ns))
    }

    fn group_by_name(&mut self) {
        let calls = self.iter();
        let calls = calls.map(|(id, op)| ((op.name, op.is_recompute), (id, op)));
        let mut groups = grouped(calls, Vec::push);
        let direct_ns = |calls: &[(OpId, &Op)]| sum(calls.iter().map(|(_, op)| op.direct_ns));
        groups.arrange_by_cached_key(|(_, calls)| std::cmp::Reverse(direct_ns(calls)));
        let (mut by_name, mut table) = (Vec::with_capacity(self.ops.len()), Vec::new());
        for ((name, is_recompute), calls) in groups {
            let start = by_name.len() as u32;
            by_name.extend(calls.iter().map(|(id, _)| *id));
            let categories = calls.iter().map(|(_, op)| op.category).distinct();
            table.push(OpGroup {
                name,
                is_recompute,
                calls: start..by_name.len() as u32,
                categories,
                direct_ns: direct_ns(&calls),
                subtree_ns: sum(calls.iter().map(|(_, op)| op.subtree_ns)),
            });
        }
        (self.by_name, self.groups) = (by_name, table);
    }
}

impl OpGroup {
    /// Number of calls.
    pub fn n_calls(&self) -> usize {
        self.calls.len()
    }
}

/// A piece of GPU activity and the call that owns it, in table order: calls by start, the work of each by start; ties
/// in order of discovery.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Piece {
    call_ns: Option<i64>,
    /// Number of calls found before this one.
    found: u32,
    work_ns: i64,
    work: GpuId,
    owner: NodeId,
}

fn pieces(trace: &Trace, tree: &CallTree, gpu: &GpuTable) -> Vec<Piece> {
    const NOT_FOUND: u32 = u32::MAX;
    let skipped = trace.strings.find("execute");
    let mut n_found = 0;
    let mut found = vec![NOT_FOUND; tree.len()];
    let mut pieces = Vec::with_capacity(gpu.len());
    for (id, work) in gpu.iter().filter(|(_, work)| !work.is_collective) {
        let Some(call) = work.launched_by.and_then(|call| tree.node_of(call)) else {
            continue;
        };
        let owner = owner(trace, tree, call, skipped);
        let Some(found) = found.get_mut(owner.index()) else {
            continue;
        };
        if *found == NOT_FOUND {
            *found = n_found;
            n_found += 1;
        }
        pieces.push(Piece {
            call_ns: tree.event(owner).map(|event| trace.events.ts_ns(event)),
            found: *found,
            work_ns: work.span.start_ns,
            work: id,
            owner,
        });
    }
    pieces.arrange();
    pieces
}

/// The operator that owns the work launched by a call, or the call itself.
///
/// `execute` is a wrapper that graph runtimes put around their operators; it is skipped, and so are Python frames. The
/// search stops at a runtime call around the call.
fn owner(trace: &Trace, tree: &CallTree, call: NodeId, skipped: Option<StringId>) -> NodeId {
    for node in tree.ancestors(call) {
        match tree.category(trace, node) {
            Category::PythonFunction => {}
            Category::CpuOp => {
                let event = tree.event(node);
                let name = event.map(|event| trace.events.name(event));
                let is_part = event.is_some_and(|event| trace.captured.is_part(event));
                if name != skipped && !is_part {
                    return node;
                }
            }
            _ => return call,
        }
    }
    call
}
