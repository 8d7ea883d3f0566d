//! Files that Dormer writes. The command line and the page offer the same ones.
//!
//! To add a kind of file: a module here and a row in [`EXPORTERS`].

mod categories;
pub mod csv;
pub mod findings_json;
mod html;
pub mod json;
pub mod markdown;
mod replay;
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

/// A file that can be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Where it belongs, relative to the output folder; `/` between folders.
    pub path: String,
    /// What it is, for people.
    pub title: &'static str,
}

/// A kind of file.
#[derive(Debug)]
pub struct Exporter {
    /// What `--format` takes.
    pub format: &'static str,
    /// What it is, for people.
    pub title: &'static str,
    /// Lists the files without making them: cheap, however large they are.
    pub list: fn(&Profile, &Report) -> Vec<Listed>,
    /// Makes the listed file of this path; `None` where it cannot be made.
    pub write: fn(&Profile, &Report, &str) -> Option<Vec<u8>>,
}

/// Every kind of file, in the order in which they are offered.
#[rustfmt::skip]
pub const EXPORTERS: &[Exporter] = &[
    Exporter { format: "md", title: "Report as Markdown", list: markdown::list, write: markdown::write },
    Exporter { format: "html", title: "Report as one page", list: html::list, write: html::write },
    Exporter { format: "findings", title: "Findings for programs", list: findings_json::list, write: findings_json::write },
    Exporter { format: "analyses", title: "Files of each analysis", list: categories::list, write: categories::write },
    Exporter { format: "csv", title: "Tables as CSV", list: csv::list, write: csv::write },
    Exporter { format: "xlsx", title: "Tables as a workbook", list: xlsx::list, write: xlsx::write },
    Exporter { format: "json", title: "Everything as JSON", list: json::list, write: json::write },
    Exporter { format: "replay", title: "Reproducers", list: replay::list, write: replay::write },
];

impl Exporter {
    /// Makes all files of this kind.
    pub fn artifacts(&self, profile: &Profile, report: &Report) -> Vec<Artifact> {
        (self.list)(profile, report)
            .into_iter()
            .filter_map(|file| self.artifact(profile, report, file))
            .collect()
    }

    fn artifact(&self, profile: &Profile, report: &Report, file: Listed) -> Option<Artifact> {
        Some(Artifact {
            bytes: (self.write)(profile, report, &file.path)?,
            mime: mime(&file.path),
            path: file.path,
        })
    }
}

/// The files of a report, none of them made yet.
pub fn list(profile: &Profile, report: &Report) -> Vec<Listed> {
    EXPORTERS
        .iter()
        .flat_map(|exporter| (exporter.list)(profile, report))
        .collect()
}

/// Makes one file of a report.
pub fn artifact(profile: &Profile, report: &Report, path: &str) -> Option<Artifact> {
    EXPORTERS.iter().find_map(|exporter| {
        let files = (exporter.list)(profile, report);
        let file = files.into_iter().find(|file| file.path == path)?;
        exporter.artifact(profile, report, file)
    })
}

/// Makes all files of a report.
pub fn artifacts(profile: &Profile, report: &Report) -> Vec<Artifact> {
    EXPORTERS
        .iter()
        .flat_map(|exporter| exporter.artifacts(profile, report))
        .collect()
}

/// The media type of a file by the end of its name.
pub(crate) fn mime(path: &str) -> &'static str {
    let (_, ending) = path.rsplit_once('.').unwrap_or_default();
    MIMES
        .iter()
        .find(|(known, _)| *known == ending)
        .map_or("application/octet-stream", |(_, mime)| mime)
}

const MIMES: &[(&str, &str)] = &[
    ("csv", "text/csv"),
    ("html", "text/html"),
    ("json", "application/json"),
    ("md", "text/markdown"),
    (
        "xlsx",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ),
    ("zip", "application/zip"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::import;
    use crate::report::ReportOptions;
    use crate::sample;

    fn made() -> (Profile, Report) {
        let profile = Profile::new(import(sample::trace_json().as_bytes()).unwrap());
        let report = Report::new(&profile, &ReportOptions::default());
        (profile, report)
    }

    fn files() -> Vec<Artifact> {
        let (profile, report) = made();
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
    fn every_listed_file_can_be_made_alone() {
        let (profile, report) = made();
        let alone: Vec<Artifact> = list(&profile, &report)
            .iter()
            .map(|file| artifact(&profile, &report, &file.path).unwrap())
            .collect();
        assert_eq!(alone, artifacts(&profile, &report));
        assert!(alone.iter().all(|file| !file.mime.contains("octet")));
        assert_eq!(artifact(&profile, &report, "perf_report_csvs/no.csv"), None);
        assert_eq!(artifact(&profile, &report, "../perf_report.json"), None);
    }

    #[test]
    fn the_same_trace_gives_the_same_bytes() {
        assert_eq!(files(), files());
    }
}
