//! Activation checkpointing: which calls run a second time, in the backward pass.
//!
//! `torch.utils.checkpoint` calls the forward function again from one of its own Python functions: everything below
//! that frame is recomputation. In the older variant, also used by training libraries, a backward function first
//! computes forward and then runs its own backward pass: everything below it is recomputation except what that backward
//! pass calls. The second variant does not need Python frames. Without frames, the first shows in sequence numbers:
//! autograd numbers the operators that it records, and a backward function records none but those that it computes
//! again. Where it computes a gradient of the gradient, it records its own operators too, and nothing is said.

use crate::base::map::{Map, Set};
use crate::profile::cpu::autograd::is_engine_call;
use crate::profile::cpu::tree::{CallTree, Frames, NodeId};
use crate::profile::launch::{GpuId, Launches};
use crate::trace::{ByName, Category, StringId, Trace};

/// What runs below a recomputing call.
#[derive(Debug, Default)]
pub struct Recompute {
    /// By node.
    nodes: Vec<bool>,
    /// By GPU activity.
    work: Vec<bool>,
}

/// True for a trace that contains the frame that recomputes.
pub fn is_recorded(trace: &Trace) -> bool {
    names(trace, is_frame).next().is_some()
}

impl Recompute {
    /// Finds the recomputing calls of a tree: backward functions and, if the tree has Python frames, frames.
    pub fn find(trace: &Trace, tree: &CallTree, launches: &Launches) -> Recompute {
        let frames: Vec<StringId> = match tree.frames() {
            Frames::With => names(trace, is_frame).collect(),
            Frames::Without => Vec::new(),
        };
        let functions: Vec<StringId> = names(trace, is_function).collect();
        let numbered = match frames.is_empty() {
            true => numbered_in_backward(trace, tree),
            false => Set::default(),
        };
        if frames.is_empty() && functions.is_empty() && numbered.is_empty() {
            return Recompute::default();
        }
        let mut found = Recompute {
            nodes: vec![false; tree.len()],
            work: vec![false; launches.work.len()],
        };
        // The enclosing calls, each with its end and whether it recomputes.
        let mut around: Vec<(u32, bool)> = Vec::new();
        for node in tree.ids() {
            while around.pop_if(|(end, _)| *end <= node.0).is_some() {}
            let is_outer = around.last().is_some_and(|(_, is_outer)| *is_outer);
            let name = tree.event(node).map(|event| trace.events.name(event));
            let is_named = |names: &[StringId]| name.is_some_and(|name| names.contains(&name));
            let is_engine = || name.is_some_and(|name| is_engine_call(trace.strings.get(name)));
            let is_recomputing = match tree.category(trace, node) {
                Category::PythonFunction if is_named(&frames) => true,
                Category::CpuOp if is_named(&functions) || numbered.contains(&node) => true,
                Category::CpuOp if is_outer && is_engine() => false,
                _ => is_outer,
            };
            if let Some(flag) = found.nodes.get_mut(node.index()) {
                *flag = is_recomputing;
            }
            if is_recomputing == is_outer {
                continue;
            }
            around.push((tree.subtree(node).end, is_recomputing));
            for work in tree.gpu_work(node) {
                if let Some(flag) = found.work.get_mut(work.index()) {
                    *flag = is_recomputing;
                }
            }
        }
        found
    }

    /// True if nothing is recomputed.
    pub fn is_empty(&self) -> bool {
        !self.nodes.contains(&true)
    }

    /// True for a recomputing call and for every call below it.
    pub(crate) fn has_node(&self, node: NodeId) -> bool {
        self.nodes.get(node.index()).copied().unwrap_or(false)
    }

    /// True for GPU activity that such a call launched.
    pub fn has_work(&self, work: GpuId) -> bool {
        self.work.get(work.index()).copied().unwrap_or(false)
    }
}

/// The calls inside backward functions with operators that have a sequence number, where the function launches kernels
/// in calls without such operators, too.
fn numbered_in_backward(trace: &Trace, tree: &CallTree) -> Set<NodeId> {
    let mut is_backward = ByName::new(is_backward_function);
    let mut is_function = |node: NodeId| {
        let event = tree.event(node);
        event.is_some_and(|event| is_backward.of(trace, event))
    };
    let mut of_functions: Map<NodeId, Set<NodeId>> = Map::default();
    for (event, _) in &trace.sequence_numbers {
        let node = tree.node_of(*event);
        let Some(mut node) = node.filter(|node| !is_function(*node)) else {
            continue;
        };
        while let Some(around) = tree.parent(node) {
            if is_function(around) {
                of_functions.entry(around).or_default().insert(node);
                break;
            }
            node = around;
        }
    }
    let computes_itself = |function: NodeId, again: &Set<NodeId>| {
        let mut own = tree.children(function).filter(|call| !again.contains(call));
        own.any(|call| !tree.gpu_work(call).is_empty())
    };
    let found = of_functions.into_iter();
    let found = found.filter(|(function, again)| computes_itself(*function, again));
    found.flat_map(|(_, again)| again).collect()
}

/// "AddmmBackward0".
fn is_backward_function(name: &str) -> bool {
    let name = name.trim_end_matches(|digit: char| digit.is_ascii_digit());
    name.ends_with("Backward") && !name.contains("::")
}

fn is_frame(name: &str) -> bool {
    name.contains("recompute_fn") && name.contains("torch/utils/checkpoint.py")
}

/// "CheckpointFunctionBackward".
fn is_function(name: &str) -> bool {
    name.ends_with("Backward") && name.contains("Checkpoint") && !name.contains("::")
}

fn names(trace: &Trace, is_it: fn(&str) -> bool) -> impl Iterator<Item = StringId> + '_ {
    let names = trace.strings.iter();
    names.filter(move |(_, name)| is_it(name)).map(|(id, _)| id)
}

#[cfg(test)]
mod tests {
    use crate::profile::Profile;
    use crate::testing::Timetable;

    /// For each kernel, whether it is recomputation.
    fn work(profile: &Profile) -> Vec<bool> {
        let work = profile.gpu.iter();
        work.map(|(_, work)| work.is_recompute).collect()
    }

    #[test]
    fn what_runs_below_a_recomputing_frame_is_recomputation() {
        let profile = Timetable::new()
            .work("aten::mm", "gemm", 50..60)
            .frame("torch/utils/checkpoint.py(400): recompute_fn", 10..30)
            .op("aten::mm", 12..20)
            .launched("gemm", 13..14, 60..70)
            .work("aten::add", "add", 70..71)
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
        assert_eq!(work(&profile), [false, true, false]);
        // The two kinds of `aten::mm` stay separate.
        assert_eq!(profile.ops.groups().len(), 3);
    }

    /// The function recomputes a block and then runs backward through it; in that backward pass a nested one does the
    /// same.
    #[test]
    fn a_checkpointing_function_recomputes_but_for_its_own_backward_pass() {
        let engine = "autograd::engine::evaluate_function: ";
        let profile = Timetable::new()
            .op(&format!("{engine}CheckpointFunctionBackward"), 0..100)
            .op("CheckpointFunctionBackward", 1..99)
            .op("aten::mm", 2..10)
            .launched("gemm", 3..4, 150..160)
            .op(&format!("{engine}MmBackward0"), 20..40)
            .op("aten::mm", 22..30)
            .launched("gemm", 23..24, 160..170)
            .op(&format!("{engine}CheckpointFunctionBackward"), 41..90)
            .op("CheckpointFunctionBackward", 42..89)
            .op("aten::mm", 43..50)
            .launched("gemm", 44..45, 170..180)
            .work("aten::mm", "gemm", 180..190)
            .profile();
        assert_eq!(work(&profile), [true, false, true, false]);
        let products: Vec<_> = profile
            .ops
            .iter()
            .filter(|(_, op)| profile.trace.strings.get(op.name) == "aten::mm")
            .map(|(_, op)| op.is_recompute)
            .collect();
        assert_eq!(products, [true, false, true, false]);
    }

    /// A backward function first needs an activation that is not kept: an operator that autograd records computes it
    /// again, before the gradient of an operator that autograd does not record.
    #[test]
    fn without_frames_what_autograd_records_in_a_backward_function_is_recomputation() {
        let backward = |gradient: &str| {
            Timetable::new()
                .op("autograd::engine::evaluate_function: MmBackward0", 0..100)
                .op("MmBackward0", 1..99)
                .args(r#""Sequence number": 5"#)
                .op("aten::mm", 2..10)
                .args(r#""Sequence number": 9"#)
                .launched("gemm", 3..4, 150..160)
                .op("aten::mm", 20..30)
                .args(gradient)
                .launched("gemm", 23..24, 160..170)
                .profile()
        };
        assert_eq!(work(&backward("")), [true, false]);
        // The gradient of a gradient: autograd records all of it.
        let both = backward(r#""Sequence number": 10"#);
        assert_eq!(work(&both), [false, false]);
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
