//! What all analyses share: rules, figures of operations, savings, findings and their ranking.
//!
//! | module | contents |
//! |---|---|
//! | `rule` | a finding as a row of a table: condition, texts, saving; the runner |
//! | `compute` | rows of the analyses of one kind of work: which are bottlenecks, what they save, their texts |
//! | `row`, `outcome` | the figures of an operation; what an analysis returns |
//! | `finding`, `impact` | what is slow, what to do about it, what that saves |
//! | `run_time` | kernel time to run time |
//! | `joined`, `one_cause`, `rank` | findings with one cause are merged; all in one list, largest saving first |
//! | `narrower` | what narrower types save |
//! | `pattern` | patterns in the figures of the whole pipeline |
//! | `assessment` | an efficiency in one word |

pub(super) mod assessment;
pub mod compute;
pub mod finding;
pub(super) mod impact;
mod joined;
pub(super) mod narrower;
pub(super) mod one_cause;
pub mod outcome;
pub(crate) mod pattern;
pub mod rank;
pub(super) mod row;
pub(super) mod rule;
pub(crate) mod run_time;
