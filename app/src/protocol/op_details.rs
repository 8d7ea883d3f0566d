//! The details of one operation, operator, kernel or call.

use serde::{Deserialize, Serialize};

use super::{FactTable, Field};

/// Asks for the details of something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum DetailsQuery {
    /// A row of a sheet.
    Row {
        /// The sheet's name.
        sheet: String,
        /// Its position in the sheet.
        row: u32,
    },
    /// An event of the trace: what it is part of.
    Event(u32),
}

/// The details of one operation, operator, kernel or call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OpDetails {
    /// What it is: "Operation".
    pub kind: String,
    /// Its name, whole.
    pub name: String,
    /// The color token of its category.
    pub token: String,
    /// Its category for people.
    pub family: String,
    /// A few figures: label and value.
    pub figures: Vec<(String, String)>,
    /// The row of a sheet that is about it; `None` where there is none.
    pub row: Option<SheetRow>,
    /// It has a mark in the roofline.
    pub on_roofline: bool,
    /// Every figure of that row.
    pub fields: Vec<Field>,
    /// The findings it is evidence of, what is worth most first.
    pub findings: Vec<FindingLink>,
    /// Where it stands under the roofline, or why that cannot be told, in a sentence.
    pub verdict: String,
    /// What a better efficiency would be worth, in a sentence; empty where that cannot be told.
    pub worth: String,
    /// How the times of its runs differ; `None` where nothing ran on the GPU.
    pub spread: Option<SpreadFacts>,
    /// Where to go and look: the slowest run and the median one.
    pub places: Vec<PlaceLink>,
    /// What it was given, what ran on the GPU, and who called it; those with nothing to show are
    /// left out.
    pub tables: Vec<FactTable>,
    /// The operations that its GPU time belongs to; empty for an operation itself.
    pub operations: Vec<OperationLink>,
    /// What is around the slowest run, the outermost first.
    pub stack: Vec<StackLine>,
}

/// A row of a sheet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SheetRow {
    /// The sheet's name.
    pub sheet: String,
    /// Its position in the sheet.
    pub row: u32,
}

/// A finding to go to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingLink {
    /// Its number, from 1.
    pub number: usize,
    /// The color of the number: `red`, `yellow` or `green`.
    pub light: String,
    /// A few words; names from the trace stand in backticks.
    pub title: String,
    /// Where the report says more of it: a heading's slug.
    pub section: String,
}

/// How the times of runs differ.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SpreadFacts {
    /// How many runs: "177 calls".
    pub n_runs: String,
    /// Label and time: shortest, median, 95 %, longest.
    pub figures: Vec<(String, String)>,
    /// What has to be said about times that differ widely; empty where they do not.
    pub warning: String,
    /// The runs by time; empty where there is one alone.
    pub bars: Vec<SpreadBar>,
    /// Each bar stands for a range that is wider than the one before by the same factor.
    pub is_logarithmic: bool,
}

/// Runs that took about as long.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpreadBar {
    /// Its height: 1 for the tallest.
    pub height: f64,
    /// "10.0 µs to 20.0 µs: 3 calls".
    pub label: String,
}

/// A run to go to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaceLink {
    /// Which of the runs: "Slowest".
    pub label: String,
    /// Its GPU time.
    pub time: String,
    /// The event to look for in the tree; `None` where it is not there.
    pub in_tree: Option<u32>,
    /// The event to look for on the timeline.
    pub in_timeline: u32,
}

/// An operation that some GPU time belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationLink {
    /// Its row in the sheet of operations.
    pub row: u32,
    /// Its name.
    pub name: String,
    /// Its shapes and types.
    pub shapes: String,
    /// What it has of the time.
    pub time: String,
}

/// A call around another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackLine {
    /// Its name, whole.
    pub name: String,
    /// The framework's own code.
    pub is_framework: bool,
    /// The event to look for in the tree.
    pub uid: u32,
}
