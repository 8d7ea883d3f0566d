//! Many traces on one page: `fleet.json.gz`.
//!
//! | part | what it answers |
//! |---|---|
//! | [`Summary::sentence`] | how much of the GPUs' time is lost, and what became slower |
//! | [`Summary::regressions`], [`Summary::carriers`], [`Summary::history`] | what each build made slower or faster, and which operations contribute |
//! | [`Summary::medians`] | the times of a model on a GPU, build after build |
//! | [`Summary::lost`] | GPU time lost, by cause |
//! | [`Summary::findings`] | what to fix first: findings by estimated savings over all runs |
//! | [`Summary::ops`], [`Summary::kernels`] | what the GPUs spend their time on |
//! | [`Summary::slowest`], [`Summary::outliers`] | jobs and machines to look at |
//! | [`Summary::runs`], [`Summary::weeks`], [`Summary::rejected`] | what was read, and what was not |
//!
//! In the file each table is stored by columns (`{"model": [0, 0, 3], …}`), and a text is an index into `texts`. Times
//! are integer nanoseconds, unknown values are `null`.

mod file;
mod found;
mod hosts;
mod jobs;
mod make;
mod sentence;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod top;
mod within;

use serde::{Deserialize, Serialize};

use super::columns::{Cell, columns};
use super::regressions::{Carrier, Change, Point};
use super::rows::Status;
use super::texts::Text;
use crate::base::labels::labeled;

pub use file::{Bad, FORMAT};
pub use make::Options;
pub use within::MOST_BYTES;

/// The summary of many traces that the page shows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The main result, in a sentence: "4.1 % of 9 830 GPU hours are idle; build b07 made GEMM 6.1 % slower on MI300X in 7
    /// of 10 models".
    pub sentence: String,
    /// The tag that identifies builds: "build".
    pub by: String,
    /// The version of Dormer that made it.
    pub dormer: String,
    /// Sums over all runs.
    pub totals: Totals,
    /// All texts of the tables; [`Summary::text`] looks them up.
    pub texts: Vec<String>,
    /// Builds in the order of their first recording.
    pub builds: Vec<Build>,
    /// Runs that were read, the newest first. If the file would become too large, the oldest are in [`Summary::weeks`]
    /// instead.
    pub runs: Vec<Run>,
    /// Weekly medians of runs that do not fit in the list, the newest week first.
    pub weeks: Vec<Week>,
    /// Medians by model, GPU and build, sorted by model, then GPU, then the order of builds.
    pub medians: Vec<Median>,
    /// What became slower or faster: confirmed changes before alarms, slower before faster, then by the time difference
    /// per run.
    pub regressions: Vec<Change>,
    /// Contributors to regressions: [`Summary::carriers_of`].
    pub carriers: Vec<Carrier>,
    /// The values of regressions over builds: [`Summary::history_of`].
    pub history: Vec<Point>,
    /// Operations with the most GPU time over all runs, at most 200.
    pub ops: Vec<TopOp>,
    /// Kernels with the most GPU time over all runs, at most 200.
    pub kernels: Vec<TopKernel>,
    /// Findings by pattern, those with the largest savings over all runs first.
    pub findings: Vec<Pattern>,
    /// Lost GPU time by cause, the largest first.
    pub lost: Vec<Lost>,
    /// The jobs that took longest, or runs, if their job is unknown.
    pub slowest: Vec<SlowJob>,
    /// Machines whose runs are slower than those of the same model, GPU and build elsewhere, the slowest first.
    pub outliers: Vec<Outlier>,
    /// Files that were not read, by reason, the most frequent first.
    pub rejected: Vec<Rejected>,
}

/// Sums over all runs; a run's time is from its first to its last GPU activity.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Number of files with a row, read or not.
    pub n_files: u32,
    /// Number of runs with figures.
    pub n_runs: u32,
    /// Number of those that were read only partially.
    pub n_partial: u32,
    /// Number of models.
    pub n_models: u32,
    /// GPU time.
    pub gpu_ns: i64,
    /// Idle part of that time.
    pub idle_ns: i64,
    /// When the first run was recorded, in nanoseconds since 1970.
    pub first_ns: Option<i64>,
    /// When the last run was recorded.
    pub last_ns: Option<i64>,
}

labeled! {
    /// Why GPU time is lost. A run's total is its computation plus these three.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Cause {
        /// No GPU activity.
        Idle => "Idle" as "idle",
        /// Communication that is not overlapped by computation.
        ExposedComm => "Exposed communication" as "exposed_comm",
        /// Copies that are not overlapped by computation or communication.
        ExposedCopy => "Exposed copies" as "exposed_copy",
    }
}

impl Cell for Cause {}

columns! {
    /// A build.
    Build in BuildColumns {
        /// Its name.
        build: Text,
        /// When it was first recorded, in nanoseconds since 1970.
        first_ns: Option<i64>,
        /// Number of its runs.
        n_runs: u32,
    }

    /// A run with figures.
    Run in RunColumns {
        /// Its id: 16 hexadecimal digits.
        id: Text,
        /// Its model, or the tag `model` instead.
        model: Option<Text>,
        /// Its GPU.
        gpu: Option<Text>,
        /// Its build.
        build: Option<Text>,
        /// The machine; `None` if names are redacted.
        host: Option<Text>,
        /// The job that it is a rank of.
        job: Option<Text>,
        /// Where it was read, for copying; the page opens the run when the user drops that file.
        uri: Option<Text>,
        /// When it was recorded, in nanoseconds since 1970.
        start_ns: Option<i64>,
        /// `ok` or `partial`.
        status: Status,
        /// From the first to the last GPU activity.
        total_ns: Option<i64>,
        /// Any GPU activity.
        busy_ns: Option<i64>,
        /// Computation.
        compute_ns: Option<i64>,
        /// Communication that is not overlapped by computation.
        exposed_comm_ns: Option<i64>,
        /// Copies that are not overlapped by computation or communication.
        exposed_copy_ns: Option<i64>,
        /// Idle time.
        idle_ns: Option<i64>,
        /// Its first finding.
        finding: Option<Text>,
        /// The estimated savings of that finding.
        worth_ns: Option<i64>,
    }

    /// Medians of a week's runs that do not fit in the list.
    Week in WeekColumns {
        /// The Monday that it starts with, 0:00 UTC, in nanoseconds since 1970; `None` for runs without a time.
        week_ns: Option<i64>,
        /// Their model.
        model: Option<Text>,
        /// Their GPU.
        gpu: Option<Text>,
        /// Their build.
        build: Option<Text>,
        /// Number of runs.
        n_runs: u32,
        /// From the first to the last GPU activity.
        total_ns: Option<i64>,
        /// Any GPU activity.
        busy_ns: Option<i64>,
        /// Computation.
        compute_ns: Option<i64>,
        /// Communication that is not overlapped by computation.
        exposed_comm_ns: Option<i64>,
        /// Copies that are not overlapped by computation or communication.
        exposed_copy_ns: Option<i64>,
        /// Idle time.
        idle_ns: Option<i64>,
    }

    /// Medians of a model's runs on a GPU in a build.
    Median in MedianColumns {
        /// Their model.
        model: Option<Text>,
        /// Their GPU.
        gpu: Option<Text>,
        /// Their build.
        build: Option<Text>,
        /// Number of runs.
        n_runs: u32,
        /// From the first to the last GPU activity.
        total_ns: Option<i64>,
        /// Any GPU activity.
        busy_ns: Option<i64>,
        /// Computation.
        compute_ns: Option<i64>,
        /// Communication that is not overlapped by computation.
        exposed_comm_ns: Option<i64>,
        /// Copies that are not overlapped by computation or communication.
        exposed_copy_ns: Option<i64>,
        /// Idle time.
        idle_ns: Option<i64>,
    }

    /// An operation over all runs.
    TopOp in TopOpColumns {
        /// Its name.
        name: Text,
        /// Shapes of its inputs.
        dims: Option<Text>,
        /// Its category.
        category: Option<Text>,
        /// Number of runs that have it.
        n_runs: u32,
        /// Total number of calls.
        calls: i64,
        /// Total time of its kernels.
        kernel_ns: i64,
        /// Percentage of the kernel time of all operations.
        share_percent: f64,
    }

    /// A kernel over all runs.
    TopKernel in TopKernelColumns {
        /// Its short name.
        name: Text,
        /// Its category.
        category: Option<Text>,
        /// Its library.
        library: Option<Text>,
        /// Number of runs that have it.
        n_runs: u32,
        /// Total number of calls.
        calls: i64,
        /// Its total time.
        kernel_ns: i64,
        /// Percentage of the time of all kernels.
        share_percent: f64,
    }

    /// Findings of a pattern over all runs. Savings are summed over findings: if two findings of a run save the same
    /// time, both count.
    Pattern in PatternColumns {
        /// The key of the rule.
        pattern: Text,
        /// The analysis that finds it.
        analysis: Text,
        /// The title of the finding with the largest savings.
        title: Text,
        /// Number of findings.
        n_findings: u32,
        /// Number of runs that have any.
        n_runs: u32,
        /// Number of findings with estimated savings; the sums include only these.
        n_estimated: u32,
        /// Lower bound of their savings.
        low_ns: i64,
        /// Their savings.
        mid_ns: i64,
        /// Upper bound of their savings.
        high_ns: i64,
        /// The run of the finding with the largest savings.
        run: Text,
    }

    /// GPU time lost to a cause.
    Lost in LostColumns {
        /// The cause.
        cause: Cause,
        /// Lost time.
        lost_ns: i64,
        /// Percentage of the GPU time of all runs.
        share_percent: f64,
        /// The model that loses the most.
        model: Option<Text>,
        /// The time that this model loses.
        model_lost_ns: i64,
        /// Number of runs for which it is known.
        n_runs: u32,
    }

    /// A job, or a run without a job.
    SlowJob in SlowJobColumns {
        /// The job; `None` for a run without a job.
        job: Option<Text>,
        /// Its longest run.
        run: Text,
        /// The model of that run.
        model: Option<Text>,
        /// The GPU of that run.
        gpu: Option<Text>,
        /// The build of that run.
        build: Option<Text>,
        /// Number of its runs that were read.
        n_runs: u32,
        /// From the first to the last GPU activity of the longest run.
        total_ns: i64,
        /// Idle part of that time.
        idle_ns: Option<i64>,
        /// Ratio to the median run of the same model and GPU; `None` if it is the only one.
        ratio: Option<f64>,
    }

    /// A machine whose runs are slower than others of the same model, GPU and build.
    Outlier in OutlierColumns {
        /// The machine.
        host: Text,
        /// Its GPU.
        gpu: Option<Text>,
        /// How many times as long its runs take, the median over all pairs of runs.
        ratio: f64,
        /// The lower end of the 95 % interval.
        low: Option<f64>,
        /// The upper end.
        high: Option<f64>,
        /// Number of its runs.
        n_runs: u32,
        /// Number of models among them.
        n_models: u32,
        /// Its slowest run relative to those of others.
        run: Text,
    }

    /// Files that were not read for the same reason.
    Rejected in RejectedColumns {
        /// `rejected`, `killed` or `timeout`.
        status: Status,
        /// The reason as a key: `not_json`.
        reason_kind: Option<Text>,
        /// The reason of the first file, as a sentence.
        reason: Option<Text>,
        /// Number of files.
        count: u32,
        /// Where the first file was read.
        uri: Option<Text>,
    }
}

impl Summary {
    /// A text of the tables; empty if there is none.
    pub fn text(&self, text: Text) -> &str {
        self.texts.get(text.0 as usize).map_or("", String::as_str)
    }

    /// A text that may be unknown.
    pub fn text_of(&self, text: Option<Text>) -> Option<&str> {
        text.map(|text| self.text(text))
    }

    /// The contributors to a regression, by its index in [`Summary::regressions`], the largest first.
    pub fn carriers_of(&self, regression: usize) -> impl Iterator<Item = &Carrier> {
        let carriers = self.carriers.iter();
        carriers.filter(move |carrier| carrier.regression as usize == regression)
    }

    /// The values of a regression, by its index in [`Summary::regressions`], in the order of builds.
    pub fn history_of(&self, regression: usize) -> impl Iterator<Item = &Point> {
        let points = self.history.iter();
        points.filter(move |point| point.regression as usize == regression)
    }
}
