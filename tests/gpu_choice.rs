//! Choosing another GPU changes efficiencies and findings, but no measured value.

use dormer_core::hardware;
use dormer_core::output::export::{Artifact, Input, Source};
use dormer_core::profile::Profile;
use serde_json::Value;

use crate::support::opened::{profile, report_on};
use crate::support::{csv, shared};

/// Columns that depend on the hardware, in every sheet; each stands for all with this prefix.
const COLUMNS: &[&str] = &[
    "Roofline Time",
    "Roofline Bound",
    "Roofline Basis",
    "Pct Roofline",
    "Roofline (µs)",
    "Slower units",
    "Tile padding",
    "Wave quantization",
    "Padded dimension",
    "Operands read again",
    "Bandwidth at this size",
    "Helper kernels",
    "Warm-up",
    "Spread of calls",
    "Launch scale",
    "Unexplained",
    "Causes",
];

/// What may differ in the files for programs: by path ending, the keys whose values differ, at any depth.
#[rustfmt::skip]
const KEYS: &[(&str, &[&str])] = &[
    ("perf_report.json", &["gpu", "hardware_basis", "basis_caveat", "anomalies", "rows"]),
    ("findings.json", &["title", "hardware", "limits", "quality", "findings", "together", "n_small", "figures", "notes", "average_efficiency_percent", "efficiency_known_percent", "least_time_ms", "percent_of_step"]),
    ("_metadata.json", &["platform", "peak_hbm_bw_tbs", "memory_gb", "rates"]),
    ("category_manifest.json", &["platform"]),
    ("cpu_idle_metrics.json", &["category_findings"]),
    ("multi_kernel_metrics.json", &["category_findings", "description", "evidence", "notes"]),
    ("kernel_fusion_metrics.json", &["category_specific", "tables", "category_findings"]),
    ("_metrics.json", &["average_efficiency_percent", "tb_s_achieved", "mean_efficiency_percent", "efficiency_known_percent", "category_specific", "tables", "category_findings", "notes", "assessment", "classification", "efficiency_percent", "compute_percent", "bandwidth_percent", "bound_type", "basis", "is_anomaly"]),
    ("_tree_data.json", &[]),
    ("multi_kernel_data.json", &[]),
];

/// Files that contain the same in other forms (the workbook, documents, the printed page), or depend on findings
/// (reproducers).
const OTHER_FORMS: &[&str] = &["md", "html", "xlsx", "replay"];

fn files(profile: &Profile, gpu: &str) -> Vec<Artifact> {
    let report = report_on(profile, hardware::find(gpu));
    let input = Input::new(profile, &report);
    let exporters = Input::exporters();
    exporters
        .iter()
        .filter(|exporter| !OTHER_FORMS.contains(&exporter.format))
        .flat_map(|exporter| exporter.artifacts(&input))
        .collect()
}

#[test]
fn another_gpu_changes_rooflines_and_findings_alone() {
    let mut n_different = 0;
    for (name, trace) in shared::with_sample() {
        let profile = profile(&trace);
        let (one, other) = (files(&profile, "MI300X"), files(&profile, "H100"));
        let paths = |files: &[Artifact]| -> Vec<String> {
            files.iter().map(|file| file.path.clone()).collect()
        };
        assert_eq!(paths(&one), paths(&other), "{name}");
        for (a, b) in one.iter().zip(&other) {
            let file = format!("{name}: {}", a.path);
            let (a_text, b_text) = (text(a), text(b));
            n_different += usize::from(a_text != b_text);
            if a.path.ends_with("gap_waterfall.csv") {
                // If an operation is impossibly fast for one GPU's memory, it has no roofline on that GPU.
                assert_same_rows_of_both(&file, a_text, b_text);
            } else if a.path.ends_with(".csv") {
                assert_same_cells(&file, a_text, b_text);
            } else if a.path.ends_with(".json") {
                let keys = keys_of(&a.path);
                let (a, b) = (without(a_text, keys), without(b_text, keys));
                assert_eq!(difference(&a, &b), None, "{file}");
            }
        }
    }
    // If nothing differed at all, the test could not fail.
    assert!(n_different > 10, "{n_different}");
}

fn text(file: &Artifact) -> &str {
    std::str::from_utf8(&file.bytes).unwrap()
}

fn keys_of(path: &str) -> &'static [&'static str] {
    let row = KEYS.iter().find(|(ending, _)| path.ends_with(ending));
    row.unwrap_or_else(|| panic!("{path} is in no list")).1
}

fn without(json: &str, keys: &[&str]) -> Value {
    fn drop_keys(value: &mut Value, keys: &[&str]) {
        match value {
            Value::Object(map) => {
                map.retain(|key, _| !keys.contains(&key.as_str()));
                map.values_mut().for_each(|value| drop_keys(value, keys));
            }
            Value::Array(values) => values.iter_mut().for_each(|value| drop_keys(value, keys)),
            _ => {}
        }
    }
    let mut value = serde_json::from_str(json).unwrap();
    drop_keys(&mut value, keys);
    value
}

/// The first difference between two values: the lines of their texts.
fn difference(a: &Value, b: &Value) -> Option<(String, String)> {
    let [a, b] = [a, b].map(|value| format!("{value:#}"));
    let mut lines = a.lines().zip(b.lines());
    let (a, b) = lines.find(|(a, b)| a != b)?;
    Some((a.to_owned(), b.to_owned()))
}

fn assert_same_rows_of_both(file: &str, a: &str, b: &str) {
    let lines = |text: &str| -> Vec<Vec<String>> {
        let rows = csv::rows(text);
        let fixed: Vec<usize> = match rows.first() {
            Some(heads) => (0..heads.len())
                .filter(|at| !may_differ(&heads[*at]))
                .collect(),
            None => Vec::new(),
        };
        let row = |row: &Vec<String>| fixed.iter().map(|at| row[*at].clone()).collect();
        rows.iter().map(row).collect()
    };
    let (a, b) = (lines(a), lines(b));
    let (fewer, more) = if a.len() < b.len() { (a, b) } else { (b, a) };
    let mut rest = more.iter();
    for row in &fewer {
        assert!(rest.any(|other| other == row), "{file}: {row:?}");
    }
    assert!(more.len() - fewer.len() <= 2, "{file}: rows");
}

fn may_differ(head: &str) -> bool {
    COLUMNS.iter().any(|column| head.starts_with(column))
}

fn assert_same_cells(file: &str, a: &str, b: &str) {
    let (a, b) = (csv::rows(a), csv::rows(b));
    assert_eq!(a.len(), b.len(), "{file}: rows");
    let Some(heads) = a.first() else { return };
    assert_eq!(b.first(), Some(heads), "{file}: columns");
    for (at, (a, b)) in a.iter().zip(&b).enumerate() {
        for ((head, a), b) in heads.iter().zip(a).zip(b) {
            assert!(
                may_differ(head) || a == b,
                "{file}, row {at}, {head}: {a}, {b}"
            );
        }
    }
}
