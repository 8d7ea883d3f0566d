//! Everything that is written: documents, files, reproducers.

mod columns_doc;
mod findings_doc;
mod title;

pub use columns_doc::columns_markdown;
pub use findings_doc::findings_markdown;
pub use json::comparison::comparison_json;
pub use json::json_markdown;

pub mod archive;
pub mod document;
pub mod documents;
pub mod export;
pub mod json;
pub mod redact;
pub mod replay;

/// The documents about one trace.
pub mod standalone {
    pub use super::documents::check::{Check, Verdict};
    pub use super::documents::single::{checks, fair, illustrated, rough};
    pub use crate::report::cards::{Card, Cards, Light, Worth, WorthOfRun, cards, detail_heading};
    pub use crate::report::top::{TopOperation, top_operations};
}

/// The documents about two traces.
pub mod comparison {
    pub use super::documents::compared::{checks, fair, illustrated, rough};
}

/// The files about two traces.
pub mod comparison_export {
    pub use super::export::pair::{Cache, Input};
}
