//! Files about two traces. The command line and the page offer the same ones.
//!
//! To add a kind of file: a module here and a row in [`EXPORTERS`].

mod csv;
mod html;
mod json;
mod markdown;
mod workbooks;

use std::cell::OnceCell;

use super::sheets::{ComparisonSheet, sheets};
use super::tree::TreeDiff;
use super::{Comparison, Side};
use crate::export::{Artifact, Listed, mime};

/// What the files are made from. What several of them need is made once, when first asked for.
#[derive(Debug)]
pub struct Input<'a> {
    /// The trace that the target is held against.
    pub reference: Side<'a>,
    /// The trace to improve.
    pub target: Side<'a>,
    comparison: OnceCell<Comparison>,
    tree: OnceCell<TreeDiff>,
    sheets: OnceCell<Vec<ComparisonSheet>>,
}

impl<'a> Input<'a> {
    /// Of two sides, whose names differ.
    pub fn new(reference: Side<'a>, target: Side<'a>) -> Input<'a> {
        Input {
            reference,
            target,
            comparison: OnceCell::new(),
            tree: OnceCell::new(),
            sheets: OnceCell::new(),
        }
    }

    /// What both say about each other.
    pub fn comparison(&self) -> &Comparison {
        self.comparison
            .get_or_init(|| Comparison::new(self.reference, self.target))
    }

    /// The call trees of both as one.
    pub fn tree(&self) -> &TreeDiff {
        self.tree
            .get_or_init(|| TreeDiff::new(self.reference, self.target))
    }

    /// The sheets of both reports side by side.
    pub fn sheets(&self) -> &[ComparisonSheet] {
        self.sheets
            .get_or_init(|| sheets(self.reference, self.target, self.tree()))
    }
}

/// A kind of file.
#[derive(Debug)]
pub struct Exporter {
    /// What `--format` takes.
    pub format: &'static str,
    /// What it is, for people.
    pub title: &'static str,
    /// Lists the files.
    pub list: fn(&Input) -> Vec<Listed>,
    /// Makes the listed file of this path; `None` where it cannot be made.
    pub write: fn(&Input, &str) -> Option<Vec<u8>>,
}

/// Every kind of file, in the order in which they are offered.
#[rustfmt::skip]
pub const EXPORTERS: &[Exporter] = &[
    Exporter { format: "md", title: "Comparison as Markdown", list: markdown::list, write: markdown::write },
    Exporter { format: "html", title: "Comparison as one page", list: html::list, write: html::write },
    Exporter { format: "json", title: "Comparison for programs", list: json::list, write: json::write },
    Exporter { format: "csv", title: "Compared tables as CSV", list: csv::list, write: csv::write },
    Exporter { format: "xlsx", title: "Tables as workbooks", list: workbooks::list, write: workbooks::write },
];

impl Exporter {
    /// Makes all files of this kind.
    pub fn artifacts(&self, input: &Input) -> Vec<Artifact> {
        let files = (self.list)(input).into_iter();
        files
            .filter_map(|file| self.artifact(input, file))
            .collect()
    }

    fn artifact(&self, input: &Input, file: Listed) -> Option<Artifact> {
        Some(Artifact {
            bytes: (self.write)(input, &file.path)?,
            mime: mime(&file.path),
            path: file.path,
        })
    }
}

/// The files of a comparison, none of them made yet.
pub fn list(input: &Input) -> Vec<Listed> {
    let exporters = EXPORTERS.iter();
    exporters
        .flat_map(|exporter| (exporter.list)(input))
        .collect()
}

/// Makes one file of a comparison.
pub fn artifact(input: &Input, path: &str) -> Option<Artifact> {
    EXPORTERS.iter().find_map(|exporter| {
        let files = (exporter.list)(input);
        let file = files.into_iter().find(|file| file.path == path)?;
        exporter.artifact(input, file)
    })
}

/// Makes all files of a comparison.
pub fn artifacts(input: &Input) -> Vec<Artifact> {
    let exporters = EXPORTERS.iter();
    exporters
        .flat_map(|exporter| exporter.artifacts(input))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::import;
    use crate::profile::Profile;
    use crate::report::{Report, ReportOptions};
    use crate::sample;
    use crate::testing::Timetable;

    fn with_input(check: impl Fn(&Input)) {
        let reference = Profile::new(import(sample::trace_json().as_bytes()).unwrap());
        let target = Timetable::new()
            .op("aten::mm", 0..100)
            .launch(1, 20..25)
            .kernel(1, "gemm", 40..80)
            .profile();
        let reports =
            [&reference, &target].map(|profile| Report::new(profile, &ReportOptions::default()));
        let [ours, theirs] = &reports;
        let side = |name, profile, report| Side {
            name,
            profile,
            report,
        };
        check(&Input::new(
            side("sample", &reference, ours),
            side("small", &target, theirs),
        ));
    }

    #[test]
    fn documents_tables_and_workbooks_are_offered() {
        with_input(|input| {
            let paths: Vec<String> = list(input).into_iter().map(|file| file.path).collect();
            for path in [
                "comparative_analysis_fair.md",
                "comparative_analysis_rough.md",
                "report.html",
                "comparison.json",
                "comparison_csvs/gpu_timeline.csv",
                "comparison_csvs/ops_unique_args_only_variant_small.csv",
                "comparison.xlsx",
                "reference_perf_report.xlsx",
                "target_perf_report.xlsx",
            ] {
                assert!(paths.iter().any(|known| known == path), "{path}: {paths:?}");
            }
            let mut distinct = paths.clone();
            distinct.sort();
            distinct.dedup();
            assert_eq!(distinct.len(), paths.len());
        });
    }

    #[test]
    fn every_listed_file_has_a_title_and_can_be_made_alone() {
        with_input(|input| {
            let listed = list(input);
            assert!(
                listed.iter().all(|file| !file.title.is_empty()),
                "{listed:?}"
            );
            let alone: Vec<Artifact> = listed
                .iter()
                .map(|file| artifact(input, &file.path).unwrap())
                .collect();
            assert!(alone == artifacts(input));
            assert!(alone.iter().all(|file| !file.mime.contains("octet")));
            assert_eq!(artifact(input, "comparison_csvs/no.csv"), None);
        });
    }
}
