//! The Steps view: what each step took, side by side.

use dormer_core::report::fact_table::FactTable;
use dormer_core::report::overview::SplitPart;
use dormer_core::report::steps::StepChart;
use serde::{Deserialize, Serialize};

use super::StepLine;

/// Asks what the Steps view shows.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct StepsQuery;

/// The steps of the whole trace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StepTimes {
    /// The answer in a sentence; why there is none where there are no steps.
    pub headline: String,
    /// What becomes of the steps over the recording, a sentence each.
    pub notes: Vec<String>,
    /// Steps of a steady load, to be analyzed together.
    pub choices: Vec<StepChoice>,
    /// The step of median length, where many steps are alike: to be analyzed for all of them.
    pub median: Option<StepChoice>,
    /// Of a serving engine: a bar for each step.
    pub chart: Option<StepChart>,
    /// Of a serving engine: its batches and graphs.
    pub tables: Vec<FactTable>,
    /// Columns of [`StepTime::cells`].
    pub columns: Vec<String>,
    /// In the order in which they ran.
    pub steps: Vec<StepTime>,
    /// How many more there are.
    pub n_more: usize,
}

/// Steps that follow each other.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StepChoice {
    /// What they are.
    pub label: String,
    /// Which they are, and their median.
    pub text: String,
    /// When the GPU worked for them.
    pub window: (u64, u64),
}

/// What the GPU did for one step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepTime {
    pub line: StepLine,
    /// How long it takes.
    pub time: String,
    /// How many times the median of the steps its window is: "1.22×"; empty for a single step. Of a
    /// serving engine how much longer it takes than the steps like it.
    pub of_median: String,
    /// That is much.
    pub is_slow: bool,
    /// Of a serving engine: its batch and its launches, a text for each of [`StepTimes::columns`].
    pub cells: Vec<String>,
    pub parts: Vec<SplitPart>,
    /// Its length in percent of the longest, to draw it.
    pub percent: f64,
}
