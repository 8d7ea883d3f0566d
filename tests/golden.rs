//! Real traces against the sheets of the reference, cell by cell: all of them.
//!
//! The rules (keys, tolerances, order of rows) are those of `tools/compare_golden.py`, which lies
//! beside the traces and is run here.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use dormer_core::export;
use dormer_core::gpu::GpuSpec;
use dormer_core::import::import;
use dormer_core::profile::Profile;
use dormer_core::report::{Report, ReportOptions};

use crate::support::shared;

#[test]
fn sheets_agree_with_the_reference() {
    let Some(shared) = shared::folder() else {
        return;
    };
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("skipped: the comparison with the reference needs python3");
        return;
    }
    let traces = shared::traces(&shared);
    let mut n_compared = 0;
    let mut differences = Vec::new();
    for name in shared::goldens(&shared) {
        // "TRACE", or "TRACE@GPU" with the figures of golden/GPU.json.
        let (trace, gpu) = match name.split_once('@') {
            Some((trace, gpu)) => (trace, Some(shared::gpu(&shared, gpu))),
            None => (&*name, None),
        };
        if !traces.iter().any(|known| known == trace) {
            continue;
        }
        n_compared += 1;
        let golden = shared.join("golden").join(&name);
        let out = tempfile::tempdir().unwrap();
        write_report(&shared::trace(&shared, trace), gpu, out.path());
        let compared = Command::new("python3")
            .arg(shared.join("tools/compare_golden.py"))
            .args([&out.path().join("perf_report_csvs"), &golden])
            .arg("--work")
            .output()
            .unwrap();
        if !compared.status.success() {
            let said = [compared.stdout, compared.stderr].concat();
            differences.push(format!("{name}:\n{}", String::from_utf8_lossy(&said)));
        }
    }
    assert!(n_compared > 0, "no trace has a golden folder");
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn every_real_trace_is_read_without_loss() {
    let Some(shared) = shared::folder() else {
        return;
    };
    for name in shared::traces(&shared) {
        let imported = import(&shared::trace(&shared, &name)).unwrap();
        let losses: Vec<_> = imported
            .warnings
            .iter()
            .filter(|warning| warning.kind.severity() == dormer_core::warning::Severity::DataLoss)
            .collect();
        assert!(losses.is_empty(), "{name}: {losses:?}");
        assert!(!imported.trace.events.is_empty(), "{name}");
    }
}

/// Analyses a trace as the command line does and writes every file of the report.
fn write_report(trace: &[u8], gpu: Option<GpuSpec>, folder: &Path) {
    let profile = Profile::new(import(trace).unwrap());
    let options = ReportOptions {
        gpu: gpu.map(Arc::new),
        ..ReportOptions::default()
    };
    let report = Report::new(&profile, &options);
    for artifact in export::artifacts(&profile, &report) {
        let path = folder.join(artifact.path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, artifact.bytes).unwrap();
    }
}
