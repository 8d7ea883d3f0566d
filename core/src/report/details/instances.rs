//! The runs of a subject, each with its GPU activity.

use super::{DetailsSubject, KernelKey};
use crate::base::sort::Arranged;
use crate::profile::Profile;
use crate::profile::launch::GpuId;
use crate::report::sheets::ops_summary::OperatorRows;
use crate::trace::{Category, EventId, OpArgsId};

pub(super) struct Instance {
    /// The call. For a kernel, the call that launched it, or the kernel itself if that is unknown.
    pub(super) event: EventId,
    /// Its GPU activity.
    pub(super) work: Vec<GpuId>,
    /// Time during which any of it runs.
    pub(super) gpu_ns: i64,
}

/// The runs of a subject and what they have in common.
pub(super) struct Found {
    pub(super) name: String,
    pub(super) args: Option<OpArgsId>,
    /// At least one.
    pub(super) instances: Vec<Instance>,
}

/// The runs of a subject; `None` if there are none.
pub(super) fn of(profile: &Profile, subject: DetailsSubject) -> Option<Found> {
    let trace = &profile.trace;
    let name_of = |name| trace.strings.get(name).to_owned();
    let found = match subject {
        DetailsSubject::Operation(at) => {
            let operation = profile.operations().get(at)?;
            let calls = operation.calls.iter().map(|call| Instance {
                event: call.event,
                work: call.work.clone(),
                gpu_ns: call.kernel_ns,
            });
            Found {
                name: operation.short_name(profile).to_owned(),
                args: operation.key.args,
                instances: calls.collect(),
            }
        }
        DetailsSubject::Operator(at) => {
            let rows = OperatorRows::of(profile);
            let row = rows.0.get(at)?;
            let calls = row.calls.iter().filter_map(|id| profile.ops.get(*id));
            let calls = calls.map(|op| Instance {
                event: op.event,
                work: profile.ops.kernels(op).to_vec(),
                gpu_ns: op.direct_ns,
            });
            let instances: Vec<Instance> = calls.collect();
            let args = |instance: &Instance| trace.events.op_args(instance.event);
            let first = instances.first().and_then(args);
            Found {
                name: name_of(row.name),
                args: first.filter(|_| instances.iter().all(|each| args(each) == first)),
                instances,
            }
        }
        DetailsSubject::Kernel(key) => Found {
            name: name_of(key.name),
            args: None,
            instances: kernels(profile, key),
        },
        DetailsSubject::Call(event) => Found {
            name: name_of(trace.events.name(event)),
            args: trace.events.op_args(event),
            instances: calls(profile, event),
        },
    };
    Some(found).filter(|found| !found.instances.is_empty())
}

fn kernels(profile: &Profile, key: KernelKey) -> Vec<Instance> {
    let ours = profile.gpu.iter().filter(|(id, work)| {
        // The name first: it is enough to reject most GPU activity.
        work.name == key.name && KernelKey::of(profile, *id) == Some(key)
    });
    ours.map(|(id, work)| Instance {
        event: work.launched_by.unwrap_or(work.event),
        work: vec![id],
        gpu_ns: work.span.length(),
    })
    .collect()
}

/// All calls with the name and arguments of a given one, with everything below them.
fn calls(profile: &Profile, event: EventId) -> Vec<Instance> {
    let (events, tree) = (&profile.trace.events, super::tree(profile));
    let key = |event: EventId| -> (_, Category, _) {
        (
            events.name(event),
            events.category(event),
            events.op_args(event),
        )
    };
    let wanted = key(event);
    let calls = tree.ids().filter_map(|node| {
        let event = tree.event(node)?;
        (events.name(event) == wanted.0 && key(event) == wanted).then_some((node, event))
    });
    calls
        .map(|(node, event)| {
            let work = tree.gpu_work(node);
            Instance {
                event,
                work: work.to_vec(),
                gpu_ns: profile.gpu.busy_ns(work),
            }
        })
        .collect()
}

/// Positions of instances by GPU time, shortest first. Ties are in reverse order of time, so that the slowest is the
/// first among equals.
pub(super) fn by_time(profile: &Profile, instances: &[Instance]) -> Vec<usize> {
    (0..instances.len()).arranged_by_cached_key(|at| {
        let instance = instances.get(*at);
        instance.map(|instance| {
            let start_ns = profile.trace.events.ts_ns(instance.event);
            (instance.gpu_ns, std::cmp::Reverse((start_ns, *at)))
        })
    })
}
