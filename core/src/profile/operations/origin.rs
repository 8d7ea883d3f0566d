//! Where in the model an operation is called: its enclosing modules and Python frames.

use crate::base::format::{self, without_number};
use crate::names::MODULE;
use crate::names::frames::{file_of, is_framework};
use crate::names::modules::ModuleRole;
use crate::names::words::contains_any;
use crate::profile::Profile;
use crate::profile::cpu::tree::{CallTree, NodeId};
use crate::profile::operations::Operation;
use crate::trace::{Category, EventId};

/// Where an operation is called.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    /// Enclosing modules, outermost first: "Qwen2DecoderLayer", "Qwen2MLP", "Linear".
    pub modules: Vec<String>,
    /// The nearest Python function outside the framework: "modeling.py(211): forward".
    pub frame: Option<String>,
    /// The role of the nearest module whose name implies one.
    pub role: Option<ModuleRole>,
}

impl Origin {
    /// The origin of an operation's first call. Empty without Python frames.
    pub fn of(profile: &Profile, operation: &Operation) -> Origin {
        if !profile.has_python_frames() {
            return Origin::default();
        }
        let tree = profile.full_tree();
        let node = operation.first().and_then(|call| tree.node_of(call.event));
        node.map_or_else(Origin::default, |node| Origin::of_node(profile, node))
    }

    /// The origin of a call in the full tree.
    pub fn of_node(profile: &Profile, node: NodeId) -> Origin {
        let (trace, tree) = (&profile.trace, profile.full_tree());
        let mut origin = Origin::default();
        for above in tree.ancestors(node) {
            if tree.category(trace, above) != Category::PythonFunction {
                continue;
            }
            let Some(event) = tree.event(above) else {
                continue;
            };
            let name = trace.strings.get(trace.events.name(event));
            match name.strip_prefix(MODULE) {
                Some(module) => {
                    let module = without_number(module);
                    origin.role = origin.role.or_else(|| ModuleRole::of_module(module));
                    origin.modules.push(module.to_owned());
                }
                None if origin.frame.is_none() && !is_framework(name) => {
                    origin.frame = Some(format::middle_ellipsis(file_of(name), 80));
                }
                None => {}
            }
        }
        origin.modules.reverse();
        origin
    }

    /// A name for parent chains: modules without their prefix, files without their folders.
    pub fn short(name: &str) -> &str {
        match name.strip_prefix(MODULE) {
            Some(module) => module,
            None if name.contains(".py(") => file_of(name),
            None => name,
        }
    }

    /// "Qwen2DecoderLayer > Qwen2MLP > Linear": the nearest modules or, without any, the function.
    pub fn path(&self) -> Option<String> {
        /// More modules than this say little about the location.
        const N_MODULES: usize = 3;
        let from = self.modules.len().saturating_sub(N_MODULES);
        match self.modules.get(from..) {
            Some(nearest) if !nearest.is_empty() => Some(nearest.join(" > ")),
            _ => self.frame.clone(),
        }
    }
}

/// Whether an operator or a function around a call is of a kind, by category and name.
pub(crate) fn is_within(
    profile: &Profile,
    tree: &CallTree,
    call: EventId,
    is: impl Fn(Category, &str) -> bool,
) -> bool {
    let trace = &profile.trace;
    let around = tree.node_of(call).map(|node| tree.ancestors(node));
    around.into_iter().flatten().any(|above| {
        let event = tree.event(above);
        event.is_some_and(|event| is(tree.category(trace, above), trace.name(event)))
    })
}

/// Whether a loss that contains the output layer is around a call: it computes logits for a chunk of rows at a time.
pub(crate) fn is_in_linear_loss(profile: &Profile, call: EventId) -> bool {
    const NAMES: &[&str] = &["LinearCrossEntropy", "linear_cross_entropy"];
    is_within(profile, profile.full_tree(), call, |_, name| {
        contains_any(name, NAMES)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Timetable;

    #[test]
    fn modules_and_frames_around_a_call() {
        let profile = Timetable::new()
            .frame("/home/me/model.py(7): forward", 0..100)
            .frame("nn.Module: LlamaDecoderLayer_3", 1..99)
            .frame("nn.Module: LlamaMLP_3", 2..98)
            .frame("torch/nn/modules/linear.py(114): forward", 3..97)
            .op("aten::mm", 10..90)
            .launched("gemm", 20..21, 30..40)
            .profile();
        let origin = Origin::of(&profile, &profile.operations()[0]);
        assert_eq!(origin.modules, ["LlamaDecoderLayer", "LlamaMLP"]);
        assert_eq!(origin.frame.as_deref(), Some("model.py(7): forward"));
        assert_eq!(origin.role, Some(ModuleRole::Mlp));
        assert_eq!(
            origin.path().as_deref(),
            Some("LlamaDecoderLayer > LlamaMLP")
        );
    }
}
