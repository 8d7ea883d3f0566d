//! Finds the events that are steps.

use super::ServingStep;
use crate::base::sort::Arrange;
use crate::names::batch::{self, Batch, Engine, Phase};
use crate::names::frames::engine_step;
use crate::trace::{Category, EventId, Trace};

/// How steps were identified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamedBy {
    /// Annotations of the engine.
    Annotations,
    /// The Python function that runs them; their batches are unknown.
    Frames,
    /// Repeated graph replays, without names.
    Replays,
    /// Repeating kernel sequences, without names.
    Kernels,
}

impl NamedBy {
    /// Whether they were inferred from repetition on the GPU.
    pub(crate) fn is_inferred(self) -> bool {
        matches!(self, NamedBy::Replays | NamedBy::Kernels)
    }
}

/// The steps of a trace.
pub(super) struct Named {
    pub(super) engine: Option<Engine>,
    pub(super) by: NamedBy,
    pub(super) steps: Vec<ServingStep>,
}

/// The steps marked by engine annotations, the most detailed ones if there are several kinds, otherwise those from
/// Python frames; `None` without either.
pub(super) fn find(trace: &Trace) -> Option<Named> {
    by_annotations(trace).or_else(|| by_frames(trace))
}

fn by_annotations(trace: &Trace) -> Option<Named> {
    let events = &trace.events;
    let of_host = events.in_category(Category::UserAnnotation);
    let all: Vec<(EventId, Batch)> = of_host
        .filter_map(|event| Some((event, batch::parse(trace.name(event))?)))
        .collect();
    let tier = all.iter().map(|(_, batch)| batch.tier).max()?;
    // SGLang may put detailed annotations in vLLM's format around its own.
    let sglang = all.iter().find(|(_, batch)| batch.engine == Engine::Sglang);
    let first = sglang.or_else(|| all.iter().find(|(_, batch)| batch.tier == tier));
    let engine = first.map(|(_, batch)| batch.engine);
    let verifies = |batch: &Batch| batch.is_speculative && batch.phase == Phase::Decode;
    let verified = all
        .iter()
        .any(|(_, batch)| verifies(batch) && batch.engine == Engine::Sglang);
    let steps = all.into_iter().filter(|(_, batch)| batch.tier == tier);
    let steps = steps.map(|(event, mut batch)| {
        // If there are verification steps, decode steps that add a single token belong to the draft model.
        if verified && batch.phase == Phase::Decode && !batch.speculates() {
            (batch.phase, batch.is_speculative) = (Phase::Draft, true);
        }
        step(trace, event, Some(batch))
    });
    Some(Named {
        engine,
        by: NamedBy::Annotations,
        steps: outermost(steps.collect()),
    })
}

/// The calls that an engine makes for steps, excluding those inside warm-up calls.
fn by_frames(trace: &Trace) -> Option<Named> {
    let is_frame = |of| of == Category::PythonFunction;
    let frames = trace.named(is_frame, |name| engine_step(name).is_some());
    let frames = frames.filter_map(|event| Some((event, engine_step(trace.name(event))?)));
    let frames: Vec<_> = frames.collect();
    let engine = frames.first().map(|(_, of)| of.engine);
    let warm_ups = frames.iter().filter(|(_, of)| of.is_warm_up);
    let warm_ups: Vec<ServingStep> = warm_ups
        .map(|(event, _)| step(trace, *event, None))
        .collect();
    let steps = frames.iter().filter(|(_, of)| !of.is_warm_up);
    let steps = steps.map(|(event, _)| step(trace, *event, None));
    let steps = steps.filter(|step| !warm_ups.iter().any(|warm_up| is_inside(step, warm_up)));
    let steps = outermost(steps.collect());
    (!steps.is_empty()).then_some(Named {
        engine,
        by: NamedBy::Frames,
        steps,
    })
}

fn step(trace: &Trace, event: EventId, batch: Option<Batch>) -> ServingStep {
    ServingStep::new(trace, event, trace.events.span(event), batch)
}

fn is_inside(step: &ServingStep, other: &ServingStep) -> bool {
    let (inner, outer) = (step.on_host, other.on_host);
    step.track == other.track && outer.start_ns <= inner.start_ns && inner.end_ns <= outer.end_ns
}

/// The outermost steps of each thread, sorted by start; of two with the same span, the more detailed one.
fn outermost(mut steps: Vec<ServingStep>) -> Vec<ServingStep> {
    let says_less = |step: &ServingStep| step.batch.is_none_or(|batch| batch.images.is_none());
    steps.arrange_by_key(|step| {
        let end_ns = std::cmp::Reverse(step.on_host.end_ns);
        (
            step.track,
            step.on_host.start_ns,
            end_ns,
            says_less(step),
            step.event,
        )
    });
    let mut outer: Vec<ServingStep> = Vec::with_capacity(steps.len());
    for step in steps {
        if !outer.last().is_some_and(|last| is_inside(&step, last)) {
            outer.push(step);
        }
    }
    outer.arrange_by_key(|step| (step.on_host.start_ns, step.event));
    outer
}
