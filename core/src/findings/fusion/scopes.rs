//! What calls belong to: a module, an autograd step, or an enclosing call.

use std::sync::Arc;

use crate::base::format::without_number;
use crate::names::frames::{CodeOf, Frame, file_of, is_helper};
use crate::names::fusion::is_container;
use crate::names::{MODULE, is_module};
use crate::profile::Profile;
use crate::profile::cpu::autograd::{Autograd, ENGINE_CALL, is_engine_call};
use crate::profile::cpu::tree::NodeId;
use crate::profile::operations::kinds::optimizer::OptimizerStep;
use crate::trace::{ByName, Category, EventId};

/// What a call belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Scope {
    /// An instance of a module: its node in the full tree.
    Module(NodeId),
    /// An autograd step.
    Autograd(NodeId),
    /// A call of a Python function, outside of modules and of the framework.
    Function(NodeId),
    /// The outermost operator above it, if any, on this thread; used without Python frames.
    Siblings(Option<NodeId>, u32),
    /// Unknown.
    Nowhere,
}

/// Finds the scopes of calls.
pub(crate) struct Scopes<'a> {
    profile: &'a Profile,
    has_frames: bool,
    is_module: ByName<bool>,
    is_engine: ByName<bool>,
    function: ByName<Option<bool>>,
    steps: Arc<Vec<OptimizerStep>>,
}

impl<'a> Scopes<'a> {
    pub(crate) fn new(profile: &'a Profile) -> Scopes<'a> {
        Scopes {
            profile,
            has_frames: profile.has_python_frames(),
            is_module: ByName::new(is_module),
            is_engine: ByName::new(is_engine_call),
            function: ByName::new(holds_chains),
            steps: profile.once(|| OptimizerStep::all(profile)),
        }
    }

    pub(crate) fn has_frames(&self) -> bool {
        self.has_frames
    }

    pub(crate) fn of(&mut self, event: EventId) -> Scope {
        let profile = self.profile;
        let trace = &profile.trace;
        let tree = profile.full_tree();
        let Some(node) = tree.node_of(event) else {
            return Scope::Nowhere;
        };
        let call = event;
        // The nearest function that does not only forward calls, and whether a chain may be in it.
        let mut function = None;
        for above in tree.ancestors(node) {
            let Some(event) = tree.event(above) else {
                continue;
            };
            match trace.events.category(event) {
                Category::PythonFunction if self.is_module.of(trace, event) => {
                    return Scope::Module(above);
                }
                Category::CpuOp if self.is_engine.of(trace, event) => {
                    return Scope::Autograd(above);
                }
                Category::PythonFunction if function.is_none() => {
                    let holds = self.function.of(trace, event);
                    function = holds.map(|holds| (above, holds));
                }
                _ => {}
            }
        }
        match (self.has_frames, function) {
            (true, Some((function, true))) if !self.is_in_step(call) => Scope::Function(function),
            (true, _) => Scope::Nowhere,
            (false, _) => {
                let track = trace.events.track(event).0;
                Scope::Siblings(tree.ancestors(node).last(), track)
            }
        }
    }

    /// Whether a call belongs to the step of an optimizer, which has findings of its own.
    fn is_in_step(&self, call: EventId) -> bool {
        self.steps
            .iter()
            .any(|step| step.holds_call(self.profile, call))
    }

    /// The enclosing module of a module, unless that is a mere container; for a call, its thread.
    pub(crate) fn around(&self, scope: Scope) -> Option<Scope> {
        if let Scope::Siblings(Some(_), track) = scope {
            return Some(Scope::Siblings(None, track));
        }
        let around = self.above(scope)?;
        (!is_container(self.name(around)?)).then_some(around)
    }

    /// The enclosing module of a module, of any kind.
    pub(crate) fn above(&self, scope: Scope) -> Option<Scope> {
        let Scope::Module(node) = scope else {
            return None;
        };
        let mut above = self.profile.full_tree().ancestors(node);
        let module = above.find(|node| self.module_name(*node).is_some())?;
        Some(Scope::Module(module))
    }

    /// Whether two calls are in the same module, in a module and its parent, or in two modules with the same parent;
    /// without recorded modules, whether they are on the same thread.
    pub(crate) fn are_beside(&self, a: Scope, b: Scope) -> bool {
        match (a, b) {
            (Scope::Nowhere, _) | (_, Scope::Nowhere) => false,
            (Scope::Siblings(_, a), Scope::Siblings(_, b)) => a == b,
            _ if a == b => true,
            _ => {
                let (above_a, above_b) = (self.above(a), self.above(b));
                above_a == Some(b)
                    || above_b == Some(a)
                    || (above_a.is_some() && above_a == above_b)
            }
        }
    }

    /// The class of a module, the name of an autograd step, or a function with its file and line.
    pub(crate) fn name(&self, scope: Scope) -> Option<&'a str> {
        match scope {
            Scope::Module(node) => self.module_name(node),
            Scope::Autograd(node) => {
                let call = self.profile.full_tree().event(node)?;
                let name = self.profile.trace.name(call);
                name.strip_prefix(ENGINE_CALL.trim_end()).map(str::trim)
            }
            Scope::Function(node) => {
                let call = self.profile.full_tree().event(node)?;
                Some(file_of(self.profile.trace.name(call)))
            }
            Scope::Siblings(..) | Scope::Nowhere => None,
        }
    }

    /// For an autograd step, the class of the module whose forward call it is the gradient of.
    pub(crate) fn gradient_of(&self, scope: Scope, autograd: &Autograd) -> Option<&'a str> {
        let Scope::Autograd(node) = scope else {
            return None;
        };
        let tree = self.profile.full_tree();
        let forward = tree.node_of(autograd.forward_of(tree.event(node)?)?)?;
        tree.ancestors(forward)
            .find_map(|above| self.module_name(above))
    }

    fn module_name(&self, node: NodeId) -> Option<&'a str> {
        let event = self.profile.full_tree().event(node)?;
        let trace = &self.profile.trace;
        if trace.events.category(event) != Category::PythonFunction {
            return None;
        }
        trace.name(event).strip_prefix(MODULE).map(without_number)
    }
}

/// Whether a chain may be in a Python function; `None` if that only forwards calls. Not in the framework, whose optimizers
/// and losses have findings of their own, nor in the code of a whole file.
fn holds_chains(name: &str) -> Option<bool> {
    let frame = Frame::of(name).filter(|_| !is_helper(name))?;
    let is_program = || CodeOf::frame(name) != Some(CodeOf::PyTorch);
    Some(frame.function != "<module>" && is_program())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Timetable;

    #[test]
    fn a_gradient_belongs_to_the_module_of_its_forward_call() {
        let number = r#""Sequence number": 7"#;
        let profile = Timetable::new()
            .frame("nn.Module: LlamaRMSNorm_0", 0..20)
            .op("aten::mul", 1..10)
            .args(number)
            .thread(2)
            .op("autograd::engine::evaluate_function: MulBackward0", 30..60)
            .args(number)
            .op("aten::mul", 31..40)
            .profile();
        let event = |uid| profile.trace.events.by_uid(uid).unwrap();
        let autograd = Autograd::new(&profile.trace);
        let mut scopes = Scopes::new(&profile);
        let [forward, backward] = [1, 3].map(|uid| scopes.of(event(uid)));
        assert_eq!(scopes.name(backward), Some("MulBackward0"));
        assert_eq!(
            scopes.gradient_of(backward, &autograd),
            Some("LlamaRMSNorm")
        );
        assert_eq!(scopes.name(forward), Some("LlamaRMSNorm"));
        assert_eq!(scopes.gradient_of(forward, &autograd), None);
    }
}
