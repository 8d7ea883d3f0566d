//! The rules for memory.

use super::holders::Remedy;
use super::{Issue, Kind};
use crate::findings::prelude::*;

pub(super) const RULES: &[Rule<Issue>] = &[
    Rule {
        key: "out_of_memory",
        when: "an allocation failed",
        applies: |_, issue| issue.kind == Kind::Failed,
        title: "Out of memory",
        issue: "{failed} failed, the largest of {size}, with {used} in use and {reserved} reserved on {device}.",
        model: "lower the peak of {peak}: the operators that hold it are listed under Memory; smaller batches, gradient checkpointing, or sharded weights and optimizer states are the usual ways.",
        ..MEMORY
    },
    Rule {
        key: "allocator_calls",
        when: "memory is taken from the driver or given back in steps after the first, for 0.5 % of the run or after an allocation that failed",
        applies: |_, issue| issue.kind == Kind::Driver,
        title: "Memory allocation by the driver{steps? in steady steps|}",
        issue: "{steps?Steps after the first spend|The recording spends} {time} ({share} of the run) in {taken} and {given} by the driver{idle?, in {idle} of which the GPU is idle|}{retries?; {retries} failed, and were tried again after cached memory was released|}.",
        model: "let the allocator keep what it has: no `torch.cuda.empty_cache()` in the loop, a warm-up with the largest shapes, shapes of few sizes, and `PYTORCH_ALLOC_CONF=expandable_segments:True` where the platform supports it{retries?; a lower peak keeps allocations from failing|}.",
        notes: &[
            "{grown?The allocator took {grown} from the driver in that time.|}",
            "{flushed?It gave {flushed} back.|}",
            "{steps?|No steps are marked: in the first step of a run such calls are expected and do not return.}",
            "The estimate is the time in which the GPU is idle during these calls, at most.",
        ],
        saves: Saves::Evidence,
        ..MEMORY
    },
    Rule {
        key: "memory_growth",
        when: "memory in use at the end of each of three steps or more is 1 % above that of the step before",
        applies: |_, issue| issue.kind == Kind::Growth,
        title: "Memory grows with each step",
        issue: "On {device} {steps} end with more memory in use each: from {from} to {to} (+{percent}), {each} a step.",
        model: "keep no tensors of earlier steps: accumulate `loss.detach()` (not `loss`, which keeps the graph alive), clear lists of outputs, and give caches a limit; the operators listed hold what is left at the end.",
        notes: &[
            OTHERS,
            "Whether it grows further a recording of some steps cannot tell: optimizer states and caches are filled in the first steps of a run.",
        ],
        ..MEMORY
    },
    Rule {
        key: "memory_fragmentation",
        when: "25 % or more of what the allocator holds, and 512 MiB, are not in use when most is in use",
        applies: |_, issue| issue.kind == Kind::Unused,
        title: "Reserved memory not in use",
        issue: "At the peak of {peak} on {device} the allocator holds {reserved}: {size} ({percent}) are not in use.",
        model: "set `PYTORCH_ALLOC_CONF=expandable_segments:True`, which reduces fragmentation where the platform supports it; use few different shapes (pad, bucket).",
        notes: &[
            OTHERS,
            "Gaps between blocks are one reason, a higher peak before the recording is another: the trace does not tell them apart. After a higher peak, `torch.cuda.empty_cache()` once gives the memory back to others.",
            "{grows?The allocator takes still more after the peak.|}",
        ],
        ..MEMORY
    },
    Rule {
        key: "memory_peak_scores",
        when: "an operator that computes attention scores of all queries and keys holds more than 30 % of the peak",
        applies: |_, issue| issue.kind == Kind::Holder(Remedy::Scores),
        model: "use fused attention (`torch.nn.functional.scaled_dot_product_attention` with a flash or memory-efficient backend, `attn_implementation=\"sdpa\"`), which never stores the scores.",
        ..HOLDER
    },
    Rule {
        key: "memory_peak_loss",
        when: "a loss over logits holds more than 30 % of the peak",
        applies: |_, issue| issue.kind == Kind::Holder(Remedy::Loss),
        model: "compute the loss in chunks of tokens, or with a fused linear and cross-entropy operation that never stores all logits; compute logits only where there is a label.",
        ..HOLDER
    },
    Rule {
        key: "memory_peak_gradients",
        when: "gradients that are added up hold more than 30 % of the peak",
        applies: |_, issue| issue.kind == Kind::Holder(Remedy::Gradients),
        model: "release gradients as soon as they are used (`optimizer.zero_grad(set_to_none=True)`, optimizer steps in the backward pass), or shard them among ranks.",
        ..HOLDER
    },
    Rule {
        key: "memory_peak_concatenation",
        when: "concatenation holds more than 30 % of the peak",
        applies: |_, issue| issue.kind == Kind::Holder(Remedy::Concatenation),
        model: "write parts into one tensor that is allocated once (`torch.empty` and slices, a static cache) instead of concatenating copies.",
        ..HOLDER
    },
    Rule {
        key: "memory_peak_operator",
        when: "any other operator holds more than 30 % of the peak",
        applies: |_, issue| matches!(issue.kind, Kind::Holder(_)),
        model: "keep less of what it returns: release results that are not read again, use in-place or fused variants where gradients allow, smaller batches, or gradient checkpointing around it in training.",
        ..HOLDER
    },
    Rule {
        key: "memory_churn",
        when: "an operator allocates blocks of 64 MiB or more that are released within 1 ms, more than three times the peak in all",
        applies: |_, issue| issue.kind == Kind::Churn,
        title: "Large short-lived allocations",
        issue: "{operator} allocates {blocks}, {bytes} in all, that are in use for {life} each (median), up to {size} at once on {device}.",
        model: "fuse what follows (`torch.compile`), write into a buffer that is kept (`out=`), or work in place: then the blocks are not needed.",
        notes: &[
            OTHERS,
            "The caching allocator hands such blocks out again at little cost: what they take is memory, not time.",
        ],
        ..MEMORY
    },
];

/// The other devices with the same issue.
const OTHERS: &str = "{others?The same was found on {others}.|}";

/// The common part of the rules, for struct update syntax.
const MEMORY: Rule<Issue> = Rule {
    kernel: "nothing to tune in kernels.",
    saves: Saves::Memory,
    has_reproducer: false,
    ..Rule::BASE
};

const HOLDER: Rule<Issue> = Rule {
    title: "{operator} holds {percent} of the peak",
    issue: "When most memory is in use on {device} ({peak}), {operator} holds {size} ({percent}) in {blocks}, the largest of {largest}.",
    notes: &[
        OTHERS,
        "The peak is that of the recording; what was allocated before it is a part of it whose owner is not known.",
    ],
    ..MEMORY
};
