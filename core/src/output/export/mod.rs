//! Files that Dormer writes. The command line and the page offer the same ones.
//!
//! To add a kind of file: a row of `FORMATS`, for one trace, for two or for
//! both.

pub(crate) mod categories;
pub mod csv;
mod exporter;
mod formats;
pub mod pair;
pub mod xlsx;

pub use super::archive;
pub use exporter::{Exporter, Group, Source};

use crate::profile::Profile;
use crate::report::Report;

/// The documents as Markdown.
pub mod markdown {
    /// For those who decide.
    pub const FAIR: &str = "standalone_analysis_fair.md";
    /// For those who check.
    pub const ROUGH: &str = "standalone_analysis_rough.md";
}

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

/// What the files about one trace are made from.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// What the trace means.
    pub profile: &'a Profile,
    /// How it was judged.
    pub report: &'a Report,
}

impl<'a> Input<'a> {
    /// Of a trace and what is said about it.
    pub fn new(profile: &'a Profile, report: &'a Report) -> Input<'a> {
        Input { profile, report }
    }
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
        Input::new(&profile, &report).artifacts()
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
        let input = Input::new(&profile, &report);
        let listed = input.files();
        let alone: Vec<Artifact> = listed
            .iter()
            .map(|file| input.artifact(&file.path).unwrap())
            .collect();
        assert_eq!(alone, input.artifacts());
        assert!(alone.iter().all(|file| !file.mime.contains("octet")));
        assert_eq!(input.artifact("perf_report_csvs/no.csv"), None);
        assert_eq!(input.artifact("../perf_report.json"), None);
    }

    #[test]
    fn the_same_trace_gives_the_same_bytes() {
        assert_eq!(files(), files());
    }

    #[test]
    fn an_archive_holds_every_file() {
        let (profile, report) = made();
        let input = Input::new(&profile, &report);
        let bytes = input.archive().unwrap();
        assert_eq!(Some(&bytes), input.archive().as_ref());
        let mut archive = ::zip::ZipArchive::new(std::io::Cursor::new(bytes)).unwrap();
        let files = files();
        assert_eq!(archive.len(), files.len());
        for file in files {
            let mut packed = archive.by_name(&file.path).unwrap();
            let mut bytes = Vec::new();
            std::io::Read::read_to_end(&mut packed, &mut bytes).unwrap();
            assert!(bytes == file.bytes, "{}", file.path);
        }
    }

    #[test]
    fn every_kind_says_who_opens_it() {
        for exporter in Input::exporters() {
            assert!(exporter.purpose.ends_with('.'), "{}", exporter.format);
            assert!(Group::ALL.contains(&exporter.group));
        }
    }
}
