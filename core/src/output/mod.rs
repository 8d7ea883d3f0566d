//! Everything that is written: documents, files, reproducers.

pub mod comparison;
pub mod comparison_export;
pub mod document;
pub mod export;
pub mod redact;
pub mod replay;
pub mod standalone;
