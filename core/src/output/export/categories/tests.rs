use serde_json::Value as Json;

use super::{MANIFEST, write};
use crate::output::export::{Input, csv};
use crate::profile::Profile;
use crate::report::Report;
use crate::testing::{Timetable, options_on};

/// A trace, analyzed for an MI300X.
struct Made {
    profile: Profile,
    report: Report,
}

impl Made {
    fn of(timetable: Timetable) -> Made {
        let profile = timetable.profile();
        let options = options_on("MI300X");
        let report = Report::new(&profile, &options);
        Made { profile, report }
    }

    fn text(&self, path: &str) -> String {
        let bytes = write(&Input::new(&self.profile, &self.report), path);
        String::from_utf8(bytes.unwrap_or_else(|| panic!("{path}"))).unwrap()
    }

    fn json(&self, path: &str) -> Json {
        serde_json::from_str(&self.text(path)).unwrap()
    }
}

fn made(timetable: Timetable) -> Made {
    Made::of(timetable)
}

fn gemm() -> Made {
    let args = r#""Input Dims": [[512, 512], [512, 512]], "Input type": ["c10::BFloat16", "c10::BFloat16"]"#;
    made(Timetable::new().call("aten::mm", args, "gemm", 20..120))
}

#[test]
fn every_file_of_the_manifest_is_written() {
    let made = gemm();
    let manifest = made.json(MANIFEST);
    let categories = manifest["categories"].as_array().unwrap();
    assert_eq!(categories.len(), made.report.analyses.outcomes.len());
    for category in categories {
        let files = category.as_object().unwrap().iter();
        let files = files.filter(|(key, _)| key.ends_with("_file"));
        for path in files.filter_map(|(_, path)| path.as_str()) {
            assert!(!made.text(path).is_empty(), "{path}");
        }
    }
}

#[test]
fn metrics_have_the_operations_with_their_efficiency() {
    let made = gemm();
    let metrics = made.json("category_data/gemm_metrics.json");
    assert_eq!(metrics["status"], "OK");
    assert_eq!(metrics["total_time_ms"], 0.1);
    let operation = &metrics["operations"][0];
    assert_eq!(operation["name"], "aten::mm");
    // 2·512³ operations in 100 µs.
    assert_eq!(operation["efficiency"]["tflops_achieved"], 2.684);
    assert_eq!(operation["efficiency"]["compute_spec"], "matrix_bf16");
    let trees = made.json("category_data/gemm_tree_data.json");
    assert_eq!(trees[0]["op_name"], "aten::mm");
    let metadata = made.json("metadata/gemm_metadata.json");
    assert_eq!(metadata["rates"]["matrix_bf16"]["tflops"], 708.0);
    // Operations are the rows of the sheet.
    let sheet = made.report.sheet(&made.profile, "unified_perf_summary");
    let rows = made.text("category_data/gemm_ops.csv").into_bytes();
    assert_eq!(rows, csv::csv(sheet.unwrap()));
}

#[test]
fn findings_say_so_when_there_is_nothing() {
    let other = made(Timetable::new().work("aten::mul", "elementwise_kernel", 20..30));
    let host = made(Timetable::new().op("aten::mm", 0..10));
    for (made, key, expected) in [
        (&gemm(), "gemm", "# GEMM Analysis Summary\n"),
        (&other, "gemm", "No GEMM operations found in trace."),
        (&other, "sdpa_fwd", "No SDPA operations found in trace."),
        (&host, "gemm", "Not analyzed. No GPU activity was recorded."),
    ] {
        let text = made.text(&format!("category_findings/{key}_findings.md"));
        assert!(text.contains(expected), "{text}");
    }
}

/// A trace with 10 µs of idle time: no kernel has this time.
#[test]
fn idle_time_is_no_kernel_time() {
    let made = made(Timetable::new().work("aten::mm", "gemm", 20..120).work(
        "aten::mm",
        "gemm",
        130..140,
    ));
    let manifest = made.json(MANIFEST);
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

/// Without an operator above it, a kernel is in no row of the sheet, but counts.
#[test]
fn unattributed_kernels_are_a_category() {
    let timetable =
        Timetable::new()
            .work("aten::mm", "gemm", 20..120)
            .kernel(9, "gemm_of_before", 120..170);
    let csv = Made::of(timetable).text("category_data/unattributed_ops.csv");
    let names = csv.lines().filter_map(|line| line.split(',').next());
    let names: Vec<&str> = names.collect();
    assert_eq!(names, ["name", "gemm_of_before"]);
    assert!(csv.contains(",50.0,"), "{csv}");
}

#[test]
fn data_and_metrics_of_copies_hold_counts_and_times() {
    let mut timetable = Timetable::new()
        .without_flows()
        .op("aten::mm", 0..10)
        .launch(1, 1..2)
        .op("aten::item", 20..90);
    for id in 0..20 {
        let at = 22.0 + f64::from(id) * 0.1;
        timetable = timetable.runtime("cudaMemcpyAsync", 10 + id, at..at + 0.05);
    }
    timetable = timetable.kernel(1, "gemm", 0..9_000);
    for id in 0..20 {
        let at = 9_000 + 50 * id;
        timetable = timetable
            .copy(10 + id, "Memcpy DtoH (Device -> Pinned)", at..at + 50)
            .args(r#""bytes": 4000"#);
    }
    let made = made(timetable);
    let data = made.json("category_data/multi_kernel_data.json");
    let d2h = &data["memcpy_summary"]["by_direction"]["D2H"];
    assert_eq!(d2h["total_time_us"], 1000.0);
    assert_eq!(d2h["avg_time_us"], 50.0);
    assert_eq!(d2h["total_bytes"], 80_000);
    assert_eq!(data["nccl_summary"]["total_count"], 0);
    assert_eq!(data["overlap_analysis"]["comm_overlap_ratio"], Json::Null);
    assert_eq!(data["overlap_analysis"]["memcpy_percent_of_total"], 10.0);
    let metrics = made.json("category_data/multi_kernel_metrics.json");
    let assessed = &metrics["memcpy_assessment"]["by_direction"]["D2H"];
    assert_eq!(assessed["count"], 20);
    assert_eq!(assessed["severity_by_time"], "HIGH");
    assert_eq!(assessed["flagged"], true);
    assert_eq!(metrics["overlap_assessment"]["status"], "insufficient");
    for row in metrics["cross_validation"].as_array().unwrap() {
        let found = (&row["diff_ms"], &row["status"]);
        assert_eq!(found, (&0.0.into(), &"OK".into()));
    }
}
