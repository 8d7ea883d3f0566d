//! FLOPs counted by the profiler itself: the `flops` argument of operators in traces recorded with `with_flops`.

use crate::profile::Profile;
use crate::profile::operations::Operation;
use crate::trace::EventId;
use crate::trace::event_args::number;

/// Spellings of the argument.
const KEYS: [&str; 2] = ["flops", "Flops"];
/// How far above a call a mere wrapper operator may be.
const MAX_ABOVE: usize = 8;

/// The FLOPs of a call as counted by the profiler: for its operator, or for a wrapper above it that launches the same
/// GPU activity. `None` if none were counted.
pub(crate) fn recorded_flops(profile: &Profile, operation: &Operation) -> Option<f64> {
    let call = operation.first().filter(|_| operation.is_linked)?;
    let of_event = |event: EventId| {
        let mut keys = KEYS.into_iter();
        let flops = keys.find_map(|key| number(&profile.trace, event, key))?;
        (flops > 0.0).then_some(flops)
    };
    of_event(call.event).or_else(|| {
        let tree = &profile.tree;
        let node = tree.node_of(call.event)?;
        let work = tree.gpu_work(node);
        let wrappers = tree.ancestors(node).take(MAX_ABOVE);
        let mut wrappers = wrappers.take_while(|above| tree.gpu_work(*above).len() == work.len());
        wrappers.find_map(|above| of_event(tree.event(above)?))
    })
}
