//! What other threads did meanwhile: their waits for the GPU, and their launches.

use super::{CpuTime, Explainer, Launched};
use crate::base::interval::Interval;
use crate::base::sort::Arrange;
use crate::profile::runtime_calls::blocking_calls;
use crate::trace::{EventId, TrackId};

impl Explainer<'_> {
    /// A wait of another thread that was over in a window, where the launching one did nothing else in
    /// most of it: it goes on when the other one tells it to.
    pub(super) fn wait_elsewhere(
        &self,
        launched: Launched,
        window: Interval,
        cpu: CpuTime,
    ) -> Option<(EventId, i64)> {
        if cpu.outside_ns <= window.length() / 2 {
            return None;
        }
        let trace = &self.profile.trace;
        let waits = self.waits.get_or_init(|| {
            let ends = blocking_calls(trace).map(|event| (trace.events.end_ns(event), event));
            let mut ends: Vec<(i64, EventId)> = ends.collect();
            ends.arrange();
            ends
        });
        let own = trace.events.track(launched.call);
        let process = |track: TrackId| trace.tracks.get(track).map(|track| track.pid);
        let until = waits.partition_point(|(end_ns, _)| *end_ns <= launched.span.start_ns);
        let ended = waits.get(..until).unwrap_or_default().iter().rev();
        ended
            .take_while(|(end_ns, _)| *end_ns >= window.start_ns)
            .find(|(_, event)| {
                let track = trace.events.track(*event);
                track != own
                    && process(track) == process(own)
                    && trace.events.ts_ns(*event) <= window.start_ns
            })
            .map(|(end_ns, event)| (*event, *end_ns))
    }

    /// From the end of the last launch of any thread to the start of this one.
    pub(super) fn since_any_launch(&self, launch: Interval) -> Option<i64> {
        let launches = self.launches.get_or_init(|| {
            let calls = self.profile.launches.launches.iter();
            let mut spans: Vec<Interval> = calls.map(|one| self.span(one.call)).collect();
            spans.arrange();
            spans.dedup();
            spans
        });
        let before = launches.partition_point(|one| one.start_ns < launch.start_ns);
        let last = launches.get(before.checked_sub(1)?)?;
        Some(launch.start_ns.saturating_sub(last.end_ns).max(0))
    }
}
