//! The worker: reads traces, owns what they mean, answers the page's queries.
//!
//! | module | what |
//! |---|---|
//! | `messages` | hears the page and does what it asks |
//! | `replies` | what it sends to the page |
//! | `reading` | files to what they hold |
//! | `job` | files to the digests of ranks, and those to a job |
//! | `fleet` | the summary of many traces |
//! | `second` | another worker, which inflates what this one reads, and reads some of it |
//! | `warm_up` | another worker, which has all code compiled before the first trace |
//! | [`Traces`] | the open traces: the one to improve, and the one it is compared with |
//! | [`Analysis`] | one open trace |
//! | `answer` | which of the others answers which query |
//! | the others | the answers of the view they are named after |
//!
//! What touches the browser (`messages`, `job`, `fleet`, `reading`, `chunks`, `replies`, `second`, `warm_up`) is tested in one; all else natively.

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
mod second;
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
pub use opening::{Added, Told};
pub use traces::Traces;
pub use tree::TreeView;
