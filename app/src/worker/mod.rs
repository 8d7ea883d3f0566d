//! The worker: reads traces, owns their analysis, answers the page's queries.
//!
//! | module | what |
//! |---|---|
//! | `messages` | handles the page's messages |
//! | `replies` | sends messages to the page |
//! | `reading` | reads files and identifies their content |
//! | `job` | converts files to the digests of ranks, and those to a job |
//! | `fleet` | the summary of many traces |
//! | `inflater` | another worker, which inflates the file for this one and parses some of it |
//! | `warm_up` | another worker, which has all code compiled before the first trace |
//! | [`Traces`] | the open traces: the one to improve, and the reference |
//! | [`Analysis`] | one open trace |
//! | `answer` | dispatches queries to the other modules |
//! | the others | the answers of the view they are named after |
//!
//! Modules that touch the browser (`messages`, `job`, `fleet`, `reading`, `chunks`, `replies`, `inflater`, `warm_up`)
//! are tested in one; all others natively.

mod analysis;
mod answer;
mod cells;
mod chunks;
mod columns;
mod compare;
mod families;
mod files;
mod findings;
mod fleet;
mod incoming;
mod inflater;
mod job;
mod matching;
mod messages;
mod models;
mod names;
mod notes;
mod opening;
mod overview;
mod palette;
mod pivot;
mod reading;
mod redacted;
mod replies;
mod reproducer;
mod roofline;
mod rows;
mod step_pivot;
mod steps;
mod system;
mod table;
mod timeline;
mod traces;
mod tree;
mod warm_up;
mod window;

pub use analysis::Analysis;
pub use incoming::{Content, Incoming};
pub use messages::start;
pub use opening::{Added, OpeningEvent};
pub use traces::Traces;
pub use tree::TreeView;
