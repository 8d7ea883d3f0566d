//! What of the trace answers to what was typed.

use serde::{Deserialize, Serialize};

/// Asks for what answers best to what was typed, a few of each kind.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FindInTrace {
    /// What was typed.
    pub text: String,
}

/// What something is that was found, and how it is reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum FoundKind {
    /// A finding, by its heading in the report.
    Finding(String),
    /// A category, by its color token.
    Category(String),
    /// A class of modules, by its name.
    Module(String),
    /// Its row in the sheet of operations.
    Operation(u32),
    /// Its row in the sheet of kernels.
    Kernel(u32),
}

/// Something of the trace that answers to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    pub kind: FoundKind,
    /// The color token of its family; empty for what has none.
    pub token: String,
    pub name: String,
    /// What is said beside it: shapes, time, what it saves.
    pub note: String,
}
