//! Files that Dormer writes. The command line and the page offer the same ones.
//!
//! To add a kind of file, add a row to `exporters` in `formats`, for one trace, for two, or for a job.

pub(crate) mod categories;
pub mod csv;
mod exporter;
mod formats;
pub mod job;
pub mod pair;
pub mod xlsx;

pub use super::documents::single::Input;
pub use exporter::{Exporter, Group, Source};

/// The documents as Markdown.
pub mod markdown {
    /// For decision makers.
    pub const FAIR: &str = "standalone_analysis_fair.md";
    /// For reviewers.
    pub(crate) const ROUGH: &str = "standalone_analysis_rough.md";
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// Its path relative to the output folder, with `/` between folders.
    pub path: String,
    /// Its media type.
    pub mime: &'static str,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// A file that can be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its path relative to the output folder, with `/` between folders.
    pub path: String,
    /// A readable title.
    pub title: &'static str,
}

fn file(path: impl Into<String>, title: &'static str) -> Listed {
    Listed {
        path: path.into(),
        title,
    }
}

/// The media type of a file, by its extension.
pub(crate) fn mime(path: &str) -> &'static str {
    let (_, ending) = path.rsplit_once('.').unwrap_or_default();
    MIMES
        .iter()
        .find(|(known, _)| *known == ending)
        .map_or("application/octet-stream", |(_, mime)| mime)
}

const MIMES: &[(&str, &str)] = &[
    ("csv", "text/csv"),
    ("gz", "application/gzip"),
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
    use crate::output::archive::unzip;
    use crate::profile::Profile;
    use crate::report::{Report, ReportOptions};
    use crate::sample;

    fn of_sample(check: impl Fn(&Input)) {
        let profile = Profile::new(import(sample::TRACE.as_bytes()).unwrap());
        let report = Report::new(&profile, &ReportOptions::default());
        check(&Input::new(&profile, &report));
    }

    #[test]
    fn the_sample_gives_a_report_and_its_tables() {
        of_sample(|input| {
            let mut paths: Vec<String> = input.files().into_iter().map(|file| file.path).collect();
            assert_eq!(paths[0], "standalone_analysis_fair.md");
            for sheet in ["gpu_timeline", "ops_summary", "kernel_summary"] {
                assert!(paths.contains(&format!("perf_report_csvs/{sheet}.csv")));
            }
            let n_paths = paths.len();
            paths.sort();
            paths.dedup();
            assert_eq!(paths.len(), n_paths);
        });
    }

    #[test]
    fn every_listed_file_can_be_made_alone_and_is_in_the_archive() {
        of_sample(|input| {
            let alone = input.each_alone();
            assert_eq!(input.artifact("perf_report_csvs/no.csv"), None);
            assert_eq!(input.artifact("../perf_report.json"), None);
            let bytes = input.archive().unwrap();
            assert_eq!(Some(&bytes), input.archive().as_ref());
            let files = alone.into_iter().map(|file| (file.path, file.bytes));
            assert!(unzip(&bytes).unwrap() == files.collect::<Vec<_>>());
        });
    }

    #[test]
    fn every_kind_says_who_opens_it() {
        for exporter in Input::exporters() {
            assert!(exporter.purpose.ends_with('.'), "{}", exporter.format);
            assert!(Group::ALL.contains(&exporter.group));
        }
    }
}
