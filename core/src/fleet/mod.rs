//! Many traces: what became slower between builds, where all GPUs lose time, what to fix first.
//!
//! ```text
//! tables of a store ─→ Fleet ─Regressions→ what changed with which build
//!                        └────Summary────→ fleet.json.gz, which the page opens
//! ```

mod columns;
pub mod metric;
pub mod regressions;
pub mod rows;
pub mod summary;
pub mod texts;

pub use metric::Metric;
pub use rows::Fleet;
pub use summary::Summary;
pub use texts::{Text, Texts};
