//! Recompilation: code that is compiled again mid-run, after the end of the cold start, and graphs that are captured
//! again.

use crate::base::interval::{Coverage, Interval, union};
use crate::base::sort::Arranged;
use crate::names::compiled_region::{COMPILED_REGION, is_compiled_region};
use crate::names::cpu_activity::CpuActivity;
use crate::profile::Profile;
use crate::profile::cpu::activity::CpuActivities;
use crate::trace::annotations::step_number;
use crate::trace::{Category, EventId, StringId, Trace};

/// A function is compiled for the sizes of its first call and, once others come, for any size. A later version follows
/// a guard that failed.
const USUAL_VERSIONS: u32 = 2;

/// A step for the graphs of the forward and the backward pass, and one for those of other sizes, as of a last batch.
const USUAL_CAPTURES: usize = 2;

/// When a program becomes warm: after the first step that ran compiled code and compiled nothing, or when some code is
/// compiled more often than [usual](USUAL_VERSIONS). Compilation before that belongs to the cold start, in which one
/// part of a model may run while the next is still being compiled. Applies to the whole trace, whatever window is
/// analyzed.
pub(super) struct Warm {
    /// `None` if it never does, or if no steps were recorded, so that it is unknown.
    since_ns: Option<i64>,
    /// The same for GPU graphs: from the step on before which two have captured.
    captured_since_ns: Option<i64>,
}

impl Warm {
    pub(super) fn of(profile: &Profile, activities: &CpuActivities) -> Warm {
        let trace = &profile.trace;
        let compiled = starts_of(trace, is_compiled_region);
        let is_compilation =
            |name: &str| CpuActivity::of_name(name) == Some(CpuActivity::Compilation);
        let compilations = union(spans_of(trace, is_compilation));
        let again_ns = first_unusual(trace, &compiled, &compilations);
        let compiling = Coverage::new(compilations);
        let is_warm = |step: &Interval| {
            let from = compiled.partition_point(|at_ns| *at_ns < step.start_ns);
            let runs_compiled = compiled.get(from).is_some_and(|at_ns| *at_ns < step.end_ns);
            runs_compiled && compiling.within(*step) == 0
        };
        let steps = steps(profile);
        let warm = steps.iter().filter(|step| is_warm(step));
        let since_ns = warm.map(|step| step.end_ns).chain(again_ns).min();
        let captures = |step: &&Interval| activities.runs(CpuActivity::GraphCapture, **step);
        let capturing = steps
            .iter()
            .filter(captures)
            .map(|step| step.start_ns)
            .arranged();
        Warm {
            since_ns,
            captured_since_ns: capturing.get(USUAL_CAPTURES).copied(),
        }
    }

    pub(super) fn captures_again(&self, ns: i64) -> bool {
        self.captured_since_ns
            .is_some_and(|since_ns| since_ns <= ns)
    }

    pub(super) fn is_at(&self, ns: i64) -> bool {
        self.since_ns.is_some_and(|since_ns| since_ns <= ns)
    }
}

/// The start of the compilation right before the first entry of a region in a version after the usual ones.
fn first_unusual(trace: &Trace, entries: &[i64], compilations: &[Interval]) -> Option<i64> {
    let is_unusual = |name: &str| version(name).is_some_and(|version| version >= USUAL_VERSIONS);
    let entered_ns = *starts_of(trace, is_unusual).first()?;
    let before = compilations.partition_point(|one| one.end_ns <= entered_ns);
    let last = compilations.get(before.checked_sub(1)?)?;
    let mut between = entries.iter().filter(|at_ns| **at_ns < entered_ns);
    between
        .all(|at_ns| *at_ns < last.start_ns)
        .then_some(last.start_ns)
}

/// The number of a compiled region's version, from 0: 1 for "Torch-Compiled Region: 0/1".
fn version(region: &str) -> Option<u32> {
    let (_, number) = region.strip_prefix(COMPILED_REGION)?.rsplit_once('/')?;
    let mut digits = number.split(|letter: char| !letter.is_ascii_digit());
    digits.next()?.parse().ok()
}

/// The steps of the profiler, or else those of a serving engine that annotated them, or else what runs from one entry of
/// a compiled region to the next.
pub(super) fn steps(profile: &Profile) -> Vec<Interval> {
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
    let mut entries = events_of(trace, is_compiled_region)
        .map(|event| (trace.events.ts_ns(event), trace.events.name(event)))
        .arranged_by_key(|(at_ns, _)| *at_ns);
    let first = entries.first().map(|(_, name)| region(*name));
    entries.retain(|(_, name)| Some(region(*name)) == first);
    let next = entries.iter().skip(1);
    let pairs = entries.iter().zip(next);
    pairs
        .map(|((start_ns, _), (end_ns, _))| Interval::new(*start_ns, *end_ns))
        .collect()
}

pub(super) fn starts_of(trace: &Trace, is_meant: impl Fn(&str) -> bool) -> Vec<i64> {
    let spans = spans_of(trace, is_meant).into_iter();
    spans.map(|span| span.start_ns).arranged()
}

/// Spans on the CPU with a matching name.
fn spans_of(trace: &Trace, is_meant: impl Fn(&str) -> bool) -> Vec<Interval> {
    let events = events_of(trace, is_meant);
    events.map(|event| trace.events.span(event)).collect()
}

/// Events on the CPU with a matching name.
fn events_of(trace: &Trace, is_meant: impl Fn(&str) -> bool) -> impl Iterator<Item = EventId> {
    // Annotations on the GPU have the names of those on the CPU, and other times.
    let is_on_host = |of: Category| !of.is_gpu() && of != Category::GpuUserAnnotation;
    let named = trace.named(is_on_host, is_meant);
    named.filter(|event| !trace.captured.has(*event))
}
