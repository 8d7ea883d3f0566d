//! Traces that contain several processes, such as the merged ranks of a distributed run.
//!
//! Every process numbers its correlation and flow ids from the start, so the same id occurs in each of them. Two things
//! distinguish them. Flows with the same id have their starts and their ends in the same order, and a call owns the
//! flow that starts on its own thread. And all flows together show which process drives which device. Ranks on several
//! machines may even have the same process id; then they show which thread drives which device.

use super::table::LinkTable;
use super::{GpuId, process};
use crate::base::map::{Map, Set};
use crate::base::sort::Arrange;
use crate::trace::{Column, EventId, FlowPoint, StringId, Trace, TrackId};

/// Assigns work to processes in a trace of several processes.
pub(super) struct Ranks<'a> {
    trace: &'a Trace,
    /// The link table row and thread of every flow start whose id several processes use: by row, then in file order.
    starts: Vec<(u32, TrackId)>,
    /// The same for flow ends.
    ends: Vec<(u32, TrackId)>,
    /// By the `pid` of a device: the process that drives it; excludes devices driven by several.
    driver_of: Map<StringId, StringId>,
    /// By thread: the device that it drives; excludes threads that drive several.
    device_of_thread: Map<TrackId, StringId>,
    /// Process ids where several threads use the same id. A single process never reuses an id, so these are several
    /// processes.
    doubled: Set<StringId>,
    work: Vec<EventId>,
}

impl<'a> Ranks<'a> {
    /// `None` if no id belongs to calls of several processes.
    pub(super) fn find(trace: &'a Trace, table: &LinkTable, work: &[EventId]) -> Option<Ranks<'a>> {
        if !table.rows.iter().any(|row| row.is_shared) {
            return None;
        }
        let shared = |points: &Column<FlowPoint>| {
            let mut shared: Vec<(u32, TrackId)> = points
                .iter()
                .filter_map(|point| {
                    let row = table.row(point.id)?;
                    let is_shared = table.rows.get(row)?.is_shared;
                    is_shared.then_some((row as u32, point.track))
                })
                .collect();
            // Stable sort: flows with the same id stay in file order.
            shared.arrange_by_key(|(row, _)| *row);
            shared
        };
        let mut ranks = Ranks {
            trace,
            starts: shared(&trace.flows.starts),
            ends: shared(&trace.flows.ends),
            driver_of: Map::default(),
            device_of_thread: Map::default(),
            doubled: Set::default(),
            work: work.to_vec(),
        };
        let arrows = ranks.arrows(table);
        let driver = |(start, device)| Some((device, ranks.pid(start)?));
        ranks.driver_of = main_of(arrows.iter().copied().filter_map(driver));
        ranks.device_of_thread = main_of(arrows.into_iter());
        ranks.doubled = ranks.doubled();
        Some(ranks)
    }

    /// The process that drives the device of a piece of work.
    pub(super) fn process_of(&self, work: GpuId) -> Option<StringId> {
        self.driver_of.get(&self.device_of(work)?).copied()
    }

    /// The work at the end of the flow that starts on a call's own thread.
    pub(super) fn head_of_arrow(
        &self,
        table: &LinkTable,
        row: usize,
        call: EventId,
    ) -> Option<GpuId> {
        let own = self.trace.events.track(call);
        let known = table.rows.get(row)?;
        if !known.is_shared {
            let (start, end) = (known.start?, known.end?);
            let is_own = self.pid(start) == self.pid(own);
            return is_own
                .then(|| table.work_of(row).find(|work| self.ran_on(*work, end)))
                .flatten();
        }
        let (starts, ends) = (of_row(&self.starts, row), of_row(&self.ends, row));
        let nth = starts.iter().rposition(|(_, start)| *start == own)?;
        if starts.len() != ends.len() {
            // One of the flows is incomplete, so starts and ends cannot be paired by position.
            return table
                .work_of(row)
                .find(|work| self.is_driven_by(*work, own));
        }
        let (_, end) = *ends.get(nth)?;
        let later = ends.get(nth + 1..).unwrap_or_default().iter();
        let n_later = later.filter(|(_, track)| *track == end).count();
        let mut there = table.work_of(row).filter(|work| self.ran_on(*work, end));
        there.nth(n_later)
    }

    /// All work with the id of a row that belongs to a call's process, last one first.
    pub(super) fn all_of_call(&self, table: &LinkTable, row: usize, call: EventId) -> Vec<GpuId> {
        let own = self.trace.events.track(call);
        let known = table.rows.get(row).copied().unwrap_or_default();
        let is_alone = !known.is_shared && known.start.is_some_and(|start| start == own);
        let all: Vec<GpuId> = table
            .work_of(row)
            .filter(|work| match self.process_of(*work) {
                Some(_) => self.is_driven_by(*work, own),
                None => is_alone,
            })
            .collect();
        match all.is_empty() {
            true => self.head_of_arrow(table, row, call).into_iter().collect(),
            false => all,
        }
    }

    /// Whether a flow of a row belongs to the process that drives the device of a piece of work.
    pub(super) fn has_arrow(&self, table: &LinkTable, row: usize, work: GpuId) -> bool {
        let (Some(driver), Some(known)) = (self.process_of(work), table.rows.get(row)) else {
            return table.has_arrow(row);
        };
        let device = self.device_of(work);
        let starts = of_row(&self.starts, row).iter().map(|(_, track)| *track);
        let ends = of_row(&self.ends, row).iter().map(|(_, track)| *track);
        let mut starts = starts.chain(known.start);
        let mut ends = ends.chain(known.end);
        starts.any(|start| self.pid(start) == Some(driver))
            || ends.any(|end| self.pid(end) == device)
    }

    /// The start thread and end device of all complete flows.
    fn arrows(&self, table: &LinkTable) -> Vec<(TrackId, StringId)> {
        let mut arrows = Vec::new();
        let mut add = |start: TrackId, end: TrackId| {
            arrows.extend(self.pid(end).map(|device| (start, device)));
        };
        for row in &table.rows {
            if let (false, Some(start), Some(end)) = (row.is_shared, row.start, row.end) {
                add(start, end);
            }
        }
        let pairs = self.starts.chunk_by(same_row).filter_map(|starts| {
            let (row, _) = starts.first()?;
            let ends = of_row(&self.ends, *row as usize);
            (starts.len() == ends.len()).then_some((starts, ends))
        });
        for (starts, ends) in pairs {
            for ((_, start), (_, end)) in starts.iter().zip(ends) {
                add(*start, *end);
            }
        }
        arrows
    }

    fn doubled(&self) -> Set<StringId> {
        let mut doubled = Set::default();
        for starts in self.starts.chunk_by(same_row) {
            let mut first: Map<StringId, TrackId> = Map::default();
            for (_, start) in starts {
                let Some(pid) = self.pid(*start) else {
                    continue;
                };
                if *first.entry(pid).or_insert(*start) != *start {
                    doubled.insert(pid);
                }
            }
        }
        doubled
    }

    fn pid(&self, track: TrackId) -> Option<StringId> {
        self.trace.tracks.get(track).map(|track| track.pid)
    }

    fn device_of(&self, work: GpuId) -> Option<StringId> {
        let event = self.work.get(work.index())?;
        process(self.trace, *event)
    }

    fn ran_on(&self, work: GpuId, stream: TrackId) -> bool {
        let event = self.work.get(work.index());
        event.is_some_and(|event| self.trace.events.track(*event) == stream)
    }

    fn is_driven_by(&self, work: GpuId, thread: TrackId) -> bool {
        let process = self.process_of(work);
        if process.is_none() || process != self.pid(thread) {
            return false;
        }
        let is_doubled = process.is_some_and(|process| self.doubled.contains(&process));
        match self.device_of_thread.get(&thread) {
            Some(device) if is_doubled => self.device_of(work) == Some(*device),
            _ => true,
        }
    }
}

/// For each key, the value in nearly all of its pairs: occasional incomplete flows can pair two processes.
fn main_of<K, V>(pairs: impl Iterator<Item = (K, V)>) -> Map<K, V>
where
    K: Copy + Eq + std::hash::Hash,
    V: Copy + Eq + std::hash::Hash,
{
    const MIN_PERCENT: u64 = 90;
    let mut of_pair: Map<(K, V), u64> = Map::default();
    let mut of_key: Map<K, u64> = Map::default();
    for (key, value) in pairs {
        *of_pair.entry((key, value)).or_default() += 1;
        *of_key.entry(key).or_default() += 1;
    }
    of_pair
        .into_iter()
        .filter(|((key, _), n_pairs)| {
            let all = of_key.get(key).copied().unwrap_or(0);
            n_pairs * 100 >= all * MIN_PERCENT
        })
        .map(|(pair, _)| pair)
        .collect()
}

fn same_row(one: &(u32, TrackId), other: &(u32, TrackId)) -> bool {
    one.0 == other.0
}

/// The part of a sorted list that belongs to one row.
fn of_row(points: &[(u32, TrackId)], row: usize) -> &[(u32, TrackId)] {
    let first = points.partition_point(|(at, _)| (*at as usize) < row);
    let rest = points.get(first..).unwrap_or_default();
    let length = rest.partition_point(|(at, _)| *at as usize == row);
    rest.get(..length).unwrap_or_default()
}
