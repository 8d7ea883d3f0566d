//! Which backward call belongs to which forward call.
//!
//! PyTorch's autograd numbers the forward calls that it records and repeats the number on the autograd engine call that
//! computes the gradient. Numbers start over on each thread and in each process; only the first backward call with a
//! given number in a process is linked, as in the reference.

use crate::base::map::Map;
use crate::profile::Profile;
use crate::profile::launch::process;
use crate::trace::{ByName, EventId, StringId, Trace};

/// Prefix of autograd engine calls; the name of the backward function follows.
pub(crate) const ENGINE_CALL: &str = "autograd::engine::evaluate_function: ";

/// Whether a call is an autograd engine call, by its name.
pub(crate) fn is_engine_call(name: &str) -> bool {
    name.starts_with(ENGINE_CALL.trim_end())
}

/// Links between forward and backward calls.
#[derive(Debug, Default)]
pub struct Autograd {
    forward_of: Map<EventId, EventId>,
    backward_of: Map<EventId, EventId>,
}

impl Autograd {
    /// Links the calls of a trace.
    pub fn new(trace: &Trace) -> Autograd {
        let events = &trace.events;
        let mut backward_of_number: Map<(Option<StringId>, i64), EventId> = Map::default();
        for &(event, number) in &trace.sequence_numbers {
            if is_engine_call(trace.name(event)) {
                let key = (process(trace, event), number);
                backward_of_number.entry(key).or_insert(event);
            }
        }
        // Of the calls on other threads, the one that starts last is the innermost.
        let mut forward: Map<EventId, EventId> = Map::default();
        for &(event, number) in &trace.sequence_numbers {
            let Some(&backward) = backward_of_number.get(&(process(trace, event), number)) else {
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

    /// The forward call of an autograd engine call.
    pub(crate) fn forward_of(&self, engine_call: EventId) -> Option<EventId> {
        self.forward_of.get(&engine_call).copied()
    }

    /// The autograd engine call that computes the gradient of a forward call.
    pub(crate) fn backward_of(&self, forward: EventId) -> Option<EventId> {
        self.backward_of.get(&forward).copied()
    }
}

/// Tells calls of the backward pass from others: they run inside calls of the autograd engine.
pub(crate) struct Passes<'a> {
    profile: &'a Profile,
    is_engine: ByName<bool>,
}

impl<'a> Passes<'a> {
    pub(crate) fn new(profile: &'a Profile) -> Passes<'a> {
        Passes {
            profile,
            is_engine: ByName::new(is_engine_call),
        }
    }

    pub(crate) fn is_backward(&mut self, call: EventId) -> bool {
        let trace = &self.profile.trace;
        let mut around = self.profile.tree.calls_around(call);
        around.any(|call| self.is_engine.of(trace, call))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Timetable;

    #[test]
    fn the_innermost_forward_call_on_another_thread_is_linked() {
        let number = r#""Sequence number": 7"#;
        let engine = "autograd::engine::evaluate_function: ConvolutionBackward0";
        let trace = Timetable::new()
            .op("aten::conv2d", 0..10)
            .args(number)
            .op("aten::convolution", 1..9)
            .args(number)
            .op("aten::relu", 10..12)
            .args(r#""Sequence number": 8"#)
            .thread(2)
            .op(engine, 20..30)
            .args(number)
            .op("ConvolutionBackward0", 21..29)
            .args(number)
            // The same number again, in the next step.
            .op(engine, 40..50)
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

    /// Two ranks in one file use the same numbers.
    #[test]
    fn numbers_are_of_one_process() {
        let engine = "autograd::engine::evaluate_function: MmBackward0";
        let calls = [
            (0, 1, "aten::mm"),
            (0, 2, engine),
            (1, 3, "aten::mm"),
            (1, 4, engine),
        ];
        let timetable = calls.into_iter().fold(Timetable::new(), |table, call| {
            let (process, thread, name) = call;
            let span = thread * 10..thread * 10 + 5;
            let called = table.process(100 + process).thread(thread).op(name, span);
            called.args(r#""Sequence number": 7"#)
        });
        let trace = timetable.trace();
        let event = |uid| trace.events.by_uid(uid).unwrap();
        let autograd = Autograd::new(&trace);
        assert_eq!(autograd.forward_of(event(1)), Some(event(0)));
        assert_eq!(autograd.forward_of(event(3)), Some(event(2)));
    }
}
