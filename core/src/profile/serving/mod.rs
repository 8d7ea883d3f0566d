//! Serving engines and diffusion pipelines: the steps of a recording, and the GPU activity of each.
//!
//! ```text
//! annotations, else Python frames ─→ steps ─launches on their thread→ GPU activity ─→ step time
//!                                              └→ graph replays ─→ iterations ─→ stages, layers
//! ```
//!
//! A step is one forward pass of the engine over one batch. Its GPU activity is what was launched during its annotation
//! on its thread, whenever it ran: engines schedule ahead, so the activity of a step may start after its annotation has
//! ended.
//!
//! Steps without annotations or frames are inferred from repetition.

pub(crate) mod activity;
pub mod graphs;
mod inferred;
pub(crate) mod input_rows;
pub(crate) mod layers;
pub(crate) mod padding;
pub(crate) mod replays;
pub mod slices;
pub(crate) mod slots;
pub(crate) mod stages;
pub mod steady;
pub(crate) mod steps;
#[cfg(test)]
mod tests;
mod tokens;

use crate::base::interval::Interval;
use crate::base::map::Map;
use crate::base::stats::mean_of_middle_ns;
use crate::names::batch::{Batch, Engine, Phase};
use crate::profile::Profile;
use crate::profile::launch::GpuId;
use crate::trace::{EventId, Trace, TrackId};

pub use activity::Activity;
pub use graphs::GraphFacts;
pub use layers::{Blocks, StreamRuns, stream_runs};
pub use replays::{Graph, Shape, ShapeKind};
pub use slices::{Slice, StepSlices};
use stages::Modules;
pub use stages::{Stage, StageKind};
pub use steady::{Steady, SteadyKind};
pub use steps::NamedBy;
pub(crate) use tokens::served_tokens;

/// A step of a serving engine, or a run of a diffusion pipeline.
#[derive(Debug, Clone, PartialEq)]
pub struct ServingStep {
    /// Its annotation, or its Python frame.
    pub event: EventId,
    /// The thread that ran it.
    pub track: TrackId,
    /// When it ran on that thread.
    pub on_host: Interval,
    /// Its batch; `None` if no annotation contains it.
    pub batch: Option<Batch>,
    /// Its GPU activity; `None` if there is none.
    pub activity: Option<Activity>,
    /// How long it takes; `None` without GPU activity.
    pub length: Option<StepLength>,
}

/// How long one step takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepLength {
    /// The time.
    pub ns: i64,
    /// Until the start of the next step on its thread, otherwise the span of its own GPU activity.
    pub basis: Basis,
    /// Time in it during which anything runs on the GPU.
    pub busy_ns: i64,
}

impl StepLength {
    /// Time in it during which nothing runs on the GPU.
    pub fn idle_ns(&self) -> i64 {
        self.ns.saturating_sub(self.busy_ns)
    }
}

impl ServingStep {
    /// A step whose GPU activity is not known yet.
    fn new(trace: &Trace, event: EventId, on_host: Interval, batch: Option<Batch>) -> ServingStep {
        ServingStep {
            event,
            track: trace.events.track(event),
            on_host,
            batch,
            activity: None,
            length: None,
        }
    }

    /// What its requests do; `None` if unknown.
    pub fn phase(&self) -> Option<Phase> {
        self.batch.map(|batch| batch.phase)
    }
}

/// How the time of a step is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// From the start of its GPU activity to that of the next step; the median.
    StartToStart,
    /// From its first to its last GPU activity.
    GpuSpan,
}

impl Basis {
    /// A short description.
    pub fn label(self) -> &'static str {
        match self {
            Basis::StartToStart => "start to start, median",
            Basis::GpuSpan => "first to last GPU activity",
        }
    }

    /// A shorter description, for a single step.
    pub fn short(self) -> &'static str {
        match self {
            Basis::StartToStart => "to the next step",
            Basis::GpuSpan => "GPU span",
        }
    }
}

/// How long a step takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepTime {
    /// The time.
    pub ns: i64,
    /// How it is measured.
    pub basis: Basis,
    /// The number of steps that it is the median of.
    pub n: usize,
}

/// The steps of a recording.
#[derive(Debug, Clone, PartialEq)]
pub struct Serving {
    /// The engine that ran them; `None` if unknown.
    pub engine: Option<Engine>,
    /// How the steps were identified.
    pub named_by: NamedBy,
    /// In the order in which they ran on the CPU.
    pub steps: Vec<ServingStep>,
    /// How the GPU activity of the recording was launched.
    pub shape: Shape,
    /// Parts of the time: before, during, between and after steps or denoising iterations.
    pub stages: Vec<Stage>,
    /// What repeats within a step.
    pub blocks: Option<Blocks>,
    /// The replayed graphs, by total time, longest first.
    pub graphs: Vec<GraphFacts>,
}

impl Serving {
    /// The steps of a profile of a whole trace; `None` if it is not from a serving engine.
    pub(crate) fn find(profile: &Profile) -> Option<Serving> {
        let named = steps::find(&profile.trace);
        let recurs = named.is_none() && inferred::may_recur(profile);
        if named.is_none() && !recurs {
            return None;
        }
        let launched = activity::Launched::new(profile);
        let graphs = replays::graphs(profile);
        let named = named.or_else(|| inferred::find(profile, &graphs))?;
        let mut steps = named.steps;
        for step in &mut steps {
            step.activity = launched.of(step);
        }
        if steps.iter().all(|step| step.activity.is_none()) {
            return None;
        }
        measure(&mut steps, &launched);
        let diffusion = steps
            .iter()
            .filter(|step| step.phase() == Some(Phase::Diffusion));
        let modules = Modules::default();
        let iterations: Vec<Vec<GpuId>> = diffusion
            .flat_map(|step| stages::iterations(profile, step, &graphs, &launched, &modules))
            .collect();
        Some(Serving {
            engine: named.engine,
            named_by: named.by,
            shape: Shape::new(&graphs, steps.len(), profile),
            stages: stages::stages(profile, &steps, &iterations, &launched, &modules),
            blocks: layers::blocks(profile, &steps, &iterations, &graphs, &launched),
            graphs: graphs::facts(profile, &graphs, &steps),
            steps,
        })
    }

    /// The steps inside a time span, or the single step that it is.
    pub(crate) fn within(&self, span: Interval, on_host: Option<Interval>) -> Option<Serving> {
        let is_inside = |step: &ServingStep| match on_host {
            Some(on_host) => step.on_host == on_host,
            None => step.activity.is_some_and(|activity| {
                span.start_ns <= activity.span.start_ns && activity.span.end_ns <= span.end_ns
            }),
        };
        let steps: Vec<ServingStep> = self
            .steps
            .iter()
            .filter(|step| is_inside(step))
            .cloned()
            .collect();
        let stages = self.stages.iter().filter(|stage| {
            stage
                .span
                .overlap(span)
                .is_some_and(|both| both == stage.span)
        });
        (!steps.is_empty()).then(|| Serving {
            stages: stages.cloned().collect(),
            graphs: graphs::within(&self.graphs, span, on_host),
            steps,
            ..self.clone()
        })
    }

    /// From the first to the last GPU activity of the steps.
    pub fn span(&self) -> Option<Interval> {
        let spans = self.steps.iter().filter_map(|step| step.activity);
        spans.map(|activity| activity.span).reduce(Interval::hull)
    }

    /// Phases with steps that have GPU activity, and the number of these steps.
    pub fn phases(&self) -> Vec<(Option<Phase>, usize)> {
        let all = Phase::ALL.into_iter().map(Some).chain([None]);
        let count = |phase| self.of(phase).count();
        all.map(|phase| (phase, count(phase)))
            .filter(|(_, n)| *n > 0)
            .collect()
    }

    /// Steps of a phase that have GPU activity.
    pub fn of(&self, phase: Option<Phase>) -> impl Iterator<Item = &ServingStep> {
        let steps = self.steps.iter();
        steps.filter(move |step| step.phase() == phase && step.activity.is_some())
    }

    /// How long a step of a phase takes: the median from start to start, if each is followed by another one on its
    /// thread; otherwise the median of their own spans.
    pub(crate) fn step_time(&self, phase: Option<Phase>) -> Option<StepTime> {
        let mut before: Map<TrackId, (bool, i64)> = Map::default();
        let apart = self.steps.iter().filter_map(|step| {
            let start_ns = step.activity?.span.start_ns;
            let is_of_phase = step.phase() == phase;
            let (is_counted, from_ns) = before.insert(step.track, (is_of_phase, start_ns))?;
            let ns = start_ns.saturating_sub(from_ns);
            (is_counted && ns > 0).then_some(ns)
        });
        let apart: Vec<i64> = apart.collect();
        let time = |times: Vec<i64>, basis| {
            let n = times.len();
            mean_of_middle_ns(times).map(|ns| StepTime { ns, basis, n })
        };
        let spans = self.of(phase).filter_map(|step| step.activity);
        let spans: Vec<i64> = spans.map(|activity| activity.span.length()).collect();
        time(apart, Basis::StartToStart).or_else(|| time(spans, Basis::GpuSpan))
    }
}

/// Measures each step: until the GPU activity of the next one on its thread starts, otherwise its own span.
fn measure(steps: &mut [ServingStep], launched: &activity::Launched) {
    let mut next: Map<TrackId, i64> = Map::default();
    for step in steps.iter_mut().rev() {
        let Some(own) = step.activity else {
            continue;
        };
        let start_ns = own.span.start_ns;
        let followed = next.insert(step.track, start_ns);
        let (span, basis) = match followed.filter(|until_ns| *until_ns > start_ns) {
            Some(until_ns) => (Interval::new(start_ns, until_ns), Basis::StartToStart),
            None => (own.span, Basis::GpuSpan),
        };
        step.length = Some(StepLength {
            ns: span.length(),
            basis,
            busy_ns: launched.busy_in(span),
        });
    }
}
