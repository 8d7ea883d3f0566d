//! Copies and communication: each rating at its thresholds, and each rule from a trace with one such cause.

mod advice;
mod collectives;
mod copies;
mod overlap;
mod serving;
mod several_gpus;

use super::*;
use crate::findings::samples::assert_contains;
use crate::findings::{Finding, Priority};
use crate::profile::Profile;
use crate::report::{Report, ReportOptions};
use crate::testing::{Timetable, options_on};

const D2H: &str = "Memcpy DtoH (Device -> Pinned)";
const H2D: &str = "Memcpy HtoD (Pageable -> Device)";
const PINNED_H2D: &str = "Memcpy HtoD (Pinned -> Device)";
const D2D: &str = "Memcpy DtoD (Device -> Device)";

/// The facts and the findings.
fn analyzed(profile: &Profile) -> (Facts, Vec<Finding>) {
    let report = Report::new(profile, &ReportOptions::default());
    let facts = Facts::new(&report.analysis_input(profile));
    let outcome = report.analyses.outcome("multi_kernel").unwrap();
    (facts.expect("GPU activity"), outcome.findings.clone())
}

fn outcome(profile: &Profile, options: &ReportOptions) -> Outcome {
    let report = Report::new(profile, options);
    report.analyses.outcome("multi_kernel").unwrap().clone()
}

fn keys(findings: &[Finding]) -> Vec<&str> {
    findings.iter().map(|found| found.pattern).collect()
}

/// The low, middle and high end of a finding's saving.
fn saves(finding: &Finding) -> (i64, i64, i64) {
    let impact = finding.impact.unwrap();
    (impact.low_ns, impact.mid_ns, impact.high_ns)
}

/// Asserts the content of a finding's reasoning.
#[track_caller]
fn reasons(finding: &Finding, parts: &[&str]) {
    assert_contains(&finding.reasoning.concat(), parts);
}

/// Computation and communication in the given intervals, in a run of `total` µs.
fn communication(total: f64, compute: f64, comm: std::ops::Range<f64>) -> Profile {
    let message = r#""Collective name": "allreduce", "dtype": "BFloat16", "In msg nelems": 2000000, "Out msg nelems": 2000000, "Group size": 8"#;
    Timetable::new()
        .without_flows()
        .work("aten::mm", "gemm", 0.0..compute)
        .stream(9)
        .call("record_param_comms", message, "ncclDevKernel_Generic", comm)
        // The run ends here whatever the other two do.
        .work("aten::mm", D2D, total - 1.0..total)
        .profile()
}

#[test]
fn without_gpu_work_there_is_nothing_to_say() {
    let profile = Timetable::new().op("aten::mm", 0..10).profile();
    let outcome = outcome(&profile, &ReportOptions::default());
    assert_eq!(outcome.status, Status::NoData);
    assert!(outcome.findings.is_empty());
}
