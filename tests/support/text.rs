//! Small traces as text.

/// A trace with these events, in the profiler's frame.
pub(crate) fn trace(events: &str) -> String {
    format!(r#"{{"schemaVersion": 1, "traceEvents": [{events}], "traceName": "small"}}"#)
}

/// An operator of 5 µs.
pub(crate) fn op(name: &str) -> String {
    event(&format!(r#""name": "{name}""#))
}

/// An event of 5 µs with these fields besides its category, thread and times.
pub(crate) fn event(fields: &str) -> String {
    format!(r#"{{"ph": "X", "cat": "cpu_op", {fields}, "pid": 1, "tid": 1, "ts": 10, "dur": 5}}"#)
}
