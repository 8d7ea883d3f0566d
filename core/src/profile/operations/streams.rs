//! What runs in sequence on each GPU stream.

use crate::base::sort::Arrange;
use crate::profile::Profile;
use crate::profile::launch::GpuId;
use crate::profile::operations::Operation;
use crate::trace::EventId;

/// A call, or a part of it that ran without another call in between.
#[derive(Debug, Clone)]
pub(crate) struct StreamCall {
    /// Position in the profile's operations.
    pub(crate) operation: usize,
    pub(crate) event: EventId,
    pub(crate) ns: i64,
    pub(crate) n_kernels: usize,
}

/// The calls of the given operations in time order, stream by stream; `None` where something else runs or another
/// stream starts.
pub(crate) fn stream_calls<'a>(
    profile: &Profile,
    operations: impl Iterator<Item = (usize, &'a Operation)>,
) -> Vec<Option<StreamCall>> {
    let mut is_followed = vec![false; profile.operations().len()];
    for (at, _) in operations.filter(|(_, one)| one.is_linked) {
        is_followed[at] = true;
    }
    // Stream numbers repeat across GPUs; a track is one stream of one GPU.
    let track = |event| profile.trace.events.track(event).0;
    let mut order: Vec<(u32, i64, u32)> = profile
        .gpu
        .iter()
        .map(|(id, work)| (track(work.event), work.span.start_ns, id.0))
        .collect();
    order.arrange();
    let mut calls: Vec<Option<StreamCall>> = Vec::new();
    let (mut stream, mut last_call) = (None, None);
    for (of_stream, _, id) in order {
        if stream.replace(of_stream) != Some(of_stream) {
            calls.push(None);
            last_call = None;
        }
        let owner = profile.owner_of(GpuId(id));
        let owner = owner.filter(|owner| is_followed[owner.operation]);
        let call = owner.and_then(|owner| Some((owner, profile.call_of(owner)?.event)));
        let work = profile.gpu.get(GpuId(id));
        let ns = work.map_or(0, |work| work.span.length());
        match (call, last_call) {
            (Some((owner, _)), Some(of_last)) if owner == of_last => {
                if let Some(Some(last)) = calls.last_mut() {
                    last.ns = last.ns.saturating_add(ns);
                    last.n_kernels += 1;
                }
            }
            (Some((owner, event)), _) => {
                last_call = Some(owner);
                calls.push(Some(StreamCall {
                    operation: owner.operation,
                    event,
                    ns,
                    n_kernels: 1,
                }));
            }
            // What takes no time separates nothing.
            (None, _) if ns == 0 => {}
            (None, _) => {
                last_call = None;
                calls.push(None);
            }
        }
    }
    calls
}
