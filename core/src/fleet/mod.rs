//! Analysis of many traces: what became slower between builds, where GPUs lose time, what to fix first.
//!
//! ```text
//! tables of a store ─→ Fleet ─Regressions→ what changed with which build
//!                        └────Summary────→ fleet.json.gz, which the page opens
//! ```

mod answer;
pub mod builds;
mod columns;
mod from_tables;
pub mod metric;
mod numbers;
pub mod regressions;
pub mod rows;
mod statistics;

pub mod summary;
#[cfg(test)]
pub(crate) mod testing;
pub mod texts;
pub mod words;

pub use answer::Answer;
pub use from_tables::{RunQuery, tags_of};
pub use metric::Metric;
pub use rows::Fleet;
pub use summary::Summary;
pub use texts::{Text, Texts};
