//! Impossible durations, and work that overlaps other work on its stream.

use super::{ROUNDING_NS, Row, SECOND_NS, SLACK_NS, few, streams};
use crate::base::interval::{Interval, sum};
use crate::names::gpu_activity::is_communication_name;
use crate::trace::{EventId, Trace};

/// With some profilers, collectives share a track with concurrent work.
const COLLECTIVE_SLACK_NS: i64 = 1_000_000_000;

/// The last piece of work on a stream is also impossible if it takes seconds, this many times as long as any other, and
/// ends long after all CPU activity.
const LONGEST_OF_ALL: i64 = 10;

/// Number of later pieces of work that are examined.
const LOOK_AHEAD: usize = 64;

/// Work that extends past later starts on its stream or, if it is the last, far past everything else. Work of one graph
/// may run concurrently.
pub(super) fn overlong(trace: &Trace, rows: &[Row], host: Option<Interval>) -> Vec<EventId> {
    let events = &trace.events;
    let is_collective = |event| is_communication_name(trace.name(event));
    let mut found = Vec::new();
    let mut last = Vec::new();
    for stream in streams(rows) {
        let claims_too_much = |at: usize| {
            let event = stream.get(at)?.event;
            let end_ns = events.end_ns(event).saturating_sub(SLACK_NS);
            // Skips a few pieces of the same graph.
            let later = stream.get(at + 1..)?.iter().take(LOOK_AHEAD);
            let later = later.take_while(|row| row.start_ns < end_ns);
            // What lost its own duration says nothing about that of others.
            let later = later.filter(|row| events.dur_ns(row.event) != Some(0));
            let graph = events.correlation(event);
            let mut others =
                later.filter(|row| graph.is_none() || events.correlation(row.event) != graph);
            let next_ns = others.next()?.start_ns;
            let over_ns = events.end_ns(event).saturating_sub(next_ns);
            (over_ns > COLLECTIVE_SLACK_NS || !is_collective(event)).then_some(event)
        };
        let overlong: Vec<EventId> = (0..stream.len()).filter_map(claims_too_much).collect();
        found.extend(few(overlong, stream.len()));
        last.extend(stream.last().map(|row| row.event));
    }
    found.sort_unstable();
    last.sort_unstable();
    if let Some(host) = host {
        let others = rows.iter().map(|row| row.event).filter(|event| {
            found.binary_search(event).is_err() && last.binary_search(event).is_err()
        });
        let longest_ns = others.filter_map(|event| events.dur_ns(event)).max();
        found.extend(last.into_iter().filter(|&event| {
            let times = events.dur_ns(event).zip(longest_ns);
            times.is_some_and(|(dur_ns, longest_ns)| {
                dur_ns > SECOND_NS
                    && dur_ns / LONGEST_OF_ALL > longest_ns
                    && events.end_ns(event) > host.end_ns.saturating_add(SECOND_NS)
                    && !is_collective(event)
            })
        }));
        found.sort_unstable();
    }
    found
}

/// Work that overlaps later work on its stream by too little to be called impossible, and how much time is counted
/// twice. Work of one graph, and collectives, may run concurrently.
pub(super) fn overlapping(trace: &Trace, rows: &[Row]) -> (Vec<EventId>, i64) {
    let events = &trace.events;
    let mut found = Vec::new();
    let mut twice_ns = Vec::new();
    for stream in streams(rows) {
        let mut of_stream = Vec::new();
        let mut of_stream_ns = 0_i64;
        for (at, &Row { event, .. }) in stream.iter().enumerate() {
            let (end_ns, graph) = (events.end_ns(event), events.correlation(event));
            let later = stream.get(at + 1..).unwrap_or_default().iter();
            let later = later.take(LOOK_AHEAD);
            let others = later.take_while(|row| row.start_ns < end_ns).filter(|row| {
                (graph.is_none() || events.correlation(row.event) != graph)
                    && !is_communication_name(trace.name(event))
                    && !is_communication_name(trace.name(row.event))
            });
            let shared = others.map(|row| {
                let end_ns = end_ns.min(events.end_ns(row.event));
                end_ns.saturating_sub(row.start_ns)
            });
            let shared_ns = sum(shared);
            if shared_ns > ROUNDING_NS {
                of_stream.push(event);
                of_stream_ns = of_stream_ns.saturating_add(shared_ns);
            }
        }
        let of_stream = few(of_stream, stream.len());
        if !of_stream.is_empty() {
            found.extend(of_stream);
            twice_ns.push(of_stream_ns);
        }
    }
    (found, sum(twice_ns))
}
