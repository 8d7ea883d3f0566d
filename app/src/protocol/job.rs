//! Many ranks of one job.

use dormer_core::job::bandwidth::BandwidthChart;
use dormer_core::job::overview::JobOverview;
use serde::{Deserialize, Serialize};

/// Reduces the file that travels beside the message to its digest.
#[derive(Debug, Serialize, Deserialize)]
pub struct DigestRequest {
    /// Its name, with the folders that it came in.
    pub path: String,
    /// Another worker inflates it meanwhile.
    pub has_second: bool,
}

/// Puts the digests that travel beside the message together with those that came before.
#[derive(Debug, Serialize, Deserialize)]
pub struct JobRequest {
    /// The window to show, the newest first.
    pub window: u32,
    /// Files that could not be read: name, bytes, why.
    pub unreadable: Vec<(String, u64, String)>,
    /// What a rank can send to other hosts, in GB/s, where the user says it.
    pub network_gbps: Option<f64>,
}

/// A job that is open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobOpened {
    /// What is shown of it.
    pub overview: JobOverview,
    /// How fast its data moved.
    pub bandwidth: BandwidthChart,
    /// One moment of all ranks by the clock of each trace, by position; none where clocks cannot be compared.
    pub moments: Vec<i64>,
    /// Windows of the profiler, the newest first: "steps 8–11".
    pub windows: Vec<String>,
    /// The one that is shown.
    pub window: u32,
}

/// Asks how the ranks ran a step of the open job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepRequest {
    /// By position.
    pub step: u32,
    /// A rank, by position, that is to be shown; of many not all are.
    pub rank: Option<u32>,
}

/// Tells a moment of the target and of the reference, each by the clock of its trace, so that their timelines can
/// be aligned by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MomentQuery {
    pub target_ns: i64,
    pub reference_ns: i64,
}

/// A further rank of a job, whose timeline is to be shown below the two that are open.
#[derive(Debug, Serialize, Deserialize)]
pub struct BelowRequest {
    /// What it is called.
    pub name: String,
    /// A moment of the target and of this one.
    pub moment: MomentQuery,
}

/// Looks for an event of the open trace; the answer is the number by which views know it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventAtQuery {
    pub name: String,
    /// When it starts, by the clock of the trace; of several of that name the nearest is meant.
    pub start_ns: i64,
}
