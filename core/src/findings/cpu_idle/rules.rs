//! The rules for idle time: one finding for each cause that takes some of it.

use super::autograd;
use super::observed::Observed;
use super::other_threads::IN_TURN;
use super::reasoning::reasoning;
use super::tables::{code_of_cause, longest_gaps};
use crate::assess::idle::cause::IdleCause;
use crate::findings::cpu_idle::launch_calls::LaunchCalls;
use crate::findings::loops::experts::ExpertLoops;
use crate::findings::loops::steps::StepLoops;
use crate::findings::prelude::*;
use crate::hardware::Vendor;
use crate::names::batch::Engine;
use crate::profile::Profile;

impl Subject for Observed<'static> {
    type Of<'a> = Observed<'a>;

    fn evidence(group: &Group<Self>, rule: &Rule<Self>) -> Option<Evidence> {
        let observed = group.first();
        let ns = observed.left_ns();
        let longest = observed.idle.longest.iter();
        let of_cause = longest.filter(|gap| gap.cause == observed.cause);
        Some(Evidence {
            events: observed
                .gaps
                .evidence
                .iter()
                .map(|(_, event)| *event)
                .collect(),
            impact: matches!(rule.saves, Saves::Evidence).then(|| {
                match observed.is_least_distance() {
                    // Each kernel that is left keeps its gap.
                    true => Impact::possible(ns),
                    false => Impact::at_most(ns),
                }
            }),
            reasoning: reasoning(group.input, observed),
            tables: code_of_cause(group.input, observed.idle, observed.cause)
                .into_iter()
                .chain([longest_gaps(group.input, observed.idle, of_cause)])
                .collect(),
            includes: observed.kernels_of_optimizer(),
            ..Evidence::new(observed.severity.priority(), ns)
        })
    }

    fn words(group: &Group<Self>) -> Words {
        let observed = group.first();
        let optimizer = observed.optimizer(group.input);
        let experts = match ExpertLoops::of(group.input).are_most() {
            true => GROUP_EXPERTS,
            false => "",
        };
        let first = if optimizer.is_empty() {
            experts
        } else {
            optimizer
        };
        let vendor = group.input.vendor();
        let meanwhile = observed.other_thread(group.input);
        vec![
            ("time", observed.time(group.input)),
            either("in_turn", !meanwhile.is_empty(), IN_TURN, ""),
            ("meanwhile", meanwhile),
            ("first", format!("{}{first}", autograd::advice(group.input))),
            ("experts", experts.to_owned()),
            holds("compiled", observed.is_compiled),
            holds("streams", has_streams(group.input.profile)),
            holds("pageable", observed.idle.has_pageable),
            holds("cuda", vendor.is_none_or(|vendor| vendor == Vendor::Nvidia)),
            holds(
                "short",
                observed.idle.kernels.short_percent() >= MANY_SHORT_PERCENT,
            ),
        ]
    }
}

/// Advice for loops over experts, whose GEMMs differ in size from step to step: graphs do not fit them.
const GROUP_EXPERTS: &str = "most of these kernels belong to loops over experts: sort the tokens by expert once, and multiply them in one grouped GEMM for each projection (`torch._grouped_mm`) or in a fused MoE kernel, which takes a few launches for each layer. Or ";

/// Whether GPU activity ran on several streams, so that one can wait for another.
fn has_streams(profile: &Profile) -> bool {
    let mut streams = profile.gpu.all().map(|work| work.stream);
    let first = streams.next();
    streams.any(|stream| Some(stream) != first)
}

/// From this share of short kernels on, they are the reason for too many launches.
const MANY_SHORT_PERCENT: f64 = 30.0;

pub(super) const RULES: &[Rule<Observed>] = &[
    Rule {
        key: "unknown_idle",
        when: "most of it is the gap that ends with the window",
        applies: |_, observed| observed.is_end_of_window(),
        title: "Idle time at the end of the window",
        issue: "The activity that ends this gap starts after the window, so its cause is unknown: the GPU is idle for {time}.",
        model: "analyze a part of the time that ends with GPU activity, or the whole trace: there this gap has its cause.",
        saves: Saves::Unknown,
        ..UNKNOWN
    },
    Rule {
        key: "queued",
        when: "nearly all of it is in gaps no longer than what one kernel leaves to the next",
        applies: |_, observed| observed.is_least_distance() && observed.cause != IdleCause::InGraph,
        title: "Short kernels leave short gaps",
        issue: "There is a short gap before each kernel: the GPU is idle for {time}.",
        model: "{first}{compiled?replay the compiled code as GPU graphs (`mode=\"reduce-overhead\"`), which shortens the gaps, and look for graph breaks, at which kernels stay apart|compile or fuse the operations of these kernels, so that fewer and longer kernels remain; a GPU graph shortens the gaps}.",
        kernel: OVERLAP,
        ..CAUSE
    },
    Rule {
        key: "eager_steps",
        when: "kernels of decode steps, or of prefill of few tokens, finish before the next launch, and no GPU graph is launched",
        applies: |input, observed| {
            observed.cause == IdleCause::LaunchBound && observed.are_steps_eager(input)
        },
        title: "Eager steps where a GPU graph is usual",
        issue: "Steps are launched kernel by kernel, and kernels finish before the next are launched: the GPU is idle for {time}.",
        model: "let the engine capture these steps in GPU graphs: {eager_flag}check `cudagraph_mode` (`FULL`, `PIECEWISE`, `FULL_DECODE_ONLY`, `FULL_AND_PIECEWISE`, `NONE`) where it has one. If the recording was eager on purpose, its times are not those of production.",
        words: |group| {
            let serving = group.input.profile.serving();
            let engine = serving.and_then(|serving| serving.engine);
            let flag = engine.and_then(Engine::eager_flag);
            let flag = flag.map_or(String::new(), |flag| format!("remove {flag}, "));
            vec![("eager_flag", flag)]
        },
        ..LAUNCH_BOUND
    },
    Rule {
        key: "piecewise_launches",
        when: "kernels finish before the next launch, in steps of which most only decode and are launched as many graphs",
        applies: |input, observed| {
            observed.cause == IdleCause::LaunchBound && observed.are_graphs_pieces(input)
        },
        title: "Launch-bound: decode in piecewise graphs",
        issue: "Decode steps are launched in many graphs with other kernels between them, which finish before the next launch: the GPU is idle for {time}.",
        model: "capture decode as one graph: with vLLM a `cudagraph_mode` of `FULL_DECODE_ONLY` or `FULL_AND_PIECEWISE` in `--compilation-config`, where the attention backend allows it.",
        ..LAUNCH_BOUND
    },
    Rule {
        key: "blocking_launches",
        when: "kernels finish before the next launch, and nearly all launch calls end after their own kernels",
        applies: |input, observed| {
            observed.cause == IdleCause::LaunchBound
                && LaunchCalls::once(input.profile).are_blocking
        },
        title: "Launches wait for their kernels",
        issue: "Nearly all launch calls return only after their own kernel has ended, as with `CUDA_LAUNCH_BLOCKING=1`: the GPU is idle for {time}.",
        model: "unset `CUDA_LAUNCH_BLOCKING` (on ROCm `HIP_LAUNCH_BLOCKING` and `AMD_SERIALIZE_KERNEL`), which are for debugging, and record again.",
        kernel: "nothing to gain in a kernel: launches need not wait.",
        ..CAUSE
    },
    Rule {
        key: "slow_launches",
        when: "kernels finish before the next launch, and the CPU is mostly in launch calls that take at least 20 µs (median)",
        applies: |input, observed| {
            observed.cause == IdleCause::LaunchBound && observed.are_launches_slow(input)
        },
        title: "Launch calls take long",
        issue: "A launch call takes {launch} (median), where 3 to 10 µs are usual, and kernels finish before the next are launched: the GPU is idle for {time}.",
        model: "find out what slows down launch calls: CPU cores shared with other processes or limited by the container, other threads of the process that call the driver, further tools that trace its calls, a low CPU frequency. Then launch less: capture the steady part of the step in a GPU graph, or compile it (`torch.compile`).",
        words: |group| {
            let median_ns = LaunchCalls::once(group.input.profile).median_ns;
            vec![("launch", median_ns.map_or(String::new(), format::time_ns))]
        },
        ..LAUNCH_BOUND
    },
    Rule {
        key: "step_loop",
        when: "kernels finish before the next launch, most of them in loops that take the slices of a tensor one after the other",
        applies: |input, observed| {
            observed.cause == IdleCause::LaunchBound && StepLoops::of(input).are_most()
        },
        title: "A Python loop over the slices of a tensor",
        issue: "A Python loop takes slice after slice of a tensor ({loop}), with about {kernels} for each, which finish before the next are launched: the GPU is idle for {time}.",
        model: "compute all steps in one call. {mamba?Mamba's layers do so with the fused scan of the `mamba_ssm` and `causal_conv1d` packages (`selective_scan_fn`); without these packages they fall back to this loop|Where a step needs the last one, use `torch.nn.LSTM`, `torch.nn.GRU` or the fused scan of a state-space or linear-attention layer; where steps are independent, one batched operation (`bmm`, broadcasting, `torch.vmap`)}. Otherwise capture the loop in a GPU graph, or compile it (`torch.compile`).",
        kernel: "one kernel that keeps the state on chip and goes over the steps (a scan) takes the place of all of these.",
        words: |group| {
            let loops = StepLoops::of(group.input);
            let kernels = format::counted(loops.kernels_per_step(), "kernel");
            vec![
                ("loop", loops.text(group.input.profile)),
                ("kernels", kernels),
                holds("mamba", loops.is_mamba),
            ]
        },
        notes: &[
            "Each slice is taken by `aten::select` with the next index. The kernels of the loop take time, too, of which one kernel for all steps needs a small part; that is not in the saving.",
        ],
        ..LAUNCH_BOUND
    },
    Rule {
        key: "graph_breaks",
        when: "the GPU waits mostly for the first launches of compiled regions, of which a step enters at least 3",
        applies: |_, observed| observed.is_between_regions(),
        title: "Graph breaks: compiled code in many parts",
        issue: "A step enters {regions}, each through guards and Python code: the GPU is idle for {time}, {share} of it right before their first kernels.",
        model: "find what splits the compiled code: `TORCH_LOGS=graph_breaks` lists each break, and `fullgraph=True` raises an error at the first (printing, `.item()`, branches that depend on values, calls that cannot be traced). Compile the whole model rather than its layers one by one{graphs?|, then replay it as GPU graphs (`mode=\"reduce-overhead\"`)}.",
        words: |group| {
            let observed = group.first();
            let regions = observed.idle.regions_per_step.unwrap_or(0.0).round() as u64;
            let share = percent_of(observed.before_regions_ns(), observed.gaps.all.ns);
            vec![
                ("regions", format::counted(regions, "compiled region")),
                ("share", share.map_or(String::new(), format::percent)),
                holds("graphs", observed.idle.has_graphs),
            ]
        },
        ..LAUNCH_BOUND
    },
    Rule {
        when: "kernels finish before the next launch, most of them before graph launches",
        applies: |_, observed| {
            observed.cause == IdleCause::LaunchBound
                && observed.is_most(observed.gaps.before_graph_ns)
        },
        model: "{first}launch the next GPU graph before the current one finishes, with its inputs prepared ahead, and capture larger parts in one graph: most of this time precedes graph launches.",
        ..LAUNCH_BOUND
    },
    Rule {
        when: "kernels finish before the next launch, with GPU graphs and compiled code",
        applies: |_, observed| {
            observed.cause == IdleCause::LaunchBound
                && observed.idle.has_graphs
                && observed.is_compiled
        },
        model: "{first}also capture in a GPU graph the kernels that are still launched one by one, and look for graph breaks, where compiled parts end; larger batches give each launch more work.",
        ..LAUNCH_BOUND
    },
    Rule {
        when: "kernels finish before the next launch, with GPU graphs",
        applies: |_, observed| observed.cause == IdleCause::LaunchBound && observed.idle.has_graphs,
        model: "{first}also capture in a GPU graph the kernels that are still launched one by one, or compile them (`torch.compile`); larger batches give each launch more work.",
        ..LAUNCH_BOUND
    },
    Rule {
        when: "kernels finish before the next launch, with compiled code",
        applies: |_, observed| observed.cause == IdleCause::LaunchBound && observed.is_compiled,
        model: "{first}capture the steady part of the step in a GPU graph (`torch.compile` does it with `mode=\"reduce-overhead\"`), and look for graph breaks, where compiled parts end; larger batches give each launch more work.",
        ..LAUNCH_BOUND
    },
    Rule {
        when: "kernels finish before the next launch",
        applies: |_, observed| observed.cause == IdleCause::LaunchBound,
        model: "{first}capture the steady part of the step in a GPU graph, or compile it (`torch.compile`, also with `mode=\"reduce-overhead\"`); larger batches give each launch more work.",
        ..LAUNCH_BOUND
    },
    Rule {
        when: "the CPU waits for the GPU, mostly outside operators",
        applies: |_, observed| {
            observed.cause == IdleCause::Synchronization
                && observed.idle.waits_outside_of_operators()
        },
        model: "take `torch.cuda.synchronize()`, and `synchronize()` of events and streams, out of the loop, as around timers: GPU events (`torch.cuda.Event(enable_timing=True)`) record times without blocking the CPU; read results of several steps at once.",
        kernel: "nothing to gain in a kernel.",
        ..SYNCHRONIZATION
    },
    Rule {
        when: "the CPU waits for the GPU in operators",
        applies: |_, observed| observed.cause == IdleCause::Synchronization,
        model: "{experts}keep values on the GPU: no `.item()`, `.cpu()`, printing or data-dependent shapes in the loop;{pageable? copy with `non_blocking=True` from and to pinned memory;} read results of several steps at once.",
        kernel: "a kernel that takes the value from GPU memory makes the wait unnecessary.",
        ..SYNCHRONIZATION
    },
    Rule {
        when: "the CPU is in code that a compiler generated, outside operators",
        applies: |_, observed| {
            observed.cause == IdleCause::CpuWork && observed.is_in_compiled_code()
        },
        model: "capture the Python code that the compiler generated around its kernels, where most of this time goes, in GPU graphs (`torch.compile` with `mode=\"reduce-overhead\"`), or let it generate C++ instead (`torch._inductor.config.cpp_wrapper = True`) and leave out its checks of sizes (`torch._inductor.config.size_asserts = False`).{or_no_wait}",
        ..CPU_WORK
    },
    Rule {
        when: "the CPU does something else for long before it launches",
        applies: |_, observed| observed.cause == IdleCause::CpuWork,
        model: "take that work out of the loop: do it once, ahead of time in another thread or process, or on the GPU, and let the CPU run ahead of the GPU.{or_no_wait}",
        ..CPU_WORK
    },
    Rule {
        key: "data_loading",
        when: "the CPU waits for or prepares the next batch",
        applies: |_, observed| observed.cause == IdleCause::DataLoading,
        title: "The GPU waits for data",
        issue: "The CPU waits for or prepares the next batch: the GPU is idle for {time}.",
        model: "load ahead: more workers,{pageable? `pin_memory=True`,} a larger `prefetch_factor`, copies with `non_blocking=True`; prepare data beforehand.",
        kernel: "decode and augment on the GPU, where kernels for it exist.",
        ..CAUSE
    },
    Rule {
        key: "graph_launch",
        when: "there are gaps between the kernels of one graph launch",
        applies: |_, observed| observed.cause == IdleCause::InGraph,
        title: "Gaps inside GPU graphs",
        issue: "There are gaps between consecutive kernels of a GPU graph: the GPU is idle for {time}.",
        model: "fewer, longer kernels: compile or fuse what the graph runs; measure once without the profiler, which lengthens these gaps.",
        kernel: OVERLAP,
        ..CAUSE
    },
    Rule {
        key: "start_up",
        when: "something runs for the first time: kernels are loaded, code is compiled, a graph is captured, or the profiler works",
        applies: |_, observed| observed.cause == IdleCause::Startup,
        title: "Cold start: warm up, then record again",
        issue: "Kernels are loaded, code is compiled, a graph is captured, or something else runs for the first time: the GPU is idle for {time}.",
        model: "run some steps before recording (the profiler's `schedule(wait=1, warmup=3, active=3, repeat=1)`) and before measuring, then record again; keep shapes the same from step to step. What happens only in the first steps does not recur in a long run.",
        kernel: "load or build kernels ahead of time ({cuda?`CUDA_MODULE_LOADING=EAGER`, |}a cache of compiled kernels).",
        notes: &["It is counted as idle time, and in no saving."],
        saves: Saves::Unknown,
        ..CAUSE
    },
    Rule {
        key: "recompilation",
        when: "GPU graphs are captured in a step after two others that captured some",
        applies: |_, observed| {
            observed.cause == IdleCause::Recompilation
                && observed.is_most(observed.gaps.capturing_ns)
        },
        title: "GPU graphs captured again and again",
        issue: "GPU graphs are still captured after two steps that captured some: the GPU is idle for {time}.",
        model: "give the captured code inputs of few sizes (pad batches and sequences to fixed ones) at addresses that stay: each other size is captured anew. Where sizes have to vary, leave graphs out (`torch.compile` without `mode=\"reduce-overhead\"`).",
        kernel: "nothing to gain in a kernel.",
        notes: &[NOT_AGAIN],
        ..CAUSE
    },
    Rule {
        key: "recompilation",
        when: "code is compiled after a step that ran compiled code and compiled nothing, or some code for the third time",
        applies: |_, observed| observed.cause == IdleCause::Recompilation,
        title: "Recompilation during the run",
        issue: "Code that had been compiled is compiled again: the GPU is idle for {time}.",
        model: "find the guard that failed (`TORCH_LOGS=recompiles`): let sizes that vary be dynamic (`torch._dynamo.mark_dynamic`, `torch.compile(dynamic=True)`) or pad inputs to a few fixed sizes, and keep numbers that change from step to step out of what is compiled (pass them as tensors).",
        kernel: "nothing to gain in a kernel.",
        notes: &[NOT_AGAIN],
        ..CAUSE
    },
    Rule {
        key: "allocation",
        when: "memory is allocated or freed",
        applies: |_, observed| observed.cause == IdleCause::Allocation,
        title: "Memory is allocated or freed",
        issue: "GPU memory, or pinned host memory, is allocated or freed: the GPU is idle for {time}.",
        model: "keep what was allocated: no `torch.cuda.empty_cache()` in the loop, pinned buffers that are made once, and peaks below what the caching allocator holds, so that it need not free and try again (`expandable_segments:True`); what happens only in the first steps does not recur in a long run.",
        kernel: "nothing to gain in a kernel, except less memory for workspaces.",
        ..CAUSE
    },
    Rule {
        when: "kernels and copies start long after their launch, nearly all in one gap, or in gaps that are no short ones between kernels",
        applies: |_, observed| observed.cause == IdleCause::Queued && observed.are_gaps_long(),
        kernel: "nothing to gain in a kernel: it waits for something else.",
        ..QUEUED
    },
    Rule {
        when: "kernels and copies start long after their launch",
        applies: |_, observed| observed.cause == IdleCause::Queued,
        kernel: "there is a short gap before each kernel: fewer, longer kernels leave fewer gaps.",
        ..QUEUED
    },
    Rule {
        key: IdleCause::BeforeRecording.key(),
        when: "the first recorded activity of a stream starts long after its launch",
        applies: |_, observed| observed.cause == IdleCause::BeforeRecording,
        title: "Activity from before the recording may fill gaps",
        issue: "The first recorded activity of a stream starts long after its launch, as if queued behind kernels launched before the recording: nothing is recorded for {time}.",
        model: "start to record while the GPU is idle: after `torch.cuda.synchronize()`, or with a warmup step in the schedule of the profiler. If the gap remains, it is idle time.",
        notes: &[MAY_BE_BUSY],
        saves: Saves::Unknown,
        ..UNKNOWN
    },
    Rule {
        key: IdleCause::UnrecordedGraph.key(),
        when: "GPU graphs were launched of whose kernels the trace has none",
        applies: |_, observed| observed.cause == IdleCause::UnrecordedGraph,
        title: "GPU graphs without recorded kernels",
        issue: "The trace has no kernels of some GPU graphs that were launched: nothing is recorded for {time}.",
        model: "record with a profiler that traces the kernels of graphs, or once without graphs: then idle time can be measured.",
        notes: &[MAY_BE_BUSY],
        saves: Saves::Unknown,
        ..UNKNOWN
    },
    Rule {
        key: IdleCause::UnrecordedKernel.key(),
        when: "graph replays lack the kernels of their last captured launches",
        applies: |_, observed| observed.cause == IdleCause::UnrecordedKernel,
        title: "Graph replays without their last kernels",
        issue: "Graph replays lack the kernels of their last captured launches: nothing is recorded for {time} after them, in which those ran.",
        model: "nothing to gain: the profiler did not record these kernels.",
        kernel: "nothing to gain: the GPU is busy.",
        notes: &["The time counts as idle, and in no saving."],
        saves: Saves::Nothing,
        ..CAUSE
    },
    Rule {
        key: "unknown_idle",
        when: "the launch of what ends gaps is unknown",
        applies: |input, _| input.profile.has_cpu_ops(),
        issue: "The launch of what ends the gaps is unknown: the GPU is idle for {time}.",
        model: "start to record while the GPU is idle: after `torch.cuda.synchronize()`, or with a warmup step in the schedule of the profiler. Then the gaps can be explained.",
        ..UNKNOWN
    },
    Rule {
        key: "unknown_idle",
        when: "no CPU operators were recorded",
        issue: "The trace does not show what the CPU did: the GPU is idle for {time}.",
        model: "record the CPU as well (`ProfilerActivity.CPU`, and `with_stack=True` for a few steps): then the gaps can be explained.",
        ..UNKNOWN
    },
];

const NOT_AGAIN: &str = "A trace does not show whether more such steps follow: what is compiled for the last new size does not return.";

const OVERLAP: &str = "do the work of several kernels in one, or let a kernel start while the one before it ends, where the GPU supports that (programmatic dependent launch).";

const MAY_BE_BUSY: &str =
    "A trace cannot tell whether the GPU was idle: the time counts as idle, and in no saving.";

const CAUSE: Rule<Observed> = Rule {
    saves: Saves::Evidence,
    has_reproducer: false,
    ..Rule::BASE
};

const LAUNCH_BOUND: Rule<Observed> = Rule {
    key: "launch_bound",
    title: "Launch-bound: the GPU waits for launches",
    issue: "Kernels finish before the next are launched: the GPU is idle for {time}{meanwhile}.",
    notes: &["{in_turn}"],
    kernel: "{short?fuse neighboring short kernels|kernels are long enough, the CPU is the bottleneck: fuse neighbors}, so that the same work needs fewer launches.",
    ..CAUSE
};

const SYNCHRONIZATION: Rule<Observed> = Rule {
    key: "synchronization",
    title: "CPU waits for the GPU",
    issue: "The CPU waits until the GPU is done, and launches only then: the GPU is idle for {time}.",
    ..CAUSE
};

const CPU_WORK: Rule<Observed> = Rule {
    key: "host_work",
    title: "CPU work between launches",
    issue: "The CPU does other work for long before it launches again: the GPU is idle for {time}{meanwhile}.",
    notes: &["{in_turn}"],
    kernel: "nothing to gain in a kernel; larger batches leave the CPU more time for each step.",
    words: |group| {
        let no_wait = " Or remove the wait before it (`.item()`, `.cpu()`, printing): a CPU that runs ahead of the GPU has time for this work.";
        let observed = group.first();
        let is_after_wait = observed.is_most(observed.gaps.after_wait_ns);
        vec![either("or_no_wait", is_after_wait, no_wait, "")]
    },
    ..CAUSE
};

const QUEUED: Rule<Observed> = Rule {
    key: "queued",
    title: "Queued kernels start late",
    issue: "Kernels and copies that are queued on the GPU start late: the GPU is idle for {time}.",
    model: "look for what the stream waits for: {streams?events of other streams, |}other processes on the GPU (`nvidia-smi`, `rocm-smi`), activity that the trace does not show{streams?; fewer streams and fewer events between them|}.{pageable? Copies from pageable memory start only after the driver has staged the data: use pinned memory (`pin_memory()`).}",
    notes: &["A trace cannot tell what the GPU waited for."],
    ..CAUSE
};

const UNKNOWN: Rule<Observed> = Rule {
    title: "Idle time of unknown cause",
    kernel: "none until the cause is known.",
    ..CAUSE
};
