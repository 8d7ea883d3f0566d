//! Everything that is written: documents, files, reproducers.

mod columns_doc;
mod comparison_json;

pub use columns_doc::columns_markdown;
pub use comparison_json::comparison_json;

pub mod comparison;
pub mod comparison_export;
pub mod document;
pub mod export;
pub mod redact;
pub mod replay;
pub mod standalone;
