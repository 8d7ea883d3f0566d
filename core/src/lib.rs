//! The analysis core of Dormer.

pub mod category;
pub mod import;
pub mod trace;
pub mod warning;

pub use trace::Trace;
pub use warning::{Warning, WarningKind, Warnings};
