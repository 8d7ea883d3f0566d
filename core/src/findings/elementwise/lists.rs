//! Operations on lists of tensors, and what should be one: steps of optimizers, and clipping.

use super::Observed;
use super::base::{AT_MOST, GAP, n_kernels};
use crate::findings::engine::compute::{are_many, subject};
use crate::findings::prelude::*;
use crate::names::elementwise::ElementwiseKind;
use crate::names::optimizer::FUSED_OPTIMIZERS;
use crate::names::optimizer::LIST_OPTIMIZERS;

const LISTS: Rule<Observed> = Rule {
    key: "slow_tensor_lists",
    kernel: "a kernel on a list should come near the memory bandwidth: compare it with one tensor of the same size; many small tensors leave its blocks short of work.",
    notes: &[NOT_SHOWN],
    ..GAP
};

pub(super) const FUSED_STEP: Rule<Observed> = Rule {
    when: "it is a fused optimizer step",
    applies: |_, observed| is_slow_list(observed) && observed.name.contains("_fused_"),
    title: "Fused optimizer steps at a low % of the memory bandwidth",
    model: "its step is one kernel already, so nothing is left to fuse: fewer bytes are what remains (states in fewer bits, or sharded over the GPUs that train).",
    ..LISTS
};

pub(super) const OTHER: Rule<Observed> = Rule {
    when: "it is another operation on a list of tensors",
    applies: |_, observed| is_slow_list(observed),
    title: "Operations on lists of tensors at a low % of the memory bandwidth",
    model: "where they are a step of Adam, AdamW or SGD construct the optimizer with `fused=True`, which passes over everything once; elsewhere merge operations that follow each other.",
    ..LISTS
};

pub(super) const MANY_SHORT: Rule<Observed> = Rule {
    key: "many_small_list_kernels",
    when: "there are many short kernels on lists of tensors",
    applies: |_, observed| observed.is_short && observed.kind == ElementwiseKind::Optimizer,
    gate: |group| are_many(group.input, &group.rows, n_kernels(group)),
    title: "Many short kernels on lists of tensors",
    issue: "{kernels} of {calls} on lists of tensors take {each_kernel} each on average: {time}{at}.",
    model: "a kernel takes as many tensors as its arguments have room for: keep small parameters in a few flat tensors, or step in one pass over all (`fused=True` where the optimizer has it).",
    notes: &[AT_MOST],
    ..Rule::SMALL_KERNELS
};

pub(super) const STEP_NOT_FUSED: Rule<Observed> = Rule {
    key: "optimizer_not_fused",
    when: "many short kernels are of an optimizer that steps one parameter after another",
    applies: |input, observed| observed.is_short && observed.is_in_step(input),
    title: "Optimizer steps one parameter after another",
    issue: "{calls} of a few microseconds update parameters one by one: {time}{at}.",
    model: "{together}: one kernel then updates many parameters.",
    notes: &["The longest is {longest}."],
    words: |group| {
        let longest = group.rows.get(..1).unwrap_or_default();
        vec![
            ("together", together(group).to_owned()),
            ("longest", subject(group.input, longest)),
        ]
    },
    ..Rule::SMALL_KERNELS
};

pub(super) const CLIPPING_NOT_FUSED: Rule<Observed> = Rule {
    key: "clipping_not_fused",
    when: "many short kernels clip gradients one parameter after another",
    applies: |input, observed| observed.is_short && is_of_clipping(input, observed),
    title: "Gradients clipped one parameter after another",
    issue: "{calls} of a few microseconds scale gradients one by one: {time}{at}.",
    model: "clip all gradients at once: `torch.nn.utils.clip_grad_norm_(…, foreach=True)` computes norms and scales gradients in a few kernels on lists.",
    notes: &[AT_MOST],
    ..Rule::SMALL_KERNELS
};

fn is_slow_list(observed: &Observed) -> bool {
    observed.is_long(ElementwiseKind::Optimizer) && observed.is_bottleneck
}

/// How to update the parameters of an optimizer together; not all optimizers have an option for it.
fn together(group: &Group<Observed<'static>>) -> &'static str {
    let all_in = |known: &[&str]| {
        let mut steps = group.first().steps.iter();
        steps.all(|step| known.contains(&&*step.optimizer))
    };
    if all_in(FUSED_OPTIMIZERS) {
        "construct the optimizer with `fused=True`, or `foreach=True`"
    } else if all_in(LIST_OPTIMIZERS) {
        "construct the optimizer with `foreach=True`"
    } else {
        "step on lists of parameters (`torch._foreach_add_` and its like), or compile the step with `torch.compile`"
    }
}

/// Whether a trace has functions that clip gradients.
struct HasClipping(bool);

/// Whether its first call clips gradients, by the Python functions around it.
fn is_of_clipping(input: &Input, observed: &Observed) -> bool {
    const NAME: &str = "clip_grad";
    let trace = &input.profile.trace;
    // Most traces have none, and need no tree of Python frames.
    let has_any = input.profile.once(|| {
        let mut names = trace.strings.iter();
        HasClipping(names.any(|(_, name)| name.contains(NAME)))
    });
    if !has_any.0 {
        return false;
    }
    let tree = input.profile.full_tree();
    observed.operation.first().is_some_and(|call| {
        let mut names = tree.names_around(trace, call.event);
        names.any(|name| name.contains(NAME))
    })
}
