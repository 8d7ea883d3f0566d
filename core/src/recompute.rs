//! Activation checkpointing: which calls run a second time, in the backward pass.
//!
//! `torch.utils.checkpoint` calls the forward function again from a Python function of its own.
//! Everything below such a frame is recomputation. Only traces with Python frames can tell.

use std::ops::Range;

use crate::launch::{GpuId, Launches};
use crate::trace::{Category, StringId, Trace};
use crate::tree::{CallTree, NodeId};

/// What runs below a recomputing frame.
#[derive(Debug, Default)]
pub struct Recompute {
    /// Outermost subtrees of recomputing frames, ascending.
    subtrees: Vec<Range<u32>>,
    /// By GPU work.
    work: Vec<bool>,
}

/// True for a trace that names the frame which recomputes.
pub fn is_recorded(trace: &Trace) -> bool {
    frame_names(trace).next().is_some()
}

impl Recompute {
    /// Finds the recomputing frames of a tree that was built with Python frames.
    pub fn find(trace: &Trace, tree: &CallTree, launches: &Launches) -> Recompute {
        let names: Vec<StringId> = frame_names(trace).collect();
        let mut found = Recompute {
            subtrees: Vec::new(),
            work: vec![false; launches.work.len()],
        };
        let mut outer_end = 0;
        for node in tree.ids() {
            if node.0 < outer_end || tree.category(trace, node) != Category::PythonFunction {
                continue;
            }
            let is_recomputing = tree
                .event(node)
                .is_some_and(|event| names.contains(&trace.events.name(event)));
            if !is_recomputing {
                continue;
            }
            let subtree = tree.subtree(node);
            outer_end = subtree.end;
            found.subtrees.push(subtree);
            for work in tree.gpu_work(node) {
                if let Some(flag) = found.work.get_mut(work.index()) {
                    *flag = true;
                }
            }
        }
        found
    }

    /// True when no frame recomputes after all.
    pub fn is_empty(&self) -> bool {
        self.subtrees.is_empty()
    }

    /// True for a call below a recomputing frame, and for the frame itself.
    pub fn has_node(&self, node: NodeId) -> bool {
        let after = self
            .subtrees
            .partition_point(|subtree| subtree.end <= node.0);
        self.subtrees
            .get(after)
            .is_some_and(|subtree| subtree.contains(&node.0))
    }

    /// True for GPU work that such a call launched.
    pub fn has_work(&self, work: GpuId) -> bool {
        self.work.get(work.index()).copied().unwrap_or(false)
    }
}

fn frame_names(trace: &Trace) -> impl Iterator<Item = StringId> + '_ {
    trace
        .strings
        .iter()
        .filter(|(_, name)| {
            name.contains("recompute_fn") && name.contains("torch/utils/checkpoint.py")
        })
        .map(|(id, _)| id)
}

#[cfg(test)]
mod tests {
    use crate::testing::Timetable;

    #[test]
    fn what_runs_below_a_recomputing_frame_is_recomputation() {
        let profile = Timetable::new()
            .op("aten::mm", 0..10)
            .launch(1, 1..2)
            .kernel(1, "gemm", 50..60)
            .frame("torch/utils/checkpoint.py(400): recompute_fn", 10..30)
            .op("aten::mm", 12..20)
            .launch(2, 13..14)
            .kernel(2, "gemm", 60..70)
            .op("aten::add", 30..40)
            .launch(3, 31..32)
            .kernel(3, "add", 70..71)
            .profile();
        let ops: Vec<_> = profile
            .ops
            .iter()
            .map(|(_, op)| (profile.trace.strings.get(op.name), op.is_recompute))
            .collect();
        assert_eq!(
            ops,
            [
                ("aten::mm", false),
                ("aten::mm", true),
                ("aten::add", false)
            ]
        );
        let work: Vec<_> = profile
            .gpu
            .iter()
            .map(|(_, work)| work.is_recompute)
            .collect();
        assert_eq!(work, [false, true, false]);
        // The two kinds of `aten::mm` stay apart.
        assert_eq!(profile.ops.groups().len(), 3);
    }

    #[test]
    fn other_traces_have_no_such_column() {
        let profile = Timetable::new()
            .frame("torch/utils/checkpoint.py(400): checkpoint", 0..30)
            .op("aten::mm", 12..20)
            .profile();
        assert!(profile.recompute.is_none());
    }
}
