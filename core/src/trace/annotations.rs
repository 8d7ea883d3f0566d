//! Annotations that the program put around its calls and whose names describe the batch of a step.
//!
//! Serving engines write the lengths of a step's requests into the name of an annotation around the step, because no
//! argument of any call contains them.

use crate::base::interval::Interval;
use crate::base::map::Map;
use crate::base::sort::Arranged;
use crate::trace::{Category, EventId, StringId, Trace, TrackId};

/// How the profiler names its steps; the number follows.
pub(crate) const PROFILER_STEP: &str = "ProfilerStep#";

/// The number of a profiler step; `None` for any other annotation.
pub(crate) fn step_number(name: &str) -> Option<&str> {
    let number = name.strip_prefix(PROFILER_STEP)?;
    let is_digit = |byte: u8| byte.is_ascii_digit();
    (!number.is_empty() && number.bytes().all(is_digit)).then_some(number)
}

/// The annotations of a trace that have a wanted name.
#[derive(Debug, Default)]
pub struct Annotations {
    /// Those of each CPU thread.
    of_track: Map<TrackId, ByStart>,
    /// Those of all CPU threads.
    on_host: ByStart,
    /// Those of the GPU.
    on_gpu: ByStart,
}

/// Annotations by start, with the latest end up to each.
#[derive(Debug, Default)]
struct ByStart {
    all: Vec<(Interval, StringId)>,
    latest_end_ns: Vec<i64>,
}

impl ByStart {
    /// Adds one that starts no earlier than the last.
    fn push(&mut self, span: Interval, name: StringId) {
        let before = self.latest_end_ns.last().copied().unwrap_or(i64::MIN);
        self.latest_end_ns.push(before.max(span.end_ns));
        self.all.push((span, name));
    }

    /// The name of the outermost annotation that encloses an interval.
    fn around(&self, inner: Interval) -> Option<StringId> {
        let ends_before = |latest_ns: &i64| *latest_ns < inner.end_ns;
        let first = self.latest_end_ns.partition_point(ends_before);
        let (span, name) = self.all.get(first)?;
        (span.start_ns <= inner.start_ns).then_some(*name)
    }
}

impl Annotations {
    /// Collects the annotations whose names are wanted.
    pub fn new(trace: &Trace, is_wanted: fn(&str) -> bool) -> Annotations {
        use Category::{GpuUserAnnotation, UserAnnotation};
        let events = &trace.events;
        let all = events.of_category(|of| matches!(of, UserAnnotation | GpuUserAnnotation));
        let all = all
            .filter(|event| is_wanted(trace.name(*event)))
            .arranged_by_key(|event| events.ts_ns(*event));
        let mut annotations = Annotations::default();
        for event in all {
            let (span, name) = (events.span(event), events.name(event));
            if events.category(event) == GpuUserAnnotation {
                annotations.on_gpu.push(span, name);
            } else {
                let of_track = annotations.of_track.entry(events.track(event));
                of_track.or_default().push(span, name);
                annotations.on_host.push(span, name);
            }
        }
        annotations
    }

    /// The name of the outermost annotation around a call: on its thread, else on another thread, else on the GPU
    /// around what the call launched.
    pub fn around(
        &self,
        trace: &Trace,
        call: EventId,
        launched: Option<Interval>,
    ) -> Option<StringId> {
        let call_span = trace.events.span(call);
        let of_track = self.of_track.get(&trace.events.track(call));
        of_track
            .and_then(|annotations| annotations.around(call_span))
            .or_else(|| self.on_host.around(call_span))
            .or_else(|| self.on_gpu.around(launched?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Timetable;

    #[test]
    fn the_outermost_on_the_thread_comes_first() {
        let trace = Timetable::new()
            .thread(2)
            .annotation("batch other thread", 0..100)
            .thread(1)
            .annotation("batch outer", 5..45)
            .annotation("batch inner", 8..18)
            .annotation("unwanted", 1..91)
            .raw(r#"{"ph": "X", "cat": "gpu_user_annotation", "name": "batch on the GPU", "pid": 0, "tid": 7, "ts": 200, "dur": 50}"#)
            .op("in both", 10..12)
            .op("after", 50..52)
            .op("late", 120..122)
            .trace();
        let annotations = Annotations::new(&trace, |name| name.starts_with("batch"));
        let around = |op: &str, launched| {
            let of_name = |event: &EventId| trace.strings.get(trace.events.name(*event)) == op;
            let call = trace.events.ids().find(of_name).unwrap();
            let found = annotations.around(&trace, call, launched);
            found.map(|name| trace.strings.get(name))
        };
        let launched = Interval::new(210_000, 220_000);
        assert_eq!(around("in both", None), Some("batch outer"));
        assert_eq!(around("after", None), Some("batch other thread"));
        assert_eq!(around("late", Some(launched)), Some("batch on the GPU"));
        assert_eq!(around("late", None), None);
    }
}
