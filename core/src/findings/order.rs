//! Calls in the order in which the GPU runs them: what comes right before and right after what.
//!
//! A lane is one stream of one GPU. What a lane runs is in order by construction, whichever thread
//! launched it, be it with a graph or without a known call. A call is placed where the first of
//! its kernels is.

use std::sync::Arc;

use super::Input;
use crate::Profile;
use crate::base::interval::sum;
use crate::base::sort::Arrange;
use crate::profile::kernels::GpuEvents;
use crate::profile::operations::Operation;
pub(super) use crate::profile::operations::TensorArg;
use crate::profile::rows::PerfRow;
use crate::profile::tensors;
pub(super) use crate::profile::tensors::keeps_type;
use crate::trace::TrackId;

/// One call in its lane.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placed {
    /// Its operation: a position in [`Profile::operations`](crate::Profile::operations).
    pub(super) operation: usize,
    /// Which of the operation's calls.
    pub(super) call: usize,
    lane: TrackId,
    start_ns: i64,
}

impl Placed {
    /// The call.
    pub(super) fn row<'a>(&self, input: &Input<'a>) -> Option<&'a PerfRow> {
        input.operation(self.operation).calls.get(self.call)
    }

    /// Its kernel time.
    pub(super) fn kernel_ns(&self, input: &Input) -> i64 {
        self.row(input).map_or(0, |row| row.kernel_ns)
    }
}

/// The calls that count under the options, lane after lane, each in order of time.
#[derive(Debug, Default)]
pub(super) struct Order {
    calls: Vec<Placed>,
}

impl Order {
    /// That of a trace, sorted when it is first asked for.
    pub(super) fn of(input: &Input) -> Arc<Order> {
        let (profile, events) = (input.profile, input.options.gpu_events);
        profile.once(events, || Order::new(profile, profile.gpu_events(events)))
    }

    fn new(profile: &Profile, counted: GpuEvents) -> Order {
        let (gpu, events) = (&profile.gpu, &profile.trace.events);
        let mut calls: Vec<Placed> = Vec::new();
        let operations = profile.operations().iter().enumerate();
        for (at, operation) in operations.filter(|(_, operation)| operation.counts(counted)) {
            for (call, row) in operation.calls.iter().enumerate() {
                let work = row.work.iter().filter_map(|id| gpu.get(*id));
                let Some(first) = work.min_by_key(|work| (work.span.start_ns, work.event)) else {
                    continue;
                };
                calls.push(Placed {
                    operation: at,
                    call,
                    lane: events.track(first.event),
                    start_ns: first.span.start_ns,
                });
            }
        }
        calls.arrange_by_key(|placed| {
            (
                placed.lane.0,
                placed.start_ns,
                placed.operation,
                placed.call,
            )
        });
        Order { calls }
    }

    /// The lanes.
    pub(super) fn lanes(&self) -> impl Iterator<Item = &[Placed]> {
        self.calls.chunk_by(|a, b| a.lane == b.lane)
    }
}

/// The kernel time of some calls.
pub(super) fn time_ns<'a>(input: &Input, calls: impl IntoIterator<Item = &'a Placed>) -> i64 {
    sum(calls.into_iter().map(|placed| placed.kernel_ns(input)))
}

/// The tensors among the arguments of an operation: see [`tensors::of`].
pub(super) fn tensors<'a>(input: &Input<'a>, operation: &Operation) -> Vec<TensorArg<'a>> {
    operation.tensors(input.profile)
}

/// Whether an operation does nothing but copy a tensor on the GPU.
pub(super) fn is_copy(input: &Input, operation: &Operation) -> bool {
    tensors::is_copy(input.profile, operation)
}
