//! Which CPU call launched which GPU activity.
//!
//! The profiler records a flow event (`ac2g`, drawn as an arrow) from a launching call to its work; both have the
//! flow's id as their correlation id. A call owns the work at the end of its flow. A graph launch replays many kernels
//! with the same id and owns all of them. Some traces lack flows, entirely or for the kernels of one library, or number
//! them independently: work without a flow, or whose flow leads elsewhere, is assigned to the call with the same
//! correlation id.
//!
//! Where no launching call was recorded, work is assigned to the operator with the same external id.
//!
//! Each piece of work has one call. In a trace of several processes that use the same ids, this is a call of the same
//! process (`ranks.rs`).

mod callers;
mod link_key;
mod linking;
mod ranks;
mod repeated;
pub(crate) mod runtime_calls;
mod size;
mod table;
#[cfg(test)]
mod tests;
mod unrecorded;

use crate::base::interval::Interval;
use crate::base::row_id::row_id;
use crate::trace::{EventId, StringId, Trace};
use link_key::LinkKey;
use linking::Linking;
use ranks::Ranks;
use repeated::Repeated;
use table::LinkTable;

pub(crate) use size::launch_size;

row_id! {
    /// A row of the GPU activity of a trace, in file order.
    GpuId
}

/// A CPU call and one piece of GPU activity that it launched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launch {
    /// The runtime or driver call.
    pub call: EventId,
    /// What it launched.
    pub work: GpuId,
}

/// The GPU activity of a trace and the calls that launched it.
#[derive(Debug, Default)]
pub struct Launches {
    /// Kernels, copies and fills in file order; indexed by [`GpuId`].
    pub work: Vec<EventId>,
    /// Every launch, in file order of the calls; for each call, in file order of the work.
    pub launches: Vec<Launch>,
    /// The call that launched each piece of work; the first one if several claim it.
    launched_by: Vec<Option<EventId>>,
    /// Work that was linked by correlation id because it has no flow, in file order.
    by_correlation: Vec<GpuId>,
    /// Work that calls of several processes could have launched, in file order.
    ambiguous: Vec<GpuId>,
    /// Work whose id belongs to several indistinguishable calls of one process, in file order.
    repeated: Vec<GpuId>,
    /// Calls with the correlation id of an earlier call, in a trace of a single process.
    repeating_calls: Vec<EventId>,
    /// No launching call was recorded: work is assigned to operators.
    are_of_operators: bool,
    /// Number of kernels that were launched while others were recorded, and are not in the trace.
    n_unrecorded: usize,
}

impl Launches {
    /// Links GPU activity to CPU calls.
    pub fn new(trace: &Trace) -> Launches {
        let events = &trace.events;
        let mut work = Vec::new();
        let mut calls = Vec::new();
        for event in events.of_category(|of| of.is_gpu() || of.is_runtime()) {
            match events.category(event).is_gpu() {
                true => work.push(event),
                false => calls.push(event),
            }
        }
        let key = LinkKey::of(trace, &calls);
        let mut table = LinkTable::new(trace, &work, key);
        table.read_flows(trace);
        let mut joined = Launches {
            launched_by: vec![None; work.len()],
            n_unrecorded: unrecorded::count(trace, &calls, &work),
            work,
            ..Launches::default()
        };
        let ranks = Ranks::find(trace, &table, &joined.work);
        let repeated = match &ranks {
            None => Repeated::find(trace, &calls, &table, &joined.work),
            Some(_) => Repeated::default(),
        };
        let linking = Linking {
            trace,
            calls: &calls,
            ranks: ranks.as_ref(),
            repeated: &repeated,
        };
        joined.by_flow(linking, &table);
        joined.by_correlation(linking, table);
        if joined.launches.is_empty() {
            joined.by_operator(trace);
        }
        joined.follow_captures(trace);
        joined
    }

    /// The work, and its launching calls, for which `has` returns true.
    pub fn part(&self, has: impl Fn(EventId, Option<EventId>) -> bool) -> Launches {
        let mut new_id: Vec<Option<GpuId>> = Vec::with_capacity(self.work.len());
        let mut part = Launches::default();
        for (event, call) in self.work.iter().zip(&self.launched_by) {
            let is_inside = has(*event, *call);
            new_id.push(is_inside.then_some(GpuId(part.work.len() as u32)));
            if is_inside {
                part.work.push(*event);
                part.launched_by.push(*call);
            }
        }
        let renamed = |work: GpuId| new_id.get(work.index()).copied().flatten();
        let launches = self.launches.iter();
        part.launches = launches
            .filter_map(|&Launch { call, work }| {
                let work = renamed(work)?;
                Some(Launch { call, work })
            })
            .collect();
        let part_of = |all: &[GpuId]| all.iter().filter_map(|work| renamed(*work)).collect();
        part.by_correlation = part_of(&self.by_correlation);
        part.ambiguous = part_of(&self.ambiguous);
        part.repeated = part_of(&self.repeated);
        part.are_of_operators = self.are_of_operators;
        part
    }

    /// The row of a kernel, copy or fill; `None` for any other event.
    pub fn id_of(&self, event: EventId) -> Option<GpuId> {
        // Work is in file order.
        let row = self.work.binary_search(&event).ok()?;
        u32::try_from(row).ok().map(GpuId)
    }

    /// The call that launched a piece of work.
    pub fn launched_by(&self, work: GpuId) -> Option<EventId> {
        self.launched_by.get(work.index()).copied().flatten()
    }

    /// Number of pieces of work without a known call.
    pub fn n_unlinked(&self) -> u64 {
        self.launched_by
            .iter()
            .filter(|call| call.is_none())
            .count() as u64
    }

    /// Number of pieces linked by correlation id because they have no flow.
    pub(crate) fn n_by_correlation(&self) -> u64 {
        self.by_correlation.len() as u64
    }

    /// Number of pieces assigned to operators because no launching call was recorded.
    pub(crate) fn n_of_operators(&self) -> u64 {
        match self.are_of_operators {
            true => self.launches.len() as u64,
            false => 0,
        }
    }

    /// Number of kernels that were launched while others were recorded, and are not in the trace.
    pub(crate) fn n_unrecorded(&self) -> u64 {
        self.n_unrecorded as u64
    }

    /// Number of pieces that calls of several processes could have launched, because they have the same correlation id.
    pub(crate) fn n_ambiguous(&self) -> u64 {
        self.ambiguous.len() as u64
    }

    /// Number of pieces whose id belongs to several calls of one process, or to a call that cannot have launched all of
    /// them.
    pub(crate) fn n_repeated(&self) -> u64 {
        self.repeated.len() as u64
    }

    /// Calls that have the correlation id of an earlier, separate call, in a trace of a single process, if GPU activity
    /// has that id, too. Empty for a part of a trace: only the whole is searched.
    pub(crate) fn repeating_calls(&self) -> &[EventId] {
        &self.repeating_calls
    }

    /// Work that one of several calls launched, without knowing which, sorted.
    pub(crate) fn unknown(&self) -> Vec<GpuId> {
        let mut unknown = [&self.ambiguous[..], &self.repeated].concat();
        unknown.sort_unstable();
        unknown
    }

    /// Assigns the kernels of replays to the captured launches that they come from.
    pub(crate) fn follow_captures(&mut self, trace: &Trace) {
        if trace.captured.is_empty() {
            return;
        }
        let captured = |work: GpuId, all: &[EventId]| {
            let event = all.get(work.index())?;
            trace.captured.launched_by(*event)
        };
        for launch in &mut self.launches {
            if let Some(call) = captured(launch.work, &self.work) {
                launch.call = call;
            }
        }
        for (slot, event) in self.launched_by.iter_mut().zip(&self.work) {
            *slot = trace.captured.launched_by(*event).or(*slot);
        }
        self.arrange();
    }

    /// Assigns the kernels of replays to their graph launches again.
    pub(crate) fn leave_captures(&mut self, trace: &Trace) {
        for launch in &mut self.launches {
            launch.call = trace.recorded_call(launch.call);
        }
        for call in self.launched_by.iter_mut().flatten() {
            *call = trace.recorded_call(*call);
        }
        self.arrange();
    }

    /// Sorts by file order of the calls; for each call, by file order of the work.
    fn arrange(&mut self) {
        let key = |launch: &Launch| (launch.call, launch.work);
        if !self.launches.is_sorted_by_key(key) {
            self.launches.sort_by_key(key);
        }
    }
}

/// True for the call that launches a graph, by its name: `cudaGraphLaunch`, `hipGraphLaunch`, `cuGraphLaunch`,
/// `cudaGraphLaunch_ptsz`.
pub(crate) fn is_graph_launch(name: &str) -> bool {
    name.contains("GraphLaunch")
}

/// Whether a kernel or copy is assigned to a graph launch.
pub(crate) fn is_launched_by_graph(profile: &super::Profile, id: GpuId) -> bool {
    let call = profile.gpu.get(id).and_then(|one| one.launched_by);
    call.is_some_and(|call| is_graph_call(&profile.trace, call))
}

/// Whether a kernel or copy was replayed by a graph, even if a capture shows its individual launch.
pub(crate) fn is_replayed(profile: &super::Profile, id: GpuId) -> bool {
    let call = profile.gpu.get(id).and_then(|one| one.launched_by);
    let call = call.map(|call| profile.trace.recorded_call(call));
    call.is_some_and(|call| is_graph_call(&profile.trace, call))
}

/// Whether a call is a graph launch.
pub(crate) fn is_graph_call(trace: &Trace, call: EventId) -> bool {
    is_graph_launch(trace.name(call))
}

/// The process of an event; for GPU activity, its GPU: streams of one GPU share a process.
pub(crate) fn process(trace: &Trace, event: EventId) -> Option<StringId> {
    trace
        .tracks
        .get(trace.events.track(event))
        .map(|track| track.pid)
}

/// Whether one of two calls is inside the other: a runtime call and its driver call have the same id.
fn is_around(trace: &Trace, one: EventId, other: EventId) -> bool {
    let events = &trace.events;
    let [one_span, other_span] = [one, other].map(|call| events.span(call));
    let within = |inner: Interval, outer: Interval| {
        outer.start_ns <= inner.start_ns && inner.end_ns <= outer.end_ns
    };
    // Rounded times can be the same for both.
    let is_same = one_span == other_span && events.name(one) == events.name(other);
    !is_same
        && events.track(one) == events.track(other)
        && (within(one_span, other_span) || within(other_span, one_span))
}
