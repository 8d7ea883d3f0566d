//! The analysis core of Dormer.

pub mod category;
pub mod export;
pub mod format;
pub mod gpu;
pub mod import;
pub mod report;
pub mod trace;
pub mod warning;

pub use trace::Trace;
pub use warning::{Warning, WarningKind, Warnings};
