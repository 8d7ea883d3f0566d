//! Traces for the page to open, and what it must say about them.

use dormer_core::import::import;
use dormer_core::profile::Profile;
use dormer_core::report::{Report, ReportOptions};

use crate::support::container::gzip;
use crate::support::text::{event, trace};

/// A small trace: operators one after another, each with a kernel of that many microseconds.
pub(crate) fn kernels(durations_us: &[u32]) -> String {
    let mut events = Vec::new();
    for (i, dur) in durations_us.iter().enumerate() {
        let (start, link) = (1000 * i, i + 1);
        let mut push = |fields: String| events.push(format!("{{{fields}}}"));
        push(format!(
            r#""ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": {start}, "dur": 50, "args": {{"External id": {link}}}"#
        ));
        push(format!(
            r#""ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": {}, "dur": 10, "args": {{"correlation": {link}}}"#,
            start + 10
        ));
        push(format!(
            r#""ph": "X", "cat": "kernel", "name": "sgemm_128x64", "pid": 0, "tid": 7, "ts": {}, "dur": {dur}, "args": {{"correlation": {link}, "stream": 7}}"#,
            start + 30
        ));
        push(format!(
            r#""ph": "s", "cat": "ac2g", "name": "ac2g", "id": {link}, "pid": 1, "tid": 1, "ts": {}"#,
            start + 10
        ));
        push(format!(
            r#""ph": "f", "cat": "ac2g", "name": "ac2g", "id": {link}, "pid": 0, "tid": 7, "ts": {}, "bp": "e""#,
            start + 30
        ));
    }
    trace(&events.join(",\n"))
}

/// A gzip file of a few megabytes that takes seconds to read: one gzip member many times over,
/// as gzip allows.
pub(crate) fn endless() -> Vec<u8> {
    let events: String = (0..50_000)
        .map(|i| event(&format!(r#""name": "aten::op_{i}""#)) + ",\n")
        .collect();
    let many = gzip(&events).repeat(60);
    [gzip(r#"{"traceEvents": ["#), many, gzip("]}")].concat()
}

/// The first sentence that the page must show for a trace.
pub(crate) fn headline(trace: &str) -> String {
    let profile = Profile::new(import(trace.as_bytes()).unwrap());
    Report::new(&profile, &ReportOptions::default())
        .overview
        .headline
}
