//! Search of the command palette in the trace.

use serde::{Deserialize, Serialize};

/// Asks for the best matches of the typed text, a few of each kind.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FindInTrace {
    /// The typed text.
    pub text: String,
}

/// The kind of a match, and how to navigate to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum FoundKind {
    /// A finding, by its heading in the report.
    Finding(String),
    /// A category, by its color token.
    Category(String),
    /// A class of modules, by its name.
    Module(String),
    /// An operation, by its row in the sheet of operations.
    Operation(u32),
    /// A kernel, by its row in the sheet of kernels.
    Kernel(u32),
}

/// A match in the trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    pub kind: FoundKind,
    /// The color token of its family; empty if it has none.
    pub token: String,
    pub name: String,
    /// Additional text: shapes, time, or savings.
    pub note: String,
}
