//! Events that a trace writes in two halves: their begin (`B`) and their end (`E`).

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::trace::{EventId, TrackId};
use crate::warning::{WarningKind, Warnings};

/// Events that began and have not ended: on each track the last one to begin ends first.
#[derive(Debug, Default)]
pub(super) struct OpenEvents {
    by_track: HashMap<TrackId, Vec<(EventId, u64)>, FxBuildHasher>,
}

impl OpenEvents {
    /// An event begins; its first half stands at the offset.
    pub(super) fn begin(&mut self, track: TrackId, event: EventId, offset: u64) {
        self.by_track
            .entry(track)
            .or_default()
            .push((event, offset));
    }

    /// The event that ends on a track; `None` where none is open.
    pub(super) fn end(&mut self, track: TrackId) -> Option<EventId> {
        let (event, _) = self.by_track.get_mut(&track)?.pop()?;
        Some(event)
    }

    /// Counts those that never ended.
    pub(super) fn warn(self, warnings: &mut Warnings) {
        let offsets = || self.by_track.values().flatten().map(|(_, offset)| *offset);
        let count = offsets().count() as u64;
        warnings.add_many(WarningKind::MissingDuration, count, offsets().min());
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Timetable;
    use crate::warning::WarningKind::{MissingDuration, UnknownPhase};

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
