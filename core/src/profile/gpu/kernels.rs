//! GPU activity: every kernel, copy and fill with what launched it and for which operator.

use crate::base::interval::{Interval, difference, length, union};
use crate::base::map::Map;
use crate::base::sort::Arranged;
use crate::names::gpu_activity::is_communication_name;
use crate::names::{Family, family_of_kernel};
use crate::profile::Profile;
use crate::profile::cpu::recompute::Recompute;
use crate::profile::cpu::tree::{CallTree, NodeId};
use crate::profile::gpu::timeline::GpuClass;
use crate::profile::launch::{GpuId, Launches, process};
use crate::trace::{Category, EventId, StringId, Trace, extra_args};

/// One kernel, copy or fill.
#[derive(Debug, Clone, Copy)]
pub struct GpuWork {
    /// Its event.
    pub event: EventId,
    /// Its name.
    pub name: StringId,
    /// Kernel, copy or fill.
    pub category: Category,
    /// Its class in the timeline.
    pub class: GpuClass,
    /// Has the name of a collective. Such work belongs to no operator.
    pub is_collective: bool,
    /// When it ran; empty where the duration is unknown.
    pub span: Interval,
    /// The stream it ran on.
    pub stream: Option<i64>,
    /// The call that launched it.
    pub launched_by: Option<EventId>,
    /// The kernel family, by name.
    pub family: Family,
    /// The nearest operator above that call.
    pub parent_op: Option<NodeId>,
    /// Launched during activation recomputation.
    pub is_recompute: bool,
}

impl GpuWork {
    /// The operator that launched it.
    pub(crate) fn parent_event(&self, profile: &Profile) -> Option<EventId> {
        profile.tree.event(self.parent_op?)
    }

    /// Whether the launching call is unknown, in a trace that records launches.
    pub fn is_unattributed(&self, profile: &Profile) -> bool {
        self.launched_by.is_none() && profile.has_launches()
    }

    /// What it occupies, and when.
    pub(crate) fn running(&self, trace: &Trace) -> Running {
        Running {
            class: self.class,
            span: self.span,
            gpu: process(trace, self.event),
            is_linked: self.launched_by.is_some(),
            is_recompute: self.is_recompute,
        }
    }
}

/// That a GPU is occupied: the part of a piece of work that a timeline needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Running {
    pub(crate) class: GpuClass,
    pub(crate) span: Interval,
    pub(crate) gpu: Option<StringId>,
    /// Its launching call is known.
    pub(crate) is_linked: bool,
    pub(crate) is_recompute: bool,
}

/// Which GPU activity counts in the sheets that carry the reference's names. All other sheets count everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SheetEvents {
    /// As in the reference: only activity attributed to the call that launched it. If the trace records no launches,
    /// all activity, because otherwise the sheets would be empty.
    #[default]
    Attributed,
    /// All activity.
    All,
}

impl SheetEvents {
    /// Whether activity counts, given whether its launching call is known.
    pub(crate) fn counts(self, profile: &Profile, is_linked: bool) -> bool {
        is_linked || self == SheetEvents::All || !profile.has_launches()
    }

    /// When the GPUs are occupied by activity that counts.
    pub(crate) fn running(self, profile: &Profile) -> impl Iterator<Item = Running> {
        let counts = move |work: &Running| self.counts(profile, work.is_linked);
        profile.running().filter(counts)
    }
}

/// The GPU activity of a trace, in file order.
#[derive(Debug, Default)]
pub struct GpuTable {
    rows: Vec<GpuWork>,
    /// When work of unknown duration may have run: up to the next start on its stream.
    may_run: Vec<Interval>,
}

impl GpuTable {
    /// Gathers what is known of each piece of work.
    pub fn new(
        trace: &Trace,
        launches: &Launches,
        tree: &CallTree,
        recompute: Option<&Recompute>,
    ) -> GpuTable {
        let mut by_name: Map<(StringId, Category), (Family, GpuClass, bool)> = Map::default();
        let rows = launches.work.iter().enumerate().map(|(row, &event)| {
            let id = GpuId(row as u32);
            let name = trace.events.name(event);
            let category = trace.events.category(event);
            let (family, class, is_collective) =
                *by_name.entry((name, category)).or_insert_with(|| {
                    let name = trace.strings.get(name);
                    let family = family_of_kernel(name);
                    let class = GpuClass::of_family(category, name, family);
                    (family, class, is_communication_name(name))
                });
            let launched_by = launches.launched_by(id);
            GpuWork {
                event,
                name,
                category,
                family,
                class,
                is_collective,
                span: trace.events.span(event),
                stream: stream(trace, event),
                launched_by,
                parent_op: launched_by
                    .and_then(|call| tree.node_of(call))
                    .and_then(|call| tree.op_above(trace, call)),
                is_recompute: recompute.is_some_and(|recompute| recompute.has_work(id)),
            }
        });
        GpuTable {
            rows: rows.collect(),
            may_run: may_run(trace, &launches.work),
        }
    }

    /// The time for which it is unknown whether the GPU was busy, because durations are missing.
    pub(crate) fn unknown_ns(&self) -> i64 {
        if self.may_run.is_empty() {
            return 0;
        }
        let known = union(self.all().map(|work| work.span).collect());
        length(&difference(&self.may_run, &known))
    }

    /// Number of kernels, copies and fills.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// True when no GPU activity was recorded.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// One piece of work; `None` for an id of another table.
    #[inline]
    pub fn get(&self, id: GpuId) -> Option<&GpuWork> {
        self.rows.get(id.index())
    }

    /// Some pieces of work, without those of another table.
    pub(crate) fn each<'a>(
        &'a self,
        ids: impl IntoIterator<Item = &'a GpuId>,
    ) -> impl Iterator<Item = &'a GpuWork> {
        ids.into_iter().filter_map(|id| self.get(*id))
    }

    /// All work, in file order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (GpuId, &GpuWork)> {
        self.rows
            .iter()
            .enumerate()
            .map(|(row, work)| (GpuId(row as u32), work))
    }

    /// All work without its ids, in file order.
    pub fn all(&self) -> impl ExactSizeIterator<Item = &GpuWork> {
        self.rows.iter()
    }

    /// The time during which at least one of the given pieces of work runs.
    pub fn busy_ns(&self, work: &[GpuId]) -> i64 {
        crate::base::interval::busy(
            work.iter()
                .filter_map(|id| self.get(*id))
                .map(|work| work.span),
        )
    }
}

fn may_run(trace: &Trace, work: &[EventId]) -> Vec<Interval> {
    let events = &trace.events;
    if work.iter().all(|event| events.dur_ns(*event).is_some()) {
        return Vec::new();
    }
    let rows = work
        .iter()
        .map(|&event| (events.track(event), events.ts_ns(event), event))
        .arranged();
    let last_ns = work.iter().map(|event| events.end_ns(*event)).max();
    let spans = rows
        .iter()
        .enumerate()
        .filter_map(|(row, &(track, start_ns, event))| {
            if events.dur_ns(event).is_some() {
                return None;
            }
            let next = rows.get(row + 1).filter(|(next, ..)| *next == track);
            let end_ns = next.map(|(_, next_ns, _)| *next_ns).or(last_ns)?;
            Some(Interval::new(start_ns, end_ns))
        });
    union(spans.collect())
}

/// The `stream` argument: the profiler's number for the stream.
fn stream(trace: &Trace, event: EventId) -> Option<i64> {
    let value = extra_args::value(trace.strings.get(trace.events.extra_args(event)?), "stream")?;
    let end = value
        .find(|c: char| !c.is_ascii_digit() && c != '-')
        .unwrap_or(value.len());
    value.get(..end)?.parse().ok()
}
