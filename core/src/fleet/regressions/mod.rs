//! What became slower or faster between builds.
//!
//! A series is a time of the same work ([`Metric`]) over builds: same model, GPU, world size and options. A build is compared
//! with the ten before it.

use serde::{Deserialize, Serialize};

use super::columns::{Cell, columns};
use super::metric::Metric;
use super::texts::Text;
use crate::base::labels::labelled;

labelled! {
    /// How sure a change is.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Level {
        /// The build differs from those before it by more than noise.
        Alarm => "alarm" as "alarm",
        /// The build after it does, too.
        Confirmed => "confirmed" as "confirmed",
    }
}

labelled! {
    /// What carries a change.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Part {
        /// An operation with its arguments.
        Op => "operation" as "op",
        /// A kernel.
        Kernel => "kernel" as "kernel",
    }
}

impl Cell for Level {}
impl Cell for Part {}

columns! {
    /// A series that changed with a build.
    Change in ChangeColumns {
        /// The model, or the tag that stands for it.
        model: Option<Text>,
        /// The GPU.
        gpu: Option<Text>,
        /// How many ranks the jobs have.
        world_size: Option<i64>,
        /// What changed.
        metric: Metric,
        /// Its category, operation or kernel; `None` for the times of a whole run.
        name: Option<Text>,
        /// The build that it changed with.
        build: Text,
        /// How sure it is.
        level: Level,
        /// The build that confirmed it.
        confirmed_by: Option<Text>,
        /// New time over old: the median over all pairs of runs. 1.06 is 6 % slower, less than 1 is faster.
        ratio: f64,
        /// The lower end of the 95 % interval; `None` where the runs are too few for one.
        low: Option<f64>,
        /// The upper end.
        high: Option<f64>,
        /// How likely such a difference would be by chance; `None` for builds with one or two runs, which are held against
        /// the spread of the builds before.
        p: Option<f64>,
        /// Runs of the build.
        n_new: u32,
        /// Runs of the builds that it is compared with.
        n_base: u32,
        /// How many builds those are.
        n_base_builds: u32,
        /// The first of those.
        base_first: Text,
        /// The last of those.
        base_last: Text,
        /// Median of the runs of the build.
        new_ns: i64,
        /// Median of the runs of those builds.
        base_ns: i64,
        /// A run of the build to compare: the one nearest to the median.
        new_run: Text,
        /// A run of those builds to compare: the one nearest to the median.
        base_run: Text,
    }

    /// What carries a change.
    Carrier in CarrierColumns {
        /// The place of the change in its list.
        regression: u32,
        /// What it is.
        part: Part,
        /// Its name.
        name: Text,
        /// Shapes of its inputs, of an operation.
        dims: Option<Text>,
        /// Median of its time in runs of the builds before; 0 where it did not run.
        base_ns: i64,
        /// Median of its time in runs of the build.
        new_ns: i64,
        /// Its difference, of the difference of the whole, in percent. More than 100 where others became faster.
        share_percent: f64,
    }

    /// The value of a series in a build.
    Point in PointColumns {
        /// The place of the change in its list.
        regression: u32,
        /// The build.
        build: Text,
        /// Runs of it.
        n_runs: u32,
        /// Median of those.
        median_ns: i64,
    }
}

impl Change {
    /// Whether it became slower.
    pub fn is_slower(&self) -> bool {
        self.ratio > 1.0
    }
}
