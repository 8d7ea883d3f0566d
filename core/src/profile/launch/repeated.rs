//! Ids used by several calls of one process, for example where a counter restarted or two recordings were joined.
//!
//! The k-th call then launched the k-th piece of work, if there are equally many and no piece starts before its call.
//! Otherwise they cannot be distinguished. An id of 0 that several calls have is not an id.

use std::collections::BTreeMap;

use super::table::LinkTable;
use super::{GpuId, Launch, is_graph_launch, process};
use crate::base::sort::Arrange;
use crate::trace::{ByName, EventId, LinkId, Trace};

/// Clock differences may let work start this long before its call.
const SLACK_NS: i64 = 1_000_000;

/// Work with ids that several calls have.
#[derive(Debug, Default)]
pub(super) struct Repeated {
    /// Rows of the link table, in order.
    rows: Vec<usize>,
    /// Work with its launching call.
    pub(super) pairs: Vec<Launch>,
    /// Work whose launching call is ambiguous, in file order.
    pub(super) unknown: Vec<GpuId>,
}

impl Repeated {
    pub(super) fn find(
        trace: &Trace,
        calls: &[EventId],
        table: &LinkTable,
        work: &[EventId],
    ) -> Repeated {
        let mut by_row: BTreeMap<usize, (LinkId, Vec<EventId>)> = BTreeMap::new();
        for &call in calls {
            let Some(id) = table.key.read(trace, call) else {
                continue;
            };
            let row = table.row(id).filter(|row| table.has_several(*row));
            if let Some(row) = row {
                let (_, calls) = by_row.entry(row).or_insert((id, Vec::new()));
                calls.push(call);
            }
        }
        let mut repeated = Repeated::default();
        let mut graphs = ByName::new(is_graph_launch);
        for (row, (id, mut calls)) in by_row {
            // Processes that use the same ids are handled elsewhere.
            let processes = || calls.iter().map(|call| process(trace, *call));
            let is_of_one = processes().min() == processes().max();
            if !is_of_one || calls.iter().any(|call| graphs.of(trace, *call)) {
                continue;
            }
            separate(trace, &mut calls);
            if calls.len() < 2 {
                continue;
            }
            let start_ns = |work_id: &GpuId| {
                let event = work.get(work_id.index());
                event.map_or(0, |event| trace.events.ts_ns(*event))
            };
            let mut pieces: Vec<GpuId> = table.work_of(row).collect();
            pieces.arrange_by_key(|piece| (start_ns(piece), *piece));
            repeated.rows.push(row);
            let mut pairs = calls.iter().zip(&pieces);
            let is_unambiguous = id != LinkId(0)
                && calls.len() == pieces.len()
                && pairs.all(|(call, piece)| {
                    start_ns(piece).saturating_add(SLACK_NS) >= trace.events.ts_ns(*call)
                });
            if is_unambiguous {
                let pairs = calls.into_iter().zip(pieces);
                let launch = |(call, work)| Launch { call, work };
                repeated.pairs.extend(pairs.map(launch));
            } else {
                repeated.unknown.extend(pieces);
            }
        }
        repeated.unknown.sort_unstable();
        repeated
    }

    /// Whether a row of the link table has such an id.
    #[inline]
    pub(super) fn contains(&self, row: usize) -> bool {
        !self.rows.is_empty() && self.rows.binary_search(&row).is_ok()
    }
}

/// Sorts by time and removes calls inside another call: a runtime call and the driver call that it makes may have the
/// same id.
fn separate(trace: &Trace, calls: &mut Vec<EventId>) {
    let events = &trace.events;
    calls.sort_by_key(|call| (events.ts_ns(*call), -events.end_ns(*call), *call));
    calls.dedup_by(|inner, outer| {
        events.track(*inner) == events.track(*outer) && events.ts_ns(*inner) < events.end_ns(*outer)
    });
}
