//! The Memory view: what is in use over time, and who holds it.

use serde::{Deserialize, Serialize};

/// Asks what the Memory view shows.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct MemoryQuery;
