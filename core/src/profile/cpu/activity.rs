//! CPU activity identified by span names: data loading, compilation, graph capture, the profiler; and the ranges of
//! optimizers.

use std::cmp::Reverse;

use crate::base::interval::{Coverage, Interval, union};
use crate::base::map::Map;
use crate::base::sort::{Arrange, FirstMax};
use crate::names::cpu_activity::CpuActivity;
use crate::names::optimizer::OPTIMIZER_RANGE;
use crate::names::runtime_calls::CaptureEdge;
use crate::profile::Profile;
use crate::trace::{ByName, Category, EventId, StringId, Trace, TrackId};

/// When such activity runs.
pub(crate) struct CpuActivities {
    spans: Spans<Coverage>,
    /// Overhead that the profiler reports for itself and for the driver; it is on no thread of the program.
    overhead: [(CpuActivity, Coverage); 2],
}

/// By thread, in the order of [`CpuActivity::ALL`].
type Spans<T> = Map<TrackId, [T; CpuActivity::ALL.len()]>;

impl CpuActivities {
    pub(crate) fn new(profile: &Profile) -> CpuActivities {
        let trace = &profile.trace;
        let overhead = [CpuActivity::KernelLoading, CpuActivity::Profiler].map(|activity| {
            let spans = overhead(trace).filter(|(of, _)| *of == activity);
            let spans = spans.map(|(_, event)| trace.events.span(event));
            (activity, Coverage::new(union(spans.collect())))
        });
        CpuActivities {
            spans: by_thread(trace),
            overhead,
        }
    }

    /// How long kernels were being loaded in a window, as far as the profiler reports it.
    pub(crate) fn loading_ns(&self, window: Interval) -> i64 {
        let mut overhead = self.overhead.iter();
        let loading = overhead.find(|(activity, _)| *activity == CpuActivity::KernelLoading);
        loading.map_or(0, |(_, covered)| covered.within(window))
    }

    /// How long a thread spent on an activity in a window.
    pub(crate) fn within(&self, activity: CpuActivity, track: TrackId, window: Interval) -> i64 {
        let covered = self
            .spans
            .get(&track)
            .map(|spans| &spans[activity as usize]);
        covered.map_or(0, |covered| covered.within(window))
    }

    /// Whether any thread is at an activity in a window.
    pub(crate) fn runs(&self, activity: CpuActivity, window: Interval) -> bool {
        let mut threads = self.spans.values();
        threads.any(|spans| spans[activity as usize].within(window) > 0)
    }

    /// The activity that a thread spent most of a window on, if longer than `at_least_ns`.
    pub(crate) fn most_of(
        &self,
        track: TrackId,
        window: Interval,
        at_least_ns: i64,
    ) -> Option<CpuActivity> {
        let mut overhead = self.overhead.iter();
        let found = overhead.find(|(_, covered)| covered.within(window) > at_least_ns);
        if let Some((activity, _)) = found {
            return Some(*activity);
        }
        let covered = self.spans.get(&track)?;
        let found = CpuActivity::ALL
            .into_iter()
            .zip(covered)
            .map(|(activity, covered)| (activity, covered.within(window)))
            .filter(|(_, ns)| *ns > at_least_ns);
        // The first of equally long ones.
        let longest = found.first_max_by_key(|one| one.1);
        longest.map(|(activity, _)| activity)
    }
}

/// Overhead that the profiler reports for itself and for the driver, with its kind.
pub(crate) fn overhead(trace: &Trace) -> impl Iterator<Item = (CpuActivity, EventId)> {
    let events = &trace.events;
    events.in_category(Category::Overhead).filter_map(|event| {
        let activity = CpuActivity::of_span(Category::Overhead, trace.name(event))?;
        Some((activity, event))
    })
}

/// Spans with known names, by thread.
fn by_thread(trace: &Trace) -> Spans<Coverage> {
    let known = |name: &str| (CpuActivity::cause_of_name(name), CaptureEdge::of(name));
    let mut known_names = ByName::new(known);
    let mut spans: Spans<Vec<Interval>> = Map::default();
    // When a thread started to capture.
    let mut capturing: Map<TrackId, i64> = Map::default();
    for event in trace.named(|_| true, |name| known(name) != (None, None)) {
        let track = trace.events.track(event);
        let (activity, capture) = known_names.of(trace, event);
        let mut add = |activity: CpuActivity, span: Interval| {
            spans.entry(track).or_default()[activity as usize].push(span);
        };
        match capture {
            Some(CaptureEdge::Begin) => {
                capturing.insert(track, trace.events.ts_ns(event));
            }
            Some(CaptureEdge::End) => {
                if let Some(since_ns) = capturing.remove(&track) {
                    let captured = Interval::new(since_ns, trace.events.end_ns(event));
                    add(CpuActivity::GraphCapture, captured);
                }
            }
            None => {}
        }
        if let Some(activity) = activity
            && !trace.events.category(event).is_gpu()
            && !trace.captured.has(event)
        {
            add(activity, trace.events.span(event));
        }
    }
    let threads = spans.into_iter();
    threads
        .map(|(track, spans)| (track, spans.map(|spans| Coverage::new(union(spans)))))
        .collect()
}

/// Whether worker processes load the data.
pub(crate) fn loads_in_workers(profile: &Profile) -> bool {
    let mut names = profile.trace.strings.iter();
    names.any(|(_, name)| {
        name.contains("_MultiProcessingDataLoaderIter") || name.ends_with(": _try_get_data")
    })
}

/// The ranges of optimizers: no other part of a step has more launches of smaller kernels.
pub(crate) struct OptimizerRanges {
    /// By thread, sorted by start; ranges of one thread do not overlap.
    ranges: Map<TrackId, Vec<(Interval, StringId)>>,
}

impl OptimizerRanges {
    pub(crate) fn new(trace: &Trace) -> OptimizerRanges {
        let events = &trace.events;
        let mut ranges: Map<TrackId, Vec<(Interval, StringId)>> = Map::default();
        let may_be = |of| matches!(of, Category::UserAnnotation | Category::CpuOp);
        for event in trace.named(may_be, |name| name.starts_with(OPTIMIZER_RANGE)) {
            let of_thread = ranges.entry(events.track(event)).or_default();
            of_thread.push((events.span(event), events.name(event)));
        }
        for of_thread in ranges.values_mut() {
            of_thread.arrange_by_key(|(span, _)| (span.start_ns, Reverse(span.end_ns)));
        }
        OptimizerRanges { ranges }
    }

    /// The range that a call starts in.
    pub(crate) fn of(&self, trace: &Trace, call: EventId) -> Option<StringId> {
        let of_thread = self.ranges.get(&trace.events.track(call))?;
        let at_ns = trace.events.ts_ns(call);
        let next = of_thread.partition_point(|(span, _)| span.start_ns <= at_ns);
        let (span, name) = of_thread.get(next.checked_sub(1)?)?;
        span.contains(at_ns).then_some(*name)
    }
}
