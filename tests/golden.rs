//! Real traces compared with the reference's sheets, every cell of them.
//!
//! The rules (keys, tolerances, order of rows) are in `tools/compare_golden.py`, which is stored with the traces and
//! run here.

use std::path::{Path, PathBuf};
use std::process::Command;

use dormer_core::import::import;
use dormer_core::output::export::{self, Artifact, Source, pair as comparison};
use dormer_core::profile::Profile;
use dormer_core::profile::graphs::capture::{self, CaptureFile};

use crate::support::opened::{NO_GPU, Opened, report_on};
use crate::support::shared;
use crate::support::skipped::skipped;

#[test]
fn sheets_agree_with_the_reference() {
    hold("perf_report_csvs", |shared, traces, name| {
        // "TRACE", or "TRACE@GPU" with the specs of golden/GPU.json.
        let (trace, gpu) = match name.split_once('@') {
            Some((trace, gpu)) => (trace, Some(shared::gpu(shared, gpu))),
            None => (name, None),
        };
        traces.iter().find(|known| known.as_str() == trace)?;
        let opened = Opened::on(name, shared::trace(shared, trace), gpu);
        Some(export::Input::new(&opened.profile, &opened.report).artifacts())
    });
}

#[test]
fn sheets_of_serving_traces_agree_with_the_reference() {
    let Some(shared) = shared_with_python() else {
        return;
    };
    let serving = shared.join("serving");
    let mut differences = Vec::new();
    let goldens = shared::goldens(&serving);
    for golden in &goldens {
        // "TRACE", or "TRACE@capture" merged with its capture.
        let (name, is_merged) = match golden.split_once('@') {
            Some((name, _)) => (name, true),
            None => (golden.as_str(), false),
        };
        let file = |ending: &str| std::fs::read(serving.join(format!("{name}{ending}"))).unwrap();
        let notes = String::from_utf8(file(".execution_details.json")).unwrap();
        let capture = |ending: &str| {
            let notes = capture::notes(&notes).unwrap();
            CaptureFile::new(&format!("{name}{ending}"), import(&file(ending)), &notes)
        };
        let captures = is_merged.then(|| capture(".capture.json.gz"));
        let captures: Vec<CaptureFile> = captures.into_iter().collect();
        let profile = Profile::with_captures(import(&file(".json.gz")).unwrap(), &captures);
        if let Some(coverage) = &profile.coverage {
            assert!(coverage.is_complete(), "{golden}: {}", coverage.summary());
        }
        let report = report_on(&profile, NO_GPU);
        let files = export::Input::new(&profile, &report).artifacts();
        let expected = serving.join("golden").join(golden);
        differences.extend(difference(
            &shared,
            &expected,
            &files,
            "perf_report_csvs",
            "",
        ));
    }
    assert!(!goldens.is_empty(), "nothing to compare with");
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn compared_sheets_agree_with_the_reference() {
    hold("comparison_csvs", |shared, traces, name| {
        // "compare_REFERENCE_TARGET_MODEL", of the traces REFERENCE_MODEL and TARGET_MODEL.
        let parts: Vec<&str> = name.splitn(4, '_').collect();
        let ["compare", reference, target, model] = parts[..] else {
            return None;
        };
        let trace = |platform: &str| format!("{platform}_{model}");
        let mut both = [reference, target].map(trace).into_iter();
        if !both.all(|trace| traces.contains(&trace)) {
            return None;
        }
        let [ours, theirs] = [reference, target]
            .map(|platform| Opened::on(platform, shared::trace(shared, &trace(platform)), NO_GPU));
        let cache = comparison::Cache::default();
        let input = comparison::Input::new(ours.side(), theirs.side(), &cache);
        Some(input.artifacts())
    });
}

/// Compares the files for every golden folder, generated from its name and those of all traces, with its contents.
fn hold(sheets: &str, files_of: impl Fn(&Path, &[String], &str) -> Option<Vec<Artifact>>) {
    let Some(shared) = shared_with_python() else {
        return;
    };
    let traces = shared::traces(&shared);
    let mut n_compared = 0;
    let mut differences = Vec::new();
    for golden in shared::goldens(&shared) {
        if let Some(files) = files_of(&shared, &traces, &golden) {
            n_compared += 1;
            let expected = shared.join("golden").join(&golden);
            differences.extend(difference(&shared, &expected, &files, sheets, ""));
        }
    }
    assert!(n_compared > 0, "nothing to compare {sheets} with");
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
            .filter(|warning| {
                warning.kind.severity() == dormer_core::import::warning::Severity::DataLoss
            })
            .collect();
        assert!(losses.is_empty(), "{name}: {losses:?}");
        assert!(!imported.trace.events.is_empty(), "{name}");
    }
}

/// The folder of the traces, if it exists and Python can run the rules.
pub(crate) fn shared_with_python() -> Option<PathBuf> {
    let shared = shared::folder()?;
    if Command::new("python3").arg("--version").output().is_err() {
        skipped("the comparison with the reference needs python3");
        return None;
    }
    Some(shared)
}

/// The differences between a golden folder and the sheets among these files, which are written to a folder of their
/// own; for all sheets, or for a comma-separated list.
pub(crate) fn difference(
    shared: &Path,
    golden: &Path,
    files: &[Artifact],
    sheets: &str,
    only: &str,
) -> Option<String> {
    let out = tempfile::tempdir().unwrap();
    for file in files {
        let path = out.path().join(&file.path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, &file.bytes).unwrap();
    }
    let compared = Command::new("python3")
        .arg(shared.join("tools/compare_golden.py"))
        .args([&out.path().join(sheets), golden])
        .args(["--work", "--show", "100", "--only", only])
        .output()
        .unwrap();
    let said = [compared.stdout, compared.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    (!compared.status.success()).then(|| format!("{}:\n{said}", golden.display()))
}
