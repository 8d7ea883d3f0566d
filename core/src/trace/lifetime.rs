//! The lifetime of the recorded processes, as written by rocprofv3, and how long the profiler ran, as written by XLA's.

use super::Trace;

/// The metadata key of a process's own times.
pub(crate) const KEY: &str = "rocprofv3";

/// The metadata key of the profiler's own times.
pub(crate) const PROFILER: &str = "xplane";

/// How many processes wrote their lifetime, and how long it is; for several, from the first start to the last end.
/// `None` if none did.
pub(crate) fn of_processes(trace: &Trace) -> Option<(usize, i64)> {
    noted(trace, KEY, ["init_time", "fini_time"])
}

/// How long the profiler ran; for several, from the first start to the last end. `None` if unknown.
pub(crate) fn of_profiler(trace: &Trace) -> Option<i64> {
    noted(trace, PROFILER, ["profile_start_time", "profile_stop_time"]).map(|(_, ns)| ns)
}

/// How many spans were written under a key, and the time from the first start to the last end.
fn noted(trace: &Trace, key: &str, ends: [&str; 2]) -> Option<(usize, i64)> {
    let notes = trace.metadata.iter().filter(|(of, _)| of == key);
    let lives = notes.filter_map(|(_, text)| {
        let note: serde_json::Value = serde_json::from_str(text).ok()?;
        let [start, end] = ends.map(|end| note.get(end).and_then(serde_json::Value::as_i64));
        start.zip(end)
    });
    let lives: Vec<(i64, i64)> = lives.filter(|(start, end)| start < end).collect();
    let start = lives.iter().map(|(start, _)| *start).min()?;
    let end = lives.iter().map(|(_, end)| *end).max()?;
    Some((lives.len(), end.saturating_sub(start)))
}
