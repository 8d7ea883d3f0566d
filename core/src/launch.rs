//! Which host call launched which GPU work.
//!
//! The profiler draws an arrow (an `ac2g` flow) from a launching call to its work; both carry the
//! arrow's id as their correlation id. A call owns the work at the head of its arrow. A graph
//! launch replays many kernels under one id and owns them all. Some traces lack arrows, for
//! everything or for one library's kernels: work without any arrow goes to the call with the same
//! correlation id.

#[cfg(test)]
mod tests;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::interval::Interval;
use crate::trace::{EventId, LinkId, StringId, Trace, TrackId};

/// A row of the GPU work of a trace, in file order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GpuId(pub u32);

impl GpuId {
    /// The row as an index.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A host call and one piece of GPU work that it launched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launch {
    /// The runtime or driver call.
    pub call: EventId,
    /// What it launched.
    pub work: GpuId,
}

/// The GPU work of a trace and the calls that launched it.
#[derive(Debug, Default)]
pub struct Launches {
    /// Kernels, copies and fills in file order; [`GpuId`] counts these.
    pub work: Vec<EventId>,
    /// Every launch, in file order of the calls; for each call in file order of the work.
    pub launches: Vec<Launch>,
    /// The call that launched each piece of work; the first one, should several claim it.
    launched_by: Vec<Option<EventId>>,
    /// How many pieces of work were joined by correlation for want of an arrow.
    pub n_by_correlation: u64,
    /// Which those are, in file order.
    by_correlation: Vec<GpuId>,
}

impl Launches {
    /// Joins GPU work with host calls.
    pub fn new(trace: &Trace) -> Launches {
        let events = &trace.events;
        let mut work = Vec::new();
        let mut calls = Vec::new();
        for event in events.ids() {
            let category = events.category(event);
            if category.is_gpu() {
                work.push(event);
            } else if category.is_runtime() {
                calls.push(event);
            }
        }
        let key = LinkKey::of(trace, &calls);
        let mut table = LinkTable::new(trace, &work, key);
        table.read_flows(trace);
        let mut joined = Launches {
            launched_by: vec![None; work.len()],
            work,
            ..Launches::default()
        };
        joined.by_flow(trace, &calls, &table);
        joined.by_correlation(trace, &calls, table, key);
        joined
    }

    /// The work that starts in a span, and the calls that launched it, whenever they did.
    pub fn within(&self, trace: &Trace, span: Interval) -> Launches {
        let mut new_id: Vec<Option<GpuId>> = Vec::with_capacity(self.work.len());
        let mut part = Launches::default();
        for (event, call) in self.work.iter().zip(&self.launched_by) {
            let is_inside = span.contains(trace.events.ts_ns(*event));
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
        let by_correlation = self.by_correlation.iter();
        part.by_correlation = by_correlation.filter_map(|work| renamed(*work)).collect();
        part.n_by_correlation = part.by_correlation.len() as u64;
        part
    }

    /// The row of a kernel, copy or fill; `None` for any other event.
    pub fn id_of(&self, event: EventId) -> Option<GpuId> {
        // Work stands in file order.
        let row = self.work.binary_search(&event).ok()?;
        u32::try_from(row).ok().map(GpuId)
    }

    /// The call that launched a piece of work.
    pub fn launched_by(&self, work: GpuId) -> Option<EventId> {
        self.launched_by.get(work.index()).copied().flatten()
    }

    /// How many pieces of work no call could be found for.
    pub fn n_unlinked(&self) -> u64 {
        self.launched_by
            .iter()
            .filter(|call| call.is_none())
            .count() as u64
    }

    /// Gives work to a call, unless another one has it: a runtime call and the driver call within
    /// it may carry the same id, and the work ran once.
    fn join(&mut self, call: EventId, work: GpuId) {
        if let Some(slot @ None) = self.launched_by.get_mut(work.index()) {
            *slot = Some(call);
            self.launches.push(Launch { call, work });
        }
    }

    /// Follows the arrows, and gives graph launches all that carries their id.
    fn by_flow(&mut self, trace: &Trace, calls: &[EventId], table: &LinkTable) {
        let mut graph_launches = GraphLaunches::default();
        for &call in calls {
            let Some(row) = table.key.read(trace, call).and_then(|id| table.row(id)) else {
                continue;
            };
            if graph_launches.contains(trace, call) {
                let mut children: Vec<GpuId> = table.work_of(row).collect();
                children.reverse();
                for work in children {
                    self.join(call, work);
                }
            } else if let Some(work) = table.head_of_arrow(trace, row, &self.work) {
                self.join(call, work);
            }
        }
    }

    /// Gives work without any arrow to the call of the same correlation id.
    fn by_correlation(&mut self, trace: &Trace, calls: &[EventId], flows: LinkTable, key: LinkKey) {
        let unlinked: Vec<GpuId> = (0..self.work.len() as u32)
            .map(GpuId)
            .filter(|work| self.launched_by(*work).is_none())
            .filter(|work| {
                let link = self
                    .work
                    .get(work.index())
                    .and_then(|event| key.read(trace, *event));
                !link
                    .and_then(|id| flows.row(id))
                    .is_some_and(|row| flows.has_arrow(row))
            })
            .collect();
        if unlinked.is_empty() {
            return;
        }
        let table = match key {
            LinkKey::Correlation => flows,
            LinkKey::ExternalId => LinkTable::new(trace, &self.work, LinkKey::Correlation),
        };
        let mut call_of_row: Vec<Option<EventId>> = vec![None; table.rows.len()];
        for &call in calls {
            let row = table.key.read(trace, call).and_then(|id| table.row(id));
            if let Some(slot) = row.and_then(|row| call_of_row.get_mut(row)) {
                slot.get_or_insert(call);
            }
        }
        for work in unlinked {
            let call = self
                .work
                .get(work.index())
                .and_then(|event| table.key.read(trace, *event))
                .and_then(|id| table.row(id))
                .and_then(|row| call_of_row.get(row).copied().flatten());
            if let Some(call) = call {
                self.join(call, work);
                self.by_correlation.push(work);
            }
        }
        self.n_by_correlation = self.by_correlation.len() as u64;
        if self.n_by_correlation > 0 {
            self.launches
                .sort_by_key(|launch| (launch.call, launch.work));
        }
    }
}

/// True for the call that hands a whole graph to the GPU, by its name: `cudaGraphLaunch`,
/// `hipGraphLaunch`, `cuGraphLaunch`, `cudaGraphLaunch_ptsz`.
pub fn is_graph_launch(name: &str) -> bool {
    name.contains("GraphLaunch")
}

/// Which calls launch graphs; each name is looked at once.
#[derive(Debug, Default)]
pub(crate) struct GraphLaunches {
    by_name: HashMap<StringId, bool, FxBuildHasher>,
}

impl GraphLaunches {
    pub(crate) fn contains(&mut self, trace: &Trace, call: EventId) -> bool {
        let name = trace.events.name(call);
        *self
            .by_name
            .entry(name)
            .or_insert_with(|| is_graph_launch(trace.strings.get(name)))
    }
}

/// Which id joins calls with work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LinkKey {
    Correlation,
    ExternalId,
}

impl LinkKey {
    /// Decided by the first launching call: very old traces have no correlation there. Where
    /// nothing is launched by that name, as in a trace of copies alone, any correlation decides.
    fn of(trace: &Trace, calls: &[EventId]) -> LinkKey {
        let mut other_names: Vec<StringId> = Vec::new();
        for &call in calls {
            let name = trace.events.name(call);
            if other_names.contains(&name) {
                continue;
            }
            if !contains_launch(trace.strings.get(name)) {
                other_names.push(name);
                continue;
            }
            return match trace.events.correlation(call) {
                Some(_) => LinkKey::Correlation,
                None => LinkKey::ExternalId,
            };
        }
        let mut correlations = calls.iter().map(|call| trace.events.correlation(*call));
        match correlations.any(|id| id.is_some()) {
            true => LinkKey::Correlation,
            false => LinkKey::ExternalId,
        }
    }

    #[inline]
    fn read(self, trace: &Trace, event: EventId) -> Option<LinkId> {
        match self {
            LinkKey::Correlation => trace.events.correlation(event),
            LinkKey::ExternalId => trace.events.external_id(event),
        }
    }
}

fn contains_launch(name: &str) -> bool {
    name.as_bytes()
        .windows(b"launch".len())
        .any(|window| window.eq_ignore_ascii_case(b"launch"))
}

/// What is known of one link id of GPU work.
#[derive(Debug, Clone, Copy, Default)]
struct LinkRow {
    /// The last piece of work with this id.
    last_work: Option<GpuId>,
    /// An arrow with this id starts somewhere.
    started: bool,
    /// Where the last arrow with this id ends.
    end: Option<TrackId>,
}

/// The link ids that GPU work carries. Ids that only host calls carry need no row.
#[derive(Debug)]
struct LinkTable {
    key: LinkKey,
    rows: Vec<LinkRow>,
    index: LinkIndex,
    /// For each piece of work the one before it with the same id.
    previous: Vec<Option<GpuId>>,
}

impl LinkTable {
    fn new(trace: &Trace, work: &[EventId], key: LinkKey) -> LinkTable {
        let links: Vec<Option<LinkId>> = work.iter().map(|event| key.read(trace, *event)).collect();
        let mut rows: Vec<LinkRow> = Vec::with_capacity(work.len());
        let mut index = LinkIndex::for_ids(&links);
        let mut previous = vec![None; work.len()];
        for (work, link) in links.iter().enumerate() {
            let Some(link) = *link else { continue };
            let row = index.row_or_insert(link, rows.len() as u32) as usize;
            if row == rows.len() {
                rows.push(LinkRow::default());
            }
            previous[work] = rows[row].last_work.replace(GpuId(work as u32));
        }
        LinkTable {
            key,
            rows,
            index,
            previous,
        }
    }

    fn read_flows(&mut self, trace: &Trace) {
        for id in trace.flows.starts.iter() {
            if let Some(row) = self.index.row(id) {
                self.rows[row].started = true;
            }
        }
        for end in trace.flows.ends.iter() {
            if let Some(row) = self.index.row(end.id) {
                self.rows[row].end = Some(end.track);
            }
        }
    }

    #[inline]
    fn row(&self, id: LinkId) -> Option<usize> {
        self.index.row(id)
    }

    /// Work with the id of a row, last one first.
    fn work_of(&self, row: usize) -> impl Iterator<Item = GpuId> + '_ {
        let last = self.rows.get(row).and_then(|row| row.last_work);
        std::iter::successors(last, |work| {
            self.previous.get(work.index()).copied().flatten()
        })
    }

    fn has_arrow(&self, row: usize) -> bool {
        self.rows
            .get(row)
            .is_some_and(|row| row.started || row.end.is_some())
    }

    /// The work where an arrow from start to end points: the last one on the end's stream.
    fn head_of_arrow(&self, trace: &Trace, row: usize, work: &[EventId]) -> Option<GpuId> {
        let track = self.rows.get(row).filter(|row| row.started)?.end?;
        self.work_of(row).find(|id| {
            work.get(id.index())
                .is_some_and(|event| trace.events.track(*event) == track)
        })
    }
}

/// Link id to row. Ids count up from a small number in most traces, so an array is enough.
#[derive(Debug)]
enum LinkIndex {
    Dense { first: u32, rows: Vec<u32> },
    Sparse(HashMap<LinkId, u32, FxBuildHasher>),
}

impl LinkIndex {
    const NO_ROW: u32 = u32::MAX;

    fn for_ids(links: &[Option<LinkId>]) -> LinkIndex {
        let ids = || links.iter().flatten().map(|link| link.0);
        let (Some(first), Some(last)) = (ids().min(), ids().max()) else {
            return LinkIndex::Sparse(HashMap::default());
        };
        let span = (last - first) as usize;
        if span < links.len().saturating_mul(16) {
            LinkIndex::Dense {
                first,
                rows: vec![Self::NO_ROW; span + 1],
            }
        } else {
            LinkIndex::Sparse(HashMap::with_capacity_and_hasher(
                links.len(),
                FxBuildHasher,
            ))
        }
    }

    #[inline]
    fn row(&self, id: LinkId) -> Option<usize> {
        match self {
            LinkIndex::Dense { first, rows } => {
                let row = *rows.get(id.0.checked_sub(*first)? as usize)?;
                (row != Self::NO_ROW).then_some(row as usize)
            }
            LinkIndex::Sparse(rows) => rows.get(&id).map(|row| *row as usize),
        }
    }

    /// The row of an id; `new_row`, when it has none yet.
    fn row_or_insert(&mut self, id: LinkId, new_row: u32) -> u32 {
        match self {
            LinkIndex::Dense { first, rows } => {
                let offset = id.0.saturating_sub(*first) as usize;
                match rows.get_mut(offset) {
                    Some(row) if *row == Self::NO_ROW => {
                        *row = new_row;
                        new_row
                    }
                    Some(row) => *row,
                    None => new_row,
                }
            }
            LinkIndex::Sparse(rows) => *rows.entry(id).or_insert(new_row),
        }
    }
}
