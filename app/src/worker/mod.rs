//! The worker: reads traces, owns what they mean, answers the page's queries.
//!
//! | module | what |
//! |---|---|
//! | `messages` | hears the page, reads files, sends answers; what touches the browser |
//! | `second` | another worker, which inflates what this one reads |
//! | [`Traces`] | the open traces: the one to improve, and the one it is compared with |
//! | [`Analysis`] | one open trace |
//! | `answer` | which of the others answers which query |
//! | the others | the answers of the view they are named after |
//!
//! All but `messages` and `second` is tested natively.

mod analysis;
mod answer;
mod columns;
mod compare;
mod families;
mod files;
mod findings;
mod incoming;
mod matching;
mod messages;
mod models;
mod names;
mod notes;
mod opening;
mod overview;
mod palette;
mod pivot;
mod redacted;
mod reproducer;
mod roofline;
mod rows;
mod second;
mod step_pivot;
mod steps;
mod system;
mod timeline;
mod traces;
mod tree;
mod window;

pub use analysis::Analysis;
pub use incoming::{Content, Incoming};
pub use messages::start;
pub use opening::Added;
pub use traces::Traces;
pub use tree::TreeView;
