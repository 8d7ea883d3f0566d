//! How long the processes lived that a recording is of, as rocprofv3 notes it, and how long a profiler ran, as XLA's does.

use super::Trace;

/// The key of what a process notes of itself.
pub(crate) const KEY: &str = "rocprofv3";

/// The key of what a profiler notes of itself.
pub(crate) const PROFILER: &str = "xplane";

/// How many processes note their life, and how long it is: of several from the first start to the last
/// end. `None` where none does.
pub(crate) fn of_processes(trace: &Trace) -> Option<(usize, i64)> {
    noted(trace, KEY, ["init_time", "fini_time"])
}

/// How long the profiler ran; of several from the first start to the last end. `None` where none says so.
pub(crate) fn of_profiler(trace: &Trace) -> Option<i64> {
    let noted = noted(trace, PROFILER, ["profile_start_time", "profile_stop_time"]);
    noted.map(|(_, ns)| ns)
}

/// How many spans are noted under a key, and how long they are together.
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
