//! The Steps view: what each step took, side by side.

use dormer_core::report::overview::SplitPart;
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
    /// In the order in which they ran.
    pub steps: Vec<StepTime>,
}

/// What the GPU did for one step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepTime {
    pub line: StepLine,
    /// How many times the median of the steps its window is: "1.22×"; empty for a single step.
    pub of_median: String,
    /// That is at least 1.1.
    pub is_slow: bool,
    pub parts: Vec<SplitPart>,
    /// Its length in percent of the longest, to draw it.
    pub percent: f64,
}
