//! Everything that is written: documents, files, reproducers.

mod columns_doc;
mod comparison_json;
mod findings_doc;

pub use columns_doc::columns_markdown;
pub use comparison_json::comparison_json;
pub use findings_doc::findings_markdown;

pub mod comparison;
pub mod comparison_export;
pub mod document;
pub mod export;
pub mod redact;
pub mod replay;
pub mod standalone;
