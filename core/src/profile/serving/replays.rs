//! Graph replays: the GPU activity of one graph launch, and which launches belong to the same graph.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

use crate::base::interval::{self, Interval};
use crate::base::map::Map;
use crate::base::sort::{Arrange, Arranged};
use crate::names::runtime_calls::RuntimeCall;
use crate::profile::Profile;
use crate::profile::launch::GpuId;
use crate::trace::{ByName, EventId, extra_args};

/// One replay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replay {
    /// The launching call.
    pub call: EventId,
    /// From its first to its last GPU activity.
    pub span: Interval,
    /// Its GPU activity, by start.
    pub work: Vec<GpuId>,
}

/// A graph, identified by the profiler's id or, without one, by the kernel names in order on each stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Graph {
    /// Its identity.
    pub key: u64,
    /// Whether the key is the profiler's id: then graphs of other sizes have other keys, even if they run the same
    /// kernels.
    pub has_id: bool,
    /// Its replays, by start.
    pub replays: Vec<Replay>,
}

impl Graph {
    /// Total time of all replays.
    pub fn ns(&self) -> i64 {
        interval::sum(self.replays.iter().map(|replay| replay.span.length()))
    }
}

/// The graphs of a profile, by total time, longest first.
pub(crate) fn graphs(profile: &Profile) -> Vec<Graph> {
    let (trace, events) = (&profile.trace, &profile.trace.events);
    let mut is_graph = ByName::new(|name| RuntimeCall::of_name(name) == RuntimeCall::GraphLaunch);
    let mut of_call: Map<EventId, Vec<GpuId>> = Map::default();
    for (id, work) in profile.gpu.iter() {
        // Merged captured calls are below the launch of their graph.
        let call = work.launched_by.map(|call| trace.recorded_call(call));
        if let Some(call) = call.filter(|call| is_graph.of(trace, *call)) {
            of_call.entry(call).or_default().push(id);
        }
    }
    let calls = of_call
        .into_iter()
        .arranged_by_key(|(call, _)| (events.ts_ns(*call), *call));
    let mut by_key: Map<u64, Graph> = Map::default();
    for (call, mut work) in calls {
        let span = |id: GpuId| {
            profile
                .gpu
                .get(id)
                .map_or(Interval::new(0, 0), |work| work.span)
        };
        work.arrange_by_key(|id| (span(*id).start_ns, *id));
        let Some(whole) = work.iter().map(|id| span(*id)).reduce(Interval::hull) else {
            continue;
        };
        let (key, has_id) = key(profile, &work);
        let graph = by_key.entry(key).or_insert(Graph {
            key,
            has_id,
            replays: Vec::new(),
        });
        graph.replays.push(Replay {
            call,
            span: whole,
            work,
        });
    }
    by_key.into_values().arranged_by_key(|graph| {
        let first = graph.replays.first().map(|replay| replay.call);
        (std::cmp::Reverse(graph.ns()), first)
    })
}

/// The key of a graph, and whether it is the profiler's id.
fn key(profile: &Profile, work: &[GpuId]) -> (u64, bool) {
    let mut hash = FxHasher::default();
    let (trace, events) = (&profile.trace, &profile.trace.events);
    let graph_id = |id: &GpuId| {
        let work = profile.gpu.get(*id)?;
        let args = trace.strings.get(events.extra_args(work.event)?);
        extra_args::value(args, "graph id").filter(|id| *id != "0")
    };
    if let Some(id) = work.first().and_then(graph_id) {
        id.hash(&mut hash);
        return (hash.finish(), true);
    }
    let names = work.iter().filter_map(|id| {
        let work = profile.gpu.get(*id)?;
        Some((events.track(work.event), work.name))
    });
    let mut names: Vec<_> = names.collect();
    // Stable sort: the kernels of each stream stay in order.
    names.arrange_by_key(|(track, _)| *track);
    names.hash(&mut hash);
    (hash.finish(), false)
}

/// How the GPU activity of a recording was launched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShapeKind {
    /// Kernel by kernel.
    Eager,
    /// A step, or a denoising iteration, is one graph.
    FullGraph,
    /// A step is many graphs, with eager kernels between them.
    PiecewiseGraph,
}

/// How the GPU activity of a recording was launched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// The kind of launch.
    pub kind: ShapeKind,
    /// Number of graph launches.
    pub launches: usize,
    /// Number of distinct graphs.
    pub graphs: usize,
    /// Number of kernels, copies and fills of all replays.
    pub n_work: usize,
    /// Number of kernels, copies and fills outside of graphs.
    pub n_outside: usize,
    /// Total time from the first to the last GPU activity of each replay.
    pub replay_ns: i64,
}

impl Shape {
    pub(super) fn new(graphs: &[Graph], n_steps: usize, profile: &Profile) -> Shape {
        /// A step with more launches is piecewise, because a model has many layers.
        const MOST_LAUNCHES_OF_FULL: usize = 4;
        let replays = || graphs.iter().flat_map(|graph| &graph.replays);
        let launches = replays().count();
        let n_work = replays().map(|replay| replay.work.len()).sum();
        let distinct = graphs.len();
        let per_step = launches / n_steps.max(1);
        // The iterations of a diffusion pipeline are replays of the same graph.
        let is_full = per_step <= MOST_LAUNCHES_OF_FULL || distinct <= 2;
        Shape {
            kind: match launches {
                0 => ShapeKind::Eager,
                _ if is_full => ShapeKind::FullGraph,
                _ => ShapeKind::PiecewiseGraph,
            },
            launches,
            graphs: distinct,
            n_work,
            n_outside: profile.gpu.len().saturating_sub(n_work),
            replay_ns: interval::sum(replays().map(|replay| replay.span.length())),
        }
    }
}
