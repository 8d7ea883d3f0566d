//! What a piece of a trace's text holds, read apart from the text before it.

use serde::{Deserialize, Serialize};

use super::categories::UnknownCategories;
use super::warning::Warnings;
use crate::trace::TracePart;

/// What a piece of a trace's text holds: events.
#[derive(Debug, Serialize, Deserialize)]
pub struct Part {
    /// Whose it is, and how often that reader had begun anew.
    pub(super) reader: (u32, u32),
    /// Where in the text it begins.
    pub(super) offset: u64,
    pub(super) n_bytes: u64,
    /// Elements of `traceEvents`, whatever they are.
    pub(super) n_elements: u32,
    pub(super) last_byte: u8,
    pub(super) saw_phase: bool,
    pub(super) warnings: Warnings,
    pub(super) unknown: UnknownCategories,
    /// Keys that no earlier part holds.
    pub(super) keys: Vec<Box<[u8]>>,
    pub(super) trace: TracePart,
}

impl Part {
    /// Bytes of its text.
    pub(super) fn n_bytes(&self) -> u64 {
        self.n_bytes
    }
}
