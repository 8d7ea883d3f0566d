//! Many traces: the summary of a fleet. The worker keeps it, and sends its rows as text.

use dormer_core::report::fact_table::FactTable;
use serde::{Deserialize, Serialize};

use super::{Sort, TableRow};

/// An open summary.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FleetOpened {
    /// The main result.
    pub sentence: String,
    /// What it covers, as label and figure.
    pub facts: Vec<(String, String)>,
    /// What became slower or faster.
    pub changes: Vec<FleetChange>,
    /// The times of a model on a GPU over builds.
    pub trends: Vec<FleetTrend>,
    /// Overall results, as key and table: lost time, findings, operations, kernels, jobs, machines, files that were not
    /// read.
    pub tables: Vec<(String, FactTable)>,
    pub n_runs: u32,
}

/// What changed with a build.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FleetChange {
    pub title: String,
    /// Its model and number of ranks.
    pub scope: String,
    /// Figures, their interval, and the number of runs.
    pub evidence: String,
    pub is_slower: bool,
    /// Whether the next build confirms it.
    pub is_confirmed: bool,
    /// The operations and kernels that contribute to it.
    pub carriers: Option<FactTable>,
    /// The index in `points` of the build that it changed with.
    pub at: Option<u32>,
    pub points: Vec<FleetPoint>,
    /// Where two runs to compare were read: one of the build, and one of previous builds.
    pub runs: [String; 2],
}

/// The median over the runs of a build.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FleetPoint {
    pub build: String,
    pub n_runs: u32,
    pub ns: i64,
}

/// The times of a model on a GPU.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FleetTrend {
    pub model: String,
    pub gpu: String,
    /// From the first to the last GPU activity, in the order of builds.
    pub points: Vec<FleetPoint>,
    /// The GPU's idle share in the last build, formatted.
    pub idle: String,
}

/// Asks for runs `offset .. offset + count`, filtered and sorted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FleetRunsQuery {
    /// Words that each must occur in any of a run's texts; case is ignored.
    pub find: String,
    /// The order, by one of [`RUN_COLUMNS`]; `None` for the newest first.
    pub sort: Option<Sort>,
    pub offset: usize,
    pub count: usize,
    /// A run to locate in this order, by its index in the summary.
    pub locate: Option<u32>,
}

/// A window of the runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FleetRuns {
    /// Number of runs that match the filter.
    pub matching: usize,
    pub offset: usize,
    /// The rows, with the cells of [`RUN_COLUMNS`].
    pub rows: Vec<TableRow>,
    /// The position of the run to locate.
    pub located: Option<usize>,
}

/// The columns of runs: their sort key, their title, and whether they are numeric.
pub const RUN_COLUMNS: [(&str, &str, bool); 10] = [
    ("recorded", "Recorded", false),
    ("model", "Model", false),
    ("gpu", "GPU", false),
    ("build", "Build", false),
    ("total", "Total", true),
    ("compute", "Computation", true),
    ("exposed", "Exposed comm.", true),
    ("idle", "Idle", true),
    ("finding", "First finding", false),
    ("uri", "File", false),
];
