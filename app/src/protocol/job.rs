//! Many ranks of one job.

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

/// Puts the digests that travel beside the message together.
#[derive(Debug, Serialize, Deserialize)]
pub struct JobRequest {
    /// The window to show, the newest first.
    pub window: u32,
    /// Files that could not be read: name, bytes, why.
    pub unreadable: Vec<(String, u64, String)>,
}

/// A job that is open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobOpened {
    /// What is shown of it.
    pub overview: JobOverview,
    /// Windows of the profiler, the newest first: "steps 8–11".
    pub windows: Vec<String>,
    /// The one that is shown.
    pub window: u32,
}
