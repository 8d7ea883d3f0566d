//! How long the processes lived that a recording is of, as rocprofv3 notes it.

use super::Trace;

/// The key of what a process notes of itself.
pub(crate) const KEY: &str = "rocprofv3";

/// How many processes note their life, and how long it is: of several from the first start to the last
/// end. `None` where none does.
pub(crate) fn of_processes(trace: &Trace) -> Option<(usize, i64)> {
    let notes = trace.metadata.iter().filter(|(key, _)| key == KEY);
    let lives = notes.filter_map(|(_, text)| {
        let note: serde_json::Value = serde_json::from_str(text).ok()?;
        let time = |key| note.get(key)?.as_i64();
        Some((time("init_time")?, time("fini_time")?))
    });
    let lives: Vec<(i64, i64)> = lives.filter(|(start, end)| start < end).collect();
    let start = lives.iter().map(|(start, _)| *start).min()?;
    let end = lives.iter().map(|(_, end)| *end).max()?;
    Some((lives.len(), end.saturating_sub(start)))
}
