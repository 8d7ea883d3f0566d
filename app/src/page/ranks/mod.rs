//! Many files as ranks of one job: what the page knows of them while they are read and afterwards.

pub mod queue;

use std::sync::Arc;

use dormer_core::base::format;

use crate::protocol::{JobOpened, Rejected};

/// The slug of the view of a job.
pub const VIEW: &str = "job";

/// What the page is doing with a job.
#[derive(Debug, Clone, Default)]
pub enum JobStage {
    /// There is no job.
    #[default]
    Empty,
    /// Its files are being read; the result so far is shown.
    Reading(RanksRead, Option<Arc<OpenJob>>),
    /// It could not be built: the errors of its files.
    Failed(Vec<Rejected>),
    Open(Arc<OpenJob>),
}

impl JobStage {
    /// The job that is shown, complete or not.
    pub fn shown(&self) -> Option<&Arc<OpenJob>> {
        match self {
            JobStage::Open(job) | JobStage::Reading(_, Some(job)) => Some(job),
            _ => None,
        }
    }

    pub fn is_shown(&self) -> bool {
        self.shown().is_some()
    }

    pub fn is_reading(&self) -> bool {
        matches!(self, JobStage::Reading(..))
    }

    /// The reading progress.
    pub fn read(&self) -> Option<RanksRead> {
        match self {
            JobStage::Reading(read, _) => Some(*read),
            _ => None,
        }
    }
}

/// The progress of reading the files of a job.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RanksRead {
    pub n_files: usize,
    /// Files reduced to digests.
    pub n_read: usize,
    /// Files that could not be read.
    pub n_failed: usize,
    pub bytes_read: f64,
    pub bytes_total: f64,
    /// They may need more memory than a browser allows a page.
    pub may_not_fit: bool,
}

/// A job that is open.
#[derive(Debug)]
pub struct OpenJob {
    pub opened: JobOpened,
    /// Whether each rank's trace is available, not only its digest.
    pub has_trace: Vec<bool>,
    /// Counts the results for the files of a job.
    pub number: u32,
    /// Files not read: they still are being read, or reading was canceled.
    pub n_unread: usize,
    /// More files are still being read.
    pub is_partial: bool,
    pub n_files: usize,
    /// Milliseconds from choosing the files until it was open.
    pub opened_in_ms: f64,
}

impl OpenJob {
    /// How many files its figures cover, if not all: "41 of 64 read".
    pub fn read_of(&self) -> Option<String> {
        let n_read = self.n_files.saturating_sub(self.n_unread);
        let counts = [n_read, self.n_files].map(|n| format::count(n as u64));
        (self.n_unread > 0).then(|| format!("{} of {} read", counts[0], counts[1]))
    }

    /// The position of a rank.
    pub fn position(&self, rank: u32) -> Option<usize> {
        let mut ranks = self.opened.overview.ranks.iter();
        ranks.position(|known| known.number == rank)
    }

    /// Whether the trace of a rank is available.
    pub fn has_trace_of(&self, rank: u32) -> bool {
        let at = self.position(rank);
        at.is_some_and(|at| self.has_trace.get(at) == Some(&true))
    }
}
