//! Single arguments of events, read from the raw text that the profiler wrote.

use crate::trace::extra_args::value;
use crate::trace::{EventId, Trace};

/// An argument of an event as text, strings without their quotes; `None` where the event has no
/// such argument.
pub(crate) fn arg<'a>(trace: &'a Trace, event: EventId, key: &str) -> Option<&'a str> {
    value(trace.strings.get(trace.events.extra_args(event)?), key)
}

/// A numeric argument, never negative.
pub(crate) fn number(trace: &Trace, event: EventId, key: &str) -> Option<f64> {
    let number: f64 = arg(trace, event, key)?.parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number)
}
