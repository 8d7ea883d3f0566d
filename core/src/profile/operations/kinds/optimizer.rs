//! Optimizer activity: steps, and where gradients are set to zero.

use crate::base::interval::{Interval, sum};
use crate::names::optimizer::{is_gradient_buffer_reset, is_zero_grad, optimizer_of_step};
use crate::profile::Profile;
use crate::profile::operations::Operation;
use crate::trace::{Category, EventId, TrackId};

/// A span on the track of a thread.
#[derive(Debug, Clone, Copy)]
struct OnTrack {
    track: TrackId,
    span: Interval,
}

impl OnTrack {
    fn of(profile: &Profile, event: EventId) -> OnTrack {
        let events = &profile.trace.events;
        OnTrack {
            track: events.track(event),
            span: events.span(event),
        }
    }

    /// Whether an event starts in it.
    fn holds(self, profile: &Profile, event: EventId) -> bool {
        let events = &profile.trace.events;
        self.track == events.track(event) && self.span.contains(events.ts_ns(event))
    }
}

/// The range that PyTorch records around an optimizer step.
#[derive(Debug, Clone)]
pub(crate) struct OptimizerStep {
    /// The optimizer class: "AdamW" for "Optimizer.step#AdamW.step".
    pub(crate) optimizer: String,
    at: OnTrack,
}

impl OptimizerStep {
    /// All recorded steps.
    pub(crate) fn all(profile: &Profile) -> Vec<OptimizerStep> {
        let trace = &profile.trace;
        let may_be = |of| matches!(of, Category::UserAnnotation | Category::CpuOp);
        let named = trace.named(may_be, |name| optimizer_of_step(name).is_some());
        let step = |event: EventId| {
            Some(OptimizerStep {
                optimizer: optimizer_of_step(trace.name(event))?.to_owned(),
                at: OnTrack::of(profile, event),
            })
        };
        named.filter_map(step).collect()
    }

    /// When it starts.
    pub(crate) fn start_ns(&self) -> i64 {
        self.at.span.start_ns
    }

    /// The first of some steps that an operation is a part of: at least half of its calls are inside steps, as the range
    /// around a step in which the recording starts is missing.
    pub(crate) fn of<'a>(
        steps: &'a [OptimizerStep],
        profile: &Profile,
        operation: &Operation,
    ) -> Option<&'a OptimizerStep> {
        let holding = |event| steps.iter().find(|step| step.holds_call(profile, event));
        let inside = operation
            .calls
            .iter()
            .filter_map(|call| holding(call.event));
        let first = inside.clone().next()?;
        (2 * inside.count() >= operation.calls.len()).then_some(first)
    }

    /// Whether a call starts inside it.
    pub(crate) fn holds_call(&self, profile: &Profile, call: EventId) -> bool {
        self.at.holds(profile, call)
    }
}

/// Where gradients are set to zero.
#[derive(Debug)]
pub(crate) struct ZeroGrad {
    /// `zero_grad` of optimizers and modules: optimizer ranges and Python functions.
    gradients: Vec<OnTrack>,
    /// Functions that do it for buffers of gradients.
    buffers: Vec<OnTrack>,
}

impl ZeroGrad {
    /// All recorded ones.
    pub(crate) fn all(profile: &Profile) -> ZeroGrad {
        let named = |is_named: fn(&str) -> bool| {
            use Category::{CpuOp, PythonFunction, UserAnnotation};
            let may_be = |of| matches!(of, UserAnnotation | CpuOp | PythonFunction);
            let found = profile.trace.named(may_be, is_named);
            found.map(|event| OnTrack::of(profile, event)).collect()
        };
        ZeroGrad {
            gradients: named(is_zero_grad),
            buffers: named(is_gradient_buffer_reset),
        }
    }

    /// The GPU time of an operation's calls that start inside them: of gradients, and of buffers of gradients.
    pub(crate) fn times_of(&self, profile: &Profile, operation: &Operation) -> [i64; 2] {
        [&self.gradients, &self.buffers].map(|places| {
            let is_inside = |event| places.iter().any(|place| place.holds(profile, event));
            let inside = operation.calls.iter().filter(|call| is_inside(call.event));
            sum(inside.map(|call| call.kernel_ns))
        })
    }
}
