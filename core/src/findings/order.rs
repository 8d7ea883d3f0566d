//! Calls in the order in which the GPU runs them: what directly precedes and follows what.
//!
//! A lane is one stream of one GPU. What a lane runs is in order by construction, whichever thread launched it, even
//! with a graph or without a known call. A call is placed at the first of its kernels.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Input;
use crate::Profile;
use crate::base::interval::sum;
use crate::base::sort::Arrange;
use crate::profile::operations::perf_rows::PerfRow;

#[derive(Debug, Clone, Copy)]
pub(super) struct OrderedCall {
    /// Its operation, as an index into [`Profile::operations`](crate::Profile::operations).
    pub(super) operation: usize,
    pub(super) call: usize,
}

impl OrderedCall {
    pub(super) fn row<'a>(&self, input: &Input<'a>) -> Option<&'a PerfRow> {
        input.operation(self.operation).calls.get(self.call)
    }

    pub(super) fn kernel_ns(&self, input: &Input) -> i64 {
        self.row(input).map_or(0, |row| row.kernel_ns)
    }
}

/// All calls of each lane, sorted by time.
#[derive(Debug, Default)]
pub(super) struct Order {
    lanes: Vec<Vec<OrderedCall>>,
}

impl Order {
    /// The order of a trace, computed on first use.
    pub(super) fn of(input: &Input) -> Arc<Order> {
        let profile = input.profile;
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
    /// belongs to the first. At most `max_before` before it and one after it (`true`).
    pub(super) fn copies_around<T: Copy>(
        &self,
        max_before: usize,
        wanted: impl Fn(usize) -> Option<T>,
        is_its_own: impl Fn(T, &OrderedCall, bool) -> bool,
    ) -> Vec<(T, OrderedCall, bool)> {
        let mut copies = Vec::new();
        for lane in self.lanes() {
            let mut taken_to = 0;
            for (at, placed) in lane.iter().enumerate() {
                let Some(of) = wanted(placed.operation) else {
                    continue;
                };
                let first = at.saturating_sub(max_before).max(taken_to);
                let before = lane.get(first..at).unwrap_or_default().iter().rev();
                let before = before.take_while(|copy| is_its_own(of, copy, false));
                copies.extend(before.map(|copy| (of, *copy, false)));
                let after = lane.get(at + 1).filter(|copy| is_its_own(of, copy, true));
                copies.extend(after.map(|copy| (of, *copy, true)));
                taken_to = at + 1 + usize::from(after.is_some());
            }
        }
        copies
    }

    pub(super) fn lanes(&self) -> impl Iterator<Item = &[OrderedCall]> {
        self.lanes.iter().map(Vec::as_slice)
    }
}

pub(super) fn time_ns<'a>(input: &Input, calls: impl IntoIterator<Item = &'a OrderedCall>) -> i64 {
    sum(calls.into_iter().map(|placed| placed.kernel_ns(input)))
}
