//! A whole report as one JSON document for programs.
//!
//! ```text
//! format    1; it changes when a key changes its meaning or is removed
//! options   what the report was made with: the GPU and its figures, what is counted, thresholds
//! window    the part of the trace that is analyzed; null: all of it
//! overview  the result in a sentence, how GPU time splits, the longest of each kind
//! warnings  what was wrong with the trace, how often, and where first
//! sheets    every sheet: name, columns (label, unit, doc), rows of cells in their order
//! ```
//!
//! The unit of a time is at the end of its key, such as `_ns` for nanoseconds; an unknown value is `null`.

use serde_json::{Value, json};

use super::list;
use super::shared::{thresholds, window};
use crate::hardware::GpuSpec;
use crate::import::warning::{Severity, Warning};
use crate::profile::Profile;
use crate::report::{Overview, Report, ReportOptions};

const FORMAT: u32 = 1;

/// The report as a JSON value.
pub fn json(profile: &Profile, report: &Report) -> Value {
    json!({
        "format": FORMAT,
        "options": options(&report.options),
        "window": window(profile.window.as_ref()),
        "overview": overview(&report.overview),
        "warnings": profile.warnings.iter().map(warning).collect::<Value>(),
        "sheets": report.sheets(profile),
    })
}

fn options(options: &ReportOptions) -> Value {
    json!({
        "gpu": options.gpu.as_deref().map(gpu),
        "basis": options.basis.label(),
        "sheet_events": options.sheet_events,
        "thresholds": thresholds(&options.thresholds),
    })
}

fn gpu(gpu: &GpuSpec) -> Value {
    json!({
        "id": gpu.id,
        "name": gpu.name,
        "mem_bw_gbps": gpu.mem_bw_gbps,
        "memory_gb": gpu.memory_gb,
    })
}

fn overview(overview: &Overview) -> Value {
    json!({
        "headline": overview.headline,
        "total_ns": overview.total_ns,
        "busy_ns": overview.busy_ns,
        "measures": overview.measure.label(),
        "recorded_on": overview.hardware.recorded_on,
        "hardware_basis": overview.hardware.basis,
        "basis_caveat": overview.hardware.caveat,
        "anomalies": list(&overview.anomalies, |one| json!({ "name": one.name, "percent_of_roof": one.percent_of_roofline })),
        "split": list(&overview.split, |one| json!({ "part": one.kind.label(), "ns": one.ns, "percent": one.percent })),
        "families": list(&overview.families, |one| json!({ "category": one.family.label(), "ns": one.ns, "percent": one.percent })),
        "unfused_attention": overview.unfused_attention.as_ref().map(|unfused| json!({
            "ns": unfused.ns,
            "percent": unfused.percent,
            "families": list(&unfused.families, |(family, ns)| json!({ "category": family.label(), "ns": ns })),
        })),
        "by_kernel_name_percent": overview.by_kernel_name_percent,
        "operations": list(&overview.operations, |one| json!({
            "name": one.name,
            "category": one.family.label(),
            "calls": one.count,
            "ns": one.ns,
            "percent": one.percent,
            "is_recompute": one.is_recompute,
        })),
        "kernels": list(&overview.kernels, |one| json!({
            "name": one.name,
            "category": one.family.label(),
            "count": one.count,
            "ns": one.ns,
            "percent": one.percent,
        })),
    })
}

fn warning(warning: &Warning) -> Value {
    json!({
        "severity": match warning.kind.severity() {
            Severity::Info => "info",
            Severity::Repaired => "repaired",
            Severity::DataLoss => "data loss",
        },
        "sentence": warning.sentence(),
        "count": warning.count,
        "first_offset": warning.first_offset,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sheet::Cell;
    use crate::testing::{Timetable, options_on};

    #[test]
    fn everything_is_said() {
        let profile = Timetable::new().work("aten::mm", "gemm", 20..50).profile();
        let report = Report::new(&profile, &options_on("MI300X"));
        let document: Value = serde_json::from_str(&json(&profile, &report).to_string()).unwrap();
        assert_eq!(document["format"], 1);
        assert_eq!(document["options"]["gpu"]["id"], "MI300X");
        assert_eq!(document["options"]["sheet_events"], "attributed");
        assert_eq!(document["overview"]["busy_ns"], 30_000);
        assert_eq!(document["overview"]["operations"][0]["name"], "aten::mm");
        assert_eq!(document["warnings"], json!([]));
        let timeline = &document["sheets"][0];
        assert_eq!(timeline["name"], "gpu_timeline");
        assert_eq!(timeline["columns"][1]["unit"], "ms");
        assert_eq!(
            timeline["rows"][0],
            json!(["computation_time", 0.03, 100.0])
        );
    }

    #[test]
    fn an_unknown_is_null() {
        let cells = [
            Cell::Empty,
            Cell::Float(f64::NAN),
            Cell::Float(0.1),
            Cell::Int(3),
        ];
        assert_eq!(json!(cells), json!([null, null, 0.1, 3]));
    }
}
