//! The code that keeps the GPU idle: one finding for each function that explains a good part of the run.

use super::tables::{code_table, longest_ends_with, longest_gaps};
use crate::assess::idle::Idle;
use crate::assess::idle::cause::IdleCause;
use crate::assess::idle::code::Place;
use crate::assess::idle::code::rows::CodeRow;
use crate::assess::idle::explain::ExplainedGap;
use crate::base::tally::Tally;
use crate::findings::Severity;
use crate::findings::prelude::*;
use crate::names::cpu_activity::CpuActivity::{self, *};
use crate::names::host_calls::is_compiled_region;

/// A function, an operator or a call in which the CPU keeps the GPU idle.
pub(super) struct CodeSeen<'a> {
    pub(super) idle: &'a Idle,
    pub(super) row: &'a CodeRow,
    pub(super) severity: Severity,
}

impl<'a> CodeSeen<'a> {
    /// What is worth a finding of its own, the longest first. Where the CPU is busy launching, only what
    /// its name tells: the rest has one remedy, and one finding.
    pub(super) fn of(idle: &'a Idle) -> Vec<CodeSeen<'a>> {
        let rows = idle.code.rows.iter();
        let large = rows.filter(|row| {
            let is_large = idle.percent(row.all.ns) >= idle.thresholds.idle_code_percent;
            let is_told = row.activity.is_some() || is_long_work(row);
            // What is compiled again has one remedy, whichever part of the compiler takes the time.
            let is_compiler = row.activity == Some(Compilation);
            is_large && !row.is_one_off && !is_compiler && is_told
        });
        let seen = large.map(|row| CodeSeen {
            idle,
            row,
            severity: idle.severity_of(idle.percent(row.all.ns)),
        });
        seen.collect()
    }

    /// What of the idle time of a cause has findings of its own, or is no time that can be saved.
    pub(super) fn taken(seen: &[CodeSeen], idle: &Idle, cause: IdleCause) -> Tally {
        let own = seen.iter().map(|seen| seen.row);
        let one_off = idle.code.rows.iter();
        let one_off = one_off.filter(|row| row.is_one_off && cause != IdleCause::Startup);
        let taken = own
            .chain(one_off)
            .filter_map(|row| row.by_cause.get(&cause));
        taken.fold(Tally::default(), |all, tally| Tally {
            count: all.count + tally.count,
            ns: all.ns.saturating_add(tally.ns),
        })
    }

    /// The longest gaps that it takes most of, of those that are listed.
    fn longest<'s>(&'s self, input: &'s Input) -> impl Iterator<Item = &'s ExplainedGap> {
        let longest = self.idle.longest.iter();
        longest.filter(|gap| {
            let code = gap.code.filter(|code| code.activity == self.row.activity);
            code.is_some_and(|code| Place::of(input.profile, code) == self.row.place)
        })
    }

    fn is(&self, activity: CpuActivity) -> bool {
        self.row.activity == Some(activity)
    }
}

/// Code without a telling name, in gaps that are no launches of kernel after kernel.
fn is_long_work(row: &CodeRow) -> bool {
    let function = &row.place.function;
    let is_compiled = is_compiled_region(function)
        || function.starts_with("CompiledFunction")
        || row.place.is_generated;
    let long = [IdleCause::CpuWork, IdleCause::DataLoading];
    !is_compiled && long.iter().any(|cause| row.is_mostly(*cause))
}

/// "450 of 564 ms".
fn of_idle(ns: i64, idle_ns: i64) -> String {
    let (part, whole) = (format::time_ns(ns), format::time_ns(idle_ns));
    match (part.rsplit_once(' '), whole.rsplit_once(' ')) {
        (Some((number, unit)), Some((_, of))) if unit == of => format!("{number} of {whole}"),
        _ => format!("{part} of {whole}"),
    }
}

/// Whether worker processes load the data.
fn has_workers(input: &Input) -> bool {
    let trace = &input.profile.trace;
    let mut names = trace.strings.iter();
    names.any(|(_, name)| {
        name.contains("_MultiProcessingDataLoaderIter") || name.ends_with(": _try_get_data")
    })
}

impl Subject for CodeSeen<'static> {
    type Of<'a> = CodeSeen<'a>;

    fn evidence(group: &Group<Self>, rule: &Rule<Self>) -> Option<Evidence> {
        let seen = group.first();
        let ns = seen.row.all.ns;
        let one = [seen.row];
        let tables = [
            code_table(group.input, seen.idle, "code", "", &one),
            longest_gaps(group.input, seen.idle, seen.longest(group.input)),
        ];
        Some(Evidence {
            events: vec![seen.row.event],
            impact: matches!(rule.saves, Saves::Evidence).then(|| Impact::at_most(ns)),
            tables: tables
                .into_iter()
                .filter(|table| !table.rows.is_empty())
                .collect(),
            ..Evidence::new(seen.severity.priority(), ns)
        })
    }

    fn words(group: &Group<Self>) -> Words {
        let seen = group.first();
        let (row, idle) = (seen.row, seen.idle);
        let gaps = format::counted(row.all.count, "gap");
        let gaps = match row.all.count {
            1 => gaps,
            _ => format!("{gaps} of up to {}", format::time_ns(row.longest_ns)),
        };
        let share = format::percent(idle.percent(row.all.ns));
        let time = format::time_ns(row.all.ns);
        let module = row.place.module.as_deref();
        let module = module.map_or(String::new(), |module| format!(", in module `{module}`"));
        let caller = row.place.caller.as_deref();
        let caller = caller.map_or(String::new(), |caller| format!(" (called by {caller})"));
        vec![
            ("part", of_idle(row.all.ns, idle.timeline.idle_ns)),
            ("place", row.place.text()),
            ("by", caller),
            ("function", row.place.function.clone()),
            (
                "time",
                format!("{time} ({share} of the run) in {gaps}{module}"),
            ),
            holds("pageable", idle.has_pageable),
            holds("workers", has_workers(group.input)),
            holds("preprocesses", row.place.library.is_some()),
        ]
    }

    fn reasoning(group: &Group<Self>) -> Vec<String> {
        let seen = group.first();
        let total_ns = seen.idle.timeline.total_ns();
        let left_ns = total_ns.saturating_sub(seen.row.all.ns);
        let mut sentences = vec![
            "The time is that in which the GPU is idle and this code runs on the thread that launches next."
                .to_owned(),
        ];
        let mut longest = seen.longest(group.input);
        let longest = longest.next().filter(|gap| gap.waited_in.is_some());
        sentences.extend(longest.and_then(|gap| longest_ends_with(group.input, gap)));
        if left_ns > 0 {
            let times = format::times_as_fast(total_ns as f64 / left_ns as f64);
            sentences.push(format!(
                "Without it the run would be {times} times as fast, which is the most it can save."
            ));
        }
        if group.input.profile.has_python_frames() {
            sentences.push(
                "Python frames were recorded, which slows the CPU: without them it takes less."
                    .to_owned(),
            );
        }
        sentences
    }
}

pub(super) const RULES: &[Rule<CodeSeen>] = &[
    Rule {
        key: "data_loading",
        when: "a function loads data while the GPU is idle",
        applies: |_, seen| seen.is(DataLoading),
        issue: "The CPU loads the next batch in {place}{by}: the GPU is idle for {time}.",
        model: "{workers?give the `DataLoader` more workers (`num_workers`) and a larger `prefetch_factor`, keep them alive (`persistent_workers=True`)|load in worker processes: `DataLoader(num_workers=4, persistent_workers=True, prefetch_factor=4)`},{pageable? `pin_memory=True` with `non_blocking=True` copies,} and move what `{function}` does to the GPU, or do it once ahead of time.",
        kernel: "decode, resize and normalize on the GPU, where kernels for it exist.",
        ..CODE
    },
    Rule {
        key: "preprocessing",
        when: "a function preprocesses images, audio or video while the GPU is idle",
        applies: |_, seen| seen.is(Preprocessing),
        issue: "The CPU preprocesses inputs in {place}{by}: the GPU is idle for {time}.",
        model: "preprocess on the GPU (`torchvision.transforms.v2` on GPU tensors; `AutoImageProcessor.from_pretrained(…, use_fast=True)` with `device=\"cuda\"`), in `DataLoader` workers while the GPU computes, or once ahead of time.",
        kernel: "decode, resize and normalize on the GPU, where kernels for it exist.",
        ..CODE
    },
    Rule {
        key: "tokenization",
        when: "text is tokenized while the GPU is idle",
        applies: |_, seen| seen.is(Tokenization),
        issue: "The CPU tokenizes text in {place}{by}: the GPU is idle for {time}.",
        model: "tokenize the next batch while the GPU computes (a thread or `DataLoader` workers), many texts in one call, with a fast tokenizer (`use_fast=True`); keep the tokens of texts that return.",
        ..CODE
    },
    Rule {
        key: "dynamic_shape",
        when: "the CPU waits for a size that depends on values",
        applies: |_, seen| seen.is(DynamicShape),
        issue: "The size of a result depends on values, so the CPU waits for the GPU in {place}{by}: the GPU is idle for {time}.",
        model: "give sizes that do not depend on values: `torch.where` instead of boolean indexing, `torch.nonzero_static(size=…)`, `repeat_interleave(output_size=…)`, padding to a fixed number with a mask.",
        kernel: "a kernel that reads the number of elements from GPU memory makes the wait unnecessary.",
        ..CODE
    },
    Rule {
        key: "read_back",
        when: "the CPU reads a value of the GPU",
        applies: |_, seen| seen.is(ReadBack),
        issue: "The CPU reads a value back and waits for the GPU in {place}{by}: the GPU is idle for {time}.",
        model: "keep the value on the GPU: no `.item()`, `.cpu()`, `.tolist()`, `bool(tensor)` or printing in the loop;{pageable? copy with `non_blocking=True` to pinned memory and} read it some steps later, or for several steps at once.",
        kernel: "a kernel that takes the value from GPU memory makes the wait unnecessary.",
        ..CODE
    },
    Rule {
        key: "gpu_synchronization",
        when: "an operator of one place waits for the GPU",
        applies: |_, seen| seen.is(Synchronization) && seen.row.place.function.contains("::"),
        issue: "The CPU waits until the GPU is done in {place}, and launches only then: the GPU is idle for {time}.",
        model: "keep `{function}` from waiting: copy with `non_blocking=True` from and to pinned memory (`pin_memory()`), create tensors on the GPU (`device=\"cuda\"`), and read results of several steps at once.",
        kernel: "a kernel that takes the value from GPU memory makes the wait unnecessary.",
        ..CODE
    },
    Rule {
        key: "gpu_synchronization",
        when: "the CPU synchronizes with the GPU at one place",
        applies: |_, seen| seen.is(Synchronization),
        issue: "The CPU waits until the GPU is done in {place}{by}, and launches only then: the GPU is idle for {time}.",
        model: "take `torch.cuda.synchronize()`, and `synchronize()` of events and streams, out of the loop, as around timers: events on the GPU (`torch.cuda.Event(enable_timing=True)`) take times without a wait; read results of several steps at once.",
        ..CODE
    },
    Rule {
        key: "memory_allocation",
        when: "one place allocates or frees memory",
        applies: |_, seen| seen.is(Allocation),
        issue: "GPU memory, or pinned host memory, is allocated or freed in {place}{by}: the GPU is idle for {time}.",
        model: "allocate once and keep it: no `torch.cuda.empty_cache()` in the loop, pinned buffers that are made once, and peaks below what the caching allocator holds (`PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`); what happens in the first steps alone does not return in a long run.",
        ..CODE
    },
    Rule {
        key: "reflection",
        when: "code inspects functions and classes while the GPU is idle",
        applies: |_, seen| seen.is(Reflection),
        issue: "The CPU inspects functions or classes in {place}{by} for each call: the GPU is idle for {time}.",
        model: "compute it once: keep the result of `inspect.signature` (`functools.lru_cache`) or remove the decorator that asks for it in every call; compiled code (`torch.compile`) does not run it.",
        ..CODE
    },
    Rule {
        key: "guards",
        when: "guards of compiled code are checked while the GPU is idle",
        applies: |_, seen| seen.is(Guards),
        issue: "The CPU checks the guards of compiled code in {place}{by}: the GPU is idle for {time}.",
        model: "compile larger regions (`fullgraph=True`), so that fewer are entered, and, once no recompilation follows, skip the guards that cannot fail: `torch.compiler.set_stance(skip_guard_eval_unsafe=True)`.",
        ..CODE
    },
    Rule {
        key: "garbage_collection",
        when: "Python collects garbage while the GPU is idle",
        applies: |_, seen| seen.is(GarbageCollection),
        issue: "Python collects garbage in {place}{by}: the GPU is idle for {time}.",
        model: "collect at chosen times: `gc.freeze()` after warm-up, `gc.disable()` in the loop and `gc.collect()` every so many steps, while kernels are queued; on several ranks in the same step.",
        ..CODE
    },
    Rule {
        key: "waiting",
        when: "the launching thread waits for another thread or process",
        applies: |_, seen| seen.is(Waiting),
        issue: "The thread that launches waits for another thread or process in {place}{by}: the GPU is idle for {time}.",
        model: "look at what it waits for (a lock that another thread holds, a queue that is filled too slowly, another rank), and let it have the next piece of work before this one is done.",
        ..CODE
    },
    Rule {
        key: "logging",
        when: "logging or progress output takes time while the GPU is idle",
        applies: |_, seen| seen.is(Logging),
        issue: "The CPU writes logs or progress in {place}{by}: the GPU is idle for {time}.",
        model: "log every so many steps and from another thread (`logging.handlers.QueueHandler`), at a level that leaves out what nobody reads.",
        ..CODE
    },
    Rule {
        key: "checkpointing",
        when: "a checkpoint is written or read while the GPU is idle",
        applies: |_, seen| seen.is(Checkpointing),
        issue: "The CPU writes or reads a checkpoint in {place}{by}: the GPU is idle for {time}.",
        model: "copy to pinned memory and write in the background (`torch.distributed.checkpoint.async_save`), and less often.",
        ..CODE
    },
    Rule {
        key: "file_access",
        when: "files are read or written while the GPU is idle",
        applies: |_, seen| seen.is(FileAccess),
        issue: "The CPU reads or writes files in {place}{by}: the GPU is idle for {time}.",
        model: "read ahead in another thread or in `DataLoader` workers, fewer and larger files, from a local disk.",
        ..CODE
    },
    Rule {
        key: "cpu_function",
        when: "one function keeps the CPU from launching for long",
        issue: "The CPU works in {place}{by} before it launches again: the GPU is idle for {time}.",
        model: "take `{function}` out of the loop: do its work once, ahead of time in another thread or process, or on the GPU, and let the CPU run ahead of the GPU.",
        ..CODE
    },
];

const CODE: Rule<CodeSeen> = Rule {
    title: "{part} of idle time: {place}",
    kernel: "nothing to gain in a kernel.",
    saves: Saves::Evidence,
    has_reproducer: false,
    ..Rule::BASE
};
