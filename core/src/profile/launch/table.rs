//! Link ids of GPU activity: which events have them, and where their flows start and end.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::{GpuId, LinkKey};
use crate::trace::{EventId, LinkId, Trace, TrackId};

/// What is known about one link id of GPU activity.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LinkRow {
    /// The last piece of work with this id.
    last_work: Option<GpuId>,
    /// Where the last flow with this id starts.
    pub(super) start: Option<TrackId>,
    /// Where the last flow with this id ends.
    pub(super) end: Option<TrackId>,
    /// Flows with this id start on several threads, because several processes use the same ids.
    pub(super) is_shared: bool,
}

/// The link ids of GPU activity. Ids that only CPU calls have need no row.
#[derive(Debug)]
pub(super) struct LinkTable {
    pub(super) key: LinkKey,
    pub(super) rows: Vec<LinkRow>,
    index: LinkIndex,
    /// For each piece of work, the previous one with the same id.
    previous: Vec<Option<GpuId>>,
}

impl LinkTable {
    pub(super) fn new(trace: &Trace, work: &[EventId], key: LinkKey) -> LinkTable {
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

    pub(super) fn read_flows(&mut self, trace: &Trace) {
        for start in trace.flows.starts.iter() {
            if let Some(row) = self.index.row(start.id) {
                let row = &mut self.rows[row];
                row.is_shared |= row.start.is_some_and(|known| known != start.track);
                row.start = Some(start.track);
            }
        }
        for end in trace.flows.ends.iter() {
            if let Some(row) = self.index.row(end.id) {
                self.rows[row].end = Some(end.track);
            }
        }
    }

    #[inline]
    pub(super) fn row(&self, id: LinkId) -> Option<usize> {
        self.index.row(id)
    }

    /// The row with the id of an event.
    #[inline]
    pub(super) fn row_of(&self, trace: &Trace, event: EventId) -> Option<usize> {
        self.row(self.key.read(trace, event)?)
    }

    /// Work with the id of a row, last one first.
    pub(super) fn work_of(&self, row: usize) -> impl Iterator<Item = GpuId> + '_ {
        std::iter::successors(self.rows.get(row).and_then(|row| row.last_work), |work| {
            self.previous.get(work.index()).copied().flatten()
        })
    }

    /// Whether several pieces of work have the id of a row.
    pub(super) fn has_several(&self, row: usize) -> bool {
        self.work_of(row).nth(1).is_some()
    }

    pub(super) fn has_arrow(&self, row: usize) -> bool {
        self.rows
            .get(row)
            .is_some_and(|row| row.start.is_some() || row.end.is_some())
    }

    /// Whether only one piece of work has the id of a row, and the complete flow with that id leads elsewhere: a tool
    /// that rewrote the trace numbered flows independently.
    pub(super) fn is_passed_by(&self, row: usize, trace: &Trace, work: EventId) -> bool {
        let row_of = self.rows.get(row);
        let end = row_of
            .filter(|row| row.start.is_some())
            .and_then(|row| row.end);
        end.is_some_and(|track| track != trace.events.track(work)) && !self.has_several(row)
    }

    /// The work that a complete flow leads to: the last one on the stream where it ends.
    pub(super) fn head_of_arrow(
        &self,
        trace: &Trace,
        row: usize,
        work: &[EventId],
    ) -> Option<GpuId> {
        let track = self.rows.get(row).filter(|row| row.start.is_some())?.end?;
        self.work_of(row).find(|id| {
            work.get(id.index())
                .is_some_and(|event| trace.events.track(*event) == track)
        })
    }
}

/// Maps link ids to rows. In most traces ids count up from a small number, so an array is enough.
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
                Default::default(),
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

    /// The row of an id; `new_row` if it does not have one yet.
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
