//! Events that a trace writes in two halves: begin (`B`) and end (`E`).

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::import::warning::{WarningKind, Warnings};
use crate::trace::{EventId, EventTable, StringId, TrackId};

/// Events that started and have not ended: on each track, the last one started ends first.
#[derive(Debug, Default)]
pub(super) struct OpenEvents {
    by_track: HashMap<TrackId, Vec<(EventId, u64)>, FxBuildHasher>,
    /// A half was read.
    pub(super) saw_half: bool,
}

impl OpenEvents {
    /// Records the start of an event whose first half is at the offset.
    pub(super) fn begin(&mut self, track: TrackId, event: EventId, offset: u64) {
        self.saw_half = true;
        self.by_track
            .entry(track)
            .or_default()
            .push((event, offset));
    }

    /// The event that ends on a track; `None` if none is open. It is the last one started, or the last one started with
    /// this name: rounded times may let the next one start before it ends.
    pub(super) fn end(
        &mut self,
        track: TrackId,
        name: Option<StringId>,
        events: &EventTable,
    ) -> Option<EventId> {
        self.saw_half = true;
        let open = self.by_track.get_mut(&track)?;
        let at = name.and_then(|name| {
            let mut open = open.iter();
            open.rposition(|(event, _)| events.name(*event) == name)
        });
        let (event, _) = match at {
            Some(at) => open.remove(at),
            None => open.pop()?,
        };
        Some(event)
    }

    /// Counts the events that never ended.
    pub(super) fn warn(self, warnings: &mut Warnings) {
        let offsets = || self.by_track.values().flatten().map(|(_, offset)| *offset);
        let count = offsets().count() as u64;
        warnings.add_many(WarningKind::MissingDuration, count, offsets().min());
    }
}

#[cfg(test)]
mod tests {
    use crate::import::warning::WarningKind::{MissingDuration, UnknownPhase, UnreadableEvent};
    use crate::testing::Timetable;

    fn half(phase: char, name: &str, tid: u32, ts_us: u32) -> String {
        format!(
            r#"{{"ph": "{phase}", "cat": "cpu_op", "name": "{name}", "pid": 1, "tid": {tid}, "ts": {ts_us}}}"#
        )
    }

    /// ```text
    /// µs        0    10   20   30   40
    /// thread 1  [outer [inner]      )
    /// thread 2       [other    )
    /// ```
    #[test]
    fn halves_are_paired_by_thread_the_last_first() {
        let timetable = Timetable::new()
            .raw(&half('B', "outer", 1, 0))
            .raw(&half('B', "inner", 1, 7))
            .raw(&half('B', "other", 2, 5))
            .raw(&half('E', "", 1, 15))
            .raw(&half('E', "", 2, 20))
            .raw(&half('E', "", 1, 30));
        let profile = timetable.profile();
        let trace = &profile.trace;
        let read: Vec<(&str, i64, Option<i64>)> = trace
            .events
            .ids()
            .map(|id| {
                let name = trace.strings.get(trace.events.name(id));
                (name, trace.events.ts_ns(id), trace.events.dur_ns(id))
            })
            .collect();
        assert_eq!(
            read,
            [
                ("outer", 0, Some(30_000)),
                ("inner", 7_000, Some(8_000)),
                ("other", 5_000, Some(15_000)),
            ]
        );
        assert_eq!(profile.warnings.count(MissingDuration), 0);
    }

    /// ```text
    /// µs        0    10   20   30
    /// thread 1  [outer [lost      )
    /// ```
    #[test]
    fn a_half_ends_what_has_its_name() {
        let timetable = Timetable::new()
            .raw(&half('B', "outer", 1, 0))
            .raw(&half('B', "lost", 1, 10))
            .raw(&half('E', "outer", 1, 30));
        let profile = timetable.profile();
        let events = &profile.trace.events;
        let durations: Vec<Option<i64>> = events.ids().map(|id| events.dur_ns(id)).collect();
        assert_eq!(durations, [Some(30_000), None]);
        assert_eq!(profile.warnings.count(MissingDuration), 1);
    }

    /// ```text
    /// µs        0    10   11   20
    /// thread 1  [one    ) |
    ///                [two     )
    /// ```
    #[test]
    fn halves_that_overlap_are_paired_by_name() {
        let timetable = Timetable::new()
            .raw(&half('B', "one", 1, 0))
            .raw(&half('B', "two", 1, 10))
            .raw(&half('E', "one", 1, 11))
            .raw(&half('E', "two", 1, 20));
        let profile = timetable.profile();
        let events = &profile.trace.events;
        let durations: Vec<Option<i64>> = events.ids().map(|id| events.dur_ns(id)).collect();
        assert_eq!(durations, [Some(11_000), Some(10_000)]);
        assert_eq!(profile.warnings.count(MissingDuration), 0);
    }

    #[test]
    fn arguments_may_stand_in_the_second_half() {
        let end = r#"{"ph": "E", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 9,
            "args": {"External id": 4, "correlation": 5, "Sequence number": 6, "stream": 7,
            "Input Dims": [[2, 3]]}}"#;
        let timetable = Timetable::new().raw(&half('B', "aten::mm", 1, 0)).raw(end);
        let trace = timetable.trace();
        let event = trace.events.ids().next().unwrap();
        let events = &trace.events;
        assert_eq!(events.external_id(event).map(|id| id.0), Some(4));
        assert_eq!(events.correlation(event).map(|id| id.0), Some(5));
        assert!(events.op_args(event).is_some());
        let extra = trace.strings.get(events.extra_args(event).unwrap());
        assert_eq!(extra, r#""stream": 7"#);
        assert_eq!(trace.sequence_numbers, [(event, 6)]);
    }

    #[test]
    fn work_of_an_unknown_phase_is_lost() {
        let lost = Timetable::new()
            .raw(&half('x', "aten::mm", 1, 3))
            .raw(r#"{"ph": "C", "name": "counter", "pid": 1, "ts": 5, "args": {"bytes": 1}}"#);
        let warnings = lost.profile().warnings;
        assert_eq!(warnings.count(UnreadableEvent), 1);
        assert_eq!(warnings.count(UnknownPhase), 1);
    }

    #[test]
    fn a_half_alone_is_told() {
        let alone = Timetable::new()
            .raw(&half('E', "", 1, 3))
            .raw(&half('B', "endless", 1, 5));
        let warnings = alone.profile().warnings;
        assert_eq!(warnings.count(UnknownPhase), 1);
        assert_eq!(warnings.count(MissingDuration), 1);
    }
}
