//! The story of one operation, operator or kernel: what the strip below a table tells.

use serde::{Deserialize, Serialize};

use super::FactTable;

/// Asks for the story of a row of a sheet.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StoryQuery {
    /// The sheet's name.
    pub sheet: String,
    /// Its position in the sheet.
    pub row: usize,
}

/// Everything there is to say about one operation, operator or kernel beside its figures.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OpStory {
    /// Where it stands under the roof, or why that cannot be told, in a sentence.
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
