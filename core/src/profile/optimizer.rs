//! The ranges that PyTorch writes around steps of optimizers.

use super::Profile;
use super::operations::Operation;
use crate::base::interval::Interval;
use crate::trace::{Category, EventId, TrackId};

#[derive(Debug, Clone)]
pub(crate) struct OptimizerStep {
    /// Its class: "AdamW" of "Optimizer.step#AdamW.step".
    pub(crate) optimizer: String,
    track: TrackId,
    span: Interval,
}

impl OptimizerStep {
    /// All that were recorded.
    pub(crate) fn all(profile: &Profile) -> Vec<OptimizerStep> {
        let events = &profile.trace.events;
        let may_be = |of| matches!(of, Category::UserAnnotation | Category::CpuOp);
        let step = |event: EventId| {
            let name = profile.trace.name(event);
            let step = name.strip_prefix("Optimizer.step#")?;
            Some(OptimizerStep {
                optimizer: step.split('.').next().unwrap_or_default().to_owned(),
                track: events.track(event),
                span: events.span(event),
            })
        };
        events.of_category(may_be).filter_map(step).collect()
    }

    /// Whether the first call of an operation is in it.
    pub(crate) fn holds(&self, profile: &Profile, operation: &Operation) -> bool {
        let events = &profile.trace.events;
        operation.first().is_some_and(|call| {
            let (at, track) = (events.ts_ns(call.event), events.track(call.event));
            self.track == track && self.span.contains(at)
        })
    }
}
