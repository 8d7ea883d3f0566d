//! The whole comparison.

use std::sync::Arc;

use super::amount::Amount;
use super::categories::{CategoryDelta, categories};
use super::collectives::{CollectiveDelta, collectives};
use super::expected::Judge;
use super::explained::Explained;
use super::findings::Gaps;
use super::hardware::{HardwareRatio, ratios};
use super::host::{HostDelta, host};
use super::kernels::{KernelDelta, kernels};
use super::losses::{losses, misses_calls, untold_idle_ns};
use super::modules::{ModuleDelta, modules};
use super::ops::Operations;
use super::pair::Pair;
use super::parts::Parts;
use super::side::Side;
use crate::assess::Thresholds;
use crate::hardware::{Basis, GpuSpec};
use crate::profile::launch::is_graph_call;
use crate::profile::shares::Shares;
use crate::profile::timeline::GpuTimeline;
use crate::profile::window::WindowOf;
use crate::report::overview::{Measure, QualityLine};

/// What two traces say about each other. It owns all that it holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The traces.
    pub sides: Pair<About>,
    /// Both ran on the same hardware: then the same call is expected to take the same time.
    pub is_same_gpu: bool,
    /// Which figures are judged by, where they are known.
    pub basis: Basis,
    /// The lines that were drawn.
    pub thresholds: Thresholds,
    /// How much of the same the target does for what the reference does.
    pub amount: Amount,
    /// The time of both traces in parts that sum up to it; no parts where one of them has no GPU
    /// activity.
    pub parts: Parts,
    /// Kernel time of all that computes: what shares of compute are of.
    pub compute_ns: Pair<i64>,
    /// Operations by arguments, with what was expected of them.
    pub operations: Operations,
    /// How much of their difference the hardware explains.
    pub explained: Explained,
    /// The figures of both GPUs that this follows from; empty without both.
    pub hardware: Vec<HardwareRatio>,
    /// Where the target falls behind, what matters most first.
    pub gaps: Gaps,
    /// Kinds of work.
    pub categories: Vec<CategoryDelta>,
    /// Classes of modules; empty without Python frames.
    pub modules: Vec<ModuleDelta>,
    /// Kernels, copies and fills by name.
    pub kernels: Vec<KernelDelta>,
    /// Collectives by kind, size and group.
    pub collectives: Vec<CollectiveDelta>,
    /// Operators on the host by name.
    pub host: Vec<HostDelta>,
}

/// What is known of one of the traces.
#[derive(Debug, Clone, PartialEq)]
pub struct About {
    /// What it is called in tables and prose.
    pub name: String,
    /// The model that it is of; `None` where nothing tells.
    pub model: Option<String>,
    /// The device as the trace names it, else the chosen GPU; `None` where neither is known.
    pub platform: Option<String>,
    /// The GPU that it is judged by.
    pub gpu: Option<Arc<GpuSpec>>,
    /// Whether any operation has the shapes of its arguments.
    pub has_shapes: bool,
    /// What its times measure: the GPU, or the host where no GPU activity was recorded.
    pub measure: Measure,
    /// How its GPU time splits; `None` without GPU activity.
    pub timeline: Option<GpuTimeline>,
    /// Time in operators on the host.
    pub host_ns: i64,
    /// Kernels, copies and fills that count.
    pub n_gpu_events: u64,
    /// The part of the trace that is compared; `None` for all of it.
    pub window: Option<WindowOf>,
    /// What was lost of it, worst first.
    pub losses: Vec<QualityLine>,
    /// Whether calls or GPU work are missing, so that their number tells nothing.
    pub(crate) misses_calls: bool,
    /// Idle time in which the GPU may have worked.
    pub(crate) untold_idle_ns: i64,
    /// That it is judged by another GPU than it was recorded on, in a sentence.
    pub(crate) mismatch: Option<String>,
    /// GPUs that work ran on; 0 without GPU activity.
    pub n_gpus: usize,
    /// Whether most of its GPU work is of recorded graphs.
    pub(crate) runs_graphs: bool,
}

impl About {
    fn new(side: &Side) -> About {
        let hardware = &side.report.overview.hardware;
        let gpu = hardware.gpu.as_ref().map(|gpu| gpu.name.to_string());
        let host = side.profile.host_ops.iter();
        let events = side.report.timelines.events;
        let mut operations = side.profile.operations().iter();
        About {
            has_shapes: operations.any(|operation| {
                let args = operation.args(side.profile);
                args.is_some_and(|args| args.dims.is_some())
            }),
            name: side.name.to_owned(),
            model: side.profile.model_info().model.value.clone(),
            platform: hardware.recorded_on.clone().or(gpu),
            gpu: hardware.gpu.clone(),
            measure: side.report.overview.measure,
            timeline: side.report.timelines.whole,
            host_ns: crate::base::interval::sum(host.map(|op| op.self_ns)),
            n_gpu_events: side.profile.gpu.of(events).count() as u64,
            window: side.profile.window.clone(),
            losses: losses(side),
            misses_calls: misses_calls(side),
            untold_idle_ns: untold_idle_ns(side),
            mismatch: hardware.mismatch.clone(),
            n_gpus: match side.report.timelines.whole {
                Some(_) => side.report.timelines.gpus.len().max(1),
                None => 0,
            },
            runs_graphs: runs_graphs(side),
        }
    }
}

/// Whether launches of graphs started most of the GPU work, by time.
fn runs_graphs(side: &Side) -> bool {
    let trace = &side.profile.trace;
    let (mut graphs_ns, mut all_ns) = (0_i64, 0_i64);
    for work in side.profile.gpu.of(side.report.timelines.events) {
        let ns = work.span.length();
        all_ns = all_ns.saturating_add(ns);
        if work
            .launched_by
            .is_some_and(|call| is_graph_call(trace, call))
        {
            graphs_ns = graphs_ns.saturating_add(ns);
        }
    }
    graphs_ns > all_ns / 2
}

impl Comparison {
    /// Compares two traces. Lines, and the basis of the figures, are those of the target's report.
    pub fn new(reference: Side, target: Side) -> Comparison {
        let sides = Pair { reference, target };
        let shares =
            sides.map(|side| Shares::of_computation(side.profile, side.report.timelines.events));
        let judge = Judge::new(sides);
        let operations = Operations::new(sides, &shares, &judge);
        let about = sides.as_ref().map(About::new);
        let misses_calls = about.reference.misses_calls || about.target.misses_calls;
        let mut comparison = Comparison {
            amount: Amount::new(sides, &operations).sure_unless(misses_calls),
            parts: Parts::new(sides, &operations),
            compute_ns: sides.map(|side| side.report.timelines.compute_ns().unwrap_or(0)),
            explained: Explained::of(&operations),
            hardware: ratios(&about, &operations, &judge),
            gaps: Gaps::default(),
            operations,
            categories: categories(sides),
            modules: where_comparable(sides, modules),
            kernels: where_comparable(sides, kernels),
            collectives: where_comparable(sides, collectives),
            host: host(sides),
            is_same_gpu: judge.is_same_gpu,
            basis: judge.basis,
            thresholds: target.report.options.thresholds,
            sides: about,
        };
        comparison.gaps = Gaps::of(&comparison);
        comparison
    }

    /// Whether times on the GPU can be compared: both traces have GPU activity.
    pub fn has_gpu_times(&self) -> bool {
        let timelines = self.sides.as_ref().map(|side| side.timeline);
        timelines.both().is_some()
    }
}

/// Rows about the GPU; none where only one of the traces has GPU activity, and the other ran the
/// same on the host.
fn where_comparable<T>(sides: Pair<Side>, rows: fn(Pair<Side>) -> Vec<T>) -> Vec<T> {
    let has_gpu = sides.map(|side| side.report.timelines.whole.is_some());
    match has_gpu.reference == has_gpu.target {
        true => rows(sides),
        false => Vec::new(),
    }
}
