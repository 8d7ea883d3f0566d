//! Which backward call belongs to which forward call.
//!
//! PyTorch's autograd numbers the forward calls that it records, and repeats the number on the
//! call of its engine that works out the gradient. Numbers start anew on each thread and in each
//! process; only a process's first backward call with a number is linked, as in the reference.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::trace::{EventId, StringId, Trace};

/// How the calls of the engine begin; the name of the backward function follows.
pub const ENGINE_CALL: &str = "autograd::engine::evaluate_function: ";

/// Links between forward and backward calls.
#[derive(Debug, Default)]
pub struct Autograd {
    forward_of: HashMap<EventId, EventId, FxBuildHasher>,
    backward_of: HashMap<EventId, EventId, FxBuildHasher>,
}

impl Autograd {
    /// Links the calls of a trace.
    pub fn new(trace: &Trace) -> Autograd {
        let events = &trace.events;
        let is_engine_call = |event| {
            let name = trace.strings.get(events.name(event));
            name.starts_with(ENGINE_CALL.trim_end())
        };
        let process = |event| {
            let track = trace.tracks.get(events.track(event));
            track.map(|track| track.pid)
        };
        let mut backward_of_number: HashMap<(Option<StringId>, i64), EventId, FxBuildHasher> =
            HashMap::default();
        for &(event, number) in &trace.sequence_numbers {
            if is_engine_call(event) {
                backward_of_number
                    .entry((process(event), number))
                    .or_insert(event);
            }
        }
        // Of the calls on other threads the one that starts last is the innermost.
        let mut forward: HashMap<EventId, EventId, FxBuildHasher> = HashMap::default();
        for &(event, number) in &trace.sequence_numbers {
            let Some(&backward) = backward_of_number.get(&(process(event), number)) else {
                continue;
            };
            if events.track(event) == events.track(backward) {
                continue;
            }
            let last = forward.entry(backward).or_insert(event);
            if events.ts_ns(event) > events.ts_ns(*last) {
                *last = event;
            }
        }
        Autograd {
            backward_of: forward.iter().map(|(&back, &fwd)| (fwd, back)).collect(),
            forward_of: forward,
        }
    }

    /// The forward call of a call of the engine.
    pub fn forward_of(&self, engine_call: EventId) -> Option<EventId> {
        self.forward_of.get(&engine_call).copied()
    }

    /// The call of the engine that works out the gradient of a forward call.
    pub fn backward_of(&self, forward: EventId) -> Option<EventId> {
        self.backward_of.get(&forward).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Timetable;

    #[test]
    fn the_innermost_forward_call_on_another_thread_is_linked() {
        let number = r#""Sequence number": 7"#;
        let trace = Timetable::new()
            .op("aten::conv2d", 0..10)
            .args(number)
            .op("aten::convolution", 1..9)
            .args(number)
            .op("aten::relu", 10..12)
            .args(r#""Sequence number": 8"#)
            .thread(2)
            .op(
                "autograd::engine::evaluate_function: ConvolutionBackward0",
                20..30,
            )
            .args(number)
            .op("ConvolutionBackward0", 21..29)
            .args(number)
            // The same number again, in the next step.
            .op(
                "autograd::engine::evaluate_function: ConvolutionBackward0",
                40..50,
            )
            .args(number)
            .trace();
        let event = |uid| trace.events.by_uid(uid).unwrap();
        let autograd = Autograd::new(&trace);
        assert_eq!(autograd.forward_of(event(3)), Some(event(1)));
        assert_eq!(autograd.backward_of(event(1)), Some(event(3)));
        assert_eq!(autograd.backward_of(event(0)), None);
        assert_eq!(autograd.backward_of(event(2)), None);
        assert_eq!(autograd.forward_of(event(5)), None);
    }

    /// Two ranks in one file count alike.
    #[test]
    fn numbers_are_of_one_process() {
        let call = |process: u32, thread: u32, name: &str, ts: u32| {
            format!(
                r#"{{"ph": "X", "cat": "cpu_op", "name": "{name}", "pid": {process}, "tid": {thread}, "ts": {ts}, "dur": 5, "args": {{"Sequence number": 7}}}}"#
            )
        };
        let engine = "autograd::engine::evaluate_function: MmBackward0";
        let trace = Timetable::new()
            .raw(&call(100, 1, "aten::mm", 0))
            .raw(&call(100, 2, engine, 20))
            .raw(&call(101, 3, "aten::mm", 1))
            .raw(&call(101, 4, engine, 21))
            .trace();
        let event = |uid| trace.events.by_uid(uid).unwrap();
        let autograd = Autograd::new(&trace);
        assert_eq!(autograd.forward_of(event(1)), Some(event(0)));
        assert_eq!(autograd.forward_of(event(3)), Some(event(2)));
    }
}
