//! What other threads did meanwhile: their waits for the GPU, and their launches.

use super::{Host, HostTime};
use crate::base::interval::Interval;
use crate::base::sort::Arrange;
use crate::trace::{EventId, TrackId};

impl Host<'_> {
    /// A wait of another thread of the process that was over in a window, where the launching thread
    /// did nothing else in most of it: it goes on when the other one tells it to.
    pub(crate) fn wait_elsewhere(
        &mut self,
        call: EventId,
        launch: Interval,
        window: Interval,
        host: HostTime,
    ) -> Option<(EventId, i64)> {
        if host.outside_ns <= window.length() / 2 {
            return None;
        }
        let waits = match self.waits.take() {
            Some(waits) => waits,
            None => self.waits(),
        };
        let trace = &self.profile.trace;
        let own = trace.events.track(call);
        let process = |track: TrackId| trace.tracks.get(track).map(|track| track.pid);
        let until = waits.partition_point(|(end_ns, _)| *end_ns <= launch.start_ns);
        let ended = waits.get(..until).unwrap_or_default().iter().rev();
        let found = ended
            .take_while(|(end_ns, _)| *end_ns >= window.start_ns)
            .find(|(_, event)| {
                let track = trace.events.track(*event);
                track != own
                    && process(track) == process(own)
                    && trace.events.ts_ns(*event) <= window.start_ns
            })
            .map(|(end_ns, event)| (*event, *end_ns));
        self.waits = Some(waits);
        found
    }

    /// The end of every call in which a host waits for the GPU, in order.
    fn waits(&mut self) -> Vec<(i64, EventId)> {
        let events = &self.profile.trace.events;
        let mut waits: Vec<(i64, EventId)> = Vec::new();
        for event in events.ids() {
            if events.category(event).is_runtime() && self.call(event).is_blocking() {
                waits.push((events.end_ns(event), event));
            }
        }
        waits.arrange();
        waits
    }

    /// From the end of the last launch of any thread to the start of this one.
    pub(crate) fn since_any_launch(&mut self, launch: Interval) -> Option<i64> {
        if self.launches.is_none() {
            let calls = self.profile.launches.launches.iter();
            let mut spans: Vec<Interval> = calls.map(|one| self.span(one.call)).collect();
            spans.arrange();
            spans.dedup();
            self.launches = Some(spans);
        }
        let launches = self.launches.as_ref()?;
        let before = launches.partition_point(|one| one.start_ns < launch.start_ns);
        let last = launches.get(before.checked_sub(1)?)?;
        Some(launch.start_ns.saturating_sub(last.end_ns).max(0))
    }
}
