//! Packs spans that may overlap into as few rows as possible.

use std::cmp::Reverse;

use super::Row;
use crate::base::sort::Arrange;
use crate::trace::{EventId, Trace};

/// Puts each event into the topmost row that is free when it starts. Of events that start together the longest comes
/// first, so nested ranges are below the ranges that contain them.
pub(super) fn pack(trace: &Trace, mut events: Vec<EventId>) -> Vec<Row> {
    let start_ns = |event: EventId| trace.events.ts_ns(event);
    let end_ns = |event: EventId| trace.events.end_ns(event);
    events.arrange_by_key(|event| (start_ns(*event), Reverse(end_ns(*event))));
    let mut rows: Vec<(i64, Vec<EventId>)> = Vec::new();
    for event in events {
        let free = rows
            .iter_mut()
            .find(|(until_ns, _)| *until_ns <= start_ns(event));
        match free {
            Some((until_ns, row)) => {
                *until_ns = end_ns(event);
                row.push(event);
            }
            None => rows.push((end_ns(event), vec![event])),
        }
    }
    rows.into_iter()
        .map(|(_, events)| Row::new(trace, events))
        .collect()
}
