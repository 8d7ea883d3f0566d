//! Files about two traces. The command line and the page offer the same ones.
//!
//! To add a kind of file: a module here and a row of [`Input`]'s exporters.

mod csv;
mod html;
mod json;
mod markdown;
mod replay;
mod workbooks;

use std::cell::OnceCell;
use std::sync::Arc;

use crate::compare::sheets::{ComparisonSheet, sheets};
use crate::compare::tree::TreeDiff;
use crate::compare::{Comparison, Side};
use crate::output::export::{Exporter, Group, Source};

/// What files, tables and views of two traces share, each made once, when it is first asked for. A
/// cache belongs to two sides: where one of them changes, it is thrown away.
#[derive(Debug, Default)]
pub struct Cache {
    comparison: OnceCell<Comparison>,
    tree: OnceCell<Arc<TreeDiff>>,
    sheets: OnceCell<Vec<ComparisonSheet>>,
}

impl Cache {
    /// What both say about each other, where anything asked for it before.
    pub fn comparison(&self) -> Option<&Comparison> {
        self.comparison.get()
    }
}

/// What the files are made from.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// The trace that the target is held against.
    pub reference: Side<'a>,
    /// The trace to improve.
    pub target: Side<'a>,
    cache: &'a Cache,
}

impl<'a> Input<'a> {
    /// Of two sides, whose names differ, and what is known of them already.
    pub fn new(reference: Side<'a>, target: Side<'a>, cache: &'a Cache) -> Input<'a> {
        Input {
            reference,
            target,
            cache,
        }
    }

    /// What both say about each other.
    pub fn comparison(&self) -> &'a Comparison {
        let make = || Comparison::new(self.reference, self.target);
        self.cache.comparison.get_or_init(make)
    }

    /// The call trees of both as one; to keep it, it is cloned.
    pub fn tree(&self) -> &'a Arc<TreeDiff> {
        let make = || Arc::new(TreeDiff::new(self.reference, self.target));
        self.cache.tree.get_or_init(make)
    }

    /// The sheets of both reports side by side.
    pub fn sheets(&self) -> &'a [ComparisonSheet] {
        let make = || sheets(self.reference, self.target, self.tree());
        self.cache.sheets.get_or_init(make)
    }
}

#[rustfmt::skip]
impl Source for Input<'_> {
    fn exporters() -> Vec<Exporter<Self>> {
        use Group::*;
        vec![
            Exporter { format: "md", title: "Comparison as Markdown", group: Reports, purpose: "For an issue, a pull request, a wiki or a language model; any editor opens it.", is_quick: true, list: markdown::list, write: markdown::write },
            Exporter { format: "html", title: "Comparison as one page", group: Reports, purpose: "To send or to print: any browser opens it, and it loads nothing.", is_quick: false, list: html::list, write: html::write },
            Exporter { format: "json", title: "Comparison for programs", group: Programs, purpose: "For scripts that watch for slowdowns: what differs, what of it the hardware explains.", is_quick: true, list: json::list, write: json::write },
            Exporter { format: "csv", title: "Compared tables as CSV", group: Tables, purpose: "For pandas, a spreadsheet or a notebook that reads TraceLens's comparisons.", is_quick: true, list: csv::list, write: csv::write },
            Exporter { format: "xlsx", title: "Tables as workbooks", group: Tables, purpose: "For Excel, LibreOffice or pandas: the comparison, and the tables of each trace.", is_quick: false, list: workbooks::list, write: workbooks::write },
            Exporter { format: "replay", title: "Reproducers of the target", group: Reproducers, purpose: "For whoever tunes a kernel: unpack it where the GPU is and run the program; it needs PyTorch alone.", is_quick: false, list: replay::list, write: replay::write },
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::import;
    use crate::output::export::Artifact;
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
            &Cache::default(),
        ));
    }

    #[test]
    fn documents_tables_and_workbooks_are_offered() {
        with_input(|input| {
            let paths: Vec<String> = input.files().into_iter().map(|file| file.path).collect();
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
                "replay_package.zip",
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
            let listed = input.files();
            assert!(
                listed.iter().all(|file| !file.title.is_empty()),
                "{listed:?}"
            );
            let alone: Vec<Artifact> = listed
                .iter()
                .map(|file| input.artifact(&file.path).unwrap())
                .collect();
            assert!(alone == input.artifacts());
            assert!(alone.iter().all(|file| !file.mime.contains("octet")));
            assert_eq!(input.artifact("comparison_csvs/no.csv"), None);
        });
    }
}
