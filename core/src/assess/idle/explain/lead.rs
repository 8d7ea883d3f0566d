//! How far the CPU was ahead of the GPU when it waited for it.
//!
//! ```text
//! GPU   =========== a ===========)   [b]   [c]   [d]
//! CPU   [launch a][=== wait ======)[launch b][launch c]
//! gaps                            [==]  [==]  [==]
//! ```
//!
//! A wait takes as much of the lead as it takes time. Without it, the CPU would have launched everything after it that
//! much earlier: gaps after it would not exist until they add up to that, not the first one alone. This is how a series
//! of `.item()` costs time, although only the first of them waits for long.

use super::{Explainer, Launched};
use crate::base::interval::Interval;
use crate::base::map::Map;
use crate::names::runtime_calls::RuntimeCall;
use crate::profile::launch::process;
use crate::trace::{EventId, StringId};

/// The lead that the CPU of each process lost by waiting.
pub(super) type Leads = Map<Option<StringId>, Lead>;

/// What is left of the lead that a wait took.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lead {
    /// The last call that waited.
    wait: EventId,
    left_ns: i64,
}

impl Explainer<'_> {
    /// Notes that the CPU waited before a launch.
    pub(super) fn note_wait(&mut self, launched: Launched, wait: EventId) {
        // Freeing memory takes time of its own.
        if self.calls.of(&self.profile.trace, wait) == RuntimeCall::Free {
            return;
        }
        let length_ns = self.span(wait).length();
        let process = process(&self.profile.trace, launched.call);
        let first = Lead {
            wait,
            left_ns: length_ns,
        };
        let lead = self.leads.entry(process).or_insert(first);
        if lead.wait != wait {
            // What the longest of a series took, and not their sum: how far a CPU can run ahead is limited.
            lead.left_ns = lead.left_ns.max(length_ns);
            lead.wait = wait;
        }
    }

    /// The last wait, if it and those before it took a lead that would have hidden the gap before a launch. Gaps of
    /// other causes use it up, too.
    pub(super) fn wait_that_exposes(
        &mut self,
        launched: Launched,
        gap: Interval,
    ) -> Option<EventId> {
        let process = process(&self.profile.trace, launched.call);
        let lead = self.leads.get_mut(&process)?;
        let is_hidden = lead.left_ns >= gap.length();
        lead.left_ns = lead.left_ns.saturating_sub(gap.length()).max(0);
        is_hidden.then_some(lead.wait)
    }
}
