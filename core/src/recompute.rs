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
