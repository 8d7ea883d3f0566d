//! The files of each analysis: what it looked at, what it measured, what it found. Their names and
//! keys are those that readers of such reports know.
//!
//! ```text
//! metadata/KEY_metadata.json              hardware, utilisation, how the time splits
//! category_data/category_manifest.json    every analysis with its files
//! category_data/multi_kernel_data.json   copies, collectives and their overlap with computation
//! category_data/KEY_ops.csv               its rows of unified_perf_summary
//! category_data/KEY_metrics.json          figures, operations with efficiency, findings
//! category_data/KEY_tree_data.json        parents and subtree of its longest operations
//! category_findings/KEY_findings.md       for people
//! system_findings/KEY_findings.md         the same of analyses of the whole
//! ```

use serde_json::{Value as Json, json};

use super::findings_json::{facts, finding, ms, percent_of_compute, run, table};
use super::json::window;
use super::{Listed, csv};
use crate::analysis::value::rounded;
use crate::analysis::{Assessment, Input, Outcome, Row, Status, Tier, cpu_idle, multi_kernel};
use crate::category::library_of;
use crate::document::markdown;
use crate::operations::Operation;
use crate::profile::Profile;
use crate::report::Report;
use crate::report::sheet::{Cell, Sheet};
use crate::roofline::Bound;
use crate::standalone::{self, tree_data};

/// Operations whose place in the tree is written: those with more than this share of their
/// category, or the first few.
const TREE_PERCENT: f64 = 10.0;
const MIN_TREES: usize = 5;

/// Analyses that have a findings file even where the trace has nothing for them.
const ALWAYS: [&str; 3] = ["gemm", "sdpa_fwd", "convolution"];

const MANIFEST: &str = "category_data/category_manifest.json";
const MULTI_KERNEL: &str = "category_data/multi_kernel_data.json";

/// One kind of file of an analysis.
struct File {
    title: &'static str,
    path: fn(&Outcome) -> String,
    has: fn(&Outcome) -> bool,
    write: fn(&Profile, &Report, &Outcome) -> Vec<u8>,
}

fn is_compute(outcome: &Outcome) -> bool {
    outcome.kind.tier == Tier::Compute && outcome.status == Status::Done
}

#[rustfmt::skip]
const FILES: &[File] = &[
    File { title: "What an analysis was made with", path: |outcome| format!("metadata/{}_metadata.json", outcome.kind.key), has: |outcome| outcome.status != Status::NoData, write: metadata },
    File { title: "Operations of an analysis", path: |outcome| format!("category_data/{}_ops.csv", outcome.kind.key), has: is_compute, write: ops },
    File { title: "Figures of an analysis", path: |outcome| format!("category_data/{}_metrics.json", outcome.kind.key), has: |_| true, write: metrics },
    File { title: "Places in the call tree", path: |outcome| format!("category_data/{}_tree_data.json", outcome.kind.key), has: is_compute, write: trees },
    File { title: "Findings of an analysis", path: findings_path, has: |outcome| outcome.status != Status::NoData || ALWAYS.contains(&outcome.kind.key), write: findings },
];

fn findings_path(outcome: &Outcome) -> String {
    let folder = match outcome.kind.tier {
        Tier::Compute => "category_findings",
        Tier::System | Tier::Fusion => "system_findings",
    };
    format!("{folder}/{}_findings.md", outcome.kind.key)
}

pub(super) fn list(input: &super::Input) -> Vec<Listed> {
    let report = input.report;
    let mut listed = vec![Listed {
        path: MANIFEST.to_owned(),
        title: "Every analysis with its files",
    }];
    let has_data = report.analyses.outcome("multi_kernel");
    if has_data.is_some_and(|outcome| outcome.status == Status::Done) {
        listed.push(Listed {
            path: MULTI_KERNEL.to_owned(),
            title: "Copies, collectives and overlap",
        });
    }
    for outcome in &report.analyses.outcomes {
        let files = FILES.iter().filter(|file| (file.has)(outcome));
        listed.extend(files.map(|file| Listed {
            path: (file.path)(outcome),
            title: file.title,
        }));
    }
    listed
}

pub(super) fn write(input: &super::Input, path: &str) -> Option<Vec<u8>> {
    let super::Input { profile, report } = *input;
    match path {
        MANIFEST => return Some(pretty(&manifest(profile, report))),
        MULTI_KERNEL => {
            let data = multi_kernel::data(&report.analysis_input(profile));
            return Some(pretty(&data));
        }
        _ => {}
    }
    report.analyses.outcomes.iter().find_map(|outcome| {
        let file = FILES
            .iter()
            .find(|file| (file.has)(outcome) && (file.path)(outcome) == path)?;
        Some((file.write)(profile, report, outcome))
    })
}

fn pretty(json: &Json) -> Vec<u8> {
    serde_json::to_string_pretty(json)
        .unwrap_or_default()
        .into_bytes()
}

fn platform(report: &Report) -> Option<String> {
    let hardware = &report.overview.hardware;
    let chosen = hardware.gpu.as_ref().map(|gpu| gpu.name.to_string());
    chosen.or_else(|| hardware.recorded_on.clone())
}

fn manifest(profile: &Profile, report: &Report) -> Json {
    let category = |outcome: &Outcome| {
        let path = |wanted: &str| {
            let file = FILES.iter().find(|file| file.title == wanted)?;
            (file.has)(outcome).then(|| (file.path)(outcome))
        };
        json!({
            "name": outcome.kind.key,
            "display_name": outcome.kind.title,
            "tier": outcome.kind.tier.key(),
            "status": outcome.status.key(),
            "ops_count": outcome.rows.len(),
            "gpu_kernel_time_ms": ms(outcome.time_ns),
            "cpu_duration_ms": ms(host_ns(profile, outcome)),
            "csv_file": path("Operations of an analysis"),
            "metadata_file": path("What an analysis was made with"),
            "tree_data_file": path("Places in the call tree"),
            "metrics_file": path("Figures of an analysis"),
            "findings_file": path("Findings of an analysis"),
        })
    };
    json!({
        "platform": platform(report),
        "comparison_scope": "standalone",
        "window": window(profile.window.as_ref()),
        "gpu_utilization": run(report),
        "time_metric_note": "Ranked by GPU kernel time, never by time on the host.",
        "categories": report.analyses.outcomes.iter().map(category).collect::<Vec<Json>>(),
    })
}

/// Time of the calls of an analysis on the host.
fn host_ns(profile: &Profile, outcome: &Outcome) -> i64 {
    let events = &profile.trace.events;
    let operations = outcome
        .rows
        .iter()
        .filter_map(|row| profile.operations().get(row.operation))
        .filter(|operation| operation.is_linked);
    let calls = operations.flat_map(|operation| &operation.calls);
    crate::interval::sum(calls.filter_map(|call| events.dur_ns(call.event)))
}

fn metadata(profile: &Profile, report: &Report, outcome: &Outcome) -> Vec<u8> {
    let options = &report.options;
    let gpu = options.gpu.as_deref();
    let rates = gpu.map(|gpu| {
        use crate::gpu::Precision::{Bf16, Fp4, Fp8, Fp16, Fp32, Fp64, Int8, Tf32};
        let matrix = [Fp64, Fp32, Tf32, Fp16, Bf16, Fp8, Fp4, Int8].map(|precision| {
            let figure = gpu.matrix_rate(precision, options.basis);
            let name = format!("matrix_{}", precision.label().to_ascii_lowercase());
            (
                name,
                figure.map(
                    |figure| json!({ "tflops": figure.tflops, "basis": figure.basis.label() }),
                ),
            )
        });
        let vector = [Fp64, Fp32, Fp16, Bf16].map(|precision| {
            let figure = gpu.vector_rate(precision, options.basis);
            let name = format!("vector_{}", precision.label().to_ascii_lowercase());
            (
                name,
                figure.map(
                    |figure| json!({ "tflops": figure.tflops, "basis": figure.basis.label() }),
                ),
            )
        });
        let known = matrix.into_iter().chain(vector);
        let known = known.filter_map(|(name, figure)| Some((name, figure?)));
        Json::Object(known.collect())
    });
    pretty(&json!({
        "platform": platform(report),
        "category": outcome.kind.key,
        "category_name": outcome.kind.title,
        "peak_hbm_bw_tbs": gpu.map(|gpu| gpu.mem_bw_gbps / 1e3),
        "memory_gb": gpu.and_then(|gpu| gpu.memory_gb),
        "rates": rates,
        "gpu_utilization": run(report),
        "time_breakdown": {
            "gpu_kernel_time_ms": ms(outcome.time_ns),
            "cpu_duration_ms": ms(host_ns(profile, outcome)),
        },
        "trace": {
            "events": profile.trace.n_events_read,
            "text_bytes": profile.text_bytes,
            "window": window(profile.window.as_ref()),
        },
    }))
}

/// The rows of `unified_perf_summary` that belong to an analysis, or the operations by name where
/// there is no such sheet.
fn ops(profile: &Profile, report: &Report, outcome: &Outcome) -> Vec<u8> {
    // Rows of the sheet are the linked operations in their order.
    let linked: Vec<usize> = profile
        .operations()
        .iter()
        .enumerate()
        .filter(|(_, operation)| operation.is_linked)
        .map(|(at, _)| at)
        .collect();
    let sheet = report.sheet("unified_perf_summary");
    if let Some(sheet) = sheet.filter(|sheet| sheet.rows.len() == linked.len()) {
        let rows = outcome.rows.iter().filter_map(|row| {
            let at = linked.binary_search(&row.operation).ok()?;
            sheet.rows.get(at).cloned()
        });
        return csv::csv(&Sheet {
            name: sheet.name,
            columns: sheet.columns.clone(),
            rows: rows.collect(),
        });
    }
    csv::csv(&by_name(profile, outcome))
}

fn by_name(profile: &Profile, outcome: &Outcome) -> Sheet {
    use crate::report::sheet::{Column, Unit};
    let column = |label, unit, doc| Column { label, unit, doc };
    let rows = outcome.rows.iter().filter_map(|row| {
        let operation = profile.operations().get(row.operation)?;
        Some(vec![
            Cell::Text(operation.name(profile)),
            Cell::Int(row.n_calls as i64),
            Cell::Float(row.time_ns as f64 / 1e3),
        ])
    });
    Sheet {
        name: "ops",
        columns: vec![
            column("name", Unit::Text, "The kernel."),
            column("operation_count", Unit::Count, "How often it ran."),
            column("Kernel Time (µs)_sum", Unit::Us, "Sum of its durations."),
        ],
        rows: rows.collect(),
    }
}

fn metrics(profile: &Profile, report: &Report, outcome: &Outcome) -> Vec<u8> {
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
            metrics.insert(
                "tables".to_owned(),
                outcome.tables.iter().map(table).collect(),
            );
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
        "tables": outcome.tables.iter().map(table).collect::<Vec<Json>>(),
        "category_findings": category_findings(profile, report, outcome),
        "notes": outcome.notes,
    }))
}

/// What an analysis of the whole measured.
type Metrics = fn(&Input) -> Json;

/// The metrics of analyses of the whole.
const OWN_METRICS: &[(&str, Metrics)] = &[
    ("multi_kernel", multi_kernel::metrics),
    ("cpu_idle", cpu_idle::metrics),
];

/// What an analysis found, in the order of all findings.
fn category_findings(profile: &Profile, report: &Report, outcome: &Outcome) -> Json {
    let ranked = report.analyses.findings.ranked.iter();
    let own = ranked.filter(|ranked| ranked.analysis == outcome.kind);
    own.map(|one| finding(profile, report, one)).collect()
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
            "bound_type": row.bound.map(|bound| match bound {
                Bound::Compute => "compute",
                Bound::Memory => "memory",
            }),
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

fn trees(profile: &Profile, _: &Report, outcome: &Outcome) -> Vec<u8> {
    let rows = outcome
        .rows
        .iter()
        .enumerate()
        .filter(|(at, row)| *at < MIN_TREES || row.percent_of_category > TREE_PERCENT);
    let trees = rows.filter_map(|(_, row)| {
        let data = tree_data::of(profile, row.operation)?;
        let subtree = data.subtree.iter().map(|node| {
            json!({
                "depth": node.depth,
                "name": node.name,
                "input_dims": node.shapes,
                "input_types": node.types,
                "kernel_time_us": rounded(node.kernel_ns as f64 / 1e3, 3),
            })
        });
        Some(json!({
            "op_name": data.name,
            "ex_uid": data.uid,
            "input_dims": data.shapes,
            "parent_chain": data.parents,
            "subtree": subtree.collect::<Vec<Json>>(),
        }))
    });
    pretty(&Json::Array(trees.collect()))
}

fn findings(profile: &Profile, report: &Report, outcome: &Outcome) -> Vec<u8> {
    markdown(&standalone::category(profile, report, outcome)).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Timetable, options_on};

    fn written(profile: &Profile, report: &Report, path: &str) -> Option<Vec<u8>> {
        write(&crate::export::Input::new(profile, report), path)
    }

    fn made() -> (Profile, Report) {
        let profile = Timetable::new()
            .op("aten::mm", 0..10)
            .args(r#""Input Dims": [[512, 512], [512, 512]], "Input type": ["c10::BFloat16", "c10::BFloat16"]"#)
            .launch(1, 1..2)
            .kernel(1, "gemm", 20..120)
            .profile();
        let report = Report::new(&profile, &options_on("MI300X"));
        (profile, report)
    }

    fn json_of(path: &str) -> Json {
        let (profile, report) = made();
        let bytes = written(&profile, &report, path).unwrap_or_else(|| panic!("{path}"));
        serde_json::from_slice(&bytes).unwrap()
    }

    #[test]
    fn every_file_of_the_manifest_is_written() {
        let (profile, report) = made();
        let manifest = json_of(MANIFEST);
        let categories = manifest["categories"].as_array().unwrap();
        assert_eq!(categories.len(), report.analyses.outcomes.len());
        for category in categories {
            let files = category.as_object().unwrap().iter();
            for (_, path) in files.filter(|(key, _)| key.ends_with("_file")) {
                if let Some(path) = path.as_str() {
                    assert!(written(&profile, &report, path).is_some(), "{path}");
                }
            }
        }
    }

    #[test]
    fn metrics_have_the_operations_with_their_efficiency() {
        let metrics = json_of("category_data/gemm_metrics.json");
        assert_eq!(metrics["status"], "OK");
        assert_eq!(metrics["total_time_ms"], 0.1);
        let operation = &metrics["operations"][0];
        assert_eq!(operation["name"], "aten::mm");
        // 2·512³ operations in 100 µs.
        assert_eq!(operation["efficiency"]["tflops_achieved"], 2.684);
        assert_eq!(operation["efficiency"]["compute_spec"], "matrix_bf16");
        let trees = json_of("category_data/gemm_tree_data.json");
        assert_eq!(trees[0]["op_name"], "aten::mm");
        let metadata = json_of("metadata/gemm_metadata.json");
        assert_eq!(metadata["rates"]["matrix_bf16"]["tflops"], 708.0);
    }

    #[test]
    fn operations_are_the_rows_of_the_sheet() {
        let (profile, report) = made();
        let rows = written(&profile, &report, "category_data/gemm_ops.csv").unwrap();
        let sheet = report.sheet("unified_perf_summary").unwrap();
        assert_eq!(rows, csv::csv(sheet));
    }

    #[test]
    fn findings_say_so_when_there_is_nothing() {
        let (profile, report) = made();
        let text = written(&profile, &report, "category_findings/gemm_findings.md").unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(text.starts_with("# GEMM Analysis Summary\n"), "{text}");
        let profile = Timetable::new()
            .op("aten::mul", 0..10)
            .launch(1, 1..2)
            .kernel(1, "elementwise_kernel", 20..30)
            .profile();
        let report = Report::new(&profile, &options_on("MI300X"));
        let text = written(&profile, &report, "category_findings/gemm_findings.md").unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(
            text.contains("No GEMM operations found in trace."),
            "{text}"
        );
        let text = written(&profile, &report, "category_findings/sdpa_fwd_findings.md").unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(
            text.contains("No SDPA operations found in trace."),
            "{text}"
        );
    }

    #[test]
    fn without_the_gpu_nothing_is_said_of_what_ran_on_it() {
        let profile = Timetable::new().op("aten::mm", 0..10).profile();
        let report = Report::new(&profile, &options_on("MI300X"));
        let text = written(&profile, &report, "category_findings/gemm_findings.md").unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(
            text.contains("Not analysed. No GPU activity was recorded."),
            "{text}"
        );
    }
}
