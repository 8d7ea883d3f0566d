//! The files of each analysis: what it looked at, what it measured, what it found. Their names and keys follow the
//! conventions of TraceLens's agent reports.
//!
//! ```text
//! metadata/KEY_metadata.json              hardware, utilization, how the time splits (kernel, idle or
//!                                         exposed time, depending on the analysis)
//! category_data/category_manifest.json    every analysis with its files
//! category_data/multi_kernel_data.json   copies, collectives and their overlap with computation
//! category_data/KEY_ops.csv               its rows of unified_perf_summary
//! category_data/KEY_metrics.json          figures, operations with efficiency, findings
//! category_data/KEY_tree_data.json        parents and subtree of its longest operations
//! category_findings/KEY_findings.md       for people
//! system_findings/KEY_findings.md         the same for system analyses
//! ```

pub(crate) mod cpu_idle;
mod manifest;
mod metadata;
mod metrics;
mod multi_kernel;
mod ops;
#[cfg(test)]
mod tests;
mod trees;

use super::{Listed, file};
use crate::findings::{Outcome, Status, Tier};
use crate::output::json::pretty;
use crate::output::markup::markdown;
use crate::profile::Profile;
use crate::report::Report;
use manifest::manifest;
use metadata::metadata;
use metrics::metrics;
use ops::ops;
use trees::trees;

/// Analyses that have a findings file even if the trace has nothing for them.
const ALWAYS: [&str; 3] = ["gemm", "sdpa_fwd", "convolution"];

const MANIFEST: &str = "category_data/category_manifest.json";
const MULTI_KERNEL: &str = "category_data/multi_kernel_data.json";

struct File {
    key: &'static str,
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
    File { key: "metadata_file", title: "What an analysis was made with", path: |outcome| format!("metadata/{}_metadata.json", outcome.kind.key), has: |outcome| outcome.status != Status::NoData, write: metadata },
    File { key: "csv_file", title: "Operations of an analysis", path: |outcome| format!("category_data/{}_ops.csv", outcome.kind.key), has: is_compute, write: ops },
    File { key: "metrics_file", title: "Figures of an analysis", path: |outcome| format!("category_data/{}_metrics.json", outcome.kind.key), has: |_| true, write: metrics },
    File { key: "tree_data_file", title: "Places in the call tree", path: |outcome| format!("category_data/{}_tree_data.json", outcome.kind.key), has: is_compute, write: trees },
    File { key: "findings_file", title: "Findings of an analysis", path: findings_path, has: |outcome| outcome.status != Status::NoData || ALWAYS.contains(&outcome.kind.key), write: findings },
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
    let mut listed = vec![file(MANIFEST, "Every analysis with its files")];
    let has_data = report.analyses.outcome("multi_kernel");
    if has_data.is_some_and(|outcome| outcome.status == Status::Done) {
        listed.push(file(MULTI_KERNEL, "Copies, collectives and overlap"));
    }
    for outcome in &report.analyses.outcomes {
        let files = FILES.iter().filter(|file| (file.has)(outcome));
        listed.extend(files.map(|kind| file((kind.path)(outcome), kind.title)));
    }
    listed
}

pub(super) fn write(input: &super::Input, path: &str) -> Option<Vec<u8>> {
    let super::Input {
        profile, report, ..
    } = *input;
    match path {
        MANIFEST => return Some(pretty(&manifest(profile, report))),
        MULTI_KERNEL => {
            let data = multi_kernel::data(&report.analysis_input(profile))?;
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

fn findings(profile: &Profile, report: &Report, outcome: &Outcome) -> Vec<u8> {
    markdown(&super::Input::new(profile, report).findings_file(outcome)).into_bytes()
}
