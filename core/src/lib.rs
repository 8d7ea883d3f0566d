//! The analysis core of Dormer.

pub mod category;
pub mod export;
pub mod format;
pub mod gpu;
pub mod host_ops;
pub mod import;
pub mod interval;
pub mod kernels;
pub mod launch;
pub mod ops;
pub mod profile;
pub mod recompute;
pub mod report;
pub mod sample;
pub mod testing;
pub mod timeline;
pub mod trace;
pub mod tree;
pub mod warning;

pub use profile::Profile;
pub use report::{Report, ReportOptions};
pub use trace::Trace;
pub use warning::{Warning, WarningKind, Warnings};
