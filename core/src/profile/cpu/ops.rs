//! Operators by CPU time.

use crate::base::interval::Interval;
use crate::base::map::Map;
use crate::base::sort::Arrange;
use crate::profile::cpu::tree::{CallTree, NodeId};
use crate::trace::{Category, StringId, Trace};

/// All calls of one operator on the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuOp {
    /// The operator.
    pub name: StringId,
    /// Number of calls.
    pub n_calls: u64,
    /// Time inside its calls; recursive calls count once.
    pub total_ns: i64,
    /// Time inside its calls, excluding operators called from there.
    pub self_ns: i64,
}

/// Sums CPU time by operator, longest self time first, over the calls that start in a span or over all. The time of a
/// called operator is subtracted from its caller's self time, wherever it starts.
pub fn cpu_ops(trace: &Trace, tree: &CallTree, span: Option<Interval>) -> Vec<CpuOp> {
    let is_counted = |call: Interval| span.is_none_or(|span| span.contains(call.start_ns));
    let mut index: Map<StringId, usize> = Map::default();
    let mut ops: Vec<CpuOp> = Vec::new();
    // By op: the end of the outermost open call.
    let mut open_until: Vec<u32> = Vec::new();
    // The operators around the current node, innermost last: end of subtree, row, time.
    let mut around: Vec<(u32, usize, Interval)> = Vec::new();
    for node in tree.ids() {
        while around.last().is_some_and(|&(end, ..)| end <= node.0) {
            around.pop();
        }
        let Some((name, span)) = op(trace, tree, node) else {
            continue;
        };
        let row = *index.entry(name).or_insert(ops.len());
        if row == ops.len() {
            open_until.push(0);
            ops.push(CpuOp {
                name,
                n_calls: 0,
                total_ns: 0,
                self_ns: 0,
            });
        }
        let end = tree.subtree(node).end;
        let is_outermost = node.0 >= open_until[row];
        if is_outermost {
            open_until[row] = end;
        }
        if is_counted(span) {
            ops[row].n_calls += 1;
            ops[row].self_ns = ops[row].self_ns.saturating_add(span.length());
            if is_outermost {
                ops[row].total_ns = ops[row].total_ns.saturating_add(span.length());
            }
        }
        if let Some(&(_, caller, outer)) = around.last()
            && is_counted(outer)
        {
            // A call may outlast its caller by a rounding error.
            let inside = Interval::new(span.start_ns, span.end_ns.min(outer.end_ns));
            ops[caller].self_ns = ops[caller].self_ns.saturating_sub(inside.length());
        }
        around.push((end, row, span));
    }
    ops.retain(|op| op.n_calls > 0);
    ops.arrange_by_largest(|op| op.self_ns);
    ops
}

fn op(trace: &Trace, tree: &CallTree, node: NodeId) -> Option<(StringId, Interval)> {
    let event = tree.event(node)?;
    let events = &trace.events;
    let span = || events.span(event);
    // Calls recorded during graph capture have no time of their own.
    let is_op = events.category(event) == Category::CpuOp && !trace.captured.has(event);
    is_op.then(|| (events.name(event), span()))
}

#[cfg(test)]
mod tests {
    use crate::testing::Timetable;

    #[test]
    fn self_time_is_what_no_inner_operator_took() {
        let profile = Timetable::new()
            .op("aten::linear", 0..100)
            .op("aten::mm", 10..70)
            .runtime("cudaLaunchKernel", 1, 20..30)
            .op("aten::mm", 200..210)
            // Calls itself: its time counts once.
            .op("record", 300..400)
            .op("record", 310..390)
            .profile();
        let ops: Vec<_> = profile
            .cpu_ops
            .iter()
            .map(|op| {
                let name = profile.trace.strings.get(op.name);
                (name, op.n_calls, op.total_ns / 1000, op.self_ns / 1000)
            })
            .collect();
        assert_eq!(
            ops,
            [
                ("record", 2, 100, 100),
                ("aten::mm", 2, 70, 70),
                ("aten::linear", 1, 100, 40),
            ]
        );
    }
}
