//! The trace of one rank, made of its events in the merged trace.

use super::prefixed;
use crate::base::map::{Map, Set};
use crate::base::sort::{Arranged, FirstMax};
use crate::trace::event_args::arg;
use crate::trace::{
    EventId, EventTable, LinkId, LinkIds, NewEvent, StringId, StringTable, Trace, TrackId,
    TrackTable,
};

/// Flow ids are offset by the rank times a power of ten up to this one.
const MOST_POWER: u32 = 15;

/// A trace under construction, made of events of another one.
pub(super) struct Part {
    pub(super) strings: StringTable,
    pub(super) events: EventTable,
    pub(super) tracks: TrackTable,
    pub(super) link_ids: LinkIds,
    /// For each track of the merged trace, the new one.
    known_tracks: Map<TrackId, TrackId>,
    /// Correlations before the offset.
    unmoved: Set<u64>,
}

impl Part {
    pub(super) fn new(trace: &Trace) -> Part {
        Part {
            strings: trace.strings.clone(),
            link_ids: trace.link_ids.clone(),
            events: EventTable::default(),
            tracks: TrackTable::default(),
            known_tracks: Map::default(),
            unmoved: Set::default(),
        }
    }

    pub(super) fn event(&mut self, trace: &Trace, event: EventId) -> EventId {
        let events = &trace.events;
        let raw = |key| arg(trace, event, key);
        let correlation = match raw("correlation_raw").and_then(|text| text.parse::<u64>().ok()) {
            Some(number) => {
                self.unmoved.insert(number);
                Some(self.link_ids.number(number, &mut self.strings))
            }
            None => events.correlation(event),
        };
        let track = self.track(trace, events.track(event), raw("pid_raw"));
        self.events.push(NewEvent {
            track,
            correlation,
            ..events.get(event)
        })
    }

    /// The new track for one of the merged trace, with its original process.
    pub(super) fn track(&mut self, trace: &Trace, of: TrackId, pid: Option<&str>) -> TrackId {
        if let Some(known) = self.known_tracks.get(&of) {
            return *known;
        }
        let Some(track) = trace.tracks.get(of) else {
            return TrackId(0);
        };
        let spelled = trace.strings.get(track.pid);
        let pid = pid.or_else(|| prefixed(spelled).map(|(_, rest)| rest));
        let pid: StringId = pid.map_or(track.pid, |pid| self.strings.intern(pid));
        let own = self.tracks.intern(pid, track.tid);
        self.known_tracks.insert(of, own);
        own
    }

    pub(super) fn name_tracks(&mut self, trace: &Trace) {
        let names = (self.known_tracks.iter())
            .map(|(whole, own)| (*own, *whole))
            .arranged();
        for (at, own) in self.tracks.iter_mut().enumerate() {
            let first = names.partition_point(|(own, _)| (own.0 as usize) < at);
            let whole = names
                .get(first)
                .and_then(|(_, whole)| trace.tracks.get(*whole));
            if let Some(whole) = whole {
                own.process_name = whole.process_name;
                own.process_label = whole.process_label;
                own.thread_name = whole.thread_name;
            }
        }
    }

    /// The offset of the flow ids of a rank: the power of ten that turns most of them into correlations of the rank.
    pub(super) fn moved_by(
        &self,
        trace: &Trace,
        rank: u32,
        is_own: impl Fn(TrackId) -> bool,
    ) -> u64 {
        if rank == 0 || self.unmoved.is_empty() {
            return 0;
        }
        let own = trace
            .flows
            .starts
            .iter()
            .filter(|point| is_own(point.track));
        let ids: Vec<u64> = own.filter_map(|point| number(trace, point.id)).collect();
        let moves = (0..=MOST_POWER).filter_map(|power| {
            let by = u64::from(rank).checked_mul(10_u64.checked_pow(power)?)?;
            let fits = |id: &&u64| {
                id.checked_sub(by)
                    .is_some_and(|id| self.unmoved.contains(&id))
            };
            Some((ids.iter().filter(fits).count(), by))
        });
        let best = moves.first_max_by_key(|one| one.0);
        best.filter(|(n, _)| *n > 0).map_or(0, |(_, by)| by)
    }

    pub(super) fn unmoved(&mut self, trace: &Trace, id: LinkId, by: u64) -> LinkId {
        let unmoved = number(trace, id).and_then(|id| id.checked_sub(by));
        match unmoved.filter(|_| by > 0) {
            Some(unmoved) => self.link_ids.number(unmoved, &mut self.strings),
            None => id,
        }
    }
}

/// A link id as a number; `None` if it is not numeric.
fn number(trace: &Trace, id: LinkId) -> Option<u64> {
    if let Some(number) = id.number() {
        return Some(u64::from(number));
    }
    let spelling = trace.link_ids.spellings().get(id.spelling()?)?;
    trace.strings.get(*spelling).parse().ok()
}
