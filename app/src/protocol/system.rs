//! The Idle & communication view: idle time, communication, copies.

use dormer_core::report::fact_table::FactTable;
use dormer_core::report::overview::{Limit, SplitPart};
use serde::{Deserialize, Serialize};

/// Asks for the contents of the Idle & communication view.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct SystemQuery;

/// What prevents the GPU from computing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SystemFacts {
    /// The main result in a sentence.
    pub headline: String,
    /// How to record GPU activity; `None` if there is some.
    pub how: Option<String>,
    /// Limits to the reliability of these numbers.
    pub limits: Vec<Limit>,
    /// One sentence each on communication and copies.
    pub lead: Vec<String>,
    /// Where the recorded GPU time went; empty without GPU activity.
    pub split: Vec<SplitPart>,
    /// Idle time, communication, copies.
    pub sections: Vec<SystemSection>,
}

/// One kind of time in which the GPU does not compute.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SystemSection {
    /// Its key.
    pub key: String,
    /// Its title for people.
    pub title: String,
    /// Why there is nothing to show; then everything except the notes is empty.
    pub missing: Option<String>,
    /// Figures, as label and value.
    pub figures: Vec<(String, String)>,
    /// How much of it is overlapped by other activity.
    pub overlap: Option<OverlapBar>,
    /// Bar charts.
    pub charts: Vec<BarChart>,
    /// The longest gaps, the longest first.
    pub gaps: Vec<Gap>,
    pub tables: Vec<FactTable>,
    /// Sentences on what is unknown.
    pub notes: Vec<String>,
}

/// Hidden time, overlapped by other activity, and exposed time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OverlapBar {
    pub token: String,
    /// What the time is spent on.
    pub label: String,
    /// Share and time of the hidden part.
    pub hidden: String,
    /// Share and time of the exposed part.
    pub exposed: String,
    /// The hidden share as a number, for drawing.
    pub hidden_percent: f64,
}

/// A table with a bar in each row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BarChart {
    /// What the chart shows.
    pub title: String,
    /// The headers of the label and of each cell.
    pub columns: Vec<String>,
    pub rows: Vec<BarRow>,
}

/// A bar with its label and numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BarRow {
    /// Its label for people.
    pub label: String,
    /// The length of the bar in percent of the longest.
    pub percent: f64,
    /// Numbers, starting with the one that is drawn.
    pub cells: Vec<String>,
}

/// A gap between GPU events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gap {
    /// Its length.
    pub length: String,
    /// Its start, relative to the start of GPU activity.
    pub start: String,
    /// Its cause, in a few words.
    pub cause: String,
    /// The kernel that ends before it, and its stream.
    pub before: (String, String),
    /// The kernel that starts after it, and its stream.
    pub after: (String, String),
    /// What the CPU did during the gap, as label and value.
    pub cpu: Vec<(String, String)>,
    /// The event to show in the tree.
    pub event: Option<u32>,
}
