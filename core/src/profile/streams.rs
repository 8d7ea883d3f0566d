//! What runs one after the other on each stream of a GPU.

use super::Profile;
use super::launch::GpuId;
use super::operations::Operation;
use crate::base::sort::Arrange;
use crate::trace::EventId;

/// A call, or the part of it that ran without another in between.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    /// Position in the profile's operations.
    pub(crate) operation: usize,
    pub(crate) event: EventId,
    pub(crate) ns: i64,
    pub(crate) n_kernels: usize,
}

/// The calls of some operations in order of time, stream of a GPU after stream; `None` where something
/// else runs, or another stream starts.
pub(crate) fn steps<'a>(
    profile: &Profile,
    operations: impl Iterator<Item = (usize, &'a Operation)>,
) -> Vec<Option<Step>> {
    let mut is_followed = vec![false; profile.operations().len()];
    for (at, _) in operations.filter(|(_, one)| one.is_linked) {
        is_followed[at] = true;
    }
    // The numbers of streams repeat on each GPU: a track is one stream of one of them.
    let track = |event| profile.trace.events.track(event).0;
    let mut order: Vec<(u32, i64, u32)> = profile
        .gpu
        .iter()
        .map(|(id, work)| (track(work.event), work.span.start_ns, id.0))
        .collect();
    order.arrange();
    let mut steps: Vec<Option<Step>> = Vec::new();
    let (mut stream, mut last_call) = (None, None);
    for (of_stream, _, id) in order {
        if stream.replace(of_stream) != Some(of_stream) {
            steps.push(None);
            last_call = None;
        }
        let owner = profile.owner_of(GpuId(id));
        let owner = owner.filter(|owner| is_followed[owner.operation]);
        let call = owner.and_then(|owner| Some((owner, profile.call_of(owner)?.event)));
        let work = profile.gpu.get(GpuId(id));
        let ns = work.map_or(0, |work| work.span.length());
        match (call, last_call) {
            (Some((owner, _)), Some(last)) if owner == last => {
                if let Some(Some(step)) = steps.last_mut() {
                    step.ns = step.ns.saturating_add(ns);
                    step.n_kernels += 1;
                }
            }
            (Some((owner, event)), _) => {
                last_call = Some(owner);
                steps.push(Some(Step {
                    operation: owner.operation,
                    event,
                    ns,
                    n_kernels: 1,
                }));
            }
            (None, _) => {
                last_call = None;
                steps.push(None);
            }
        }
    }
    steps
}
