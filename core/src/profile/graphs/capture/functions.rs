//! Adds operators for AITER functions that are called only from Python: an MoE stage, or latent attention with its
//! reduction. They are identified by their frames, or by the operators that SGLang's profiler of kernel shapes puts
//! around them.

use super::names::SHAPE_PROFILER;
use super::parts::put_around;
use crate::profile::cpu::tree::{CallTree, Frames, NodeId};
use crate::profile::launch::Launches;
use crate::trace::{Category, EventId, Trace};

/// A function that gets an operator around it.
struct Function {
    /// Its name in Python.
    name: &'static str,
    /// The file that it has to be in; empty for any.
    file: &'static str,
    operator: &'static str,
    /// Where the operator takes its arguments from.
    arguments_from: ArgumentsFrom,
}

#[derive(Clone, Copy)]
enum ArgumentsFrom {
    /// The nearest enclosing operator with this name.
    Above(&'static str),
    /// The first operator inside with this name.
    Below(&'static str),
}

#[rustfmt::skip]
const FUNCTIONS: &[Function] = &[
    Function { name: "flydsl_moe_stage1", file: "", operator: "pseudo_op::moe_flydsl_stage1", arguments_from: ArgumentsFrom::Above("aiter::fused_moe_") },
    Function { name: "flydsl_moe_stage2", file: "", operator: "pseudo_op::moe_flydsl_stage2", arguments_from: ArgumentsFrom::Above("aiter::fused_moe_") },
    Function { name: "mla_decode_fwd", file: "aiter/mla.py(", operator: "pseudo_mla_decode_fwd", arguments_from: ArgumentsFrom::Below("aiter::mla_decode_stage1_asm_fwd") },
    Function { name: "mla_fp8_prefill_attn", file: "", operator: "pseudo_mla_prefill_fwd", arguments_from: ArgumentsFrom::Below("aiter::mla_prefill_ps_asm_fwd") },
];

impl Function {
    /// Whether a frame is a call of this function: `aiter/mla.py(12): mla_decode_fwd`.
    fn is_frame(&self, frame: &str) -> bool {
        let (place, function) = frame.rsplit_once(": ").unwrap_or_default();
        function == self.name && place.contains(self.file)
    }

    /// Whether an operator of SGLang's profiler represents this function.
    fn is_profiled(&self, op: &str) -> bool {
        op.starts_with(SHAPE_PROFILER) && op.ends_with(self.name)
    }

    /// The calls of this function: operators of the profiler, otherwise frames. Frames of eager calls do not count: the
    /// operator tree does not contain them.
    fn calls(&self, trace: &Trace, tree: &CallTree) -> Vec<NodeId> {
        let of = |is_it: &dyn Fn(EventId) -> bool| -> Vec<NodeId> {
            tree.ids()
                .filter(|node| tree.event(*node).is_some_and(is_it))
                .collect()
        };
        let category = |event| trace.events.category(event);
        let profiled =
            of(&|event| category(event) == Category::CpuOp && self.is_profiled(trace.name(event)));
        if !profiled.is_empty() {
            return profiled;
        }
        of(&|event| {
            category(event) == Category::PythonFunction
                && trace.captured.has(event)
                && self.is_frame(trace.name(event))
        })
    }

    fn arguments_from(&self, trace: &Trace, tree: &CallTree, call: NodeId) -> Option<EventId> {
        let is_it = |event: &EventId, name: &str| {
            trace.events.category(*event) == Category::CpuOp && trace.name(*event) == name
        };
        match self.arguments_from {
            ArgumentsFrom::Above(name) => {
                let mut above = tree.ancestors(call).filter_map(|node| tree.event(node));
                above.find(|event| is_it(event, name))
            }
            ArgumentsFrom::Below(name) => {
                let below = tree.subtree(call).map(NodeId);
                let mut below = below.filter_map(|node| tree.event(node));
                below.find(|event| is_it(event, name))
            }
        }
    }
}

/// Puts operators around such functions in the whole trace.
pub(super) fn add(trace: &mut Trace, launches: &Launches) {
    let has_donor = |function: &&Function| {
        let (ArgumentsFrom::Above(name) | ArgumentsFrom::Below(name)) = function.arguments_from;
        trace.strings.find(name).is_some()
    };
    let functions: Vec<&Function> = FUNCTIONS.iter().filter(has_donor).collect();
    if functions.is_empty() {
        return;
    }
    let tree = CallTree::new(trace, Frames::With, launches);
    for function in functions {
        for call in function.calls(trace, &tree) {
            let arguments_from = function.arguments_from(trace, &tree, call);
            let (Some(arguments_from), Some(event)) = (arguments_from, tree.event(call)) else {
                continue;
            };
            if !tree.gpu_work(call).is_empty() && trace.captured.around(event).is_none() {
                put_around(trace, event, function.operator, arguments_from, None);
            }
        }
    }
}
