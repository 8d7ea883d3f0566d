//! Files that Dormer writes. The command line and the page offer the same ones.
//!
//! To add a kind of file: a module here and a row in [`EXPORTERS`].

pub mod csv;
pub mod json;
pub mod markdown;
pub mod xlsx;

use crate::profile::Profile;
use crate::report::Report;

/// One file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// Where it belongs, relative to the output folder; `/` between folders.
    pub path: String,
    /// Its media type.
    pub mime: &'static str,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// A kind of file.
#[derive(Debug)]
pub struct Exporter {
    /// What `--format` takes.
    pub format: &'static str,
    /// What it is, for people.
    pub title: &'static str,
    /// Makes the files.
    pub write: fn(&Profile, &Report) -> Vec<Artifact>,
}

/// Every kind of file, in the order in which they are offered.
#[rustfmt::skip]
pub const EXPORTERS: &[Exporter] = &[
    Exporter { format: "md", title: "Report as Markdown", write: markdown::artifacts },
    Exporter { format: "csv", title: "Tables as CSV", write: csv::artifacts },
    Exporter { format: "xlsx", title: "Tables as a workbook", write: xlsx::artifacts },
    Exporter { format: "json", title: "Everything as JSON", write: json::artifacts },
];

/// All files of a report.
pub fn artifacts(profile: &Profile, report: &Report) -> Vec<Artifact> {
    EXPORTERS
        .iter()
        .flat_map(|exporter| (exporter.write)(profile, report))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::import;
    use crate::report::ReportOptions;
    use crate::sample;

    fn files() -> Vec<Artifact> {
        let profile = Profile::new(import(sample::trace_json().as_bytes()).unwrap());
        let report = Report::new(&profile, &ReportOptions::default());
        artifacts(&profile, &report)
    }

    #[test]
    fn the_sample_gives_a_report_and_its_tables() {
        let paths: Vec<String> = files().into_iter().map(|file| file.path).collect();
        assert_eq!(paths[0], "standalone_analysis_fair.md");
        for sheet in ["gpu_timeline", "ops_summary", "kernel_summary"] {
            assert!(paths.contains(&format!("perf_report_csvs/{sheet}.csv")));
        }
        let mut distinct = paths.clone();
        distinct.sort();
        distinct.dedup();
        assert_eq!(distinct.len(), paths.len());
    }

    #[test]
    fn the_same_trace_gives_the_same_bytes() {
        assert_eq!(files(), files());
    }
}
