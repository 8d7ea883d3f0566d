//! The contents of a store of many traces that are used here: plain rows over all runs.
//!
//! The command line fills them from the store; nothing here accesses files. A row of another table refers to its run by
//! its index in [`Fleet::runs`].

use super::texts::{Text, Texts};

use crate::base::format;
use crate::tables::is_hidden_uri;

pub use crate::tables::Status;

/// Many traces.
#[derive(Debug, Clone, Default)]
pub struct Fleet {
    /// Every text of the rows.
    pub texts: Texts,
    /// Files, without duplicates.
    pub runs: Vec<RunRow>,
    /// Operations with their arguments.
    pub ops: Vec<OpRow>,
    /// Kernels.
    pub kernels: Vec<KernelRow>,
    /// Findings.
    pub findings: Vec<FindingRow>,
}

impl Fleet {
    /// A sentence on the names of redacted runs; `None` if there are no such runs.
    pub fn note_on_names(&self) -> Option<String> {
        let is_hidden = |run: &&RunRow| {
            let uri = run.uri.map(|uri| self.texts.get(uri));
            run.status.is_read() && uri.is_some_and(is_hidden_uri)
        };
        let runs = match self.runs.iter().filter(is_hidden).count() {
            0 => return None,
            n => format::counted(n as u64, "run"),
        };
        Some(format!(
            "Names were removed from {runs}, in each separately: kernel_1 may be a different kernel in each. Totals and \
             categories can be compared, operations and kernels with such names cannot."
        ))
    }
}

/// A file; unknown values are `None`.
#[derive(Debug, Clone)]
pub struct RunRow {
    /// Its id: a hash of its bytes.
    pub run_id: Text,
    /// The outcome of its analysis.
    pub status: Status,
    /// Why it could not be read, as a sentence.
    pub reason: Option<Text>,
    /// The same as a key: `not_json`, `timeout`.
    pub reason_kind: Option<Text>,
    /// Where it was read.
    pub uri: Option<Text>,
    /// The machine, if names are kept.
    pub host: Option<Text>,
    /// The job that it is a rank of.
    pub job_id: Option<Text>,
    /// Number of ranks of that job.
    pub world_size: Option<i64>,
    /// The model, or the tag `model` instead.
    pub model: Option<Text>,
    /// The GPU's name.
    pub gpu: Option<Text>,
    /// The build that was traced.
    pub build: Option<Text>,
    /// Hash of the options with which it was analyzed.
    pub options_hash: Option<Text>,
    /// When it was recorded, in nanoseconds since 1970.
    pub start_ns: Option<i64>,
    /// From the first to the last GPU activity.
    pub total_ns: Option<i64>,
    /// Any GPU activity.
    pub busy_ns: Option<i64>,
    /// Computation.
    pub compute_ns: Option<i64>,
    /// Communication that is not overlapped by computation.
    pub exposed_comm_ns: Option<i64>,
    /// Copies that are not overlapped by computation or communication.
    pub exposed_copy_ns: Option<i64>,
    /// Idle time.
    pub idle_ns: Option<i64>,
}

/// An operation with its arguments, in a run.
#[derive(Debug, Clone)]
pub struct OpRow {
    /// Its run.
    pub run: u32,
    /// A key that is the same in every run.
    pub key: u64,
    /// Its name.
    pub name: Text,
    /// Its category.
    pub category: Option<Text>,
    /// Shapes of its inputs, as text.
    pub dims: Option<Text>,
    /// Number of calls.
    pub calls: i64,
    /// Time of its kernels.
    pub kernel_ns: i64,
}

/// A kernel under its operation, in a run.
#[derive(Debug, Clone)]
pub struct KernelRow {
    /// Its run.
    pub run: u32,
    /// Its short name.
    pub name: Text,
    /// The operation that launched it.
    pub op: Option<Text>,
    /// Its category.
    pub category: Option<Text>,
    /// Its library.
    pub library: Option<Text>,
    /// Number of calls.
    pub calls: i64,
    /// Its time.
    pub total_ns: i64,
}

/// A finding of a run.
#[derive(Debug, Clone)]
pub struct FindingRow {
    /// Its run.
    pub run: u32,
    /// Its rank in the report, from 1.
    pub number: i64,
    /// The analysis that found it.
    pub analysis: Text,
    /// The key of its rule, which is the same in every run.
    pub pattern: Text,
    /// Its title in the report.
    pub title: Text,
    /// Lower bound of its savings.
    pub low_ns: Option<i64>,
    /// Its savings.
    pub mid_ns: Option<i64>,
    /// Upper bound of its savings.
    pub high_ns: Option<i64>,
}
