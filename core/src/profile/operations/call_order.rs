//! Calls in the order in which the GPU runs them: what directly precedes and follows what.
//!
//! A lane is one stream of one GPU. What a lane runs is in order by construction, whichever thread launched it, even
//! with a graph or without a known call. A call is placed at the first of its kernels.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::Profile;
use crate::base::interval::sum;
use crate::base::sort::Arrange;
use crate::profile::operations::perf_rows::PerfRow;

#[derive(Debug, Clone, Copy)]
pub(crate) struct OrderedCall {
    /// Its operation, as an index into [`Profile::operations`](crate::Profile::operations).
    pub(crate) operation: usize,
    pub(crate) call: usize,
}

impl OrderedCall {
    pub(crate) fn row<'a>(&self, profile: &'a Profile) -> Option<&'a PerfRow> {
        let operation = profile.operations().get(self.operation)?;
        operation.calls.get(self.call)
    }

    pub(crate) fn kernel_ns(&self, profile: &Profile) -> i64 {
        self.row(profile).map_or(0, |row| row.kernel_ns)
    }
}

/// On which side of another call a call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Beside {
    Before,
    After,
}

/// A copy directly beside an operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CopyAround<T> {
    /// The facts of the operation.
    pub(crate) of: T,
    pub(crate) copy: OrderedCall,
    pub(crate) beside: Beside,
}

/// All calls of each lane, sorted by time.
#[derive(Debug, Default)]
pub(crate) struct Order {
    lanes: Vec<Vec<OrderedCall>>,
}

impl Order {
    /// The order of a trace, computed on first use.
    pub(crate) fn of(profile: &Profile) -> Arc<Order> {
        profile.once(|| Order::new(profile))
    }

    fn new(profile: &Profile) -> Order {
        let (gpu, events) = (&profile.gpu, &profile.trace.events);
        let mut lanes: BTreeMap<u32, Vec<(i64, OrderedCall)>> = BTreeMap::new();
        for (at, operation) in profile.operations().iter().enumerate() {
            for (call, row) in operation.calls.iter().enumerate() {
                let work = gpu.each(&row.work);
                let Some(first) = work.min_by_key(|work| (work.span.start_ns, work.event)) else {
                    continue;
                };
                let placed = OrderedCall {
                    operation: at,
                    call,
                };
                let lane = lanes.entry(events.track(first.event).0).or_default();
                lane.push((first.span.start_ns, placed));
            }
        }
        let lanes = lanes.into_values().map(|mut calls| {
            calls.arrange_by_key(|(start_ns, placed)| (*start_ns, placed.operation, placed.call));
            calls.into_iter().map(|(_, placed)| placed).collect()
        });
        Order {
            lanes: lanes.collect(),
        }
    }

    /// Copies directly before and after operations with `wanted` facts, each once: a copy between two operations
    /// belongs to the first. At most `max_before` before it and one after it.
    pub(crate) fn copies_around<T: Copy>(
        &self,
        max_before: usize,
        wanted: impl Fn(usize) -> Option<T>,
        is_its_own: impl Fn(T, &OrderedCall, Beside) -> bool,
    ) -> Vec<CopyAround<T>> {
        let mut copies = Vec::new();
        for lane in self.lanes() {
            let mut taken_to = 0;
            for (at, placed) in lane.iter().enumerate() {
                let Some(of) = wanted(placed.operation) else {
                    continue;
                };
                let first = at.saturating_sub(max_before).max(taken_to);
                let before = lane.get(first..at).unwrap_or_default().iter().rev();
                let found = |beside| {
                    move |copy: &OrderedCall| CopyAround {
                        of,
                        copy: *copy,
                        beside,
                    }
                };
                let before = before.take_while(|copy| is_its_own(of, copy, Beside::Before));
                copies.extend(before.map(found(Beside::Before)));
                let after = lane.get(at + 1);
                let after = after.filter(|copy| is_its_own(of, copy, Beside::After));
                copies.extend(after.map(found(Beside::After)));
                taken_to = at + 1 + usize::from(after.is_some());
            }
        }
        copies
    }

    pub(crate) fn lanes(&self) -> impl Iterator<Item = &[OrderedCall]> {
        self.lanes.iter().map(Vec::as_slice)
    }
}

pub(crate) fn time_ns<'a>(
    profile: &Profile,
    calls: impl IntoIterator<Item = &'a OrderedCall>,
) -> i64 {
    sum(calls.into_iter().map(|placed| placed.kernel_ns(profile)))
}
