//! An operation as an analysis sees it: its figures.

use super::assessment::Assessment;
use crate::hardware::roofline::Bound;

/// An operation as an analysis sees it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Row {
    /// Its position in [`Profile::operations`](crate::Profile::operations).
    pub operation: usize,
    /// The kernel time of its calls.
    pub time_ns: i64,
    /// Number of calls.
    pub n_calls: u64,
    /// Share of the time of the analysis.
    pub percent_of_category: f64,
    /// Its kernel time as a share of that of all that computes.
    pub percent_of_compute: Option<f64>,
    /// Its part of the time of the run as a share of that, idle time included.
    pub percent_of_total: Option<f64>,
    /// Percent of the roofline; `None` without a model or without a GPU.
    pub efficiency_percent: Option<f64>,
    /// What that means, by what is usual of its kind.
    pub assessment: Option<Assessment>,
    /// What bounds it.
    pub bound: Option<Bound>,
    /// Above the roofline by more than figures can be off: shown, never ranked.
    pub is_anomaly: bool,
    /// Deviation over mean of its calls' times; `None` for few calls.
    pub variation: Option<f64>,
    /// What the analysis calls it: "tiny batched", "1×1".
    pub class: String,
}

impl Row {
    /// What bounds it and how far it is from that: what has no named cause is grouped by it.
    pub(crate) fn gap_bucket(&self) -> String {
        format!("{:?} {}", self.bound, self.gap_step())
    }

    /// How far it is from what bounds it.
    pub(crate) fn gap_step(&self) -> &'static str {
        match self.efficiency_percent {
            None => "unknown",
            Some(percent) if percent < 30.0 => "below 30 %",
            Some(percent) if percent < 60.0 => "30–60 %",
            Some(_) => "above 60 %",
        }
    }
}
