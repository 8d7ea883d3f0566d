//! The rules for steps and graph replays.

use super::chains::Topic;
use super::{Issue, Kind};
use crate::findings::prelude::*;

pub(super) const RULES: &[Rule<Issue>] = &[
    Rule {
        key: "decode_memory_floor",
        when: "steps decode, and bytes are known of nearly all of their kernel time",
        applies: |_, issue| issue.kind == Kind::Memory,
        title: "Decode reaches {percent} of the memory bandwidth",
        issue: "{steps} reads {bytes} (weights {weights}, KV cache {cache}{source}): {least} at the memory bandwidth of {rate}; it takes {step}.",
        model: "decode more requests at once, so that each weight that is read serves more tokens; the other findings say where the rest of the time goes.",
        kernel: "the kernels that read weights and KV cache determine this time; their own findings name the slowest.",
        notes: &[
            "The time of all decode steps at 75, 87.5 and 100 % of the memory bandwidth is an upper bound for what all findings save together, so the estimate is not added to theirs.",
            "{experts?Weights of experts are counted as if tokens chose them evenly; less even choices read fewer of them.|}",
        ],
        saves: Saves::Evidence,
        effect: Effect::Limit,
        ..STEP
    },
    Rule {
        key: "moe_routing_chain",
        when: "four kernels or more, each hardly longer than the shortest, choose experts and sort tokens in each layer",
        applies: |_, issue| issue.kind == Kind::Chain(Topic::Routing),
        title: "MoE routing in {n} short kernels",
        issue: "Between attention and the experts {kernels} choose experts, sort tokens and add up results ({chains}, {per_pass} in a {pass}): {time}.",
        model: "use the routing of the serving engine or library that scores, chooses and sorts in one or two kernels, where there is one for this number of experts.",
        kernel: "merge the router's top-k with sorting and padding: the data is small, and each kernel takes at least {floor} however little it does.",
        ..CHAIN
    },
    Rule {
        key: "attention_preparation_chain",
        when: "four kernels or more, each hardly longer than the shortest, precede attention in each layer",
        applies: |_, issue| issue.kind == Kind::Chain(Topic::BeforeAttention),
        title: "{n} short kernels before attention",
        issue: "Between a GEMM and attention {kernels} prepare queries and keys ({chains}, {per_pass} in a {pass}): {time}.",
        model: "use the fused operation of the engine for QK norm, RoPE and the KV cache store, or let `torch.compile` merge them.",
        kernel: "normalize, rotate and store in one kernel: each takes at least {floor} however little it does.",
        ..CHAIN
    },
    Rule {
        key: "short_kernel_chain",
        when: "four kernels or more, each hardly longer than the shortest, follow each other between two GEMMs in each layer",
        applies: |_, issue| issue.kind == Kind::Chain(Topic::Between),
        title: "{n} short kernels between GEMMs",
        issue: "Between GEMMs {kernels} follow each other ({chains}, {per_pass} in a {pass}): {time}.",
        model: "compile the module (`torch.compile`), or use a fused operation for these steps.",
        kernel: "do the work of several in one kernel: each takes at least {floor} however little it does.",
        ..CHAIN
    },
    Rule {
        key: "fixed_kernel_cost",
        when: "what each kernel of a replay takes at least is 5 % of the replays or more",
        applies: |_, issue| issue.kind == Kind::FixedCost,
        title: "Fixed cost of {n} in graph replays",
        issue: "Each kernel of a replay takes at least {floor}, which is up to {fixed} for {n}, {percent} of the replays; {n_near} take less than {near}, together {near_time} ({near_percent}).",
        model: "fewer kernels, not faster ones: compile or use fused operations for runs of short kernels.",
        kernel: "nothing to tune in kernels this short; merge neighbors.",
        notes: &[
            "The minimum is the 1st percentile of the kernel durations. Where the profiler records no gaps between kernels of a busy queue, it includes the gap.",
            "The estimate counts {n_spared} that follow another short one without a GEMM or attention in between, each with the least time: {spared} at most.",
        ],
        saves: Saves::Evidence,
        effect: Effect::FewerLaunches,
        ..STEP
    },
    Rule {
        key: "one_element_kernels",
        when: "an element-wise kernel of one element, or a fill of unknown size, takes no longer than any kernel does and runs several times in each layer",
        applies: |_, issue| issue.kind == Kind::OneElement,
        title: "{one?Single-element kernels|Kernels at the minimum duration}",
        issue: "{name} {one?works on one element|takes no longer than the shortest kernels}: {n} calls of {mean}, {per_pass} in a {pass}, {time}.",
        model: "fill or convert such values once, for all layers together, or let the kernel that reads them do it.",
        kernel: "nothing to tune: a kernel takes at least {floor} here, however little it does.",
        notes: &[
            "{one?Its arguments say that it works on one element.|Its sizes are not recorded; its time says that it does little.}",
            "The estimate is all of its time: at most that is saved.",
        ],
        saves: Saves::Evidence,
        effect: Effect::FewerLaunches,
        ..STEP
    },
    Rule {
        key: "batch_independent_work",
        when: "an operation of each layer has large operands, and none of their dimensions counts tokens, requests or their cache",
        applies: |_, issue| issue.kind == Kind::Constant,
        title: "The same work in each layer",
        issue: "{name} ({shapes}) does not depend on the batch and runs in each layer: {calls} of {mean}, {time}.",
        model: "convert or compute it once and keep the result: for all layers where its operand is the same, as a cache of positions, and when the model is loaded where it is a weight.",
        kernel: "nothing to tune in work that need not be done.",
        notes: &[
            "This is inferred from shapes, not values: the operand is probably the same in all layers, but the trace does not prove it.",
            "The estimate is the time of all calls but one in each {pass}: {saved}.",
        ],
        saves: Saves::Evidence,
        ..STEP
    },
    Rule {
        key: "costly_quantization",
        when: "what runs between a GEMM and attention, quantizing among it, takes longer than the attention",
        applies: |_, issue| issue.kind == Kind::Quantizing,
        title: "Quantizing for attention takes longer than attention",
        issue: "{preparation} of preparation precede each {attention} of {name}{at_rate} ({calls}; {preparation_all} and {attention_all} in all).",
        model: "{at_tokens}quantizing costs more than attention: try the attention kernel that is not quantized, and measure both.",
        kernel: "quantize in the kernel before (norm, RoPE), or on load in the attention kernel.",
        notes: &[
            "Preparation is all that runs between the last GEMM and attention: {names}. Norms and RoPE in it are needed in any case.",
            "What another kernel would take is not in the trace, so there is no estimate.",
        ],
        saves: Saves::Unknown,
        ..STEP
    },
    Rule {
        key: "sliding_window_layers",
        when: "layers that see a sliding window take turns with layers that see the full context",
        applies: |_, issue| issue.kind == Kind::Windows,
        title: "Alternating sliding-window and full attention layers",
        issue: "{which}: {sliding} sliding layers take {sliding_time}{sliding_rate}, {full} full layers {full_time}{full_rate}.",
        model: "nothing to change: layers that see a window read no more of the KV cache than that, however long the context is.",
        kernel: "assess the two kinds of layers separately: full-attention layers read the whole context, sliding-window layers take hardly longer than their launch in a short step.",
        notes: &[
            "{unjudged?The window size is not recorded, so the efficiency of sliding-window layers is unknown: pass the model configuration (`--model-config config.json`).|The window size is that of the model configuration.}",
        ],
        saves: Saves::Nothing,
        effect: Effect::Limit,
        ..STEP
    },
    Rule {
        key: "graph_padding",
        when: "graphs are captured for at least 5 % more requests or tokens than a step has",
        applies: |_, issue| issue.kind == Kind::GraphPadding,
        title: "Graphs padded by {percent}",
        issue: "{steps} run in graphs captured for more {unit} than they have ({requests} of {captured}{source}): {percent} of the rows are empty.",
        model: "capture graphs for sizes in between: {flag}.",
        kernel: "nothing to gain in a kernel.",
        notes: &[
            "{priced?The estimate is that part of the operations that are bound by arithmetic; what reads weights takes as long without empty rows.|Where steps are bound by memory, empty rows cost next to nothing: weights are read all the same.}",
            "{by_grids?Launch grids of norms, activations and other kernels with a workgroup for each row confirm the captured size.|}",
            "{unmodeled?The shapes of GEMMs are not recorded: their time counts down to {ridge} rows, below which reading weights determines it on this GPU.|}",
        ],
        saves: Saves::Evidence,
        ..STEP
    },
    Rule {
        key: "eager_steps",
        when: "some decode steps replay a graph, others run kernel by kernel and leave the GPU idle for longer",
        applies: |_, issue| issue.kind == Kind::EagerSteps,
        title: "Decode steps without a graph beside steps that replay one",
        issue: "{eager}{eager_sizes} run kernel by kernel and take {eager_time} each (median); {replayed}{replayed_sizes} replay a graph and take {replayed_time}.",
        model: "capture graphs for these sizes, too: {flag}.",
        kernel: "nothing to gain in a kernel.",
        notes: &[
            "The estimate is what the GPU is idle for in these steps, beyond the idle time of steps with a graph: {idle}. Findings about idle time count the same time.",
        ],
        saves: Saves::Evidence,
        effect: Effect::FewerLaunches,
        ..STEP
    },
    Rule {
        key: "adapters",
        when: "low-rank adapters (LoRA) run in kernels of their own, for 1 % of the run or more",
        applies: |_, issue| issue.kind == Kind::Adapters,
        title: "LoRA adapters in {kernels}",
        issue: "Low-rank adapters (LoRA) run beside the GEMMs of the model, in {kernels} of their own: {time}.",
        model: "if all requests use the same adapter, merge it into the weights (`merge_and_unload()`); otherwise adapt fewer projections, and keep the limits of rank and number of adapters (`--max-lora-rank`, `--max-loras`) at what is served.",
        kernel: "join the two GEMMs of an adapter, or those of projections with the same input, in one kernel: each is about as short as its launch.",
        notes: &[
            "The lower end is what they take beyond the roofline, and beyond 2 µs a launch; the upper end is their whole time, which merging saves.",
        ],
        saves: Saves::Evidence,
        effect: Effect::FewerLaunches,
        ..STEP
    },
    Rule {
        key: "prefill_holds_decodes",
        when: "steps that prefill beside decodes, or between them, take more than ten times as long as steps that only decode",
        applies: |_, issue| issue.kind == Kind::DelayedByPrefill,
        title: "Decodes wait for prefill in {of_prefill}: ×{times}",
        issue: "{steps} with prefill {beside} take up to {longest}, where a step that only decodes takes {decode}: {decodes} wait for a prefill{tokens}{enough?; from about {enough} on, its GEMMs are compute-bound|}.",
        model: "prefill in smaller chunks ({flag}), so that decodes wait for less in each step, or prefill on other GPUs.",
        kernel: "nothing to gain in a kernel.",
        notes: &[
            "This concerns the time between output tokens. The work stays the same, so that nothing is saved in all.",
        ],
        saves: Saves::Unknown,
        effect: Effect::Limit,
        ..STEP
    },
    Rule {
        key: "small_prefill_chunks",
        when: "steps that only prefill continue the prompt of the step before, with at most half of the tokens that make GEMMs compute-bound",
        applies: |_, issue| issue.kind == Kind::SmallChunks,
        title: "Prefill in chunks of {tokens}",
        issue: "{steps} continue the prompt of the step before with at most {tokens}: {took}; each reads all weights again, and GEMMs are compute-bound only from about {enough} on.",
        model: "prefill in larger chunks ({flag}), at least while no request decodes.",
        kernel: "nothing to gain in a kernel: with so few tokens, GEMMs are bound by reading weights.",
        notes: &[
            "The estimate is the time of the GEMMs in these steps, less the part that {tokens} are of {enough}: at most that is saved.",
        ],
        saves: Saves::Evidence,
        ..STEP
    },
    Rule {
        key: "piecewise_decode",
        when: "steps that only decode are launched as many graphs",
        applies: |_, issue| issue.kind == Kind::Piecewise,
        title: "Decode in piecewise graphs",
        issue: "{steps} launch {per_step} graphs each; between them the GPU is idle for {idle} of {step_time}.",
        model: "capture decode as one graph: with vLLM a `cudagraph_mode` of `FULL_DECODE_ONLY` or `FULL_AND_PIECEWISE` in `--compilation-config`, where the attention backend allows it.",
        kernel: "nothing to gain in a kernel.",
        notes: &[
            "How much of this is saved depends on the CPU; idle time is counted by its own findings.",
        ],
        saves: Saves::Unknown,
        ..STEP
    },
    Rule {
        key: "slow_graph_launch",
        when: "graph launches take more than half as long as the replays, or a replay waits for its own launch",
        applies: |_, issue| issue.kind == Kind::SlowLaunch,
        title: "Graph launches as long as their replays",
        issue: "{launches} take {launch_time} on the CPU for replays of {replay_time}{waits_said}.",
        model: "launch the next graph before the last one has finished, and capture fewer, longer kernels: a launch takes longer the more of them a graph has.",
        kernel: "fewer kernels make the launch of a graph shorter.",
        notes: &[
            "Idle time inside replays that ends before the launch call does is time of the CPU; it is counted by its own findings.",
        ],
        saves: Saves::Unknown,
        ..STEP
    },
    Rule {
        key: "cold_first_layer",
        when: "the first layer of the first step takes at least three times as long as the median of the others, and that of the next step does not",
        applies: |_, issue| issue.kind == Kind::ColdStart,
        title: "Cold start in the first layer",
        issue: "The first layer takes {more} more than the others ({first} against a median of {median}){overhead_said}.",
        model: "run a step before recording, then record again; leave the first layer out of statistics of layers.",
        kernel: "nothing to gain in a kernel: later layers are faster.",
        notes: &[
            "What happens only in the first step does not recur in a long run, so there is no estimate.",
        ],
        saves: Saves::Unknown,
        effect: Effect::FirstStep,
        ..STEP
    },
    Rule {
        key: "nothing_to_gain",
        when: "an operation of a serving step with at least 1 % of the run reaches 75 % of the roofline",
        applies: |_, issue| issue.kind == Kind::AtRoofline,
        title: "At roofline, nothing to gain: {named}",
        issue: "{longest} reaches {rate}, {percent} of {of}{more}.",
        model: "leave it as it is; only less work (narrower types, fewer tokens) makes it shorter.",
        kernel: "nothing to tune: it runs close to the roofline of this GPU.",
        notes: &[
            "In all {time}: no kernel reaches 100 % of roofline, and above 75 % tuning rarely pays.",
        ],
        saves: Saves::Nothing,
        effect: Effect::Limit,
        priority: |_, _| Priority::Low,
        ..STEP
    },
];

const STEP: Rule<Issue> = Rule {
    has_reproducer: false,
    ..Rule::BASE
};

const CHAIN: Rule<Issue> = Rule {
    notes: &[
        "They are {names}.",
        "Each is shorter than three times the least time of a kernel, {floor}. The estimate is their time less one such kernel for each chain: {saved} at most.",
    ],
    saves: Saves::Evidence,
    effect: Effect::FewerLaunches,
    ..STEP
};
