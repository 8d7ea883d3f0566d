//! Findings about idle time: one for each cause that takes some of it.

use super::tables::{name_of, python, top};
use crate::assess::idle::class::Class;
use crate::assess::idle::gaps::Gap;
use crate::assess::idle::host::Cause;
use crate::assess::idle::optimizer::remedy;
use crate::assess::idle::{Idle, OfClass};
use crate::base::format;
use crate::base::value::Value;
use crate::findings::finding::Effect;
use crate::findings::finding::{Finding, Impact};
use crate::findings::in_use::is_compiled;
use crate::findings::{Input, Severity};

pub(super) fn findings(input: &Input, idle: &Idle) -> Vec<Finding> {
    if !idle.is_flagged() {
        return Vec::new();
    }
    let thresholds = &idle.thresholds;
    let is_large = |gaps: &OfClass| idle.percent(gaps.ns) >= thresholds.finding_percent_of_total;
    let (unsure, sure): (Vec<_>, Vec<_>) = idle
        .by_time()
        .into_iter()
        .partition(|(class, _)| class.is_unsure());
    let is_sure = idle.surely_idle_percent() > thresholds.idle_flag_percent;
    let main = sure.into_iter().enumerate();
    main.filter(|(rank, (_, gaps))| (*rank == 0 && is_sure) || is_large(gaps))
        .map(|(rank, (class, gaps))| {
            // The main cause carries the level of the whole.
            let severity = match rank {
                0 => idle.severity(),
                _ if is_least_distance(class, gaps) => Severity::Low,
                _ => idle.severity_of(idle.percent(gaps.ns)),
            };
            finding(input, idle, class, gaps, severity)
        })
        .chain(
            unsure
                .into_iter()
                .filter(|(_, gaps)| is_large(gaps))
                .map(|(class, gaps)| finding(input, idle, class, gaps, Severity::Low)),
        )
        .collect()
}

fn finding(
    input: &Input,
    idle: &Idle,
    class: Class,
    gaps: &OfClass,
    severity: Severity,
) -> Finding {
    let words = match is_end_of_window(idle, class, gaps) {
        true => END_OF_WINDOW,
        false if is_least_distance(class, gaps) => LEAST_DISTANCE,
        false => words(class, idle, gaps, Launching::of(input, idle)),
    };
    let of_class = idle.top.iter().filter(|(_, cause)| cause.class == class);
    let longest = match gaps.count {
        1 => "1 gap".to_owned(),
        // A number of gaps that one of them outweighs says the wrong thing.
        count if gaps.is_mostly_one() => format!(
            "{} gaps, nearly all of it in one of {}",
            format::count(count),
            format::time_ns(gaps.longest_ns)
        ),
        count => format!(
            "{} gaps of up to {}",
            format::count(count),
            format::time_ns(gaps.longest_ns)
        ),
    };
    Finding {
        pattern: words.pattern,
        priority: severity.priority(),
        confidence: None,
        title: words.title.to_owned(),
        issue: format!(
            "{}: {} for {} ({} of the run) in {longest}.",
            words.issue,
            match class {
                Class::BeforeRecording | Class::UnrecordedGraph => "no work is recorded",
                Class::Unlinked => "work runs that does not count",
                _ => "the GPU idles",
            },
            format::time_ns(gaps.ns),
            format::percent(idle.percent(gaps.ns)),
        ),
        model: match class {
            Class::HostWork if gaps.after_wait_ns > gaps.ns / 2 => {
                format!("{} {OR_NO_WAIT}", words.model)
            }
            _ => match gaps.mostly_in() {
                Some((range, _)) => {
                    let range = input.profile.trace.strings.get(range);
                    format!("{} Or {}", remedy(range), words.model)
                }
                None => words.model.to_owned(),
            },
        },
        kernel: match class {
            Class::Queued if gaps.is_mostly_one() => NOTHING_IN_KERNELS.to_owned(),
            _ => words.kernel.to_owned(),
        },
        reasoning: reasoning(input, idle, class, gaps),
        operations: Vec::new(),
        events: gaps.evidence.iter().map(|(_, event)| *event).collect(),
        time_ns: gaps.ns,
        efficiency_percent: None,
        impact: (!class.is_unsure()).then(|| Impact::at_most(gaps.ns)),
        savings: Vec::new(),
        effect: Effect::KernelTime,
        apart: Vec::new(),
        replay: None,
        tables: vec![top(input, idle, of_class)],
    }
}

/// What also helps where the host works right after it waited for the GPU.
const OR_NO_WAIT: &str = "Or take the wait before it away (`.item()`, `.cpu()`, printing): a host that is ahead of the GPU has time for this work.";

/// Kernels of one stream leave no less between them.
const LEAST_DISTANCE_NS: i64 = 3_000;

/// Whether gaps are no longer than what one kernel leaves to the next.
fn is_least_distance(class: Class, gaps: &OfClass) -> bool {
    matches!(class, Class::Queued | Class::Unknown) && gaps.longest_ns <= LEAST_DISTANCE_NS
}

/// Of kernels that follow as closely as they can.
const LEAST_DISTANCE: Words = Words {
    pattern: "queued",
    title: "Short kernels leave short gaps",
    issue: "Each kernel begins a moment after the one before it",
    model: "compile or fuse what these kernels do, so that fewer and longer ones remain; a GPU graph makes the distance smaller.",
    kernel: "let a kernel begin while the one before it ends (programmatic dependent launch), or do the work of several in one.",
};

/// Of idle time whose end lies after the window.
const END_OF_WINDOW: Words = Words {
    pattern: "unknown_idle",
    title: "Idle time at the end of the window",
    issue: "The work that ends it begins after the window, and with it lies what would tell the cause",
    model: "analyse a part of the time that ends with work of the GPU, or the whole trace: there this gap has its cause.",
    kernel: "nothing to say before the cause is known.",
};

/// Whether most of the idle time of unknown cause is the gap that a window ends in.
fn is_end_of_window(idle: &Idle, class: Class, gaps: &OfClass) -> bool {
    let mut last = idle.top.iter().filter(|(gap, _)| gap.after.is_none());
    let is_most = |(gap, _): &(Gap, Cause)| gap.span.length() > gaps.ns / 2;
    class == Class::Unknown && last.next().is_some_and(is_most)
}

/// The pattern of idle time that may be none.
pub(super) const BEFORE_RECORDING: &str = "before_recording";

/// The pattern of idle time that is none: work runs that does not count.
pub(super) const UNLINKED: &str = "unlinked_work";

/// The pattern of idle time in which graphs may have run.
pub(super) const UNRECORDED_GRAPHS: &str = "unrecorded_graphs";

/// Whether the host spent most of some gaps in code that a compiler generated, outside of operators.
fn is_in_compiled_code(gaps: &OfClass) -> bool {
    gaps.host.compiled_ns > gaps.host.total_ns() / 2
}

/// What a kernel can do about one long gap before it.
const NOTHING_IN_KERNELS: &str = "nothing to gain in a kernel: it waits for something else.";

/// The words for a cause.
struct Words {
    pattern: &'static str,
    title: &'static str,
    /// What is the case, before a colon.
    issue: &'static str,
    model: &'static str,
    kernel: &'static str,
}

/// What is done already for launches to cost less.
#[derive(Debug, Clone, Copy)]
pub(super) struct Launching {
    pub(super) has_graphs: bool,
    pub(super) is_compiled: bool,
}

impl Launching {
    pub(super) fn of(input: &Input, idle: &Idle) -> Launching {
        Launching {
            has_graphs: idle.has_graphs,
            is_compiled: is_compiled(input),
        }
    }
}

fn words(class: Class, idle: &Idle, gaps: &OfClass, launching: Launching) -> Words {
    match class {
        Class::LaunchBound => Words {
            pattern: "launch_bound",
            title: "The host launches too slowly",
            issue: "The run is launch-bound where work ends before the next is launched",
            model: match (launching.has_graphs, launching.is_compiled) {
                _ if gaps.before_graph_ns > gaps.ns / 2 => {
                    "most of it comes before GPU graphs that are launched late: launch the next one before the last has ended, with its inputs prepared ahead, and capture larger parts in one graph."
                }
                (false, false) => {
                    "capture the steady part of the step in a GPU graph, or compile it (`torch.compile`, also with `mode=\"reduce-overhead\"`); larger batches give each launch more work."
                }
                (false, true) => {
                    "capture the steady part of the step in a GPU graph (`torch.compile` does it with `mode=\"reduce-overhead\"`), and look for graph breaks, where compiled parts end; larger batches give each launch more work."
                }
                (true, false) => {
                    "capture also what is still launched one by one in a GPU graph, or compile it (`torch.compile`); larger batches give each launch more work."
                }
                (true, true) => {
                    "capture also what is still launched one by one in a GPU graph, and look for graph breaks, where compiled parts end; larger batches give each launch more work."
                }
            },
            kernel: "fuse neighbouring short kernels, so that fewer launches carry the same work.",
        },
        Class::Synchronisation => Words {
            pattern: "synchronisation",
            title: "The host waits for the GPU",
            issue: "The host waits until the GPU is done, and launches only then",
            model: match idle.has_pageable {
                _ if idle.waits_outside_of_operators() => {
                    "take `torch.cuda.synchronize()`, and `synchronize()` of events and streams, out of the loop, as around timers: events on the GPU (`torch.cuda.Event(enable_timing=True)`) take times without a wait; read results of several steps at once."
                }
                true => {
                    "keep values on the GPU: no `.item()`, `.cpu()`, printing or data-dependent shapes in the loop; copy with `non_blocking=True` from and to pinned memory; read results of several steps at once."
                }
                false => {
                    "keep values on the GPU: no `.item()`, `.cpu()`, printing or data-dependent shapes in the loop; read results of several steps at once."
                }
            },
            kernel: match idle.waits_outside_of_operators() {
                true => "nothing to gain in a kernel.",
                false => {
                    "a kernel that takes the value from GPU memory makes the wait unnecessary."
                }
            },
        },
        Class::HostWork => Words {
            pattern: "host_work",
            title: "The host works between launches",
            issue: "The host does other work for long before it launches again",
            model: match is_in_compiled_code(gaps) {
                true => {
                    "most of it is the Python code that the compiler generated around its kernels: capture it in GPU graphs (`torch.compile` with `mode=\"reduce-overhead\"`), or let it generate C++ in place of Python (`torch._inductor.config.cpp_wrapper = True`)."
                }
                false => {
                    "take that work out of the loop: do it once, ahead of time in another thread or process, or on the GPU, and let the host run ahead of the GPU."
                }
            },
            kernel: "nothing to gain in a kernel; larger batches give the host more time for each step.",
        },
        Class::DataLoading => Words {
            pattern: "data_loading",
            title: "The GPU waits for data",
            issue: "The host waits for or prepares the next batch",
            model: match idle.has_pageable {
                true => {
                    "load ahead: more workers, `pin_memory=True`, a larger `prefetch_factor`, copies with `non_blocking=True`; prepare data beforehand."
                }
                false => {
                    "load ahead: more workers, a larger `prefetch_factor`, copies with `non_blocking=True`; prepare data beforehand."
                }
            },
            kernel: "decode and augment on the GPU, where kernels for it exist.",
        },
        Class::GraphLaunch => Words {
            pattern: "graph_launch",
            title: "Gaps inside of GPU graphs",
            issue: "Inside of GPU graphs work does not follow without gaps",
            model: "fewer, longer kernels: compile or fuse what the graph runs; measure once without the profiler, which lengthens these gaps.",
            kernel: "let a kernel begin while the one before it ends (programmatic dependent launch), or do the work of several in one.",
        },
        Class::StartUp => Words {
            pattern: "start_up",
            title: "Kernels are loaded, code compiled or graphs captured",
            issue: "The GPU waits while kernels are loaded, code is compiled, a graph is captured or the profiler works",
            model: "warm up before recording and before measuring, and keep shapes the same from step to step; what happens in the first steps alone does not return in a long run.",
            kernel: "load or build kernels ahead of time (eager loading of modules, a cache of compiled kernels).",
        },
        Class::Allocation => Words {
            pattern: "allocation",
            title: "Memory is allocated or freed",
            issue: "The GPU waits while its memory, or pinned memory of the host, is allocated or freed",
            model: "keep what was allocated: no `torch.cuda.empty_cache()` in the loop, pinned buffers that are made once, and peaks below what the caching allocator holds, so that it need not free and try again (`expandable_segments:True`); what happens in the first steps alone does not return in a long run.",
            kernel: "nothing to gain in a kernel, but for less memory that it needs besides.",
        },
        Class::Queued => Words {
            pattern: "queued",
            title: "Work is launched in time, but begins late",
            issue: "Work that was launched already begins late",
            model: match idle.has_pageable {
                true => {
                    "look for what the stream waits for: events of other streams, other processes on the GPU, work that the trace does not show; fewer streams and fewer events between them. Copies of pageable memory begin only once the driver has gathered their bytes: pin it."
                }
                false => {
                    "look for what the stream waits for: events of other streams, other processes on the GPU, work that the trace does not show; fewer streams and fewer events between them."
                }
            },
            kernel: "each kernel begins a moment after the one before it: fewer, longer kernels leave fewer gaps.",
        },
        Class::BeforeRecording => Words {
            pattern: BEFORE_RECORDING,
            title: "Work from before the recording may fill a gap",
            issue: "The first recorded work of a stream was launched in time and begins late, as behind work that was launched before the recording and is in no trace",
            model: "begin to record while the GPU has nothing to do: after `torch.cuda.synchronize()`, or with a step of warm-up in the schedule of the profiler. Only if the gap stays is it one.",
            kernel: "nothing to say before the cause is known.",
        },
        Class::Unlinked => Words {
            pattern: UNLINKED,
            title: "Work that does not count runs meanwhile",
            issue: "GPU work whose launch is not known fills what counts as idle time",
            model: "count all GPU work (on the command line with `--all-gpu-events`): then this time is none of idling.",
            kernel: "nothing to gain: the GPU works.",
        },
        Class::UnrecordedGraph => Words {
            pattern: UNRECORDED_GRAPHS,
            title: "Graphs ran of which nothing was recorded",
            issue: "GPU graphs were launched of whose work the trace has none, so that it does not tell whether the GPU idles",
            model: "record with a profiler that sees what graphs run, or once without graphs: then idle time can be told.",
            kernel: "nothing to say before that is known.",
        },
        Class::Unknown if idle.has_host_ops => Words {
            pattern: "unknown_idle",
            title: "Idle time of unknown cause",
            issue: "It is not known when the work that ends it was launched",
            model: "begin to record while the GPU has nothing to do: after `torch.cuda.synchronize()`, or with a step of warm-up in the schedule of the profiler. Then the gaps can be explained.",
            kernel: "nothing to say before the cause is known.",
        },
        Class::Unknown => Words {
            pattern: "unknown_idle",
            title: "Idle time of unknown cause",
            issue: "The trace does not tell what the host did meanwhile",
            model: "record the host as well (`ProfilerActivity.CPU`, and `with_stack=True` for a few steps): then the gaps can be explained.",
            kernel: "nothing to say before the cause is known.",
        },
    }
}

fn reasoning(input: &Input, idle: &Idle, class: Class, gaps: &OfClass) -> Vec<String> {
    let mut sentences = Vec::new();
    let host_is_cause = matches!(
        class,
        Class::LaunchBound | Class::HostWork | Class::Synchronisation
    );
    if class == Class::LaunchBound {
        let kernels = &idle.kernels;
        let has_kernels_alone = kernels.work.count == kernels.count;
        if let (Some(work_ns), Some(gap_ns)) = (kernels.mean_work_ns(), mean_ns(gaps)) {
            sentences.push(format!(
                "A {} takes {} in the mean, and the next launch leaves a gap of {}.",
                match has_kernels_alone {
                    true => "kernel",
                    false => "kernel, copy or fill",
                },
                format::time_ns(work_ns),
                format::time_ns(gap_ns)
            ));
        }
        sentences.push(format!(
            "{} of {} are shorter than {}.",
            format::count(kernels.n_short_work),
            match has_kernels_alone {
                true => format::counted(kernels.count, "kernel"),
                false => format!(
                    "{} kernels, copies and fills",
                    format::count(kernels.work.count)
                ),
            },
            format::time_us(idle.thresholds.short_kernel_us)
        ));
        if let Some((range, tally)) = gaps.mostly_in()
            && let Value::Quoted(name) = name_of(input, Some(range))
        {
            sentences.push(format!(
                "{} of {} end with a launch in `{name}`: {}.",
                format::count(tally.count),
                format::counted(gaps.count, "gap"),
                format::time_ns(tally.ns)
            ));
        }
        sentences.extend(most_late(input, gaps));
    }
    let host = gaps.host;
    let all_ns = host.total_ns();
    if host_is_cause && all_ns > 0 {
        let share = |ns: i64| format::percent(ns as f64 * 100.0 / all_ns as f64);
        sentences.push(format!(
            "Until the launch the host spent {} of these gaps in operators, {} in calls of the GPU runtime, {} waiting, and {} outside of all of them, in Python for the most part{}.",
            share(host.operators_ns),
            share(host.runtime_ns),
            share(host.waiting_ns),
            share(host.outside_ns),
            match host.compiled_ns {
                0 => String::new(),
                compiled_ns => format!(
                    " ({} in the code around compiled kernels)",
                    share(compiled_ns)
                ),
            }
        ));
    }
    if let Class::HostWork = class
        && let Some((operator, tally)) = gaps.busy_in.first()
        && let Value::Quoted(name) = name_of(input, Some(*operator))
    {
        sentences.push(format!(
            "In {} it is in `{name}` for most of the time: {}.",
            format::counted(tally.count, "gap"),
            format::time_ns(tally.ns)
        ));
    }
    if class == Class::Synchronisation
        && let Some(((call, operator), tally)) = idle.waits.first()
    {
        let text = |value: Value| match value {
            Value::Quoted(name) => format!("`{name}`"),
            _ => "no operator".to_owned(),
        };
        sentences.push(format!(
            "{} of it follows {} in {}: {} in {}.",
            match tally.ns > gaps.ns / 2 {
                true => "Most",
                false => "The largest part",
            },
            text(name_of(input, Some(*call))),
            text(name_of(input, *operator)),
            format::time_ns(tally.ns),
            format::counted(tally.count, "gap")
        ));
    }
    sentences.extend(the_longest(input, idle, class, gaps));
    let total_ns = idle.timeline.total_ns();
    let left_ns = total_ns.saturating_sub(gaps.ns);
    if class == Class::Unlinked {
        sentences.push("The time counts as idle, and in no saving.".to_owned());
    } else if class.is_unsure() {
        sentences.push(
            "A trace cannot tell whether the GPU idled: the time counts as idle, and in no saving."
                .to_owned(),
        );
    } else if left_ns > 0 {
        sentences.push(format!(
            "Without any of it the run would be {} times as fast: that is the most there is to gain.",
            format::times_as_fast(total_ns as f64 / left_ns as f64)
        ));
    }
    if idle.has_frames && host_is_cause {
        sentences.push(
            "Python frames were recorded, which slows the host: without them these gaps are shorter."
                .to_owned(),
        );
    }
    if class == Class::Queued && !is_least_distance(class, gaps) {
        sentences.push("What the GPU waited for cannot be told from a trace.".to_owned());
    }
    sentences
}

/// The operator whose work comes late most often, where it has a good part of these gaps.
fn most_late(input: &Input, gaps: &OfClass) -> Option<String> {
    let (operator, tally) = gaps.operators.first()?;
    let Value::Quoted(name) = name_of(input, *operator) else {
        return None;
    };
    let is_much = tally.ns > gaps.ns / 4 && gaps.operators.len() > 1;
    is_much.then(|| {
        format!(
            "The most of it comes before work of `{name}`: {} in {}.",
            format::time_ns(tally.ns),
            format::counted(tally.count, "gap")
        )
    })
}

/// What ends the longest gap of a cause; and where it lies, if it is nearly all of them.
fn the_longest(input: &Input, idle: &Idle, class: Class, gaps: &OfClass) -> Option<String> {
    let (gap, cause) = idle.top.iter().find(|(_, cause)| cause.class == class)?;
    let length = format::time_ns(gap.span.length());
    if class.is_unsure() || matches!(class, Class::Queued | Class::Unknown) {
        let is_most = gap.span.length() > gaps.ns / 2 && gaps.count > 1;
        let since = match input.profile.window {
            Some(_) => "the window begins",
            None => "the first GPU work of the trace",
        };
        return is_most.then(|| {
            format!(
                "One gap of {length} is most of it; it begins {} after {since}.",
                format::time_ns(idle.start_ns(gap))
            )
        });
    }
    let profile = input.profile;
    let trace = &profile.trace;
    let operator = profile.gpu.get(gap.after?)?.parent_op;
    let event = operator
        .and_then(|op| profile.tree.event(op))
        .or(cause.launch)?;
    let name = format::middle_ellipsis(trace.strings.get(trace.events.name(event)), 80);
    let place = match python(input, cause) {
        Value::Quoted(frame) => format!(" in `{frame}`"),
        _ => String::new(),
    };
    if let Some(wait) = cause.blocking {
        let call = trace.strings.get(trace.events.name(wait));
        return Some(format!("The longest, {length}, follows `{call}`{place}."));
    }
    Some(format!(
        "The longest, {length}, ends with the launch of `{name}`{place}."
    ))
}

fn mean_ns(gaps: &OfClass) -> Option<i64> {
    let count = i64::try_from(gaps.count).ok().filter(|count| *count > 0)?;
    Some(gaps.ns / count)
}
