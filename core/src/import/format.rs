//! What a format of traces is.
//!
//! To add one: a module that reads it, and a row of `FORMATS`.

use std::fmt;

use super::error::ImportError;
use super::part::Part;
use super::warning::Warnings;
use crate::trace::Trace;

/// A format of traces.
pub(super) struct Format {
    /// Whether a text that begins with these bytes is of it.
    pub(super) sniff: fn(&[u8]) -> bool,
    /// Begins to read one.
    pub(super) read: fn() -> Box<dyn FormatReader>,
}

/// Reads a trace in chunks of any size.
pub(super) trait FormatReader: fmt::Debug {
    /// Reads a chunk.
    fn push(&mut self, bytes: &[u8]) -> Result<(), ImportError>;

    /// Puts a part behind what was read; false where it does not follow, so that its text has to be read.
    fn join(&mut self, part: &Part) -> bool;

    /// Bytes read so far.
    fn n_bytes(&self) -> u64;

    /// Events so far, of any kind.
    fn n_events(&self) -> u32;

    /// Reads what is left and says whether it was a trace.
    fn end(&mut self) -> Result<(), ImportError>;

    /// What was read, after its end, and what was wrong with it.
    fn into_trace(self: Box<Self>) -> (Trace, Warnings);
}
