//! The Memory view: memory in use over time, and what holds it.

use serde::{Deserialize, Serialize};

/// Asks for the contents of the Memory view.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct MemoryQuery;
