use serde_json::Value as Json;

use super::{MANIFEST, write};
use crate::output::export::csv;
use crate::profile::Profile;
use crate::report::Report;
use crate::testing::{Timetable, options_on};

fn written(profile: &Profile, report: &Report, path: &str) -> Option<Vec<u8>> {
    write(&crate::output::export::Input::new(profile, report), path)
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
    let sheet = report.sheet(&profile, "unified_perf_summary").unwrap();
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

/// A trace of 10 µs of idling: no kernel takes them.
#[test]
fn idle_time_is_no_kernel_time() {
    let profile = Timetable::new()
        .op("aten::mm", 0..10)
        .launch(1, 1..2)
        .launch(2, 3..4)
        .kernel(1, "gemm", 20..120)
        .kernel(2, "gemm", 130..140)
        .profile();
    let report = Report::new(&profile, &options_on("MI300X"));
    let manifest = written(&profile, &report, MANIFEST).unwrap();
    let manifest: Json = serde_json::from_slice(&manifest).unwrap();
    let categories = manifest["categories"].as_array().unwrap();
    let times = |key: &str| {
        let mut found = categories.iter().filter(|one| one["name"] == key);
        let one = found.next().unwrap();
        ["gpu_kernel_time_ms", "idle_time_ms", "exposed_time_ms"].map(|key| one[key].as_f64())
    };
    assert_eq!(times("gemm"), [Some(0.11), None, None]);
    assert_eq!(times("cpu_idle"), [None, Some(0.01), None]);
    assert_eq!(times("multi_kernel"), [None, None, Some(0.0)]);
}

/// Without an operator above it a kernel is in no row of the sheet, but counts with all GPU events.
#[test]
fn kernels_without_an_operator_are_rows_where_they_count() {
    let profile = Timetable::new()
        .op("aten::mm", 0..10)
        .launch(1, 1..2)
        .kernel(1, "gemm", 20..120)
        .kernel(9, "gemm_of_before", 120..170)
        .profile();
    let options = crate::report::ReportOptions {
        gpu_events: crate::profile::kernels::GpuEvents::All,
        ..options_on("MI300X")
    };
    let report = Report::new(&profile, &options);
    let csv = written(&profile, &report, "category_data/gemm_ops.csv").unwrap();
    let csv = String::from_utf8(csv).unwrap();
    let names: Vec<&str> = csv
        .lines()
        .filter_map(|line| line.split(',').next())
        .collect();
    assert_eq!(names, ["name", "aten::mm", "gemm_of_before"]);
    assert!(csv.contains(",50.0,"), "{csv}");
}
