//! Kernels that run only to choose the fastest of several: autotuners of Triton, of the compiler and of libraries.
//!
//! ```text
//! CPU  [====================== convolution ======================]
//!       launch  synchronize │ launch  synchronize │ launch  …      launch
//! GPU   [= a =]               [== b ==]             [= a =]         [= a =]
//!       ^^^^^^^ trials, each timed by events ^^^^^^^^^^^^^^         the result
//! ```
//!
//! An autotuner is identified by its own span: a Python function or a range of the compiler. Libraries tune inside of an
//! operator: they time each candidate with events. Where these were not recorded,
//! [operations](mod@crate::profile::operations) compares the calls with each other.

use std::sync::Arc;

use crate::base::interval::{Coverage, Interval, union};
use crate::base::map::{Map, Set};
use crate::names::cpu_activity::CpuActivity;
use crate::names::frames::Frame;
use crate::names::runtime_calls::is_event_timing;
use crate::names::{Family, family_of_op};
use crate::profile::Profile;
use crate::profile::cpu::tree::NodeId;
use crate::profile::launch::GpuId;
use crate::trace::{ByName, Category, EventId, StringId, TrackId};

/// An operator tunes if it times at least this many launches.
const LEAST_TRIALS: usize = 3;

/// What tunes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tuner {
    /// The compiler: `torch.compile` with autotuning.
    Compiler,
    /// `triton.autotune`.
    Autotuner,
    /// A library of convolutions or GEMMs.
    Library,
}

impl Tuner {
    pub(crate) const ALL: [Tuner; 3] = [Tuner::Compiler, Tuner::Autotuner, Tuner::Library];
}

/// When threads tune, and the GPU activity launched for it.
#[derive(Debug, Default)]
pub(crate) struct Tuning {
    spans: Map<TrackId, [Coverage; Tuner::ALL.len()]>,
    /// When a thread tunes, whatever tunes.
    threads: Map<TrackId, Coverage>,
    /// GPU activity inside of operators that tune.
    trials: Set<GpuId>,
}

impl Tuning {
    pub(crate) fn of(profile: &Profile) -> Arc<Tuning> {
        profile.once(|| Tuning::new(profile))
    }

    fn new(profile: &Profile) -> Tuning {
        let mut tuning = Tuning::default();
        let mut spans = named_spans(profile);
        for (node, trials) in operators(profile) {
            tuning.trials.extend(trials);
            if let Some(event) = profile.tree.event(node) {
                let track = profile.trace.events.track(event);
                let of_thread: &mut Spans = spans.entry(track).or_default();
                of_thread[Tuner::Library as usize].push(profile.trace.events.span(event));
            }
        }
        for (track, of_thread) in spans {
            let all = of_thread.iter().flatten().copied().collect();
            tuning.threads.insert(track, Coverage::new(union(all)));
            let of_tuner = of_thread.map(|spans| Coverage::new(union(spans)));
            tuning.spans.insert(track, of_tuner);
        }
        tuning
    }

    /// Whether any thread tunes.
    pub(crate) fn is_empty(&self) -> bool {
        self.threads.is_empty()
    }

    /// How long a thread tunes in a window.
    pub(crate) fn within(&self, track: TrackId, window: Interval) -> i64 {
        let covered = self.threads.get(&track);
        covered.map_or(0, |covered| covered.within(window))
    }

    /// Whether a call of the CPU is part of tuning.
    pub(crate) fn has_call(&self, profile: &Profile, call: EventId) -> bool {
        let events = &profile.trace.events;
        !self.is_empty() && self.within(events.track(call), at(events.ts_ns(call))) > 0
    }

    /// What tunes, if a piece of GPU activity was launched for that.
    pub(crate) fn tuner(&self, profile: &Profile, id: GpuId) -> Option<Tuner> {
        if self.is_empty() {
            return None;
        }
        let events = &profile.trace.events;
        let call = profile.gpu.get(id)?.launched_by?;
        let covered = self.spans.get(&events.track(call))?;
        let now = at(events.ts_ns(call));
        let mut tuners = Tuner::ALL.into_iter().zip(covered);
        let (tuner, _) = tuners.find(|(_, covered)| covered.within(now) > 0)?;
        // An operator that tunes also launches the kernel that it chose.
        (tuner != Tuner::Library || self.trials.contains(&id)).then_some(tuner)
    }
}

type Spans = [Vec<Interval>; Tuner::ALL.len()];

fn at(ns: i64) -> Interval {
    Interval::new(ns, ns.saturating_add(1))
}

/// The spans of autotuners, by thread.
fn named_spans(profile: &Profile) -> Map<TrackId, Spans> {
    let trace = &profile.trace;
    let mut tuners = ByName::new(tuner_of);
    let mut spans: Map<TrackId, Spans> = Map::default();
    for event in trace.named(|of| !of.is_gpu(), |name| tuner_of(name).is_some()) {
        let tuner = tuners.of(trace, event);
        if let Some(tuner) = tuner.filter(|_| !trace.captured.has(event)) {
            let of_thread = spans.entry(trace.events.track(event)).or_default();
            of_thread[tuner as usize].push(trace.events.span(event));
        }
    }
    spans
}

fn tuner_of(name: &str) -> Option<Tuner> {
    let tunes = CpuActivity::cause_of_name(name) == Some(CpuActivity::Tuning);
    let is_triton = || Frame::of(name).is_some_and(|frame| frame.is_of("triton/"));
    tunes.then(|| match is_triton() {
        true => Tuner::Autotuner,
        false => Tuner::Compiler,
    })
}

/// Operators in which a library times candidates, with the GPU activity of these trials.
fn operators(profile: &Profile) -> Vec<(NodeId, Vec<GpuId>)> {
    let (trace, tree) = (&profile.trace, &profile.tree);
    let mut timings: Vec<(NodeId, EventId)> = Vec::new();
    for event in trace.named(Category::is_runtime, is_event_timing) {
        let node = tree.node_of(event);
        let operator = node.and_then(|node| tree.op_above(trace, node));
        timings.extend(operator.map(|operator| (operator, event)));
    }
    timings.sort_unstable();
    let of_operators = timings.chunk_by(|one, next| one.0 == next.0);
    let trials = of_operators.filter_map(|timings| {
        let (node, _) = *timings.first()?;
        let times = timings.iter().map(|(_, event)| trace.events.ts_ns(*event));
        Some((node, trials(profile, node, &times.collect::<Vec<_>>())?))
    });
    trials.collect()
}

/// The GPU activity of an operator before the last of the times at which it reads or awaits an event; `None` unless it
/// times several launches, of different kernels.
fn trials(profile: &Profile, node: NodeId, times_ns: &[i64]) -> Option<Vec<GpuId>> {
    let trace = &profile.trace;
    let event = profile.tree.event(node)?;
    let family = family_of_op("", trace.name(event), None);
    if !matches!(
        family,
        Family::Convolution | Family::Gemm | Family::Attention
    ) {
        return None;
    }
    let launched_ns = |id: &GpuId| {
        let call = profile.gpu.get(*id)?.launched_by?;
        Some(trace.events.ts_ns(call))
    };
    let last_ns = times_ns.iter().copied().max()?;
    let mut trials: Vec<GpuId> = profile.tree.gpu_work(node).to_vec();
    trials.retain(|id| launched_ns(id).is_some_and(|ns| ns < last_ns));
    // The time that ends a trial, for each piece of its activity.
    let ends = trials.iter().filter_map(launched_ns).filter_map(|ns| {
        let later = times_ns.iter().copied().filter(|end_ns| *end_ns > ns);
        later.min()
    });
    let ends: Set<i64> = ends.collect();
    let kernels: Set<StringId> = profile.gpu.each(&trials).map(|work| work.name).collect();
    (ends.len() >= LEAST_TRIALS && kernels.len() > 1).then_some(trials)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Timetable;

    /// An operator that launches these kernels, 10 µs each, and waits for an event after each but the last.
    fn timed(op: &str, kernels: &[&str]) -> Timetable {
        let end = 20 * kernels.len() as u32;
        let table = Timetable::new().op(op, 0..end);
        let launches = kernels.iter().zip((0_u32..).step_by(20));
        launches.fold(table, |table, (kernel, at)| {
            let table = table.launched(kernel, at + 1..at + 2, at + 3..at + 13);
            match at + 20 < end {
                true => table.runtime("cudaEventSynchronize", 0, at + 3..at + 14),
                false => table,
            }
        })
    }

    fn tuned(table: &Timetable) -> Vec<Option<Tuner>> {
        let profile = table.profile();
        let tuning = Tuning::of(&profile);
        let work = profile.gpu.iter();
        work.map(|(id, _)| tuning.tuner(&profile, id)).collect()
    }

    #[test]
    fn a_library_times_several_kernels_in_an_operator() {
        let library = Some(Tuner::Library);
        let conv = timed("aten::cudnn_convolution", &["a", "a", "b", "c", "a"]);
        assert_eq!(tuned(&conv), [library, library, library, library, None]);
    }

    #[test]
    fn other_waits_are_no_tuning() {
        let cases: [(&str, &[&str]); 3] = [
            // The program waits for its own copies.
            ("my::offload", &["a", "b", "c", "d"]),
            // The same kernel again and again is one that is used.
            ("aten::cudnn_convolution", &["a", "a", "a", "a"]),
            ("aten::mm", &["split", "reduce"]),
        ];
        for (op, kernels) in cases {
            let found = tuned(&timed(op, kernels));
            assert!(found.iter().all(Option::is_none), "{op}: {found:?}");
        }
    }

    #[test]
    fn autotuners_are_known_by_their_spans() {
        let table = Timetable::new()
            .frame("triton/runtime/autotuner.py(170): run", 0..100)
            .frame("triton/testing.py(110): do_bench", 5..50)
            .op("aten::fill_", 8..12)
            .launched("fill", 9..10, 20..25)
            .launched("my_kernel", 30..31, 40..45)
            // What it chose.
            .launched("my_kernel", 60..61, 70..75);
        let (triton, compiler) = (Some(Tuner::Autotuner), Some(Tuner::Compiler));
        assert_eq!(tuned(&table), [triton, triton, None]);
        let inner = "CachingAutotuner.benchmark_all_configs (dynamo_timed)";
        let table = table.annotation(inner, 1..55);
        assert_eq!(tuned(&table), [compiler, compiler, None]);
    }
}
