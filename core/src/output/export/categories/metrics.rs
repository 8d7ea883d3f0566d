//! The figures of an analysis: its operations with their efficiency (or, for a system analysis, its own metrics) and
//! its findings.

use serde_json::{Value as Json, json};

use super::{cpu_idle, multi_kernel, pretty};
use crate::base::value::rounded;
use crate::compare::words::bound;
use crate::findings::{Assessment, Outcome, Row, Status};
use crate::names::library_of;
use crate::output::json::findings::{Finding, ms, percent_of_compute};
use crate::output::json::shared::{Table, facts};
use crate::output::json::{keys, list, round, with_keys_of};
use crate::profile::Profile;
use crate::profile::operations::Operation;
use crate::report::Report;

pub(super) fn metrics(profile: &Profile, report: &Report, outcome: &Outcome) -> Vec<u8> {
    let category = outcome.kind.key;
    if outcome.status == Status::NoData {
        return pretty(&json!({ "category": category, "status": "NO_DATA" }));
    }
    let ranked = report.analyses.findings.ranked.iter();
    let found = ranked.filter(|ranked| ranked.analysis == outcome.kind);
    let found = found.map(|ranked| Finding::of(profile, report, ranked));
    let shared = &mut [
        ("category_findings", found.collect()),
        ("tables", list(&outcome.tables, Table::of)),
        ("notes", outcome.note_texts().collect()),
    ];
    let input = report.analysis_input(profile);
    // System analyses have metrics of their own instead of operations.
    let own = match category {
        "multi_kernel" => multi_kernel::metrics(&input),
        "cpu_idle" => cpu_idle::metrics(&input),
        _ => Some(of_operations(profile, report, outcome)),
    };
    let metrics = with_keys_of(keys(shared), own.unwrap_or_default());
    pretty(&Json::Object(metrics))
}

fn of_operations(profile: &Profile, report: &Report, outcome: &Outcome) -> Json {
    json!({
        "category": outcome.kind.key,
        "status": "OK",
        "comparison_scope": "standalone",
        "total_time_ms": ms(outcome.time_ns),
        "percent_of_compute": percent_of_compute(report, outcome),
        "operation_count": outcome.n_calls,
        "average_efficiency_percent": round(outcome.efficiency_percent(), 2),
        "mean_efficiency_percent": round(outcome.mean_efficiency_percent(), 2),
        "efficiency_known_percent": round(outcome.known_percent(), 2),
        "operations": outcome.rows.iter().filter_map(|row| operation(profile, report, row)).collect::<Json>(),
        "category_specific": facts(&outcome.facts),
    })
}

fn operation(profile: &Profile, report: &Report, row: &Row) -> Option<Json> {
    let operation = profile.operations().get(row.operation)?;
    let evaluation = report.evaluations.get(row.operation)?;
    let work = evaluation.work;
    Some(json!({
        "name": operation.name(profile),
        "ex_UID": operation.uid(),
        "count": row.n_calls,
        "time_ms": ms(row.time_ns),
        "percent_of_category": rounded(row.percent_of_category, 2),
        "percent_of_compute": round(row.percent_of_compute, 2),
        "percent_of_total": round(row.percent_of_total, 2),
        "has_perf_model": work.is_some(),
        "assessment": row.assessment.map(Assessment::label),
        "classification": row.class,
        "library": library(profile, operation),
        "cov": round(row.variation, 2),
        "efficiency": {
            "tflops_achieved": round(evaluation.tflops_per_s, 3),
            "tb_s_achieved": round(evaluation.tb_per_s, 4),
            "efficiency_percent": round(row.efficiency_percent, 2),
            "compute_percent": round(evaluation.achieved.and_then(|one| one.compute_percent), 2),
            "bandwidth_percent": round(evaluation.achieved.map(|one| one.bandwidth_percent), 2),
            "bound_type": row.bound.map(bound),
            "flops_per_byte": round(work.and_then(|work| work.flops_per_byte()), 3),
            "compute_spec": work.and_then(|work| work.compute).map(|spec| spec.label()),
            "basis": evaluation.roofline.map(|roofline| roofline.basis.label()),
            "is_anomaly": row.is_anomaly,
        },
    }))
}

fn library(profile: &Profile, operation: &Operation) -> Option<&'static str> {
    let strings = &profile.trace.strings;
    let name = strings.get(operation.key.name);
    let kernel = operation
        .kernels(profile)
        .first()
        .map(|(name, ..)| strings.get(*name));
    library_of(Some(name), kernel).map(|library| library.label())
}
