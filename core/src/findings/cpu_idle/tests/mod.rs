//! Traces with gaps, and the findings about them.

mod advice;
mod causes;
mod code;
mod compilation;
mod figures;
mod steps;

use std::ops::Range;

use serde_json::Value as Json;

use super::*;
use crate::findings::samples::{assert_contains, assert_contains_none};
use crate::findings::{Finding, Priority};
use crate::output::export::categories::cpu_idle::metrics;
use crate::profile::Profile;
use crate::report::{Report, ReportOptions};
use crate::testing::Timetable;

const D2H: &str = "Memcpy DtoH (Device -> Pinned)";

/// The metrics and the findings.
fn analyzed(profile: &Profile) -> (Json, Vec<Finding>) {
    let report = Report::new(profile, &ReportOptions::default());
    let outcome = report.analyses.outcome("cpu_idle").unwrap();
    (
        metrics(&report.analysis_input(profile)).unwrap_or_default(),
        outcome.findings.clone(),
    )
}

/// The finding with this key, among others.
#[track_caller]
pub(super) fn found(profile: &Profile, pattern: &str) -> Finding {
    let (_, findings) = analyzed(profile);
    let found = findings.iter().find(|one| one.pattern == pattern);
    found
        .cloned()
        .unwrap_or_else(|| panic!("no {pattern} in {findings:#?}"))
}

#[track_caller]
pub(super) fn is_about(found: &Finding, us: i64) {
    let off_ns = (found.time_ns - us * 1_000).abs();
    assert!(
        off_ns * 20 <= us * 1_000,
        "{} ns for {us} µs",
        found.time_ns
    );
}

/// The finding about the main cause.
fn main_finding(profile: &Profile) -> Finding {
    analyzed(profile).1.remove(0)
}

/// Asserts the content of a finding's reasoning.
#[track_caller]
fn reasons(finding: &Finding, parts: &[&str]) {
    assert_contains(&finding.reasoning.concat(), parts);
}

/// The cause of the longest gap, and its length in microseconds.
fn longest(profile: &Profile) -> (String, f64) {
    let (metrics, _) = analyzed(profile);
    let gap = &metrics["gap_analysis"]["top_gaps"][0];
    let cause = gap["cause"].as_str().unwrap_or("none");
    (cause.to_owned(), gap["length_us"].as_f64().unwrap())
}

/// An operator that launches a kernel at `at` µs, and when the kernel runs.
fn launched(timetable: Timetable, at: f64, runs: Range<u32>) -> Timetable {
    let operator = timetable.op("aten::add", at - 5.0..at + 8.0);
    operator.launched("add_kernel", at..at + 5.0, runs)
}

/// A first kernel, launched at 10 µs.
fn first(runs: Range<u32>) -> Timetable {
    launched(Timetable::new(), 10.0, runs)
}

/// A second kernel, launched at `at` µs.
fn second(timetable: Timetable, at: f64, runs: Range<u32>) -> Profile {
    launched(timetable, at, runs).profile()
}

/// Two kernels; between their launches the thread has 900 µs, filled in by `calls`.
pub(super) fn between(calls: impl Fn(Timetable) -> Timetable) -> Profile {
    second(calls(first(20..30)), 1_000.0, 1_010..1_020)
}

/// Kernels of 3 µs, launched every 40 µs: idle for 37 of 40 µs.
fn launch_bound(n: u32) -> Profile {
    launch_bound_by("aten::add", "add_kernel", n)
}

fn launch_bound_by(op: &str, kernel: &str, n: u32) -> Profile {
    late(Timetable::new(), op, kernel, n).profile()
}

fn late(timetable: Timetable, op: &str, kernel: &str, n: u32) -> Timetable {
    (0..n).fold(timetable, |all, nth| {
        let at = 10 + 40 * nth;
        let operator = all.op(op, at - 5..at + 8);
        operator.launched(kernel, at..at + 5, at + 8..at + 11)
    })
}

/// A kernel until 30 µs, `.item()` of 13 µs that waits for it until 31 µs, and a launch whose kernel starts 5 µs later.
fn waited(took: f64, launch_at: u32) -> Profile {
    let item = first(18..30).op("aten::item", 20.0..33.0);
    let item = item.runtime("cudaStreamSynchronize", 3, 31.0 - took..31.0);
    second(item, f64::from(launch_at), launch_at + 5..launch_at + 15)
}

/// `.item()` on the launching thread, which waits until the copy is done.
fn item() -> Timetable {
    launched(Timetable::new().without_flows(), 10.0, 20..100)
        .frame("train.py(30): step", 0..300)
        .op("aten::item", 20..110)
        .op("aten::_local_scalar_dense", 21..109)
        .runtime("cudaMemcpyAsync", 2, 22..25)
        .runtime("cudaStreamSynchronize", 3, 26..107)
}

/// The same, and a kernel that is launched after it.
fn after_item(item: Timetable, copy: &str) -> Profile {
    let copied = item.copy(2, copy, 101..103);
    second(copied, 130.0, 140..150)
}
