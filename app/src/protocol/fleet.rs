//! Many traces: the summary of a fleet. The worker keeps it, and sends its rows as text.

use dormer_core::report::fact_table::FactTable;
use serde::{Deserialize, Serialize};

use super::{Sort, TableRow};

/// A summary that is open.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FleetOpened {
    /// What it comes to.
    pub sentence: String,
    /// What it is of: label and figure.
    pub facts: Vec<(String, String)>,
    /// What became slower or faster.
    pub changes: Vec<FleetChange>,
    /// The times of a model on a GPU, build after build.
    pub trends: Vec<FleetTrend>,
    /// What all of it comes to: time lost, findings, operations, kernels, jobs, machines, files that were not read. The
    /// key of each, and the table.
    pub tables: Vec<(String, FactTable)>,
    pub n_runs: u32,
}

/// What changed with a build.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FleetChange {
    pub title: String,
    /// The model and the ranks that it is of.
    pub scope: String,
    /// Figures, their interval, and of how many runs they are.
    pub evidence: String,
    pub is_slower: bool,
    /// The build after it says the same.
    pub is_confirmed: bool,
    /// The operations and kernels that carry it.
    pub carriers: Option<FactTable>,
    /// The build that it changed with, among `points`.
    pub at: Option<u32>,
    pub points: Vec<FleetPoint>,
    /// Where two runs to compare were read: of the build, and of those before.
    pub runs: [String; 2],
}

/// The median of the runs of a build.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FleetPoint {
    pub build: String,
    pub n_runs: u32,
    pub ns: i64,
}

/// A model on a GPU.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FleetTrend {
    pub model: String,
    pub gpu: String,
    /// From the first to the last GPU activity, in the order of builds.
    pub points: Vec<FleetPoint>,
    /// The share of that in which the GPU is idle, in the last build; for people.
    pub idle: String,
}

/// Asks for runs `offset .. offset + count`, filtered and sorted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FleetRunsQuery {
    /// Words that a run has, each in any of its texts; case does not count.
    pub find: String,
    /// By one of [`RUN_COLUMNS`]; `None`: the newest first.
    pub sort: Option<Sort>,
    pub offset: usize,
    pub count: usize,
    /// A run, by its place in the summary, whose place in this order is wanted.
    pub locate: Option<u32>,
}

/// A window of the runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FleetRuns {
    /// Runs that the filter leaves.
    pub matching: usize,
    pub offset: usize,
    /// Cells are those of [`RUN_COLUMNS`].
    pub rows: Vec<TableRow>,
    /// Where the run that was to be located stands.
    pub located: Option<usize>,
}

/// The columns of runs: what the order calls them, their title, and whether they are numbers.
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
