//! What the host did while the GPU idled.
//!
//! A gap ends when its next work begins; so the thread that launched that work is looked at,
//! between its launch before and this one. These stretches are disjoint, so all gaps together cost
//! one pass over the calls of a trace.

use std::ops::Range;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::class::{Call, Class, Special, is_capture_edge, is_compiled_region};
use super::gaps::Gap;
use crate::analysis::Input;
use crate::interval::{Coverage, Interval, busy, union};
use crate::kernels::GpuWork;
use crate::profile::Profile;
use crate::report::Thresholds;
use crate::sort::Arrange;
use crate::timeline::GpuClass;
use crate::trace::{Category, EventId, StringId, TrackId};
use crate::tree::NodeId;

/// Why a gap is there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cause {
    pub(super) class: Class,
    /// The call that launched what ends the gap.
    pub(super) launch: Option<EventId>,
    /// From the start of the gap to the start of that call; negative where it was made before.
    pub(super) launch_after_ns: Option<i64>,
    /// The call in which the host waited.
    pub(super) blocking: Option<EventId>,
    pub(super) special: Option<Special>,
    pub(super) host: HostTime,
}

/// How a thread spent a gap until it launched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct HostTime {
    /// Waiting for the GPU.
    pub(super) waiting_ns: i64,
    /// In other runtime and driver calls, the launch itself included.
    pub(super) runtime_ns: i64,
    /// In operators, runtime calls excepted.
    pub(super) operators_ns: i64,
    /// In neither.
    pub(super) outside_ns: i64,
    /// That part of it that lies in regions of compiled code.
    pub(super) compiled_ns: i64,
}

impl HostTime {
    pub(super) fn add(&mut self, other: HostTime) {
        self.waiting_ns = self.waiting_ns.saturating_add(other.waiting_ns);
        self.runtime_ns = self.runtime_ns.saturating_add(other.runtime_ns);
        self.operators_ns = self.operators_ns.saturating_add(other.operators_ns);
        self.outside_ns = self.outside_ns.saturating_add(other.outside_ns);
        self.compiled_ns = self.compiled_ns.saturating_add(other.compiled_ns);
    }

    pub(super) fn total_ns(self) -> i64 {
        [self.runtime_ns, self.operators_ns, self.outside_ns]
            .into_iter()
            .fold(self.waiting_ns, i64::saturating_add)
    }
}

/// The host side of a trace.
pub(super) struct Host<'a> {
    profile: &'a Profile,
    thresholds: &'a Thresholds,
    has_host_ops: bool,
    /// Kinds of runtime calls by name.
    calls: HashMap<StringId, Call, FxBuildHasher>,
    /// Nodes of a thread in the call tree.
    tracks: HashMap<TrackId, Range<u32>, FxBuildHasher>,
    special: SpecialSpans<Coverage>,
    /// The profiler's own work: it stands on no thread of the program.
    profiler: Coverage,
    /// Start and end of all launching calls of all threads, sorted; gathered when first needed.
    launches: Option<Vec<Interval>>,
    /// When the first recorded work begins; gathered when first needed.
    firsts: Option<Firsts>,
    /// The end of every call in which a host waits for the GPU, in order; gathered when first needed.
    waits: Option<Vec<(i64, EventId)>>,
    /// Names of operators that only mark compiled code.
    regions: HashMap<StringId, bool, FxBuildHasher>,
    /// Spans that the walk over a stretch gathers: operators, and regions of compiled code.
    ops: Vec<Interval>,
    compiled: Vec<Interval>,
}

/// When the first recorded work begins, of a window's whole trace.
struct Firsts {
    any_ns: i64,
    /// Of each stream.
    streams: HashMap<TrackId, i64, FxBuildHasher>,
}

impl Firsts {
    fn new(profile: &Profile) -> Firsts {
        let events = &profile.trace.events;
        let mut firsts = Firsts {
            any_ns: i64::MAX,
            streams: HashMap::default(),
        };
        for event in events.ids() {
            if events.category(event).is_gpu() {
                let start_ns = events.ts_ns(event);
                let of_stream = firsts.streams.entry(events.track(event));
                let first_ns = of_stream.or_insert(start_ns);
                *first_ns = start_ns.min(*first_ns);
                firsts.any_ns = firsts.any_ns.min(start_ns);
            }
        }
        firsts
    }
}

/// What a thread did between its last launch and the one that ends a gap.
#[derive(Debug, Clone, Copy, Default)]
struct Stretch {
    /// End of the launch before.
    since_ns: Option<i64>,
    blocking: Option<(EventId, i64)>,
    start_up_ns: i64,
    allocation_ns: i64,
    host: HostTime,
}

impl<'a> Host<'a> {
    pub(super) fn new(input: &Input<'a>) -> Host<'a> {
        let profile = input.profile;
        let tracks = profile.tree.tracks().iter();
        Host {
            profile,
            thresholds: &input.options.thresholds,
            has_host_ops: profile.has_host_ops(),
            calls: HashMap::default(),
            tracks: tracks
                .map(|nodes| (nodes.track, nodes.nodes.clone()))
                .collect(),
            special: special(profile),
            profiler: profiler(profile),
            launches: None,
            firsts: None,
            waits: None,
            regions: HashMap::default(),
            ops: Vec::new(),
            compiled: Vec::new(),
        }
    }

    fn span(&self, event: EventId) -> Interval {
        let events = &self.profile.trace.events;
        Interval::new(events.ts_ns(event), events.end_ns(event))
    }

    fn call(&mut self, event: EventId) -> Call {
        let trace = &self.profile.trace;
        let name = trace.events.name(event);
        *self
            .calls
            .entry(name)
            .or_insert_with(|| Call::of_name(trace.strings.get(name)))
    }

    /// Why a gap is there. The rules, the first that fits:
    ///
    /// 1. Nothing is known of the launch, or what ends the gap lies after the window: unknown.
    /// 2. The work before and after belong to one graph launch: GPU graphs.
    /// 3. The launch was over before the gap began (with time for it to arrive), or most of the
    ///    gap came after it: launched, not begun. At the start of the trace, before the first
    ///    recorded work of a stream: before the recorded work.
    /// 4. Half of the gap until the launch is loading of data, compiling, capturing, profiling, or
    ///    loading of kernels, in calls of its own or in a launch that takes unusually long; or
    ///    allocating and freeing.
    /// 5. The thread waited for the GPU after the gap began, and launched soon after:
    ///    synchronisation. Long after: host work. So where another thread waited, and the launching
    ///    one did nothing meanwhile.
    /// 6. The thread launched nothing for long: host work.
    /// 7. It launched a graph: GPU graphs. It launched anything else: launch-bound. Only where
    ///    operators were recorded; else nobody knows what kept the host.
    pub(super) fn cause(&mut self, gap: &Gap) -> Cause {
        let mut cause = Cause {
            class: Class::Unknown,
            launch: None,
            launch_after_ns: None,
            blocking: None,
            special: None,
            host: HostTime::default(),
        };
        let gpu = &self.profile.gpu;
        let before = gap.before.and_then(|id| gpu.get(id));
        let Some(after) = gap.after.and_then(|id| gpu.get(id)) else {
            return cause;
        };
        let Some(call) = after.launched_by else {
            return cause;
        };
        let launch = self.span(call);
        let gap_ns = gap.span.length();
        cause.launch = Some(call);
        cause.launch_after_ns = Some(launch.start_ns.saturating_sub(gap.span.start_ns));
        let kind = self.call(call);
        if kind == Call::Graph && before.is_some_and(|before| before.launched_by == Some(call)) {
            cause.class = Class::GraphLaunch;
            return cause;
        }
        let latency_ns = (self.thresholds.idle_launch_latency_us * 1e3) as i64;
        let arrived_ns = launch.end_ns.saturating_add(latency_ns);
        let begun_after_ns = gap.span.end_ns.saturating_sub(arrived_ns);
        // A copy that the host waits for is on its way long before its call is over.
        let is_copy = after.class == GpuClass::Memcpy;
        let copy_arrived_ns = launch.start_ns.saturating_add(latency_ns);
        let copy_begun_after_ns = gap.span.end_ns.saturating_sub(copy_arrived_ns);
        if arrived_ns <= gap.span.start_ns
            || begun_after_ns > gap_ns / 2
            || (is_copy && copy_begun_after_ns > gap_ns / 2)
        {
            cause.class = match self.may_follow_unrecorded(gap, after) {
                true => Class::BeforeRecording,
                false => Class::Queued,
            };
            // A copy whose call returns only when it is done.
            cause.blocking = Some(call).filter(|_| is_copy && launch.end_ns >= gap.span.end_ns);
            return cause;
        }
        // Until the call was over: what is left of the gap is the way to the GPU.
        let window = Interval::new(
            gap.span.start_ns,
            launch.end_ns.min(gap.span.end_ns).max(gap.span.start_ns),
        );
        let mut stretch = self.stretch(call, launch, window, before);
        if stretch.blocking.is_none() {
            stretch.blocking = self.wait_elsewhere(call, launch, window, stretch.host);
        }
        cause.host = stretch.host;
        cause.blocking = stretch.blocking.map(|(event, _)| event);
        let half_ns = gap_ns / 2;
        let special = self.special_in(call, window, half_ns);
        cause.special = special;
        let is_slow = launch.length() as f64 > self.thresholds.idle_slow_launch_ms * 1e6;
        let slow_launch_ns = match is_slow && !is_copy {
            true => Interval::new(
                launch.start_ns.max(window.start_ns),
                launch.end_ns.min(window.end_ns),
            )
            .length(),
            false => 0,
        };
        cause.class = if special == Some(Special::DataLoading) {
            Class::DataLoading
        } else if matches!(
            special,
            Some(Special::Compilation | Special::Capture | Special::Profiler)
        ) || stretch.start_up_ns.saturating_add(slow_launch_ns) > half_ns
        {
            Class::StartUp
        } else if stretch.allocation_ns > half_ns {
            Class::Allocation
        } else {
            let host_work_ns = (self.thresholds.idle_host_work_us * 1e3) as i64;
            let free_since_ns = stretch.blocking.map(|(_, until_ns)| until_ns);
            let mut busy_ns = free_since_ns
                .max(stretch.since_ns)
                .map_or(i64::MAX, |since_ns| {
                    launch.start_ns.saturating_sub(since_ns)
                });
            if busy_ns > host_work_ns {
                // Another thread may have launched meanwhile, as the one of the backward pass does.
                busy_ns = busy_ns.min(self.since_any_launch(launch).unwrap_or(window.length()));
            }
            let is_long = busy_ns > host_work_ns && special.is_none();
            let is_collection = special == Some(Special::Collection);
            if is_collection || (is_long && (free_since_ns.is_none() || busy_ns > half_ns)) {
                match self.has_host_ops {
                    true => Class::HostWork,
                    false => Class::Unknown,
                }
            } else if free_since_ns.is_some() {
                Class::Synchronisation
            } else if kind == Call::Graph {
                Class::GraphLaunch
            } else if !self.has_host_ops {
                Class::Unknown
            } else {
                Class::LaunchBound
            }
        };
        cause
    }

    /// Whether a gap is most of the time since the first recorded work, and ended by the first
    /// recorded work of its stream.
    fn may_follow_unrecorded(&mut self, gap: &Gap, after: &GpuWork) -> bool {
        let profile = self.profile;
        let firsts = self.firsts.get_or_insert_with(|| Firsts::new(profile));
        let track = profile.trace.events.track(after.event);
        let is_first = firsts.streams.get(&track) == Some(&after.span.start_ns);
        let since_ns = gap.span.start_ns.saturating_sub(firsts.any_ns);
        is_first && since_ns < gap.span.length()
    }

    fn is_compiled_region(&mut self, event: EventId) -> bool {
        let trace = &self.profile.trace;
        let name = trace.events.name(event);
        *self
            .regions
            .entry(name)
            .or_insert_with(|| is_compiled_region(trace.strings.get(name)))
    }

    /// Walks back from a launch to the launch before it on the same thread.
    fn stretch(
        &mut self,
        call: EventId,
        launch: Interval,
        window: Interval,
        before: Option<&GpuWork>,
    ) -> Stretch {
        let mut stretch = Stretch::default();
        let clip = |span: Interval| {
            Interval::new(
                span.start_ns.max(window.start_ns),
                span.end_ns.min(window.end_ns),
            )
        };
        let tree = &self.profile.tree;
        let track = self.profile.trace.events.track(call);
        let place = tree.node_of(call).zip(self.tracks.get(&track).cloned());
        let Some((node, nodes)) = place.filter(|(node, nodes)| nodes.contains(&node.0)) else {
            return stretch;
        };
        let mut ops = std::mem::take(&mut self.ops);
        let mut compiled = std::mem::take(&mut self.compiled);
        ops.clear();
        compiled.clear();
        let mut runtime_ns = clip(launch).length();
        let mut previous = None;
        for at in (nodes.start..node.0).rev().map(NodeId) {
            let Some(event) = tree.event(at) else { break };
            match self.profile.trace.events.category(event) {
                Category::CpuOp => match self.is_compiled_region(event) {
                    true => compiled.push(clip(self.span(event))),
                    false => ops.push(clip(self.span(event))),
                },
                category if category.is_runtime() => {
                    let span = self.span(event);
                    let kind = self.call(event);
                    let waited_for = before.is_some_and(|before| {
                        before.launched_by == Some(event)
                            && before.class == GpuClass::Memcpy
                            && span.end_ns >= before.span.end_ns
                    });
                    let is_blocking = kind.is_blocking() || waited_for;
                    let inside_ns = clip(span).length();
                    if is_blocking && span.end_ns >= window.start_ns && stretch.blocking.is_none() {
                        stretch.blocking = Some((event, span.end_ns.min(launch.start_ns)));
                    }
                    if matches!(kind, Call::Allocation | Call::Free) {
                        let allocation_ns = &mut stretch.allocation_ns;
                        *allocation_ns = allocation_ns.saturating_add(inside_ns);
                    }
                    match kind {
                        _ if is_blocking => {
                            let waiting_ns = &mut stretch.host.waiting_ns;
                            *waiting_ns = waiting_ns.saturating_add(inside_ns);
                        }
                        Call::StartUp => {
                            stretch.start_up_ns = stretch.start_up_ns.saturating_add(inside_ns);
                            runtime_ns = runtime_ns.saturating_add(inside_ns);
                        }
                        _ => runtime_ns = runtime_ns.saturating_add(inside_ns),
                    }
                    // Launches into a graph that is captured run nothing.
                    let may_launch = matches!(
                        kind,
                        Call::Launch | Call::Graph | Call::Transfer | Call::Blocking
                    );
                    let launched = may_launch && !tree.gpu_work(at).is_empty();
                    if launched {
                        stretch.since_ns = Some(span.end_ns);
                        previous = Some(at);
                        break;
                    }
                }
                _ => {}
            }
        }
        // Operators that began before the launch before, and go on.
        for inner in [Some(node), previous].into_iter().flatten() {
            for above in tree.ancestors(inner) {
                let Some(event) = tree.event(above) else {
                    continue;
                };
                if self.profile.trace.events.category(event) == Category::CpuOp {
                    match self.is_compiled_region(event) {
                        true => compiled.push(clip(self.span(event))),
                        false => ops.push(clip(self.span(event))),
                    }
                }
            }
        }
        // Runtime calls run inside of operators, but for a few.
        let in_ops_ns = busy(ops.iter().copied());
        let calls_ns = runtime_ns.saturating_add(stretch.host.waiting_ns);
        let outside_ns = window.length() - in_ops_ns.max(calls_ns);
        stretch.host.runtime_ns = runtime_ns;
        stretch.host.operators_ns = (in_ops_ns - calls_ns).max(0);
        stretch.host.outside_ns = outside_ns.max(0);
        if !compiled.is_empty() {
            let in_both_ns = busy(ops.iter().chain(&compiled).copied());
            let compiled_ns = in_both_ns - in_ops_ns.max(calls_ns);
            stretch.host.compiled_ns = compiled_ns.clamp(0, stretch.host.outside_ns);
        }
        self.ops = ops;
        self.compiled = compiled;
        stretch
    }

    /// A wait of another thread of the process that was over in a window, where the launching thread
    /// did nothing else in most of it: it goes on when the other one tells it to.
    fn wait_elsewhere(
        &mut self,
        call: EventId,
        launch: Interval,
        window: Interval,
        host: HostTime,
    ) -> Option<(EventId, i64)> {
        if host.outside_ns <= window.length() / 2 {
            return None;
        }
        let waits = match self.waits.take() {
            Some(waits) => waits,
            None => self.waits(),
        };
        let trace = &self.profile.trace;
        let own = trace.events.track(call);
        let process = |track: TrackId| trace.tracks.get(track).map(|track| track.pid);
        let until = waits.partition_point(|(end_ns, _)| *end_ns <= launch.start_ns);
        let ended = waits.get(..until).unwrap_or_default().iter().rev();
        let found = ended
            .take_while(|(end_ns, _)| *end_ns >= window.start_ns)
            .find(|(_, event)| {
                let track = trace.events.track(*event);
                track != own
                    && process(track) == process(own)
                    && trace.events.ts_ns(*event) <= window.start_ns
            })
            .map(|(end_ns, event)| (*event, *end_ns));
        self.waits = Some(waits);
        found
    }

    /// The end of every call in which a host waits for the GPU, in order.
    fn waits(&mut self) -> Vec<(i64, EventId)> {
        let events = &self.profile.trace.events;
        let mut waits: Vec<(i64, EventId)> = Vec::new();
        for event in events.ids() {
            if events.category(event).is_runtime() && self.call(event).is_blocking() {
                waits.push((events.end_ns(event), event));
            }
        }
        waits.arrange();
        waits
    }

    /// From the end of the last launch of any thread to the start of this one.
    fn since_any_launch(&mut self, launch: Interval) -> Option<i64> {
        if self.launches.is_none() {
            let calls = self.profile.launches.launches.iter();
            let mut spans: Vec<Interval> = calls.map(|one| self.span(one.call)).collect();
            spans.arrange();
            spans.dedup();
            self.launches = Some(spans);
        }
        let launches = self.launches.as_ref()?;
        let before = launches.partition_point(|one| one.start_ns < launch.start_ns);
        let last = launches.get(before.checked_sub(1)?)?;
        Some(launch.start_ns.saturating_sub(last.end_ns).max(0))
    }

    /// What most of a window is, by the names of spans on the thread of a call.
    fn special_in(&self, call: EventId, window: Interval, at_least_ns: i64) -> Option<Special> {
        let track = self.profile.trace.events.track(call);
        if self.profiler.within(window) > at_least_ns {
            return Some(Special::Profiler);
        }
        let covered = self.special.get(&track)?;
        let found = Special::ALL
            .into_iter()
            .zip(covered)
            .map(|(special, covered)| (special, covered.within(window)))
            .filter(|(_, ns)| *ns > at_least_ns);
        // Of equal ones the first.
        let longest = found.reduce(|longest, next| if next.1 > longest.1 { next } else { longest });
        longest.map(|(special, _)| special)
    }
}

/// The times in which the profiler itself worked.
fn profiler(profile: &Profile) -> Coverage {
    let events = &profile.trace.events;
    let overhead = events
        .ids()
        .filter(|event| events.category(*event) == Category::Overhead);
    let spans = overhead.map(|event| Interval::new(events.ts_ns(event), events.end_ns(event)));
    Coverage::new(union(spans.collect()))
}

type SpecialSpans<T> = HashMap<TrackId, [T; Special::ALL.len()], FxBuildHasher>;

/// Spans with a telling name by thread. No pass over the events where no name tells.
fn special(profile: &Profile) -> SpecialSpans<Coverage> {
    let trace = &profile.trace;
    let telling: Vec<Option<Special>> = trace
        .strings
        .iter()
        .map(|(_, name)| Special::of_name(name))
        .collect();
    let capture: Vec<Option<bool>> = trace
        .strings
        .iter()
        .map(|(_, name)| is_capture_edge(name))
        .collect();
    let mut spans: SpecialSpans<Vec<Interval>> = HashMap::default();
    if telling.iter().all(Option::is_none) && capture.iter().all(Option::is_none) {
        return HashMap::default();
    }
    // When a thread began to capture.
    let mut capturing: HashMap<TrackId, i64, FxBuildHasher> = HashMap::default();
    for event in trace.events.ids() {
        let name = trace.events.name(event);
        let track = trace.events.track(event);
        match capture.get(name.0 as usize).copied().flatten() {
            Some(true) => {
                capturing.insert(track, trace.events.ts_ns(event));
            }
            Some(false) => {
                if let Some(since_ns) = capturing.remove(&track) {
                    let span = Interval::new(since_ns, trace.events.end_ns(event));
                    spans.entry(track).or_default()[Special::Capture as usize].push(span);
                }
            }
            None => {}
        }
        let Some(special) = telling.get(name.0 as usize).copied().flatten() else {
            continue;
        };
        if !trace.events.category(event).is_gpu() {
            let span = Interval::new(trace.events.ts_ns(event), trace.events.end_ns(event));
            spans.entry(trace.events.track(event)).or_default()[special as usize].push(span);
        }
    }
    spans
        .into_iter()
        .map(|(track, spans)| (track, spans.map(|spans| Coverage::new(union(spans)))))
        .collect()
}
