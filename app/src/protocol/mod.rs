//! What page and worker say to each other.
//!
//! A message is a plain JavaScript object `{ id, body }`; `body` is one of the types below, as bytes
//! through serde. What serde cannot carry travels beside it: a `File` on the way in, large blocks on
//! the way out.
//! What `dormer_core::report` holds to be shown travels as it is; other numbers come as text that
//! `dormer-core` formatted, with the raw value where something is drawn from it.
//!
//! | module | what is said about |
//! |---|---|
//! | [`choice`] | what the user chooses for the whole page |
//! | [`compare`] | the second trace, and what both say about each other |
//! | [`opening`] | a file on its way to being open |
//! | [`query`] | every query, with the type of its answer |
//! | [`search`] | what is typed into the filter of a table |
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

/// The name of a worker that analyzes the sample again and again, for nothing but to be fast later. It is
/// asked nothing.
pub const WARM_UP: &str = "warm-up";

/// The name of a worker that reads one file of a job.
pub const ONE_FILE: &str = "one-file";

/// The name of the worker that has the job.
pub const OF_JOB: &str = "job";

/// The name of the worker that has a summary of many traces.
pub const OF_FLEET: &str = "fleet";

/// Page to worker.
#[derive(Debug, Serialize, Deserialize)]
pub enum Request {
    /// Analyze the files that travel beside this message: a trace with its captures, or two to
    /// compare. Another trace may be open in another worker.
    OpenFiles(Choice, IsBeside),
    /// Add the files that travel beside this message to the open trace, or open the trace among them.
    AddFiles(Choice),
    /// Stop reading the files that are to be added.
    CancelAdding,
    /// Analyze the built-in sample.
    OpenSample(Choice),
    /// Compare the open trace with the `File` that travels beside this message. The choice
    /// is that of the reference.
    OpenReference(Choice, FileNames),
    /// Show the timeline of the `File` beside this message below those that are open. The choice is that of the
    /// reference.
    OpenBelow(Choice, BelowRequest),
    /// Stop reading the file of the reference.
    CancelReference,
    /// Reduce the file beside this message to what a job keeps of it.
    Digest(DigestRequest),
    /// Put ranks together.
    OpenJob(JobRequest),
    /// Tell how the ranks ran a step.
    JobStep(StepRequest),
    /// Read the summary of many traces in the file beside this message.
    OpenFleet,
    /// Tell runs of it; answered as a query is.
    FleetRuns(FleetRunsQuery),
    /// Answer a query about the open trace.
    Ask(AnyQuery),
}

/// Worker to page.
#[derive(Debug, Serialize, Deserialize)]
pub enum Reply {
    /// How far opening has come.
    Progress(Progress),
    /// The trace is open. Where its findings are still being looked for, [`Reply::Judged`] follows.
    Opened(Box<Opened>),
    /// The findings of the trace that was opened without.
    Judged(Box<Judged>),
    /// The file cannot be analyzed.
    Failed(Failure),
    /// Several ranks are merged into the file: it is a job.
    IsJob,
    /// How far reading the files that are to be added has come.
    AddProgress(Progress),
    /// The files are added: what the open trace is with them.
    Added(Box<Opened>),
    /// There was a trace among the files: it is open in the place of the other.
    Replaced(Box<Opened>),
    /// Nothing is added; the open trace is as it was.
    NotAdded(Vec<LeftOut>),
    /// How far opening the reference has come.
    ReferenceProgress(Progress),
    ReferenceOpened(ReferenceOpened),
    /// The reference cannot be analyzed; the target is still open.
    ReferenceFailed(Failure),
    /// The timeline that was to be shown below can be, or its file cannot be read.
    BelowOpened(Option<Failure>),
    /// Beside this message is the digest of the file, or of each rank that is merged into it; whether the file was one
    /// already.
    Digest(bool),
    /// The ranks are one job.
    JobOpened(Box<JobOpened>),
    /// They are none.
    JobFailed(Failure),
    /// How the ranks of the job ran a step.
    JobStep(Box<StepStrip>),
    /// The summary is open.
    FleetOpened(Box<FleetOpened>),
    /// The value beside this message answers the query of the same id.
    Answer,
}
