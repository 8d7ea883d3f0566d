//! Recompilation: code that is compiled again mid-run, after the end of the cold start.

use crate::base::interval::{Coverage, Interval, union};
use crate::base::sort::Arrange;
use crate::names::cpu_activity::CpuActivity;
use crate::names::cpu_calls::is_compiled_region;
use crate::profile::Profile;
use crate::trace::annotations::step_number;
use crate::trace::{Category, EventId, StringId, Trace};

/// When a program becomes warm: after the first step that ran compiled code and compiled nothing. Compilation before
/// that belongs to the cold start, in which one part of a model may run while the next is still being compiled. Applies
/// to the whole trace, whatever window is analyzed.
pub(super) struct Warm {
    /// `None` if it never does, or if no steps were recorded, so that it is unknown.
    since_ns: Option<i64>,
}

impl Warm {
    pub(super) fn of(profile: &Profile) -> Warm {
        let trace = &profile.trace;
        let compiled = starts_of(trace, is_compiled_region);
        let is_compilation =
            |name: &str| CpuActivity::of_name(name) == Some(CpuActivity::Compilation);
        let compiling = Coverage::new(union(spans_of(trace, is_compilation)));
        let is_warm = |step: &Interval| {
            let from = compiled.partition_point(|at_ns| *at_ns < step.start_ns);
            let runs_compiled = compiled.get(from).is_some_and(|at_ns| *at_ns < step.end_ns);
            runs_compiled && compiling.within(*step) == 0
        };
        let warm = steps(profile).into_iter().filter(is_warm);
        Warm {
            since_ns: warm.map(|step| step.end_ns).min(),
        }
    }

    pub(super) fn is_at(&self, ns: i64) -> bool {
        self.since_ns.is_some_and(|since_ns| since_ns <= ns)
    }
}

/// The steps of the profiler, or else those of a serving engine that annotated them, or else what runs from one entry of
/// a compiled region to the next.
fn steps(profile: &Profile) -> Vec<Interval> {
    let numbered = spans_of(&profile.trace, |name| step_number(name).is_some());
    if !numbered.is_empty() {
        return numbered;
    }
    let serving = profile.serving();
    let serving = serving.filter(|serving| !serving.named_by.is_inferred());
    let steps = serving.into_iter().flat_map(|serving| &serving.steps);
    let steps: Vec<Interval> = steps.map(|step| step.on_host).collect();
    match steps.is_empty() {
        true => entries_of_first(&profile.trace),
        false => steps,
    }
}

/// From each entry of the compiled region that is entered first to its next entry. A recompiled region has another
/// number after the slash: "Torch-Compiled Region: 0/1".
fn entries_of_first(trace: &Trace) -> Vec<Interval> {
    let region = |name: StringId| {
        let name = trace.strings.get(name);
        name.rsplit_once('/').map_or(name, |(region, _)| region)
    };
    let mut entries: Vec<(i64, StringId)> = events_of(trace, is_compiled_region)
        .map(|event| (trace.events.ts_ns(event), trace.events.name(event)))
        .collect();
    entries.arrange_by_key(|(at_ns, _)| *at_ns);
    let first = entries.first().map(|(_, name)| region(*name));
    entries.retain(|(_, name)| Some(region(*name)) == first);
    let next = entries.iter().skip(1);
    let pairs = entries.iter().zip(next);
    pairs
        .map(|((start_ns, _), (end_ns, _))| Interval::new(*start_ns, *end_ns))
        .collect()
}

fn starts_of(trace: &Trace, is_meant: impl Fn(&str) -> bool) -> Vec<i64> {
    let spans = spans_of(trace, is_meant).into_iter();
    let mut starts: Vec<i64> = spans.map(|span| span.start_ns).collect();
    starts.arrange();
    starts
}

/// Spans on the CPU with a matching name.
fn spans_of(trace: &Trace, is_meant: impl Fn(&str) -> bool) -> Vec<Interval> {
    let events = events_of(trace, is_meant);
    events.map(|event| trace.events.span(event)).collect()
}

/// Events on the CPU with a matching name.
fn events_of(trace: &Trace, is_meant: impl Fn(&str) -> bool) -> impl Iterator<Item = EventId> {
    let names = trace.strings.iter();
    let is_meant: Vec<bool> = names.map(|(_, name)| is_meant(name)).collect();
    let is_any = is_meant.contains(&true);
    let events = &trace.events;
    let on_host = events.of_category(|of: Category| !of.is_gpu());
    let on_host = on_host.take_while(move |_| is_any);
    on_host.filter(move |event| {
        let name = events.name(*event).0 as usize;
        is_meant.get(name).copied().unwrap_or(false) && !trace.captured.has(*event)
    })
}
