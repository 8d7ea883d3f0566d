//! Evaluates a profile for a GPU and the user's options: how its time splits, and how close each operation gets to the
//! roofline.

pub(crate) mod evaluation;
pub mod idle;
mod input;
mod off_critical_path;
mod options;
pub(crate) mod rates;
pub mod severity;
mod thresholds;
pub mod waterfall;

pub use crate::profile::gpu::timelines::Timelines;
pub use evaluation::Evaluation;
pub use idle::cause::idle_cause_in_sentence;
pub use input::Input;
pub use options::ReportOptions;
pub use severity::Severity;
pub use thresholds::{ThresholdInfo, ThresholdUnit, Thresholds};
