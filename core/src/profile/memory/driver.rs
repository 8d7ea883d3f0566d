//! Driver calls that allocate and free GPU memory.

use std::sync::Arc;

use crate::base::interval::Interval;
use crate::base::sort::Arrange;
use crate::names::memory::DriverCall;
use crate::profile::Profile;
use crate::trace::{Category, EventId};

/// A driver call that allocates or frees GPU memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DriverUse {
    /// The call.
    pub event: EventId,
    /// What it does.
    pub call: DriverCall,
    /// When it ran.
    pub span: Interval,
    /// It allocates after the same operator already allocated and freed memory: a failed allocation that was retried
    /// after the cache was emptied.
    pub is_retry: bool,
}

/// All driver calls, found once.
struct DriverUses(Arc<[DriverUse]>);

/// The driver calls of a trace or window, in time order.
pub(crate) fn driver_uses(profile: &Profile) -> Arc<[DriverUse]> {
    Arc::clone(&profile.once(|| DriverUses(find(profile).into())).0)
}

fn find(profile: &Profile) -> Vec<DriverUse> {
    let (trace, events) = (&profile.trace, &profile.trace.events);
    let span = profile.cpu_span();
    let is_known = |name: &str| DriverCall::of_name(name).is_some();
    let mut uses: Vec<DriverUse> = trace
        .named(Category::is_runtime, is_known)
        .filter(|event| !trace.captured.has(*event))
        .filter_map(|event| {
            let call = DriverCall::of_name(trace.name(event))?;
            let at = events.span(event);
            span.contains(at.start_ns).then_some(DriverUse {
                event,
                call,
                span: at,
                is_retry: false,
            })
        })
        .collect();
    uses.arrange_by_key(|one| (one.span.start_ns, one.event));
    mark_retries(profile, &mut uses);
    uses
}

/// Within one operator: allocate, free, allocate again.
fn mark_retries(profile: &Profile, uses: &mut [DriverUse]) {
    let (trace, tree) = (&profile.trace, &profile.tree);
    let operator = |event: EventId| {
        let node = tree.node_of(event)?;
        let mut above = tree.ancestors(node);
        above.find(|node| tree.category(trace, *node) == Category::CpuOp)
    };
    let mut of_last = None;
    // Progress within the operator of the last call.
    let (mut has_taken, mut has_given) = (false, false);
    for one in uses {
        let of = operator(one.event);
        if of.is_none() || of != of_last {
            (of_last, has_taken, has_given) = (of, false, false);
        }
        match one.call {
            DriverCall::Allocate => {
                one.is_retry = has_taken && has_given && of.is_some();
                (has_taken, has_given) = (true, false);
            }
            DriverCall::Free => has_given = has_taken,
            DriverCall::Map => {}
        }
    }
}
