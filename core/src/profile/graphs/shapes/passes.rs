//! Forward passes that replay graphs: the kernels of each pass on one stream, in order.

use std::rc::Rc;

use super::roles::anchors;
use crate::base::group::grouped;
use crate::base::interval::Interval;
use crate::base::map::Map;
use crate::base::sort::{Arrange, Arranged};
use crate::names::batch::{Batch, Phase};
use crate::names::layer::Step;
use crate::profile::Profile;
use crate::profile::launch::{GpuId, is_graph_launch};
use crate::profile::serving::ServingStep;
use crate::trace::{ByName, Category, EventId, TrackId};

/// The kernels of a forward pass on one stream.
pub(crate) struct ForwardPass {
    /// When the CPU launched it, and on which thread.
    pub(super) on_host: Interval,
    pub(super) track: TrackId,
    /// The end of the last launch of a graph in it.
    pub(super) launched_ns: i64,
    /// The batch of its step, if annotated.
    pub(super) batch: Option<Batch>,
    /// By start.
    pub(super) kernels: Vec<GpuId>,
    /// The kernels as steps, without names.
    pub(super) steps: Rc<Vec<Step>>,
    /// Number of attention kernels.
    pub(super) n_layers: usize,
    /// By kernel: whether it is replayed and its operator is unknown.
    pub(super) is_bare: Vec<bool>,
}

/// A kernel and its launch.
struct Launched {
    pass: usize,
    stream: TrackId,
    start_ns: i64,
    id: GpuId,
    is_replayed: bool,
    is_bare: bool,
}

/// Where and when a pass was launched.
struct Host {
    on_host: Interval,
    track: TrackId,
    launched_ns: i64,
    batch: Option<Batch>,
}

impl ForwardPass {
    /// Whether it replays kernels whose operator is unknown.
    pub(super) fn has_bare(&self) -> bool {
        self.is_bare.contains(&true)
    }
}

/// The forward passes of a profile that replay a graph, with or without a capture.
pub(crate) fn find(profile: &Profile) -> Vec<ForwardPass> {
    let (trace, events) = (&profile.trace, &profile.trace.events);
    let has_graph = trace.strings.iter().any(|(_, name)| is_graph_launch(name));
    if !has_graph {
        return Vec::new();
    }
    let mut is_graph = ByName::new(is_graph_launch);
    let mut hosts = steps(profile);
    let by_start = ByStart::of(&hosts);
    let mut of_launch: Map<EventId, usize> = Map::default();
    let mut launched: Vec<Launched> = Vec::new();
    for (id, work) in profile.gpu.iter() {
        let Some(call) = work.launched_by else {
            continue;
        };
        if events.category(work.event) != Category::Kernel {
            continue;
        }
        let is_bare = is_graph.of(trace, call);
        let call = trace.recorded_call(call);
        let is_replayed = is_graph.of(trace, call);
        let (track, at_ns) = (events.track(call), events.ts_ns(call));
        let pass = match by_start.around(&hosts, track, at_ns) {
            Some(step) => step,
            None if is_replayed => *of_launch.entry(call).or_insert_with(|| {
                hosts.push(Host {
                    on_host: events.span(call),
                    track,
                    launched_ns: 0,
                    batch: batch_around(profile, track, at_ns),
                });
                hosts.len() - 1
            }),
            None => continue,
        };
        if let Some(host) = hosts.get_mut(pass).filter(|_| is_replayed) {
            host.launched_ns = host.launched_ns.max(events.end_ns(call));
        }
        launched.push(Launched {
            pass,
            stream: events.track(work.event),
            start_ns: work.span.start_ns,
            id,
            is_replayed,
            is_bare,
        });
    }
    passes(profile, &hosts, launched)
}

/// Steps by thread and start, as indices.
struct ByStart(Vec<(TrackId, i64, usize)>);

impl ByStart {
    fn of(steps: &[Host]) -> ByStart {
        let starts = steps.iter().zip(0..);
        let starts = starts.map(|(step, at)| (step.track, step.on_host.start_ns, at));
        ByStart(starts.arranged())
    }

    /// The step of a thread at a time.
    fn around(&self, steps: &[Host], track: TrackId, ns: i64) -> Option<usize> {
        let after = self
            .0
            .partition_point(|(of, start_ns, _)| (*of, *start_ns) <= (track, ns));
        let (.., at) = *self.0.get(after.checked_sub(1)?)?;
        let step = steps.get(at)?;
        (step.track == track && ns < step.on_host.end_ns).then_some(at)
    }
}

/// The steps of a serving engine.
fn steps(profile: &Profile) -> Vec<Host> {
    // A diffusion pipeline replays a graph for each denoising step.
    let of_tokens = serving_steps(profile).filter(|step| step.phase() != Some(Phase::Diffusion));
    let hosts = of_tokens.map(|step| Host {
        on_host: step.on_host,
        track: step.track,
        launched_ns: 0,
        batch: step.batch,
    });
    hosts.collect()
}

fn serving_steps(profile: &Profile) -> impl Iterator<Item = &ServingStep> {
    let steps = profile.serving().map(|serving| &serving.steps);
    steps.into_iter().flatten()
}

/// The batch of the step around a call.
fn batch_around(profile: &Profile, track: TrackId, at_ns: i64) -> Option<Batch> {
    let mut steps = serving_steps(profile).filter(|step| step.track == track);
    let is_around =
        |step: &&ServingStep| step.on_host.start_ns <= at_ns && at_ns < step.on_host.end_ns;
    steps.find(is_around)?.batch
}

fn passes(profile: &Profile, hosts: &[Host], launched: Vec<Launched>) -> Vec<ForwardPass> {
    let mut step_of = ByName::new(Step::of);
    let mut same: Map<Vec<Step>, Rc<Vec<Step>>> = Map::default();
    let by_stream = launched
        .into_iter()
        .map(|one| ((one.pass, one.stream), one));
    let by_stream = grouped(by_stream, |all: &mut Vec<Launched>, one| all.push(one));
    let mut passes = Vec::new();
    for ((pass, _), mut launched) in by_stream {
        let Some(host) = hosts.get(pass) else {
            continue;
        };
        if !launched.iter().any(|one| one.is_replayed) {
            continue;
        }
        launched.arrange_by_key(|one| (one.start_ns, one.id));
        let steps: Vec<Step> = launched
            .iter()
            .filter_map(|one| profile.gpu.get(one.id))
            .map(|work| step_of.of(&profile.trace, work.event))
            .collect();
        let n_layers = anchors(&steps).len();
        let steps = match same.get(&steps) {
            Some(known) => Rc::clone(known),
            None => {
                let shared = Rc::new(steps.clone());
                same.insert(steps, Rc::clone(&shared));
                shared
            }
        };
        passes.push(ForwardPass {
            on_host: host.on_host,
            track: host.track,
            launched_ns: host.launched_ns,
            batch: host.batch,
            kernels: launched.iter().map(|one| one.id).collect(),
            steps,
            n_layers,
            is_bare: launched.iter().map(|one| one.is_bare).collect(),
        });
    }
    passes
}
