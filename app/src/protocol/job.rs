//! Many ranks of one job.

use dormer_core::job::bandwidth::BandwidthChart;
use dormer_core::job::overview::JobOverview;
use serde::{Deserialize, Serialize};

/// Reduces the file sent with the message to its digest.
#[derive(Debug, Serialize, Deserialize)]
pub struct DigestRequest {
    /// Its name, including its folders.
    pub path: String,
    /// Whether another worker decompresses it in parallel.
    pub has_inflater: bool,
}

/// Combines the digests sent with the message with earlier ones.
#[derive(Debug, Serialize, Deserialize)]
pub struct JobRequest {
    /// The index of the window to show, the newest first.
    pub window: u32,
    /// Files that could not be read: name, size in bytes, reason.
    pub unreadable: Vec<(String, u64, String)>,
    /// Network bandwidth per rank in GB/s, if the user specified it.
    pub network_gbps: Option<f64>,
}

/// An open job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobOpened {
    /// Its overview.
    pub overview: JobOverview,
    /// Its achieved bandwidths.
    pub bandwidth: BandwidthChart,
    /// The same moment by the clock of each rank's trace, by rank index; empty if clocks cannot be compared.
    pub moments: Vec<i64>,
    /// Windows of the profiler, the newest first: "steps 8–11".
    pub windows: Vec<String>,
    /// The index of the one that is shown.
    pub window: u32,
}

/// Asks how the ranks ran a step of the open job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepRequest {
    /// The index of the step.
    pub step: u32,
    /// The index of a rank that must be shown; if there are many, not all are.
    pub rank: Option<u32>,
}

/// Sends the same moment of target and reference, each by the clock of its trace, for aligning their timelines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MomentQuery {
    pub target_ns: i64,
    pub reference_ns: i64,
}

/// Another rank of a job, whose timeline is shown below the two open ones.
#[derive(Debug, Serialize, Deserialize)]
pub struct BelowRequest {
    /// Its name.
    pub name: String,
    /// The same moment of the target and of this rank.
    pub moment: MomentQuery,
}

/// Looks up an event of the open trace; the answer is its number in views.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventAtQuery {
    pub name: String,
    /// When it starts, by the clock of the trace; of several events with that name, the nearest one is used.
    pub start_ns: i64,
}
