//! The Steps view: the times of all steps.

use dormer_core::report::fact_table::FactTable;
use dormer_core::report::overview::SplitPart;
use dormer_core::report::steps::StepChart;
use serde::{Deserialize, Serialize};

use super::StepLine;

/// Asks for the contents of the Steps view.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct StepsQuery;

/// The steps of the whole trace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StepTimes {
    /// The main result in a sentence.
    pub headline: String,
    /// How to record steps; `None` if there are some.
    pub how: Option<String>,
    /// Sentences on how steps change over the recording.
    pub notes: Vec<String>,
    /// Steps with a steady load, which can be analyzed together.
    pub choices: Vec<StepChoice>,
    /// The step of median length if many steps are alike, which can be analyzed in place of all.
    pub median: Option<StepChoice>,
    /// For a serving engine: a bar per step.
    pub chart: Option<StepChart>,
    /// For a serving engine: its batches and graphs.
    pub tables: Vec<FactTable>,
    /// Columns of [`StepTime::cells`].
    pub columns: Vec<String>,
    /// The steps, in the order in which they ran.
    pub steps: Vec<StepTime>,
    /// Number of further steps.
    pub n_more: usize,
}

/// Consecutive steps.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StepChoice {
    /// Their label.
    pub label: String,
    /// Which they are, and their median.
    pub text: String,
    /// Start and end of their GPU activity.
    pub window: (u64, u64),
}

/// The GPU activity of one step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepTime {
    pub line: StepLine,
    /// Its duration.
    pub time: String,
    /// Its duration relative to the median step: "1.22×"; empty for a single step. For a serving engine, how much
    /// longer it takes than similar steps.
    pub of_median: String,
    /// Whether that is a lot.
    pub is_slow: bool,
    /// For a serving engine: its batch and its launches, one text for each of [`StepTimes::columns`].
    pub cells: Vec<String>,
    pub parts: Vec<SplitPart>,
    /// Its duration in percent of the longest, for drawing.
    pub percent: f64,
}
