//! Code that launches kernels itself: it is the step, so its work cannot be moved out of the loop.

use crate::assess::idle::code::Place;
use crate::assess::idle::code::rows::CodeRow;
use crate::names::cpu_calls::{OPTIMIZER_RANGE, is_zero_grad, optimizer_of_step};
use crate::names::frames::Frame;
use crate::profile::Profile;
use crate::profile::tree::NodeId;
use crate::trace::Category;

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
    Operator,
    /// A Python function, a module, a user-defined range.
    Function,
}

impl StepCode {
    /// `None` for code that launches no kernels, unless it is an optimizer, or whose activity is known from its name.
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
        let nodes = || std::iter::once(node).chain(tree.ancestors(node));
        let around = || nodes().map(name);
        if !has_kernels(node) {
            let step = nodes()
                .filter(|node| is_optimizer_step(name(*node)))
                .last()?;
            return (!has_kernels(step)).then_some(StepCode::CpuOptimizer);
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
    use crate::findings::samples::{says, says_no};
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
        says(&step.model, &["profile `forward` line by line"]);
        says_no(&step.model, &["out of the loop"]);
        let operator = around(|trace| trace.op("my::norm", 20..1_010));
        says(&operator.model, &["what `my::norm` does on the CPU"]);
        // Code that launches nothing can run ahead of time.
        let mask = between(|trace| trace.frame("data.py(4): mask", 100..900));
        let mask = found(&mask, "cpu_function");
        says(&mask.model, &["take `mask` out of the loop"]);
    }

    #[test]
    fn the_step_of_an_optimizer_is_fused() {
        let step = around(|trace| trace.frame("torch/optim/adam.py(200): step", 20..1_010));
        says(
            &step.issue,
            &["in `step` in `adam.py:200`, of the optimizer"],
        );
        says(&step.model, &["`fused=True`", "fewer parameter groups"]);
        let fused = around(|trace| {
            let trace = trace.frame("torch/optim/adam.py(200): step", 20..1_010);
            trace.op("aten::_fused_adam_", 990..1_009)
        });
        says(&fused.model, &["fewer parameter groups"]);
        says_no(&fused.model, &["`fused=True`"]);
        let on_cpu = between(|trace| trace.frame("torch/optim/adamw.py(200): step", 100..900));
        let on_cpu = found(&on_cpu, "cpu_function");
        says(&on_cpu.model, &["keep optimizer states on the GPU"]);
        let zero =
            around(|trace| trace.frame("torch/optim/optimizer.py(900): zero_grad", 20..1_010));
        says(&zero.model, &["`zero_grad(set_to_none=True)`"]);
    }
}
