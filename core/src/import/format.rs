//! Trace formats.
//!
//! To add one, write a module that reads it and add a row to `FORMATS`.

use super::error::ImportError;
use super::part::Part;
use super::warning::Warnings;
use crate::trace::Trace;

/// A trace format.
pub(super) struct Format {
    /// Whether something that starts with these bytes has this format.
    pub(super) sniff: fn(Head) -> Sniffed,
    /// Creates a reader.
    pub(super) read: fn() -> Box<dyn FormatReader>,
}

/// The first bytes of a file, used to detect its format.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head<'a> {
    /// The bytes so far.
    pub(super) bytes: &'a [u8],
    /// No more bytes will be added: the file ends here, or the limit is reached.
    pub(super) is_all: bool,
}

impl<'a> Head<'a> {
    /// Maximum number of bytes inspected.
    pub(super) const MOST: usize = 64 << 10;

    /// A complete head of these bytes.
    pub(super) fn all(bytes: &'a [u8]) -> Head<'a> {
        Head {
            bytes: bytes.get(..Self::MOST).unwrap_or(bytes),
            is_all: true,
        }
    }

    /// Whether they start with these bytes, ignoring white space in between.
    pub(super) fn begins_with(self, begins: &[u8]) -> Sniffed {
        let mut bytes = self.bytes.iter();
        for wanted in begins {
            let is_space = |byte: &u8| byte.is_ascii_whitespace() && byte != wanted;
            match bytes.find(|byte| !is_space(byte)) {
                Some(byte) if byte == wanted => {}
                Some(_) => return Sniffed::No,
                None => return Sniffed::Unclear,
            }
        }
        Sniffed::Yes
    }
}

/// What the first bytes show. More bytes never change a yes or a no.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sniffed {
    Yes,
    No,
    /// More bytes are needed; counts as no if there are none.
    Unclear,
}

/// Reads a trace in chunks of any size.
pub(super) trait FormatReader {
    /// Reads a chunk.
    fn push(&mut self, bytes: &[u8]) -> Result<(), ImportError>;

    /// Appends a part to what was read. Returns false if it does not follow, so that its text has to be read; always
    /// for a format that no [`PartReader`](super::PartReader) supports.
    fn join(&mut self, _part: &Part) -> bool {
        false
    }

    /// Bytes read so far.
    fn n_bytes(&self) -> u64;

    /// Events so far, of any kind.
    fn n_events(&self) -> u32;

    /// Reads what is left; returns an error if it was not a trace.
    fn end(&mut self) -> Result<(), ImportError>;

    /// What was read, and the warnings. Called after `end`.
    fn into_trace(self: Box<Self>) -> (Trace, Warnings);
}
