//! Launches of an optimizer: of no part of a step are there more of less work.

use std::cmp::Reverse;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::base::interval::Interval;
use crate::base::sort::Arrange;
use crate::trace::{Category, EventId, StringId, Trace, TrackId};

/// Optimizers of PyTorch that have one kernel for all parameters, `fused=True`.
pub(crate) const FUSED_OPTIMIZERS: &[&str] = &["Adagrad", "Adam", "AdamW", "SGD"];

/// How PyTorch names the range around what an optimizer does: `Optimizer.step#Adam.step`.
const PREFIX: &str = "Optimizer.";

/// The ranges of optimizers.
pub(crate) struct OptimizerRanges {
    /// Of each thread by start; those of one thread follow each other.
    ranges: HashMap<TrackId, Vec<(Interval, StringId)>, FxBuildHasher>,
}

impl OptimizerRanges {
    pub(crate) fn new(trace: &Trace) -> OptimizerRanges {
        let events = &trace.events;
        let mut ranges: HashMap<TrackId, Vec<(Interval, StringId)>, FxBuildHasher> =
            HashMap::default();
        for event in events.ids() {
            let category = events.category(event);
            if !matches!(category, Category::UserAnnotation | Category::CpuOp) {
                continue;
            }
            let name = events.name(event);
            if trace.strings.get(name).starts_with(PREFIX) {
                let span = Interval::new(events.ts_ns(event), events.end_ns(event));
                let of_thread = ranges.entry(events.track(event)).or_default();
                of_thread.push((span, name));
            }
        }
        for of_thread in ranges.values_mut() {
            of_thread.arrange_by_key(|(span, _)| (span.start_ns, Reverse(span.end_ns)));
        }
        OptimizerRanges { ranges }
    }

    /// The range that a call begins in.
    pub(crate) fn of(&self, trace: &Trace, call: EventId) -> Option<StringId> {
        let of_thread = self.ranges.get(&trace.events.track(call))?;
        let at_ns = trace.events.ts_ns(call);
        let next = of_thread.partition_point(|(span, _)| span.start_ns <= at_ns);
        let (span, name) = of_thread.get(next.checked_sub(1)?)?;
        span.contains(at_ns).then_some(*name)
    }
}

/// What makes launches of such a range fewer, as a sentence without its subject.
pub(crate) fn remedy(range: &str) -> &'static str {
    let of_step = range.strip_prefix("Optimizer.step#");
    let class = of_step.and_then(|rest| rest.strip_suffix(".step"));
    if range.contains("zero_grad") {
        "set no gradients to zero, which most of these launches do: `zero_grad(set_to_none=True)` launches none."
    } else if class.is_some_and(|class| FUSED_OPTIMIZERS.contains(&class)) {
        "construct the optimizer, which most of these launches are of, with `fused=True`, or `foreach=True`: one kernel then updates many parameters."
    } else {
        "give the optimizer, which most of these launches are of, a step on lists of parameters (`foreach=True`, where it has that option), or compile its step."
    }
}

#[cfg(test)]
mod tests {
    use super::remedy;

    #[test]
    fn advice_by_the_range() {
        let cases = [
            ("Optimizer.step#AdamW.step", "`fused=True`"),
            ("Optimizer.step#Lion.step", "where it has that option"),
            (
                "Optimizer.zero_grad#SGD.zero_grad",
                "`zero_grad(set_to_none=True)`",
            ),
        ];
        for (range, said) in cases {
            assert!(remedy(range).contains(said), "{range}: {}", remedy(range));
        }
    }
}
