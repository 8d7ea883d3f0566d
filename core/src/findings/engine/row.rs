//! The figures of an operation in an analysis.

use super::assessment::Assessment;
use crate::hardware::roofline::Bound;

/// An operation in an analysis.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Row {
    /// Its index in [`Profile::operations`](crate::Profile::operations).
    pub operation: usize,
    /// The kernel time of its calls.
    pub time_ns: i64,
    /// Number of calls.
    pub n_calls: u64,
    /// Its share of the time of the analysis.
    pub percent_of_category: f64,
    /// Its share of the kernel time of all computation.
    pub percent_of_compute: Option<f64>,
    /// Its share of the run time, idle time included.
    pub percent_of_total: Option<f64>,
    /// Percent of the roofline; `None` without a model or without a GPU.
    pub efficiency_percent: Option<f64>,
    /// The same by equal parts of the time in which several kernels compute; `None` if hardly any do.
    pub shared_percent: Option<f64>,
    /// What it takes longer in a part of the run in which all kernels are slower.
    pub slowed_ns: i64,
    /// The rating of its efficiency, relative to what is usual for its kind.
    pub assessment: Option<Assessment>,
    /// What limits it.
    pub bound: Option<Bound>,
    /// Further above the roofline than inaccurate figures explain: shown, never ranked.
    pub is_anomaly: bool,
    /// Standard deviation of its calls' times divided by the mean; `None` for few calls.
    pub variation: Option<f64>,
    /// The class that the analysis assigns: "tiny batched", "1×1".
    pub class: String,
}

impl Row {
    /// Percent of the roofline, unless it is an anomaly.
    pub(crate) fn plausible_percent(&self) -> Option<f64> {
        self.efficiency_percent.filter(|_| !self.is_anomaly)
    }

    /// By what it is judged: kernels that share the GPU with others need not reach the roofline, and a slow part of the
    /// run is no fault of theirs, unless it is an anomaly.
    pub(crate) fn judged_percent(&self) -> Option<f64> {
        self.steady_percent().filter(|_| !self.is_anomaly)
    }

    /// Its time at the speed that it has in most of the run.
    pub(crate) fn steady_ns(&self) -> i64 {
        self.time_ns.saturating_sub(self.slowed_ns).max(0)
    }

    /// Percent of the roofline at that speed, in its part of the GPU.
    pub(crate) fn steady_percent(&self) -> Option<f64> {
        let percent = self.shared_percent.or(self.efficiency_percent)?;
        let steady = percent * self.time_ns as f64 / self.steady_ns().max(1) as f64;
        Some(match self.slowed_ns {
            0 => percent,
            _ => steady.min(percent.max(100.0)),
        })
    }

    /// What limits it and how far it is from that limit: the group of operations without a named cause.
    pub(crate) fn gap_bucket(&self) -> String {
        format!("{:?} {}", self.bound, self.gap_step())
    }

    /// How far it is from its limit.
    fn gap_step(&self) -> &'static str {
        match self.efficiency_percent {
            None => "unknown",
            Some(percent) if percent < 30.0 => "below 30 %",
            Some(percent) if percent < 60.0 => "30–60 %",
            Some(_) => "above 60 %",
        }
    }
}
