//! Traces with gaps, and what is found in them.

mod advice;
mod causes;
mod figures;

use std::ops::Range;

use serde_json::Value as Json;

use super::*;
use crate::findings::{Finding, Priority};
use crate::output::export::categories::cpu_idle::metrics;
use crate::profile::Profile;
use crate::report::{Report, ReportOptions};
use crate::testing::Timetable;

const D2H: &str = "Memcpy DtoH (Device -> Pinned)";

/// The metrics, and what was found.
fn analysed(profile: &Profile) -> (Json, Vec<Finding>) {
    let report = Report::new(profile, &ReportOptions::default());
    let outcome = report.analyses.outcome("cpu_idle").unwrap();
    (
        metrics(&report.analysis_input(profile)).unwrap_or_default(),
        outcome.findings.clone(),
    )
}

/// What is found about the main cause.
fn main_finding(profile: &Profile) -> Finding {
    analysed(profile).1.remove(0)
}

/// Whether a finding says something, after its issue.
fn says(finding: &Finding, words: &str) -> bool {
    let mut said = finding.reasoning.iter();
    said.any(|sentence| sentence.replace('\u{202F}', " ").contains(words))
}

/// The cause of the longest gap, and its length in microseconds.
fn longest(profile: &Profile) -> (String, f64) {
    let (metrics, _) = analysed(profile);
    let gap = &metrics["gap_analysis"]["top_gaps"][0];
    let cause = gap["cause"].as_str().unwrap_or("none");
    (cause.to_owned(), gap["length_us"].as_f64().unwrap())
}

/// An operator that launches a kernel at `at` µs.
fn launched(timetable: Timetable, id: u32, at: f64) -> Timetable {
    launched_by("aten::add", timetable, id, at)
}

fn launched_by(op: &str, timetable: Timetable, id: u32, at: f64) -> Timetable {
    timetable
        .op(op, at - 5.0..at + 8.0)
        .launch(id, at..at + 5.0)
}

/// The launch of a first kernel, at 10 µs.
fn first() -> Timetable {
    launched(Timetable::new(), 1, 10.0)
}

/// The launch of a second kernel, and when both run.
fn second(timetable: Timetable, at: f64, a: Range<u32>, b: Range<u32>) -> Profile {
    let timetable = launched(timetable, 2, at);
    timetable.kernel(1, "a", a).kernel(2, "b", b).profile()
}

/// Two kernels; between their launches the thread has 900 µs, of which `calls` says more.
fn between(calls: impl Fn(Timetable) -> Timetable) -> Profile {
    second(calls(first()), 1_000.0, 20..30, 1_010..1_020)
}

/// Kernels of 3 µs, launched every 40 µs: idle for 37 of 40 µs.
fn launch_bound(n: u32) -> Profile {
    launch_bound_by("aten::add", "add_kernel", n)
}

fn launch_bound_by(op: &str, kernel: &str, n: u32) -> Profile {
    let launched = (0..n).fold(Timetable::new(), |all, id| {
        launched_by(op, all, id, 10.0 + 40.0 * f64::from(id))
    });
    let run = (0..n).fold(launched, |all, id| {
        let start = 18.0 + 40.0 * f64::from(id);
        all.kernel(id, kernel, start..start + 3.0)
    });
    run.profile()
}

/// `.item()` on the thread that launches: which waits until the copy is done.
fn item() -> Timetable {
    launched(Timetable::new().without_flows(), 1, 10.0)
        .frame("train.py(30): step", 0..300)
        .op("aten::item", 20..110)
        .op("aten::_local_scalar_dense", 21..109)
        .runtime("cudaMemcpyAsync", 2, 22..25)
        .runtime("cudaStreamSynchronize", 3, 26..107)
}

/// The same, and a kernel that is launched after it.
fn after_item(item: Timetable, copy: &str) -> Profile {
    launched(item, 4, 130.0)
        .kernel(1, "a", 20..100)
        .copy(2, copy, 101..103)
        .kernel(4, "b", 140..150)
        .profile()
}
