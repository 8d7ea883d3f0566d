//! The content of a piece of a trace's text, read independently of the text before it.

use serde::{Deserialize, Serialize};

use super::categories::UnknownCategories;
use super::warning::Warnings;
use crate::trace::TracePart;

/// The events in a piece of a trace's text.
#[derive(Debug, Serialize, Deserialize)]
pub struct Part {
    /// Number of its reader, and how often that reader had started over.
    pub(super) reader: (u32, u32),
    /// Its offset in the text.
    pub(super) offset: u64,
    pub(super) n_bytes: u64,
    /// Elements of `traceEvents`, of any kind.
    pub(super) n_elements: u32,
    pub(super) last_byte: u8,
    pub(super) saw_phase: bool,
    pub(super) warnings: Warnings,
    pub(super) unknown: UnknownCategories,
    /// Keys that are in no earlier part.
    pub(super) keys: Vec<Box<[u8]>>,
    pub(super) trace: TracePart,
}

impl Part {
    /// Bytes of its text.
    pub(super) fn n_bytes(&self) -> u64 {
        self.n_bytes
    }
}
