//! The figures of an analysis: its operations with their efficiency, or its own assessments where it
//! is one of the whole; what it found.

use serde_json::{Value as Json, json};

use super::{cpu_idle, multi_kernel, pretty};
use crate::base::value::rounded;
use crate::compare::words::bound;
use crate::findings::{Assessment, Input, Outcome, Row, Status};
use crate::names::library_of;
use crate::output::json::findings::{Finding, ms, percent_of_compute};
use crate::output::json::shared::{Table, facts};
use crate::output::json::value;
use crate::profile::Profile;
use crate::profile::operations::Operation;
use crate::report::Report;

/// What an analysis of the whole measured.
type Metrics = fn(&Input) -> Json;

/// The metrics of analyses of the whole.
const OWN_METRICS: &[(&str, Metrics)] = &[
    ("multi_kernel", multi_kernel::metrics),
    ("cpu_idle", cpu_idle::metrics),
];

pub(super) fn metrics(profile: &Profile, report: &Report, outcome: &Outcome) -> Vec<u8> {
    let category = outcome.kind.key;
    // Analyses of the whole have assessments of their own instead of operations.
    let own = OWN_METRICS.iter().find(|(key, _)| *key == category);
    if let (Some((_, own)), Status::Done) = (own, &outcome.status) {
        let mut metrics = own(&report.analysis_input(profile));
        if let Json::Object(metrics) = &mut metrics {
            metrics.insert(
                "category_findings".to_owned(),
                category_findings(profile, report, outcome),
            );
            metrics.insert("tables".to_owned(), tables(outcome));
            metrics.insert("notes".to_owned(), json!(outcome.notes));
        }
        return pretty(&metrics);
    }
    match &outcome.status {
        Status::Error(why) => {
            return pretty(&json!({ "category": category, "status": "ERROR", "error": why }));
        }
        Status::NoData => {
            return pretty(&json!({ "category": category, "status": "NO_DATA" }));
        }
        Status::Done => {}
    }
    pretty(&json!({
        "category": category,
        "status": "OK",
        "comparison_scope": "standalone",
        "total_time_ms": ms(outcome.time_ns),
        "percent_of_compute": percent_of_compute(report, outcome),
        "operation_count": outcome.n_calls,
        "average_efficiency_percent": outcome.efficiency_percent().map(|one| rounded(one, 2)),
        "mean_efficiency_percent": outcome.mean_efficiency_percent().map(|one| rounded(one, 2)),
        "efficiency_known_percent": outcome.known_percent().map(|one| rounded(one, 2)),
        "operations": outcome
            .rows
            .iter()
            .filter_map(|row| operation(profile, report, row))
            .collect::<Vec<Json>>(),
        "category_specific": facts(&outcome.facts),
        "tables": tables(outcome),
        "category_findings": category_findings(profile, report, outcome),
        "notes": outcome.notes,
    }))
}

/// What an analysis found, in the order of all findings.
fn category_findings(profile: &Profile, report: &Report, outcome: &Outcome) -> Json {
    let ranked = report.analyses.findings.ranked.iter();
    let own = ranked.filter(|ranked| ranked.analysis == outcome.kind);
    own.map(|one| value(Finding::new(profile, report, one)))
        .collect()
}

fn tables(outcome: &Outcome) -> Json {
    let tables = outcome.tables.iter();
    tables.map(|table| value(Table::new(table))).collect()
}

fn operation(profile: &Profile, report: &Report, row: &Row) -> Option<Json> {
    let operation = profile.operations().get(row.operation)?;
    let judged = report.judged.get(row.operation)?;
    let two = |number: Option<f64>| number.map(|number| rounded(number, 2));
    let work = judged.work;
    Some(json!({
        "name": operation.name(profile),
        "ex_UID": operation.uid(),
        "count": row.n_calls,
        "time_ms": ms(row.time_ns),
        "percent_of_category": rounded(row.percent_of_category, 2),
        "percent_of_compute": two(row.percent_of_compute),
        "percent_of_total": two(row.percent_of_total),
        "has_perf_model": work.is_some(),
        "assessment": row.assessment.map(Assessment::label),
        "classification": row.class,
        "library": library(profile, operation),
        "cov": two(row.variation),
        "efficiency": {
            "tflops_achieved": judged.tflops_per_s.map(|one| rounded(one, 3)),
            "tb_s_achieved": judged.tb_per_s.map(|one| rounded(one, 4)),
            "efficiency_percent": two(row.efficiency_percent),
            "compute_percent": two(judged.achieved.and_then(|one| one.compute_percent)),
            "bandwidth_percent": two(judged.achieved.map(|one| one.bandwidth_percent)),
            "bound_type": row.bound.map(bound),
            "flops_per_byte": work.and_then(|work| work.flops_per_byte()).map(|one| rounded(one, 3)),
            "compute_spec": work.and_then(|work| work.compute).map(|spec| spec.label()),
            "basis": judged.roof.map(|roof| roof.basis.label()),
            "is_anomaly": row.is_anomaly,
        },
    }))
}

/// The library of the longest kernel of an operation.
fn library(profile: &Profile, operation: &Operation) -> Option<&'static str> {
    let strings = &profile.trace.strings;
    let name = strings.get(operation.key.name);
    let kernel = operation
        .kernels(profile)
        .first()
        .map(|(name, ..)| strings.get(*name));
    library_of(Some(name), kernel).map(|library| library.label())
}
