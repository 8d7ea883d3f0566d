//! Files that Dormer writes. The command line and the page offer the same ones.
//!
//! To add a kind of file about a trace: a module here and a row of [`Input`]'s exporters; one about
//! two traces stands in [`compare::export`](crate::output::comparison_export).

pub mod archive;
pub(crate) mod categories;
pub mod csv;
mod exporter;
pub mod findings_json;
mod html;
pub mod json;
pub mod markdown;
pub(crate) mod replay;
pub mod xlsx;

pub use exporter::{Exporter, Group, Source};

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

#[rustfmt::skip]
impl Source for Input<'_> {
    fn exporters() -> Vec<Exporter<Self>> {
        use Group::*;
        vec![
            Exporter { format: "md", title: "Report as Markdown", group: Reports, purpose: "For an issue, a pull request, a wiki or a language model; any editor opens it.", is_quick: true, list: markdown::list, write: markdown::write },
            Exporter { format: "html", title: "Report as one page", group: Reports, purpose: "To send or to print: any browser opens it, and it loads nothing.", is_quick: false, list: html::list, write: html::write },
            Exporter { format: "findings", title: "Findings for programs", group: Programs, purpose: "For scripts that act on findings: a pull-request check, a dashboard, jq.", is_quick: true, list: findings_json::list, write: findings_json::write },
            Exporter { format: "analyses", title: "Files of each analysis", group: Programs, purpose: "What each analysis looked at, measured and found, for tools and language models that go on from there.", is_quick: true, list: categories::list, write: categories::write },
            Exporter { format: "csv", title: "Tables as CSV", group: Tables, purpose: "For pandas, a spreadsheet or a notebook that reads TraceLens's tables.", is_quick: true, list: csv::list, write: csv::write },
            Exporter { format: "xlsx", title: "Tables as a workbook", group: Tables, purpose: "For Excel, LibreOffice or pandas: a sheet for each table.", is_quick: false, list: xlsx::list, write: xlsx::write },
            Exporter { format: "json", title: "Everything as JSON", group: Programs, purpose: "For programs that read all tables at once, with units and meanings.", is_quick: false, list: json::list, write: json::write },
            Exporter { format: "replay", title: "Reproducers", group: Reproducers, purpose: "For whoever tunes a kernel: unpack it where the GPU is and run the program; it needs PyTorch alone.", is_quick: false, list: replay::list, write: replay::write },
        ]
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
