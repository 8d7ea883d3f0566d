//! Many traces on one page: `fleet.json.gz`.
//!
//! | part | what it answers |
//! |---|---|
//! | [`Summary::sentence`] | how much of the GPUs' time is lost, and what became slower |
//! | [`Summary::regressions`], [`Summary::carriers`], [`Summary::history`] | which build made what slower or faster, and which operations carry it |
//! | [`Summary::medians`] | the times of a model on a GPU, build after build |
//! | [`Summary::lost`] | GPU time lost, by cause |
//! | [`Summary::findings`] | what to fix first: findings by what they are worth over all runs |
//! | [`Summary::ops`], [`Summary::kernels`] | what the GPUs spend their time with |
//! | [`Summary::slowest`], [`Summary::outliers`] | jobs and machines to look at |
//! | [`Summary::runs`], [`Summary::weeks`], [`Summary::rejected`] | what was read, and what was not |
//!
//! In the file each table is columns (`{"model": [0, 0, 3], …}`), and a text is its place in `texts`. Times are integer
//! nanoseconds, an unknown is `null`.

mod file;
mod found;
mod hosts;
mod jobs;
mod make;
mod numbers;
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
use crate::base::labels::labelled;

pub use file::{Bad, FORMAT, is_summary};
pub use make::Options;
pub use within::MOST_BYTES;

/// Many traces, as the page shows them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// What it comes to, in a sentence: "4.1 % of 9 830 GPU hours idle; build b07 made GEMM 6.1 % slower on MI300X in 7 of
    /// 10 models".
    pub sentence: String,
    /// The tag that tells builds apart: "build".
    pub by: String,
    /// The version that made it.
    pub dormer: String,
    /// Sums over all runs.
    pub totals: Totals,
    /// Every text of the tables; [`Summary::text`] looks up.
    pub texts: Vec<String>,
    /// Builds in the order of their first recording.
    pub builds: Vec<Build>,
    /// Runs that were read, the newest first. Where the file would become too large, the oldest are in [`Summary::weeks`]
    /// instead.
    pub runs: Vec<Run>,
    /// Medians of runs that are too many to list, the newest week first.
    pub weeks: Vec<Week>,
    /// Medians of model, GPU and build: by model, then GPU, then the order of builds.
    pub medians: Vec<Median>,
    /// What became slower or faster: confirmed before alarms, slower before faster, then by the time that it costs a run.
    pub regressions: Vec<Change>,
    /// What carries regressions: [`Summary::carriers_of`].
    pub carriers: Vec<Carrier>,
    /// The values of regressions over builds: [`Summary::history_of`].
    pub history: Vec<Point>,
    /// Operations with most GPU time over all runs, at most 200.
    pub ops: Vec<TopOp>,
    /// Kernels with most GPU time over all runs, at most 200.
    pub kernels: Vec<TopKernel>,
    /// Findings by pattern, those worth most over all runs first.
    pub findings: Vec<Pattern>,
    /// GPU time lost by cause, the most first.
    pub lost: Vec<Lost>,
    /// The jobs that took longest, or the runs where no job is told.
    pub slowest: Vec<SlowJob>,
    /// Machines whose runs are slower than those of the same model, GPU and build elsewhere, the slowest first.
    pub outliers: Vec<Outlier>,
    /// What was not read, by reason, the most frequent first.
    pub rejected: Vec<Rejected>,
}

/// Sums over all runs; a run counts with the time from its first to its last GPU activity.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Files with a row, read or not.
    pub n_files: u32,
    /// Runs with figures.
    pub n_runs: u32,
    /// Of those, from files of which not all was read.
    pub n_partial: u32,
    /// Models.
    pub n_models: u32,
    /// GPU time.
    pub gpu_ns: i64,
    /// Of that, no GPU activity.
    pub idle_ns: i64,
    /// When the first was recorded, in nanoseconds since 1970.
    pub first_ns: Option<i64>,
    /// When the last was.
    pub last_ns: Option<i64>,
}

labelled! {
    /// Where GPU time goes that computes nothing. A run's total is its computation and these three.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Cause {
        /// No GPU activity.
        Idle => "Idle" as "idle",
        /// Communication beside which nothing computes.
        ExposedComm => "Exposed communication" as "exposed_comm",
        /// Copies beside which nothing computes or communicates.
        ExposedCopy => "Exposed copies" as "exposed_copy",
    }
}

impl Cell for Cause {}

columns! {
    /// A build.
    Build in BuildColumns {
        /// What it is called.
        build: Text,
        /// When it was first recorded, in nanoseconds since 1970.
        first_ns: Option<i64>,
        /// Runs of it.
        n_runs: u32,
    }

    /// A run with figures.
    Run in RunColumns {
        /// What names it: 16 hex digits.
        id: Text,
        /// Its model, or the tag that stands for it.
        model: Option<Text>,
        /// Its GPU.
        gpu: Option<Text>,
        /// Its build.
        build: Option<Text>,
        /// The machine; `None` where names are replaced.
        host: Option<Text>,
        /// The job that it is a rank of.
        job: Option<Text>,
        /// Where it was read, to be copied; the page opens it when the user drops that file.
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
        /// Communication beside which nothing computes.
        exposed_comm_ns: Option<i64>,
        /// Copies beside which nothing computes or communicates.
        exposed_copy_ns: Option<i64>,
        /// No GPU activity.
        idle_ns: Option<i64>,
        /// Its first finding.
        finding: Option<Text>,
        /// What that is worth.
        worth_ns: Option<i64>,
    }

    /// Runs of a week that are too many to list: medians of their times.
    Week in WeekColumns {
        /// The Monday that it starts with, 0:00 UTC, in nanoseconds since 1970; `None` for runs without a time.
        week_ns: Option<i64>,
        /// Their model.
        model: Option<Text>,
        /// Their GPU.
        gpu: Option<Text>,
        /// Their build.
        build: Option<Text>,
        /// How many.
        n_runs: u32,
        /// From the first to the last GPU activity.
        total_ns: Option<i64>,
        /// Any GPU activity.
        busy_ns: Option<i64>,
        /// Computation.
        compute_ns: Option<i64>,
        /// Communication beside which nothing computes.
        exposed_comm_ns: Option<i64>,
        /// Copies beside which nothing computes or communicates.
        exposed_copy_ns: Option<i64>,
        /// No GPU activity.
        idle_ns: Option<i64>,
    }

    /// Runs of a model on a GPU in a build: medians of their times.
    Median in MedianColumns {
        /// Their model.
        model: Option<Text>,
        /// Their GPU.
        gpu: Option<Text>,
        /// Their build.
        build: Option<Text>,
        /// How many.
        n_runs: u32,
        /// From the first to the last GPU activity.
        total_ns: Option<i64>,
        /// Any GPU activity.
        busy_ns: Option<i64>,
        /// Computation.
        compute_ns: Option<i64>,
        /// Communication beside which nothing computes.
        exposed_comm_ns: Option<i64>,
        /// Copies beside which nothing computes or communicates.
        exposed_copy_ns: Option<i64>,
        /// No GPU activity.
        idle_ns: Option<i64>,
    }

    /// An operation over all runs.
    TopOp in TopOpColumns {
        /// Its name.
        name: Text,
        /// Shapes of its inputs.
        dims: Option<Text>,
        /// What kind of work it is.
        category: Option<Text>,
        /// Runs that have it.
        n_runs: u32,
        /// Calls in all.
        calls: i64,
        /// Time of its kernels in all.
        kernel_ns: i64,
        /// Of the time of all operations' kernels, in percent.
        share_percent: f64,
    }

    /// A kernel over all runs.
    TopKernel in TopKernelColumns {
        /// Its short name.
        name: Text,
        /// What kind of work it is.
        category: Option<Text>,
        /// Where it comes from.
        library: Option<Text>,
        /// Runs that have it.
        n_runs: u32,
        /// Calls in all.
        calls: i64,
        /// Its time in all.
        kernel_ns: i64,
        /// Of the time of all kernels, in percent.
        share_percent: f64,
    }

    /// Findings of a pattern over all runs. What they are worth is a sum over findings: where two of a run save the same
    /// time, both count.
    Pattern in PatternColumns {
        /// The key of the rule.
        pattern: Text,
        /// The analysis that finds it.
        analysis: Text,
        /// The title of the one that is worth most.
        title: Text,
        /// How many.
        n_findings: u32,
        /// Runs that have any.
        n_runs: u32,
        /// Findings with an estimate of what they are worth; the sums are of these.
        n_estimated: u32,
        /// What they are worth, at least.
        low_ns: i64,
        /// What they are worth.
        mid_ns: i64,
        /// What they are worth, at most.
        high_ns: i64,
        /// The run of the one that is worth most.
        run: Text,
    }

    /// GPU time lost to a cause.
    Lost in LostColumns {
        /// The cause.
        cause: Cause,
        /// How much.
        lost_ns: i64,
        /// Of the GPU time of all runs, in percent.
        share_percent: f64,
        /// The model that loses most by it.
        model: Option<Text>,
        /// How much that one loses.
        model_lost_ns: i64,
        /// Runs of which it is known.
        n_runs: u32,
    }

    /// A job, or a run of none.
    SlowJob in SlowJobColumns {
        /// The job; `None` for a run by itself.
        job: Option<Text>,
        /// Its longest run.
        run: Text,
        /// The model of that.
        model: Option<Text>,
        /// The GPU of that.
        gpu: Option<Text>,
        /// The build of that.
        build: Option<Text>,
        /// Runs that were read of it.
        n_runs: u32,
        /// From the first to the last GPU activity of the longest.
        total_ns: i64,
        /// Of that, no GPU activity.
        idle_ns: Option<i64>,
        /// How many times as long as the median run of the same model and GPU; `None` where it is the only one.
        ratio: Option<f64>,
    }

    /// A machine whose runs are slower than others of the same model, GPU and build.
    Outlier in OutlierColumns {
        /// The machine.
        host: Text,
        /// Its GPU.
        gpu: Option<Text>,
        /// How many times as long its runs take: the median over its runs.
        ratio: f64,
        /// The lower end of the 95 % interval.
        low: Option<f64>,
        /// The upper end.
        high: Option<f64>,
        /// Runs of it.
        n_runs: u32,
        /// Models among them.
        n_models: u32,
        /// Its slowest run against the others'.
        run: Text,
    }

    /// Files that were not read, of one reason.
    Rejected in RejectedColumns {
        /// `rejected`, `killed` or `timeout`.
        status: Status,
        /// The reason as a key: `not_json`.
        reason_kind: Option<Text>,
        /// The reason of the first, a sentence.
        reason: Option<Text>,
        /// How many.
        count: u32,
        /// Where the first was read.
        uri: Option<Text>,
    }
}

impl Summary {
    /// A text of the tables; empty where there is none.
    pub fn text(&self, text: Text) -> &str {
        self.texts.get(text.0 as usize).map_or("", String::as_str)
    }

    /// A text that may be unknown.
    pub fn text_of(&self, text: Option<Text>) -> Option<&str> {
        text.map(|text| self.text(text))
    }

    /// What carries a regression, by its place in [`Summary::regressions`]: those that weigh most first.
    pub fn carriers_of(&self, regression: usize) -> impl Iterator<Item = &Carrier> {
        let carriers = self.carriers.iter();
        carriers.filter(move |carrier| carrier.regression as usize == regression)
    }

    /// The values of a regression, by its place in [`Summary::regressions`]: in the order of builds.
    pub fn history_of(&self, regression: usize) -> impl Iterator<Item = &Point> {
        let points = self.history.iter();
        points.filter(move |point| point.regression as usize == regression)
    }
}
