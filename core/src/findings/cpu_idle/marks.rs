//! Every gap with its cause, for a timeline to mark.

use crate::assess::idle::gaps::gaps;
use crate::assess::idle::host::Host;
use crate::base::interval::Interval;
use crate::findings::Input;

/// A time in which no stream worked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdleGap {
    /// From the last end before it to the first start after it.
    pub span: Interval,
    /// Why, as files write it.
    pub key: &'static str,
    /// Why, for people.
    pub cause: &'static str,
}

/// All idle times between the first start and the last end of the GPU work that counts, in order;
/// none where their causes cannot be told.
pub fn idle_gaps(input: &Input) -> Vec<IdleGap> {
    if input.profile.without_idle_causes().is_some() {
        return Vec::new();
    }
    let mut host = Host::new(input);
    gaps(input.profile, input.timelines.events)
        .iter()
        .map(|gap| {
            let class = host.cause(gap).class;
            IdleGap {
                span: gap.span,
                key: class.key(),
                cause: class.label(),
            }
        })
        .collect()
}
