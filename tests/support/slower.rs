//! A second trace for comparisons: the sample, with some of its kernels slower.

use serde_json::Value;

/// The trace with all kernels of a name `factor` times as long. Later GPU activity is delayed by as much, so that no
/// new overlaps occur. Returns the text, and the total increase in microseconds.
pub(crate) fn slower(trace: &str, name: &str, factor: f64) -> Option<(String, f64)> {
    let mut trace: Value = serde_json::from_str(trace).ok()?;
    let events = trace["traceEvents"].as_array_mut()?;
    let is_slow = |event: &Value| {
        event["cat"] == "kernel" && event["name"].as_str().is_some_and(|own| own.contains(name))
    };
    // When each of them ends, and by how much it became longer.
    let mut delays: Vec<(f64, f64)> = events
        .iter()
        .filter(|event| is_slow(event))
        .filter_map(|event| {
            let (start, time) = (event["ts"].as_f64()?, event["dur"].as_f64()?);
            Some((start + time, time * (factor - 1.0)))
        })
        .collect();
    delays.sort_by(|one, other| one.0.total_cmp(&other.0));
    let put_off = |at: f64| -> f64 {
        let before = delays.iter().take_while(|(end, _)| *end <= at);
        before.map(|(_, more)| more).sum()
    };
    for event in events {
        let is_gpu = ["kernel", "gpu_memcpy", "gpu_memset", "gpu_user_annotation"]
            .iter()
            .any(|category| event["cat"] == *category);
        let (Some(start), Some(time)) = (event["ts"].as_f64(), event["dur"].as_f64()) else {
            continue;
        };
        if is_gpu {
            let (new_start, new_end) =
                (start + put_off(start), start + time + put_off(start + time));
            event["ts"] = new_start.into();
            event["dur"] = (new_end - new_start).into();
        }
    }
    Some((trace.to_string(), put_off(f64::INFINITY)))
}
