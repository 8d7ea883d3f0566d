//! Files for programs.

pub mod comparison;
pub mod findings;
pub mod report;
