//! Traces for the page to open, and what it must say about them.

use crate::support::container::gzip;
use crate::support::opened::{NO_GPU, profile, report_on};
use crate::support::text::{event, op, trace};

/// A small trace: operators one after another, each with a kernel of that many microseconds.
pub(crate) fn kernels(durations_us: &[u32]) -> String {
    let calls = durations_us.iter().zip(1..);
    let events: Vec<String> = calls
        .map(|(dur, link)| call("aten::mm", link, *dur))
        .collect();
    trace(&events.join(",\n"))
}

/// A matrix product whose shapes were recorded, on a GPU that the trace does not name.
pub(crate) fn product() -> String {
    let shapes = r#""args": {"Input Dims": [[1024, 1024], [1024, 1024]], "Input type": ["c10::BFloat16", "c10::BFloat16"], "#;
    trace(&call("aten::mm", 1, 40).replacen(r#""args": {"#, shapes, 1))
}

/// A product of small matrices that takes the GPU 90 ms, far from any roof; and other operators.
pub(crate) fn slow_product(others: &[&str]) -> String {
    let shapes = r#""args": {"Input Dims": [[1024, 1024], [1024, 1024]], "Input type": ["c10::BFloat16", "c10::BFloat16"], "#;
    let product = call("aten::mm", 1, 90_000).replacen(r#""args": {"#, shapes, 1);
    let others = others
        .iter()
        .zip(101..)
        .map(|(name, link)| call(name, link, 40));
    let events: Vec<String> = std::iter::once(product).chain(others).collect();
    trace(&events.join(",\n"))
}

/// As many operators of different names, each with a kernel.
pub(crate) fn many_operations(n_operations: u32) -> String {
    let events: Vec<String> = (1..=n_operations)
        .map(|link| call(&format!("my::op_{link}"), link, 10 + link % 500))
        .collect();
    trace(&events.join(",\n"))
}

/// Two operators with kernels, and a long kernel that nothing launched.
pub(crate) fn unlinked() -> String {
    let alone = r#"{"ph": "X", "cat": "kernel", "name": "left_over", "pid": 0, "tid": 7, "ts": 5000, "dur": 9000, "args": {"correlation": 99, "stream": 7}}"#;
    trace(
        &[
            call("aten::mm", 1, 100),
            call("aten::mm", 2, 200),
            alone.to_owned(),
        ]
        .join(",\n"),
    )
}

/// Operators and nothing of the GPU.
pub(crate) fn host_only() -> String {
    trace(&[op("aten::mm"), event(r#""name": "aten::add""#)].join(",\n"))
}

/// An operator, the call that launches its kernel, the kernel, and the arrow between them.
fn call(name: &str, link: u32, dur: u32) -> String {
    let start = 1000 * (link - 1);
    let (launch, kernel) = (start + 10, start + 30);
    format!(
        r#"{{"ph": "X", "cat": "cpu_op", "name": "{name}", "pid": 1, "tid": 1, "ts": {start}, "dur": 50, "args": {{"External id": {link}}}}},
{{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": {launch}, "dur": 10, "args": {{"correlation": {link}}}}},
{{"ph": "X", "cat": "kernel", "name": "sgemm_128x64", "pid": 0, "tid": 7, "ts": {kernel}, "dur": {dur}, "args": {{"correlation": {link}, "stream": 7}}}},
{{"ph": "s", "cat": "ac2g", "name": "ac2g", "id": {link}, "pid": 1, "tid": 1, "ts": {launch}}},
{{"ph": "f", "cat": "ac2g", "name": "ac2g", "id": {link}, "pid": 0, "tid": 7, "ts": {kernel}, "bp": "e"}}"#
    )
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
    report_on(&profile(trace), NO_GPU).overview.headline
}
