//! What the host did while the GPU idled.
//!
//! A gap ends when its next work begins; so the thread that launched that work is looked at,
//! between its launch before and this one. These stretches are disjoint, so all gaps together cost
//! one pass over the calls of a trace.

mod elsewhere;
mod special;
mod stretch;

use std::ops::Range;

use hashbrown::{HashMap, HashSet};
use rustc_hash::FxBuildHasher;

use super::class::{Call, Class, Special, is_compiled_region};
use super::gaps::Gap;
use crate::assess::Input;
use crate::assess::Thresholds;
use crate::base::interval::Interval;
use crate::profile::Profile;
use crate::profile::kernels::GpuWork;
use crate::profile::launch::GraphLaunches;
use crate::profile::timeline::GpuClass;
use crate::trace::{EventId, LinkId, StringId, Trace, TrackId};
use special::SpecialTimes;

pub(crate) use stretch::HostTime;

/// A wait that takes a smaller part of a gap is not why it is there.
const LEAST_WAIT: f64 = 0.2;

/// Why a gap is there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cause {
    pub(crate) class: Class,
    /// The call that launched what ends the gap.
    pub(crate) launch: Option<EventId>,
    /// From the start of the gap to the start of that call; negative where it was made before.
    pub(crate) launch_after_ns: Option<i64>,
    /// That call launched a graph.
    pub(crate) is_graph: bool,
    /// The call in which the host waited.
    pub(crate) blocking: Option<EventId>,
    pub(crate) special: Option<Special>,
    pub(crate) host: HostTime,
    /// The operator that the host spent most of the gap in, and how long.
    pub(crate) busy_in: Option<(EventId, i64)>,
}

/// The host side of a trace.
pub(crate) struct Host<'a> {
    profile: &'a Profile,
    thresholds: &'a Thresholds,
    has_host_ops: bool,
    /// Kinds of runtime calls by name.
    calls: HashMap<StringId, Call, FxBuildHasher>,
    /// Nodes of a thread in the call tree.
    tracks: HashMap<TrackId, Range<u32>, FxBuildHasher>,
    special: SpecialTimes,
    /// Start and end of all launching calls of all threads, sorted; gathered when first needed.
    launches: Option<Vec<Interval>>,
    /// When the first recorded work begins; gathered when first needed.
    firsts: Option<Firsts>,
    /// The end of every call in which a host waits for the GPU, in order; gathered when first needed.
    waits: Option<Vec<(i64, EventId)>>,
    /// When graphs were launched of whose work none was recorded, in order; gathered when first
    /// needed.
    unrecorded: Option<Vec<i64>>,
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

/// When graphs were launched of whose work a trace has none, in order.
pub(crate) fn unrecorded_graphs(trace: &Trace) -> Vec<i64> {
    let events = &trace.events;
    let mut graph_launches = GraphLaunches::default();
    let launches = events.ids().filter(|call| {
        events.category(*call).is_runtime() && graph_launches.contains(trace, *call)
    });
    let mut launches: Vec<(Option<LinkId>, i64)> = launches
        .map(|call| (events.correlation(call), events.ts_ns(call)))
        .collect();
    if launches.is_empty() {
        return Vec::new();
    }
    let work = events
        .ids()
        .filter(|event| events.category(*event).is_gpu());
    let recorded: HashSet<LinkId, FxBuildHasher> =
        work.filter_map(|event| events.correlation(event)).collect();
    launches.retain(|(id, _)| id.is_some_and(|id| !recorded.contains(&id)));
    let mut at: Vec<i64> = launches.into_iter().map(|(_, at_ns)| at_ns).collect();
    at.sort_unstable();
    at
}

impl<'a> Host<'a> {
    pub(crate) fn new(input: &Input<'a>) -> Host<'a> {
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
            special: SpecialTimes::new(profile),
            launches: None,
            firsts: None,
            waits: None,
            unrecorded: None,
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
    /// 1. Work runs in it that does not count: work of unknown launch. Nothing is known of the
    ///    launch of what ends it, or that lies after the window: unknown. A graph was launched
    ///    meanwhile of which nothing was recorded: graphs without recorded work.
    /// 2. The work before and after belong to one graph launch: GPU graphs.
    /// 3. The launch was over before the gap began (with time for it to arrive), or most of the
    ///    gap came after it: launched, not begun. At the start of the trace, before the first
    ///    recorded work of a stream: before the recorded work.
    /// 4. Half of the gap until the launch is loading of data, compiling, capturing, profiling, or
    ///    loading of kernels, in calls of its own or in a launch that takes unusually long; or
    ///    allocating and freeing.
    /// 5. The thread waited for the GPU after the gap began, and launched soon after:
    ///    synchronisation. Long after: host work. So where another thread waited, and the launching
    ///    one did nothing meanwhile. A wait that is short against the gap made the host no later.
    /// 6. The thread launched nothing for long: host work.
    /// 7. Launch-bound. Only where operators were recorded, or it launched a graph; else nobody
    ///    knows what kept the host.
    pub(crate) fn cause(&mut self, gap: &Gap) -> Cause {
        let mut cause = Cause {
            class: Class::Unknown,
            launch: None,
            launch_after_ns: None,
            is_graph: false,
            blocking: None,
            special: None,
            host: HostTime::default(),
            busy_in: None,
        };
        if gap.is_filled {
            cause.class = Class::Unlinked;
            return cause;
        }
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
        cause.is_graph = kind == Call::Graph;
        if kind == Call::Graph && before.is_some_and(|before| before.launched_by == Some(call)) {
            cause.class = Class::GraphLaunch;
            return cause;
        }
        let since_ns = before
            .and_then(|before| before.launched_by)
            .map_or(gap.span.start_ns, |call| self.span(call).start_ns);
        if self.launched_unrecorded(since_ns, launch.start_ns) {
            cause.class = Class::UnrecordedGraph;
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
        // Without a wait the host would be earlier by no more than it takes.
        stretch.blocking = stretch
            .blocking
            .filter(|(wait, _)| self.span(*wait).length() as f64 >= gap_ns as f64 * LEAST_WAIT);
        cause.host = stretch.host;
        cause.blocking = stretch.blocking.map(|(event, _)| event);
        let half_ns = gap_ns / 2;
        cause.busy_in = stretch.busy_in.filter(|(_, ns)| *ns > half_ns);
        let track = self.profile.trace.events.track(call);
        let special = self.special.most_of(track, window, half_ns);
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
            } else if self.has_host_ops || kind == Call::Graph {
                Class::LaunchBound
            } else {
                Class::Unknown
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

    /// Whether a graph was launched between two times of whose work the trace has none.
    fn launched_unrecorded(&mut self, from_ns: i64, until_ns: i64) -> bool {
        let profile = self.profile;
        let unrecorded = self
            .unrecorded
            .get_or_insert_with(|| unrecorded_graphs(&profile.trace));
        let from = unrecorded.partition_point(|at_ns| *at_ns <= from_ns);
        unrecorded.get(from).is_some_and(|at_ns| *at_ns < until_ns)
    }

    fn is_compiled_region(&mut self, event: EventId) -> bool {
        let trace = &self.profile.trace;
        let name = trace.events.name(event);
        *self
            .regions
            .entry(name)
            .or_insert_with(|| is_compiled_region(trace.strings.get(name)))
    }
}
