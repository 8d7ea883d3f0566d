//! Traces for the page to open, and what it must show for them.

use dormer_core::testing::Timetable;

use super::page::Page;
use crate::support::container::gzip;
use crate::support::opened::{NO_GPU, profile, report_on};
use crate::support::text::{event, op, trace};

/// A small trace: operators one after another, each with a kernel of the given microseconds.
pub(crate) fn kernels(durations_us: &[u32]) -> String {
    let calls = durations_us.iter().zip(0..);
    let all = calls.fold(Timetable::new(), |all, (dur_us, at)| {
        call(all, "aten::mm", "", at, *dur_us)
    });
    all.json()
}

/// Two operators with kernels of 100 and 200 µs, the second of which claims three days.
pub(crate) fn overlong() -> String {
    let true_us = r#""dur": 200.000,"#;
    let whole = kernels(&[100, 200]);
    assert!(whole.contains(true_us), "{whole}");
    whole.replace(true_us, r#""dur": 259200000000,"#)
}

const SHAPES: &str = r#""Input Dims": [[1024, 1024], [1024, 1024]], "Input type": ["c10::BFloat16", "c10::BFloat16"]"#;

/// A GEMM with recorded shapes, on a GPU that the trace does not name.
pub(crate) fn product() -> String {
    call(Timetable::new(), "aten::mm", SHAPES, 0, 40).json()
}

/// The same recorded without shapes, and the execution trace of the same run, which has them.
pub(crate) fn product_and_execution() -> [String; 2] {
    let numbered = r#""Record function id": 9"#;
    let trace = call(Timetable::new(), "aten::mm", numbered, 0, 40).json();
    let execution = r#"{"schema": "1.1.1-chakra.0.0.4", "nodes": [{"id": 1, "name": "aten::mm",
        "inputs": {"values": [[1], [2]], "shapes": [[1024, 1024], [1024, 1024]],
            "types": ["Tensor(c10::BFloat16)", "Tensor(c10::BFloat16)"]},
        "attrs": [{"name": "rf_id", "type": "uint64", "value": 9}]}]}"#;
    [trace, execution.to_owned()]
}

/// A GEMM with small matrices that takes 90 ms on the GPU, far below its roofline; and other operators.
pub(crate) fn slow_product(others: &[&str]) -> String {
    let product = call(Timetable::new(), "aten::mm", SHAPES, 0, 90_000);
    let others = others.iter().zip(100..);
    let all = others.fold(product, |all, (name, at)| call(all, name, "", at, 40));
    all.json()
}

/// A slow GEMM below two Python frames.
pub(crate) fn slow_product_in_python() -> String {
    let frames = Timetable::new()
        .frame("train.py(12): step", 0..200_000)
        .frame("model.py(3): forward", 10..150_000);
    call(frames, "aten::mm", SHAPES, 1, 90_000).json()
}

/// This many operators with different names, each with a kernel.
pub(crate) fn many_operations(n_operations: u32) -> String {
    let all = (0..n_operations).fold(Timetable::new(), |all, at| {
        call(all, &format!("my::op_{at}"), "", at, 10 + at % 500)
    });
    all.json()
}

/// Two operators with kernels, and a long kernel that nothing launched.
pub(crate) fn unlinked() -> String {
    let one = call(Timetable::new(), "aten::mm", "", 0, 100);
    let two = call(one, "aten::mm", "", 1, 200);
    two.kernel(99, "left_over", 5000..14_000).json()
}

/// Operators without GPU activity.
pub(crate) fn host_only() -> String {
    trace(&[op("aten::mm"), event(r#""name": "aten::add""#)].join(",\n"))
}

/// A replay of a GPU graph: a GEMM and a norm, without known operators.
pub(crate) fn replay() -> String {
    let replay = Timetable::new().without_flows();
    let replay = replay.runtime("hipGraphLaunch", 1, 0..10);
    let replay = replay.kernel(1, "gemm", 20..60);
    replay.kernel(1, "norm", 60..70).json()
}

/// The operators and kernels of that graph.
pub(crate) const CAPTURED: [(&str, &str); 2] = [("aten::mm", "gemm"), ("my::norm", "norm")];

/// The capture of a graph of these operators and kernels.
pub(crate) fn capture(launches: &[(&str, &str)]) -> String {
    let start = Timetable::new().without_flows();
    let start = start.frame("model.py(3): forward", 1..900);
    let start = start.runtime("hipStreamBeginCapture", 1, 2..3);
    let all = launches.iter().zip(1..).fold(start, |all, (launch, nth)| {
        let (at, (op, kernel)) = (20 * nth, launch);
        all.op(op, at..at + 15)
            .args("32x64, 64x16")
            .runtime("hipModuleLaunchKernel", 100 + nth, at + 1..at + 5)
            .args(&format!(r#""kernel": "{kernel}""#))
    });
    all.runtime("hipStreamEndCapture", 2, 850..851).json()
}

/// An operator that starts at this time in milliseconds, and its kernel.
fn call(all: Timetable, name: &str, args: &str, at_ms: u32, dur_us: u32) -> Timetable {
    let at = 1000 * at_ms;
    let (launch, kernel) = (at + 10..at + 20, at + 30..at + 30 + dur_us);
    all.op(name, at..at + 50)
        .args(args)
        .launched("sgemm_128x64", launch, kernel)
}

/// A gzip file of a few megabytes that takes seconds to read: one gzip member repeated many times, as gzip allows.
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

/// Asserts that the page shows a trace: its first sentence.
pub(crate) async fn shows(page: &Page, trace: &str) {
    page.wait_says("[data-testid=headline]", &headline(trace))
        .await;
}
