//! Operations by what was typed.

use serde::{Deserialize, Serialize};

/// Asks for the operations that answer best to what was typed, at most 30.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FindOperations {
    /// What was typed.
    pub text: String,
}

/// An operation that answers to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationFound {
    /// Its row in the sheet of operations.
    pub row: u32,
    /// The color token of its family.
    pub token: String,
    pub name: String,
    /// Shapes and types of its tensors; empty when unknown.
    pub shapes: String,
    /// Its time on the GPU, with its unit.
    pub time: String,
}
