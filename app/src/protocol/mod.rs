//! The message protocol between page and worker.
//!
//! A message is a plain JavaScript object `{ id, body }`; `body` is one of the types below, serialized to bytes
//! with serde. What serde cannot represent is transferred alongside: a `File` to the worker, large blocks to the page.
//!
//! Data that `dormer_core::report` prepares for display is sent unchanged. Other numbers are sent as text formatted by
//! `dormer-core`, plus the raw value if something is drawn from it.
//!
//! | module | what its messages are about |
//! |---|---|
//! | [`choice`] | the user's options for the whole page |
//! | [`compare`] | the second trace, and the comparison of both |
//! | [`opening`] | a file that is being opened |
//! | [`query`] | all queries, with the types of their answers |
//! | [`search`] | the text in the filter of a table |
//! | the others | the view they are named after |

pub mod choice;
pub mod compare;
pub mod files;
pub mod fleet;
pub mod fuzzy;
pub mod job;
pub mod memory;
pub mod op_details;
pub mod opening;
pub mod overview;
pub mod palette;
pub mod query;
pub mod roofline;
pub mod search;
pub mod steps;
pub mod system;
pub mod table;
pub mod timeline;
pub mod tree;
pub mod wire;

use dormer_core::job::strip::StepStrip;
use serde::{Deserialize, Serialize};

pub use choice::*;
pub use compare::*;
pub use files::*;
pub use fleet::*;
pub use job::*;
pub use memory::*;
pub use op_details::*;
pub use opening::*;
pub use overview::*;
pub use palette::*;
pub use query::*;
pub use roofline::*;
pub use steps::*;
pub use system::*;
pub use table::*;
pub use timeline::*;
pub use tree::*;

/// The name of a worker that analyzes the sample repeatedly, only to warm up the code. It receives no queries.
pub const WARM_UP: &str = "warm-up";

/// The name of a worker that reads one file of a job.
pub const ONE_FILE: &str = "one-file";

/// The name of the worker that holds the job.
pub const OF_JOB: &str = "job";

/// The name of the worker that holds a summary of many traces.
pub const OF_FLEET: &str = "fleet";

/// A message from page to worker.
#[derive(Debug, Serialize, Deserialize)]
pub enum Request {
    /// Analyze the files sent with this message: a trace with its captures, or two to compare. Another trace may be
    /// open in another worker.
    OpenFiles(Choice, IsAnotherOpen),
    /// Add the files sent with this message to the open trace, or open the trace among them.
    AddFiles(Choice),
    /// Stop reading the files to add.
    CancelAdding,
    /// Analyze the built-in sample.
    OpenSample(Choice),
    /// Compare the open trace with the `File` sent with this message. The options are those of the reference.
    OpenReference(Choice, FileNames),
    /// Show the timeline of the `File` sent with this message below the open ones. The options are those of the
    /// reference.
    OpenBelow(Choice, BelowRequest),
    /// Stop reading the file of the reference.
    CancelReference,
    /// Reduce the file sent with this message to its job digest.
    Digest(DigestRequest),
    /// Combine ranks into a job.
    OpenJob(JobRequest),
    /// Report how the ranks ran a step.
    JobStep(StepRequest),
    /// Read the summary of many traces from the file sent with this message.
    OpenFleet,
    /// Report runs of that summary; answered like a query.
    FleetRuns(FleetRunsQuery),
    /// Answer a query about the open trace.
    Ask(AnyQuery),
}

/// A message from worker to page.
#[derive(Debug, Serialize, Deserialize)]
pub enum Reply {
    /// Progress of opening.
    Progress(Progress),
    /// The trace is open. If its findings are still being computed, [`Reply::Analyzed`] follows.
    Opened(Box<Opened>),
    /// The findings of a trace that was opened without them.
    Analyzed(Box<Analyzed>),
    /// The file cannot be analyzed.
    Failed(Failure),
    /// The file contains several merged ranks: it is a job.
    IsJob,
    /// Progress of reading the files to add.
    AddProgress(Progress),
    /// The files were added: the open trace including them.
    Added(Box<Opened>),
    /// There was a trace among the files: it replaces the open one.
    Replaced(Box<Opened>),
    /// Nothing was added; the open trace is unchanged.
    NotAdded(Vec<Rejected>),
    /// Progress of opening the reference.
    ReferenceProgress(Progress),
    ReferenceOpened(ReferenceOpened),
    /// The reference cannot be analyzed; the target is still open.
    ReferenceFailed(Failure),
    /// The timeline to show below is ready, or its file cannot be read.
    BelowOpened(Option<Failure>),
    /// Sent with the digest of the file, or of each rank merged into it; true if the file was already a digest.
    Digest(bool),
    /// The ranks are one job.
    JobOpened(Box<JobOpened>),
    /// The ranks are not one job.
    JobFailed(Failure),
    /// How the ranks of the job ran a step.
    JobStep(Box<StepStrip>),
    /// The summary is open.
    FleetOpened(Box<FleetOpened>),
    /// The value sent with this message answers the query with the same id.
    Answer,
}
