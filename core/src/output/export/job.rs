//! The input of files about a job.

use std::cell::{OnceCell, RefCell};

use super::csv;
use crate::job::files::Excluded;
use crate::job::overview::JobOverview;
use crate::job::sheets::{FilledSheet, sheets_of_at_most, stream};
use crate::job::{Analysis, Job, NetworkFigures};

/// Sheets with more rows, or with more than eight million cells, are only in CSV files, which are written row by row:
/// neither a workbook nor JSON is read in parts.
pub const MOST_ROWS: usize = 200_000;

/// The folder of CSV files.
pub(super) const FOLDER: &str = "job_csvs";

/// The input of the files.
#[derive(Debug)]
pub struct Input<'a> {
    /// The merged ranks of one window of the profiler.
    pub job: &'a Job,
    /// Files that were excluded from the job.
    pub excluded: &'a [Excluded],
    figures: NetworkFigures,
    analysis: OnceCell<Analysis>,
    overview: OnceCell<JobOverview>,
    sheets: OnceCell<Vec<FilledSheet>>,
}

impl<'a> Input<'a> {
    /// For a job and the files that were excluded from it.
    pub fn new(job: &'a Job, excluded: &'a [Excluded]) -> Input<'a> {
        Input {
            job,
            excluded,
            figures: NetworkFigures::default(),
            analysis: OnceCell::new(),
            overview: OnceCell::new(),
            sheets: OnceCell::new(),
        }
    }

    /// The same with figures of the network.
    pub fn with_network(self, figures: NetworkFigures) -> Input<'a> {
        Input { figures, ..self }
    }

    /// Its analysis, computed on first use.
    pub fn analysis(&self) -> &Analysis {
        self.analysis
            .get_or_init(|| Analysis::with(self.job, self.figures))
    }

    /// Its overview, computed on first use.
    pub fn overview(&self) -> &JobOverview {
        let make = || JobOverview::new(self.job, self.analysis(), self.excluded);
        self.overview.get_or_init(make)
    }

    /// Its sheets, computed on first use; those with more than [`MOST_ROWS`] rows have no rows here.
    pub fn sheets(&self) -> &[FilledSheet] {
        let make = || sheets_of_at_most(MOST_ROWS, self.job, self.analysis(), self.excluded);
        self.sheets.get_or_init(make)
    }

    /// The sheet of a CSV file.
    fn sheet_of(&self, path: &str) -> Option<&FilledSheet> {
        let mut sheets = self.sheets().iter();
        sheets.find(|made| csv::path(FOLDER, &made.sheet) == path)
    }

    /// The CSV file of a sheet.
    pub(super) fn csv(&self, path: &str) -> Option<Vec<u8>> {
        let made = self.sheet_of(path)?;
        if made.is_whole() {
            return Some(csv::csv(&made.sheet));
        }
        let mut bytes = Vec::new();
        self.csv_of(made, &mut |piece| bytes.extend_from_slice(piece));
        Some(bytes)
    }

    /// The same, piece by piece.
    pub(super) fn stream_csv(&self, path: &str, sink: &mut dyn FnMut(&[u8])) {
        if let Some(made) = self.sheet_of(path) {
            self.csv_of(made, sink);
        }
    }

    /// Whether the sheet of a CSV file has more rows than are kept.
    pub(super) fn is_long(&self, path: &str) -> bool {
        self.sheet_of(path).is_some_and(|made| !made.is_whole())
    }

    fn csv_of(&self, made: &FilledSheet, sink: &mut dyn FnMut(&[u8])) {
        let pieces = RefCell::new(sink);
        stream(
            &made.sheet.name,
            self.job,
            self.analysis(),
            self.excluded,
            |columns| pieces.borrow_mut()(csv::head(columns).as_bytes()),
            |cells| pieces.borrow_mut()(csv::row(&cells).as_bytes()),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::testing::TestJob;
    use crate::output::export::Source;

    #[test]
    fn every_listed_file_has_a_title_and_can_be_made_alone() {
        let job = TestJob::new(2).job();
        let alone = Input::new(&job, &[]).each_alone();
        let paths: Vec<&str> = alone.iter().map(|file| file.path.as_str()).collect();
        for path in [
            "job_report.md",
            "job_report.html",
            "job.json",
            "job.xlsx",
            "job_csvs/ranks.csv",
            "digests/rank00001.json.gz",
        ] {
            assert!(paths.contains(&path), "{path}: {paths:?}");
        }
    }
}
