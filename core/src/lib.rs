//! The analysis core of Dormer.

pub mod trace;
pub mod warning;

pub use trace::Trace;
pub use warning::{Warning, WarningKind, Warnings};
