//! What the program wrote down around its calls: annotations that name the batch of a step.
//!
//! Serving engines put the lengths of the requests that a step works on into the name of an
//! annotation around it, because no argument of a call tells them.

use crate::base::interval::Interval;
use crate::base::sort::Arrange;
use crate::trace::{Category, EventId, StringId, Trace, TrackId};

/// How the profiler names its steps; the number follows.
pub(crate) const PROFILER_STEP: &str = "ProfilerStep#";

/// The number of a step of the profiler's; `None` for a name of the program's.
pub(crate) fn step_number(name: &str) -> Option<&str> {
    let number = name.strip_prefix(PROFILER_STEP)?;
    let is_digit = |byte: u8| byte.is_ascii_digit();
    (!number.is_empty() && number.bytes().all(is_digit)).then_some(number)
}

/// One annotation.
#[derive(Debug, Clone, Copy)]
struct Annotation {
    span: Interval,
    track: TrackId,
    /// On the GPU, around its work; else on the CPU, around calls.
    is_gpu: bool,
    name: StringId,
}

/// The annotations of a trace whose names say something, by start.
#[derive(Debug, Default)]
pub struct Annotations {
    all: Vec<Annotation>,
}

impl Annotations {
    /// Those whose names are wanted.
    pub fn new(trace: &Trace, is_wanted: fn(&str) -> bool) -> Annotations {
        let events = &trace.events;
        let mut all: Vec<Annotation> = events
            .ids()
            .filter_map(|event| {
                let is_gpu = match events.category(event) {
                    Category::UserAnnotation => false,
                    Category::GpuUserAnnotation => true,
                    _ => return None,
                };
                let name = events.name(event);
                is_wanted(trace.strings.get(name)).then(|| Annotation {
                    span: span(trace, event),
                    track: events.track(event),
                    is_gpu,
                    name,
                })
            })
            .collect();
        all.arrange_by_key(|annotation| (annotation.span.start_ns, annotation.is_gpu));
        Annotations { all }
    }

    /// The name of the annotation around a call, the outermost: on its thread, else on another, else
    /// on the GPU around what it launched.
    pub fn around(
        &self,
        trace: &Trace,
        call: EventId,
        launched: Option<Interval>,
    ) -> Option<StringId> {
        let call_span = span(trace, call);
        let track = trace.events.track(call);
        let holds = |annotation: &Annotation, inner: Interval| {
            annotation.span.start_ns <= inner.start_ns && inner.end_ns <= annotation.span.end_ns
        };
        let on_host = |annotation: &&Annotation| !annotation.is_gpu && holds(annotation, call_span);
        let find = |wanted: &dyn Fn(&&Annotation) -> bool| self.all.iter().find(|a| wanted(a));
        let found = find(&|annotation| on_host(annotation) && annotation.track == track)
            .or_else(|| find(&|annotation| on_host(annotation)))
            .or_else(|| {
                let launched = launched?;
                find(&|annotation| annotation.is_gpu && holds(annotation, launched))
            });
        found.map(|annotation| annotation.name)
    }
}

fn span(trace: &Trace, event: EventId) -> Interval {
    Interval {
        start_ns: trace.events.ts_ns(event),
        end_ns: trace.events.end_ns(event),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Timetable;

    #[test]
    fn the_outermost_on_the_thread_comes_first() {
        let annotation = |cat: &str, name: &str, tid: u32, ts: u32, dur: u32| {
            format!(
                r#"{{"ph": "X", "cat": "{cat}", "name": "{name}", "pid": 100, "tid": {tid}, "ts": {ts}, "dur": {dur}}}"#
            )
        };
        let trace = Timetable::new()
            .raw(&annotation(
                "user_annotation",
                "batch other thread",
                2,
                0,
                100,
            ))
            .raw(&annotation("user_annotation", "batch outer", 1, 5, 40))
            .raw(&annotation("user_annotation", "batch inner", 1, 8, 10))
            .raw(&annotation("user_annotation", "unwanted", 1, 1, 90))
            .raw(&annotation(
                "gpu_user_annotation",
                "batch on the GPU",
                7,
                200,
                50,
            ))
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
        let launched = Interval {
            start_ns: 210_000,
            end_ns: 220_000,
        };
        assert_eq!(around("in both", None), Some("batch outer"));
        assert_eq!(around("after", None), Some("batch other thread"));
        assert_eq!(around("late", Some(launched)), Some("batch on the GPU"));
        assert_eq!(around("late", None), None);
    }
}
