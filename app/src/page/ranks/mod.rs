//! Many files as ranks of one job: what the page knows of them while they are read and afterwards.

pub mod heads;
pub mod queue;

use std::sync::Arc;

use crate::protocol::{JobOpened, LeftOut};

/// The slug of the view of a job.
pub const VIEW: &str = "job";

/// What the page is doing with a job.
#[derive(Debug, Clone, Default)]
pub enum JobStage {
    /// There is none.
    #[default]
    Empty,
    Reading(RanksRead),
    /// It could not be put together: what was wrong with its files.
    Failed(Vec<LeftOut>),
    Open(Arc<OpenJob>),
}

impl JobStage {
    pub fn is_open(&self) -> bool {
        matches!(self, JobStage::Open(_))
    }

    pub fn is_reading(&self) -> bool {
        matches!(self, JobStage::Reading(_))
    }
}

/// How far reading the files of a job has come.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RanksRead {
    pub n_files: usize,
    /// Reduced to a digest.
    pub n_read: usize,
    /// Cannot be read.
    pub n_failed: usize,
    pub bytes_read: f64,
    pub bytes_total: f64,
}

/// A job that is open.
#[derive(Debug)]
pub struct OpenJob {
    pub opened: JobOpened,
    /// For each rank whether its trace is here, and not its digest alone.
    pub has_trace: Vec<bool>,
    /// Files of which reading was canceled.
    pub n_unread: usize,
    pub n_files: usize,
    /// From choosing the files to now.
    pub opened_in_ms: f64,
}

impl OpenJob {
    /// The position of a rank.
    pub fn position(&self, rank: u32) -> Option<usize> {
        let mut ranks = self.opened.overview.ranks.iter();
        ranks.position(|known| known.number == rank)
    }

    /// Whether the trace of a rank is here.
    pub fn has_trace_of(&self, rank: u32) -> bool {
        let at = self.position(rank);
        at.is_some_and(|at| self.has_trace.get(at) == Some(&true))
    }
}
