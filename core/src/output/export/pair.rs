//! The input of files about two traces.

use std::cell::OnceCell;
use std::sync::Arc;

use crate::compare::sheets::{ComparisonSheet, sheets};
use crate::compare::tree::TreeDiff;
use crate::compare::{Comparison, Side};

/// Results that files, tables and views of two traces share, each computed on first use. A cache belongs to two sides:
/// if one of them changes, it has to be discarded.
#[derive(Debug, Default)]
pub struct Cache {
    comparison: OnceCell<Comparison>,
    tree: OnceCell<Arc<TreeDiff>>,
    sheets: OnceCell<Vec<ComparisonSheet>>,
}

impl Cache {
    /// The comparison, if it was already computed.
    pub fn comparison(&self) -> Option<&Comparison> {
        self.comparison.get()
    }
}

/// The input of the files.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// The trace that the target is compared with.
    pub reference: Side<'a>,
    /// The trace to improve.
    pub target: Side<'a>,
    cache: &'a Cache,
}

impl<'a> Input<'a> {
    /// For two sides with different names, and the results already known about them.
    pub fn new(reference: Side<'a>, target: Side<'a>, cache: &'a Cache) -> Input<'a> {
        Input {
            reference,
            target,
            cache,
        }
    }

    /// The comparison of both.
    pub fn comparison(&self) -> &'a Comparison {
        let make = || Comparison::new(self.reference, self.target);
        self.cache.comparison.get_or_init(make)
    }

    /// The call trees of both, merged; clone it to keep it.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::import;
    use crate::output::export::Source;
    use crate::profile::Profile;
    use crate::report::{Report, ReportOptions};
    use crate::sample;
    use crate::testing::Timetable;

    /// The sample trace and a small trace.
    fn with_input(check: impl Fn(&Input)) {
        let reference = Profile::new(import(sample::TRACE.as_bytes()).unwrap());
        let small = Timetable::new().work("aten::mm", "gemm", 40..80);
        let (target, theirs) = (small.profile(), small.report());
        let ours = Report::new(&reference, &ReportOptions::default());
        check(&Input::new(
            Side::new("sample", &reference, &ours),
            Side::new("small", &target, &theirs),
            &Cache::default(),
        ));
    }

    #[test]
    fn every_listed_file_has_a_title_and_can_be_made_alone() {
        with_input(|input| {
            let alone = input.each_alone();
            let mut paths: Vec<&str> = alone.iter().map(|file| file.path.as_str()).collect();
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
                assert!(paths.contains(&path), "{path}: {paths:?}");
            }
            paths.sort_unstable();
            paths.dedup();
            assert_eq!(paths.len(), alone.len());
            assert_eq!(input.artifact("comparison_csvs/no.csv"), None);
        });
    }
}
