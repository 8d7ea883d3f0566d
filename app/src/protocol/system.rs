//! The Idle & communication view: idle time, communication, copies.

use dormer_core::report::fact_table::FactTable;
use dormer_core::report::overview::{Limit, SplitPart};
use serde::{Deserialize, Serialize};

/// Asks what the Idle & communication view shows.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct SystemQuery;

/// What keeps the GPU from computing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SystemFacts {
    /// The answer in a sentence.
    pub headline: String,
    /// What limits trust in these numbers.
    pub limits: Vec<Limit>,
    /// A sentence each on communication and on copies.
    pub lead: Vec<String>,
    /// Where the recorded GPU time went; empty without GPU activity.
    pub split: Vec<SplitPart>,
    /// Idle time, communication, copies.
    pub sections: Vec<SystemSection>,
}

/// One kind of time in which the GPU does not compute.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SystemSection {
    /// What it is known by.
    pub key: String,
    /// For people.
    pub title: String,
    /// Why there is nothing to show; all but the notes is empty then.
    pub missing: Option<String>,
    /// Label and value.
    pub figures: Vec<(String, String)>,
    /// How much of it runs beside other work.
    pub overlap: Option<OverlapBar>,
    /// Charts whose rows are bars.
    pub charts: Vec<BarChart>,
    /// The longest gaps, the longest first.
    pub gaps: Vec<Gap>,
    pub tables: Vec<FactTable>,
    /// Sentences on what cannot be told.
    pub notes: Vec<String>,
}

/// Time that other work hides, beside time that nothing hides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OverlapBar {
    pub token: String,
    /// What it is time of.
    pub label: String,
    /// Share and time of the hidden part.
    pub hidden: String,
    /// Share and time of the rest.
    pub exposed: String,
    /// The hidden share as a number, to draw it.
    pub hidden_percent: f64,
}

/// A table with a bar in each row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BarChart {
    /// What is drawn.
    pub title: String,
    /// What stands above the label and above each cell.
    pub columns: Vec<String>,
    pub rows: Vec<BarRow>,
}

/// A bar with what it stands for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BarRow {
    /// For people.
    pub label: String,
    /// The length of the bar in percent of the longest.
    pub percent: f64,
    /// Numbers, the one that is drawn first.
    pub cells: Vec<String>,
}

/// A gap between GPU events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gap {
    /// How long it is.
    pub length: String,
    /// When it starts, from the start of GPU activity.
    pub start: String,
    /// Why, in a few words.
    pub cause: String,
    /// The kernel that ends before it, and its stream.
    pub before: (String, String),
    /// The kernel that starts after it, and its stream.
    pub after: (String, String),
    /// What the CPU did meanwhile: label and value.
    pub cpu: Vec<(String, String)>,
    /// The event to look for in the tree.
    pub event: Option<u32>,
}
