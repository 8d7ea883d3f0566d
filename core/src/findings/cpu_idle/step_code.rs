//! Code that launches kernels itself: it is the step, so its work cannot be moved out of the loop.

use crate::assess::idle::code::Place;
use crate::assess::idle::code::rows::CodeRow;
use crate::base::group::grouped;
use crate::base::interval::sum;
use crate::base::sort::Arrange;
use crate::names::frames::Frame;
use crate::names::optimizer::{OPTIMIZER_RANGE, is_zero_grad, optimizer_of_step};
use crate::profile::Profile;
use crate::profile::cpu::tree::NodeId;
use crate::trace::{Category, EventId, StringId};

/// The part of the step that a piece of code is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StepCode {
    /// An optimizer step, or a part of one.
    Optimizer {
        is_fused: bool,
        sets_to_zero: bool,
    },
    /// The step of an optimizer that launches no kernels, because its states are on the CPU.
    CpuOptimizer,
    /// A function that launches no kernels, and whose operators compute on the CPU.
    CpuOperators,
    Operator,
    /// A Python function, a module, a user-defined range.
    Function,
}

impl StepCode {
    /// `None` for code that launches no kernels, unless it is an optimizer or its operators compute on the CPU, or whose
    /// activity is known from its name.
    pub(super) fn of(profile: &Profile, row: &CodeRow) -> Option<StepCode> {
        if row.activity.is_some() {
            return None;
        }
        let (trace, tree) = (&profile.trace, profile.full_tree());
        let node = tree.node_of(Place::function_of(profile, row.event))?;
        let has_kernels = |node: NodeId| {
            let mut launched = tree.gpu_work(node).iter();
            launched.any(|id| {
                let work = profile.gpu.get(*id);
                work.is_some_and(|work| work.category == Category::Kernel)
            })
        };
        let name = |node: NodeId| tree.event(node).map_or("", |event| trace.name(event));
        let nodes = || tree.with_ancestors(node);
        let around = || nodes().map(name);
        if !has_kernels(node) {
            let step = nodes().filter(|node| is_optimizer_step(name(*node)));
            return match step.last() {
                Some(step) => (!has_kernels(step)).then_some(StepCode::CpuOptimizer),
                None => computes_on_cpu(profile, node).then_some(StepCode::CpuOperators),
            };
        }
        if around().any(is_of_optimizer) {
            let mut inside = tree.subtree(node).map(|at| name(NodeId(at)));
            return Some(StepCode::Optimizer {
                is_fused: inside.any(|name| name.starts_with("aten::_fused_")),
                sets_to_zero: around().any(is_zero_grad),
            });
        }
        Some(match tree.category(trace, node) {
            Category::CpuOp => StepCode::Operator,
            _ => StepCode::Function,
        })
    }
}

/// Operators of a call that compute on the CPU, by name, longest first: outermost operators that call nothing of the GPU
/// runtime.
pub(super) fn cpu_operators(profile: &Profile, event: EventId) -> Vec<(StringId, i64)> {
    let (trace, tree) = (&profile.trace, profile.full_tree());
    let Some(node) = tree.node_of(Place::function_of(profile, event)) else {
        return Vec::new();
    };
    let is_runtime = |node: u32| tree.category(trace, NodeId(node)).is_runtime();
    let mut operators = Vec::new();
    let all = tree.subtree(node);
    let mut at = all.start;
    while at < all.end {
        let inside = tree.subtree(NodeId(at));
        let operator = tree.event(NodeId(at));
        let is_operator = tree.category(trace, NodeId(at)) == Category::CpuOp;
        match operator.filter(|_| is_operator && !inside.clone().any(is_runtime)) {
            Some(operator) => {
                let ns = trace.events.span(operator).length();
                operators.push((trace.events.name(operator), ns));
                at = inside.end.max(at + 1);
            }
            None => at += 1,
        }
    }
    let mut by_name = grouped(operators, |all: &mut i64, ns| *all = all.saturating_add(ns));
    by_name.arrange_by_largest(|(_, ns)| *ns);
    by_name
}

/// Whether a function spends most of its time in operators that compute on the CPU.
fn computes_on_cpu(profile: &Profile, node: NodeId) -> bool {
    let (trace, tree) = (&profile.trace, profile.full_tree());
    let function = tree.event(node);
    let function = function.filter(|_| tree.category(trace, node) != Category::CpuOp);
    function.is_some_and(|event| {
        let ns = sum(cpu_operators(profile, event).into_iter().map(|(_, ns)| ns));
        ns > trace.events.span(event).length() / 2
    })
}

/// Whether a call belongs to an optimizer, as a range or as a Python function.
fn is_of_optimizer(name: &str) -> bool {
    let file = || Frame::of(name).map(|frame| frame.package_path());
    name.starts_with(OPTIMIZER_RANGE) || file().is_some_and(|file| file.starts_with("torch/optim/"))
}

/// Whether a call is the step of an optimizer, as a range or as a Python function of PyTorch or of a library that keeps
/// optimizer states on the CPU.
fn is_optimizer_step(name: &str) -> bool {
    let is_step = |frame: Frame| {
        let file = frame.package_path();
        let is_optimizer = file.starts_with("torch/optim/") && !file.ends_with("lr_scheduler.py");
        frame.function == "step" && (is_optimizer || file.contains("cpu_adam"))
    };
    optimizer_of_step(name).is_some() || Frame::of(name).is_some_and(is_step)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{between, found, is_about};
    use crate::findings::Finding;
    use crate::findings::samples::{assert_contains, assert_contains_none};
    use crate::testing::Timetable;

    /// Code that runs from 100 µs until the launch of the second kernel at 1 000 µs, and launches it.
    fn around(trace: fn(Timetable) -> Timetable) -> Finding {
        let found = found(&between(trace), "cpu_function");
        is_about(&found, 980);
        found
    }

    #[test]
    fn a_function_that_launches_stays_in_the_loop() {
        let step = around(|trace| trace.frame("model.py(40): forward", 20..1_010));
        assert_contains(&step.model, &["profile `forward` line by line"]);
        assert_contains_none(&step.model, &["out of the loop"]);
        let operator = around(|trace| trace.op("my::norm", 20..1_010));
        assert_contains(&operator.model, &["what `my::norm` does on the CPU"]);
        // Code that launches nothing can run ahead of time.
        let mask = between(|trace| trace.frame("data.py(4): mask", 100..900));
        let mask = found(&mask, "cpu_function");
        assert_contains(&mask.model, &["take `mask` out of the loop"]);
    }

    /// Sampling from logits that were copied to the CPU.
    #[test]
    fn operators_on_the_cpu_are_named_and_belong_on_the_gpu() {
        let sample = |sort_us: u32| {
            let profile = between(|trace| {
                trace
                    .frame("sampling.py(40): sample", 100..900)
                    .op("aten::sort", 110..110 + sort_us)
                    .op("aten::softmax", 600..700)
                    .op("aten::_softmax", 601..699)
            });
            found(&profile, "cpu_function")
        };
        let sorted = sample(400);
        assert_contains(
            &sorted.issue,
            &["`aten::sort` 400 µs and `aten::softmax` 100 µs of a call"],
        );
        assert_contains(&sorted.model, &["keep the tensors of `sample` on the GPU"]);
        // Most of the time is spent elsewhere.
        assert_contains(&sample(100).model, &["take `sample` out of the loop"]);
    }

    #[test]
    fn the_step_of_an_optimizer_is_fused() {
        let step = around(|trace| trace.frame("torch/optim/adam.py(200): step", 20..1_010));
        assert_contains(
            &step.issue,
            &["in `step` in `adam.py:200`, of the optimizer"],
        );
        assert_contains(&step.model, &["`fused=True`", "fewer parameter groups"]);
        let fused = around(|trace| {
            let trace = trace.frame("torch/optim/adam.py(200): step", 20..1_010);
            trace.op("aten::_fused_adam_", 990..1_009)
        });
        assert_contains(&fused.model, &["fewer parameter groups"]);
        assert_contains_none(&fused.model, &["`fused=True`"]);
        let on_cpu = between(|trace| trace.frame("torch/optim/adamw.py(200): step", 100..900));
        let on_cpu = found(&on_cpu, "cpu_function");
        assert_contains(&on_cpu.model, &["keep optimizer states on the GPU"]);
        let zero =
            around(|trace| trace.frame("torch/optim/optimizer.py(900): zero_grad", 20..1_010));
        assert_contains(&zero.model, &["`zero_grad(set_to_none=True)`"]);
    }
}
