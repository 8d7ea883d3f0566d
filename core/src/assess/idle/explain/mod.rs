//! Finds the cause of a gap: what the CPU did while the GPU was idle.
//!
//! A gap ends when the next kernel or copy starts. So the relevant thread is the one that launched it, between its
//! previous launch and this one. These stretches are disjoint, so all gaps together cost one pass over the calls of a
//! trace.

mod cold;
mod late;
mod lead;
mod recompiled;
mod regions;
mod thread;

use std::cell::OnceCell;
use std::ops::Range;
use std::sync::Arc;

use super::cause::IdleCause;
use super::code::{Code, CodePart, CodeSearch, Place};
use crate::assess::Input;
use crate::assess::Thresholds;
use crate::base::interval::Interval;
use crate::base::map::Map;
use crate::names::cpu_activity::CpuActivity;
use crate::names::runtime_calls::RuntimeCall;
use crate::profile::Profile;
use crate::profile::cpu::activity::CpuActivities;
use crate::profile::gpu::gaps::Gap;
use crate::profile::gpu::kernels::GpuWork;
use crate::profile::gpu::timeline::GpuClass;
use crate::profile::launch::runtime_calls::{GraphReplays, NODE_GAP_NS};
use crate::profile::operations::autotuning::Tuning;
use crate::profile::operations::origin::Origin;
use crate::trace::{ByName, Category, EventId, TrackId};

use cold::FirstUses;
use lead::Leads;
use recompiled::Warm;
use regions::RegionEntries;
pub(crate) use regions::regions_per_step;
pub(crate) use thread::CpuTime;

/// A gap with its cause.
#[derive(Debug, Clone, Default)]
pub(crate) struct ExplainedGap {
    pub(crate) gap: Gap,
    /// The cause of most of it.
    pub(crate) cause: IdleCause,
    /// A second cause, and its part of the gap.
    pub(crate) second: Option<(IdleCause, i64)>,
    /// The call that launched what ends the gap.
    pub(crate) launch: Option<EventId>,
    /// From the start of the gap to the start of that call; negative if the call came earlier.
    pub(crate) launch_after_ns: Option<i64>,
    pub(crate) is_graph: bool,
    /// Whether that call is the first launch of a call of compiled code.
    pub(crate) enters_region: bool,
    /// The call in which the CPU waited for the GPU.
    pub(crate) waited_in: Option<EventId>,
    pub(crate) activity: Option<CpuActivity>,
    pub(crate) cpu: CpuTime,
    /// The operator in which the thread spent most of the gap, and how long.
    pub(crate) busy_in: Option<(EventId, i64)>,
    /// What ran in the longest part of it.
    pub(crate) code: Option<Code>,
    /// The location of that code, for listed gaps.
    pub(crate) place: Option<Place>,
    /// The user's Python function in which the CPU waited, or launched what ends the gap, for listed gaps.
    pub(crate) frame: Option<String>,
}

impl ExplainedGap {
    /// Its causes, and the time of each; the main one first.
    pub(crate) fn causes(&self) -> impl Iterator<Item = (IdleCause, i64)> {
        let second_ns = self.second.map_or(0, |(_, ns)| ns);
        let main_ns = self.gap.span.length().saturating_sub(second_ns);
        std::iter::once((self.cause, main_ns)).chain(self.second)
    }

    /// Fills in what lists of gaps show.
    pub(super) fn locate(&mut self, profile: &Profile) {
        self.place = self.code.map(|code| Place::of(profile, code));
        let call = self.waited_in.or(self.launch);
        let call = call.filter(|_| profile.has_python_frames());
        let node = call.and_then(|call| profile.full_tree().node_of(call));
        self.frame = node.and_then(|node| Origin::of_node(profile, node).frame);
    }
}

pub(crate) struct Explainer<'a> {
    profile: &'a Profile,
    thresholds: &'a Thresholds,
    /// Operators or Python frames were recorded.
    shows_cpu: bool,
    pub(crate) graphs: GraphReplays,
    calls: ByName<RuntimeCall>,
    tracks: Map<TrackId, Range<u32>>,
    activities: CpuActivities,
    tuning: Arc<Tuning>,
    launches: OnceCell<Vec<Interval>>,
    /// When the first recorded activity of each stream of the whole trace starts, by track.
    firsts: OnceCell<Vec<i64>>,
    /// The end of every call in which a thread waits for the GPU, in order.
    waits: OnceCell<Vec<(i64, EventId)>>,
    /// Created for the first late launch.
    search: Option<CodeSearch<'a>>,
    first_uses: FirstUses<'a>,
    warm: OnceCell<Warm>,
    leads: Leads,
    regions: OnceCell<RegionEntries>,
    /// What ran in the last explained gap, with the cause that it belongs to; empty unless a launch was late.
    pub(crate) parts: Vec<(IdleCause, CodePart)>,
}

/// A launch during a gap or right before it.
#[derive(Clone, Copy)]
struct Launched<'g> {
    call: EventId,
    kind: RuntimeCall,
    span: Interval,
    /// What ran before the gap, and what was launched.
    before: Option<&'g GpuWork>,
    after: &'g GpuWork,
}

impl Launched<'_> {
    fn is_copy(&self) -> bool {
        self.after.class == GpuClass::Memcpy
    }
}

impl<'a> Explainer<'a> {
    pub(crate) fn new(input: &Input<'a>) -> Explainer<'a> {
        let profile = input.profile;
        let tracks = profile.tree.tracks().iter();
        Explainer {
            profile,
            thresholds: &input.options.thresholds,
            shows_cpu: profile.has_cpu_ops() || profile.has_python_frames(),
            graphs: GraphReplays::new(&profile.trace),
            calls: ByName::new(RuntimeCall::of_name),
            tracks: tracks
                .map(|nodes| (nodes.track, nodes.nodes.clone()))
                .collect(),
            activities: CpuActivities::new(profile),
            tuning: Tuning::of(profile),
            launches: OnceCell::new(),
            firsts: OnceCell::new(),
            waits: OnceCell::new(),
            search: None,
            first_uses: FirstUses::new(profile),
            warm: OnceCell::new(),
            leads: Leads::default(),
            regions: OnceCell::new(),
            parts: Vec::new(),
        }
    }

    fn span(&self, event: EventId) -> Interval {
        self.profile.trace.events.span(event)
    }

    /// Finds the cause of a gap. These are the rules; the first that fits applies:
    ///
    /// 1. Nothing is known about the launch of what ends it, or that is after the window: unknown.
    /// 2. What ran before and after belongs to one graph launch: inside GPU graphs. If a graph was launched meanwhile
    ///    without any recorded kernels: graphs without recorded kernels. If the gap ends before the call that launches
    ///    the graph does, the GPU waited for the call: launch-bound; gaps as short as those between any nodes of a
    ///    graph do not count as such a wait.
    /// 3. The launch ended before the gap started (allowing for its latency), or most of the gap came after it: queued;
    ///    after a replay that lacks its last kernels: kernels not recorded. At the start of the trace, before the first
    ///    recorded activity of a stream: before the recording.
    /// 4. Kernels were tuned for half of the gap until the launch: kernel tuning. Half of it is data loading,
    ///    compilation, capture, the profiler, or loading of kernels, in separate calls or in a launch that takes
    ///    unusually long; or allocating and freeing. A [first use](FirstUses): startup. Compilation or capture
    ///    once the program [was warm](Warm): recompilation. What else the CPU does in a gap of data loading or
    ///    allocation has the cause of rule 6 or 7.
    /// 5. The thread waited for the GPU after the gap started, and launched soon after that: synchronization, for at
    ///    most as long as the call that waits took; the rest of the gap has the cause of rule 6 or 7. Long after: CPU
    ///    work. The same if another thread waited while the launching one did nothing. A wait that is short relative to
    ///    the gap did not delay the CPU, unless an earlier one took its [lead](Leads), which would have hidden the gap.
    /// 6. The thread launched nothing for a long time: CPU work.
    /// 7. Launch-bound, but only if operators or Python frames were recorded, or it launched a graph; otherwise it is
    ///    unknown what delayed the CPU.
    pub(crate) fn explain(&mut self, gap: Gap) -> ExplainedGap {
        let mut explained = ExplainedGap {
            gap,
            ..ExplainedGap::default()
        };
        self.parts.clear();
        explained.cause = self.cause(&mut explained).unwrap_or_default();
        match explained.cause.is_late_launch() {
            true => {
                let longest = self.parts.iter().max_by_key(|(_, part)| part.ns);
                explained.code = longest.and_then(|(_, part)| part.code);
            }
            false => self.parts.clear(),
        }
        explained
    }

    /// Rules 1 to 3; `None` for unknown.
    fn cause(&mut self, explained: &mut ExplainedGap) -> Option<IdleCause> {
        let gap = explained.gap;
        let profile = self.profile;
        let before = gap.before.and_then(|id| profile.gpu.get(id));
        let after = profile.gpu.get(gap.after?)?;
        let recorded = |call| profile.trace.recorded_call(call);
        let call = recorded(after.launched_by?);
        let launched = Launched {
            call,
            kind: self.calls.of(&profile.trace, call),
            span: self.span(call),
            before,
            after,
        };
        let Interval { start_ns, end_ns } = launched.span;
        explained.launch = Some(call);
        explained.launch_after_ns = Some(start_ns.saturating_sub(gap.span.start_ns));
        explained.is_graph = launched.kind == RuntimeCall::GraphLaunch;
        let regions = self.regions.get_or_init(|| RegionEntries::of(profile));
        explained.enters_region = regions.is_entered_by(call);
        let launched_before = before.and_then(|before| before.launched_by).map(recorded);
        if explained.is_graph && launched_before == Some(call) {
            let is_waited = gap.span.end_ns < end_ns && gap.span.length() > NODE_GAP_NS;
            return Some(match is_waited {
                true => IdleCause::LaunchBound,
                false => IdleCause::InGraph,
            });
        }
        let since_ns = launched_before.map_or(gap.span.start_ns, |call| self.span(call).start_ns);
        let unrecorded = &self.graphs.unrecorded_ns;
        let from = unrecorded.partition_point(|at_ns| *at_ns <= since_ns);
        if unrecorded.get(from).is_some_and(|at_ns| *at_ns < start_ns) {
            return Some(IdleCause::UnrecordedGraph);
        }
        let latency_ns = (self.thresholds.idle_launch_latency_us * 1e3) as i64;
        // A copy that the CPU waits for is on its way long before its call returns.
        let queued_for = |launched_ns: i64| {
            let arrived_ns = launched_ns.saturating_add(latency_ns);
            gap.span.end_ns.saturating_sub(arrived_ns) > gap.span.length() / 2
        };
        let is_copy = launched.is_copy();
        if end_ns.saturating_add(latency_ns) <= gap.span.start_ns
            || queued_for(end_ns)
            || (is_copy && queued_for(start_ns))
        {
            // A copy whose call returns only when it is done.
            explained.waited_in = Some(call).filter(|_| is_copy && end_ns >= gap.span.end_ns);
            return Some(match self.may_follow_unrecorded(&gap, after) {
                true => IdleCause::BeforeRecording,
                // The next activity was queued: the kernels that the replay lacks did run.
                false if launched_before.is_some_and(|call| self.lacks_last_kernels(call)) => {
                    IdleCause::UnrecordedKernel
                }
                false => IdleCause::Queued,
            });
        }
        self.cause_of_late(explained, launched)
    }

    fn lacks_last_kernels(&self, graph_launch: EventId) -> bool {
        let coverage = self.profile.coverage.as_ref();
        coverage.is_some_and(|coverage| coverage.cut.contains(&graph_launch))
    }

    /// Whether a gap is most of the time since the first recorded activity, and ends with the first recorded activity
    /// of its stream.
    fn may_follow_unrecorded(&self, gap: &Gap, after: &GpuWork) -> bool {
        let events = &self.profile.trace.events;
        let firsts = self.firsts.get_or_init(|| {
            let mut firsts = vec![i64::MAX; self.profile.trace.tracks.len()];
            for event in events.of_category(Category::is_gpu) {
                if let Some(first_ns) = firsts.get_mut(events.track(event).0 as usize) {
                    *first_ns = events.ts_ns(event).min(*first_ns);
                }
            }
            firsts
        });
        let track = events.track(after.event).0 as usize;
        let is_first = firsts.get(track) == Some(&after.span.start_ns);
        let any_ns = firsts.iter().min().copied().unwrap_or(i64::MAX);
        let since_ns = gap.span.start_ns.saturating_sub(any_ns);
        is_first && since_ns < gap.span.length()
    }
}
