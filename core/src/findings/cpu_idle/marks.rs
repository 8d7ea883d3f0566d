//! Every gap with its cause, for a timeline to mark.

use crate::assess::idle::explain::Explainer;
use crate::base::interval::Interval;
use crate::findings::Input;

/// A time in which no stream was busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdleGap {
    /// From the last end before it to the first start after it.
    pub span: Interval,
    /// Why, as files write it.
    pub key: &'static str,
    /// Why, for people.
    pub cause: &'static str,
}

/// All idle times between the first start and the last end of the GPU activity that counts, in
/// order; none where their causes cannot be told.
pub fn idle_gaps(input: &Input) -> Vec<IdleGap> {
    let mut explainer = Explainer::new(input);
    let gaps = input.timelines.gaps.iter();
    gaps.map(|gap| {
        let cause = explainer.explain(*gap).cause;
        IdleGap {
            span: gap.span,
            key: cause.key(),
            cause: cause.label(),
        }
    })
    .collect()
}
