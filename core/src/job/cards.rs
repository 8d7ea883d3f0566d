//! The parts of findings and of the overview of a job: cards and tables, ready to be shown.

use serde::{Deserialize, Serialize};

use crate::base::value::{Table, Value};

/// A table, ready to be shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownTable {
    /// Its name in files and links.
    pub key: String,
    /// The displayed title.
    pub title: String,
    /// Labels, and whether a column is numeric.
    pub columns: Vec<(String, bool)>,
    /// Formatted cells.
    pub rows: Vec<Vec<String>>,
    /// For each row, the number of the rank that it is about; empty where rows are not about ranks.
    pub ranks: Vec<Option<u32>>,
}

impl From<&Table> for ShownTable {
    fn from(table: &Table) -> ShownTable {
        ShownTable {
            key: table.key.to_owned(),
            title: table.title.clone(),
            columns: table.headings(),
            rows: (table.rows.iter())
                .map(|row| row.iter().map(Value::text).collect())
                .collect(),
            ranks: Vec::new(),
        }
    }
}

/// A finding about a job, ready to be shown: what is wrong and what to do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobCard {
    /// Its name in files: "slow_rank".
    pub key: String,
    /// A few words.
    pub title: String,
    /// One sentence with the figures.
    pub issue: String,
    /// What to do.
    pub action: String,
    /// What the data shows, and what it cannot show.
    pub reasoning: Vec<String>,
    /// The saving: "33.1 ms a step (15.6 %)"; empty where unknown.
    pub savings: String,
    /// The same in nanoseconds over all steps.
    pub saving_ns: Option<i64>,
    /// The ranks that it is about, by number.
    pub ranks: Vec<u32>,
    /// The step that shows it best, as an index into the steps of the job.
    pub step: Option<usize>,
    /// The collective in which others wait the longest for one of these ranks, in that step.
    pub collective: Option<CardCollective>,
    /// The evidence.
    pub tables: Vec<ShownTable>,
}

/// The key of the finding about all waiting between ranks: the bound of the job.
pub(crate) const NO_WAITING: &str = "no_waiting";

impl JobCard {
    /// Whether it is the bound of the job, which contains the savings of other findings.
    pub fn is_bound(&self) -> bool {
        self.key == NO_WAITING
    }
}

/// A collective as one rank ran it, to be looked up in its trace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CardCollective {
    /// The number of the rank.
    pub rank: u32,
    /// Its kind: "all-reduce".
    pub kind: String,
    /// Its kernel, or without a GPU its operator.
    pub kernel: String,
    /// When it starts, on the clock of the trace.
    pub start_ns: i64,
}
