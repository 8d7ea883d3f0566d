//! What findings and the overview of a job are made of: cards and tables, ready to be shown.

use serde::{Deserialize, Serialize};

use crate::base::value::{Table, Value};

/// A table, ready to be shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownTable {
    /// Its name in files and links.
    pub key: String,
    /// For people.
    pub title: String,
    /// Labels, and whether a column is of numbers.
    pub columns: Vec<(String, bool)>,
    /// Cells for people.
    pub rows: Vec<Vec<String>>,
    /// For each row the rank that it is about, by number; empty where rows are about none.
    pub ranks: Vec<Option<u32>>,
}

impl From<&Table> for ShownTable {
    fn from(table: &Table) -> ShownTable {
        let columns = table.columns.iter().enumerate();
        ShownTable {
            key: table.key.to_owned(),
            title: table.title.clone(),
            columns: columns
                .map(|(at, column)| (column.label.to_owned(), table.is_number(at)))
                .collect(),
            rows: (table.rows.iter())
                .map(|row| row.iter().map(Value::text).collect())
                .collect(),
            ranks: Vec::new(),
        }
    }
}

/// What is wrong with the job, and what to do: a finding for views.
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
    /// What the data shows and cannot show.
    pub reasoning: Vec<String>,
    /// What it is worth: "33.1 ms a step (15.6 %)"; empty where nothing tells.
    pub worth: String,
    /// The same in nanoseconds over all steps.
    pub worth_ns: Option<i64>,
    /// The ranks that it is about, by number.
    pub ranks: Vec<u32>,
    /// The step that shows it best, by position.
    pub step: Option<usize>,
    /// The collective in which others wait longest for one of these ranks, in that step.
    pub collective: Option<CardCollective>,
    /// The evidence.
    pub tables: Vec<ShownTable>,
}

/// A collective as one rank ran it, to be looked at in its trace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CardCollective {
    /// The rank, by number.
    pub rank: u32,
    /// What it is: "all-reduce".
    pub kind: String,
    /// Its kernel, or without a GPU its operator.
    pub kernel: String,
    /// When it starts by the clock of the trace.
    pub start_ns: i64,
}
