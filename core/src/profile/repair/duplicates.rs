//! Events that were recorded twice.

use super::Row;
use crate::base::map::Set;
use crate::base::sort::Arrange;
use crate::profile::launch::{Launches, is_graph_launch};
use crate::trace::{Category, EventId, Trace};

/// Rounding to microseconds can make two pieces of work of a graph look identical.
const LEAST_NS: i64 = 1_000;

/// GPU activity that duplicates another piece: name, stream, times, id and arguments.
pub(super) fn work(trace: &Trace, rows: &[Row], launches: &Launches) -> Vec<EventId> {
    let call = |work| launches.launched_by(launches.id_of(work)?);
    repeated(trace, rows, |work| {
        call(work).is_some_and(|call| is_graph_launch(trace.name(call)))
    })
}

/// Calls that duplicate another one.
pub(super) fn calls(trace: &Trace, launches: &Launches) -> Vec<EventId> {
    if launches.repeating_calls().is_empty() {
        return Vec::new();
    }
    let events = &trace.events;
    let calls = events.of_category(Category::is_runtime);
    repeated(trace, &Row::sorted(trace, calls), |_| false)
}

/// Of sorted rows, those that equal an earlier one. Short ones are skipped if they `may_be_alike`.
fn repeated(trace: &Trace, rows: &[Row], may_be_alike: impl Fn(EventId) -> bool) -> Vec<EventId> {
    let events = &trace.events;
    let key = |event: EventId| {
        let link = events.correlation(event)?;
        let dur_ns = events.dur_ns(event)?;
        let is_comparable = dur_ns > LEAST_NS || !may_be_alike(event);
        is_comparable.then(|| (link, dur_ns, events.name(event), events.extra_args(event)))
    };
    let at_once =
        rows.chunk_by(|one, other| (one.track, one.start_ns) == (other.track, other.start_ns));
    let mut found = Vec::new();
    for rows in at_once.filter(|rows| rows.len() > 1) {
        let mut before = Set::default();
        let repeats = rows.iter().map(|row| row.event);
        found.extend(repeats.filter(|event| key(*event).is_some_and(|one| !before.insert(one))));
    }
    found.arrange();
    found
}
