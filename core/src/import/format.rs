//! What a format of traces is.
//!
//! To add one: a module that reads it, and a row of `FORMATS`.

use super::error::ImportError;
use super::part::Part;
use super::warning::Warnings;
use crate::trace::Trace;

/// A format of traces.
pub(super) struct Format {
    /// Whether what begins with these bytes is of it.
    pub(super) sniff: fn(Head) -> Sniffed,
    /// Begins to read one.
    pub(super) read: fn() -> Box<dyn FormatReader>,
}

/// The first bytes of a file, by which its format is told.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head<'a> {
    /// What has come of it.
    pub(super) bytes: &'a [u8],
    /// No more will be shown: the file ends here, or nothing further on is looked at.
    pub(super) is_all: bool,
}

impl<'a> Head<'a> {
    /// Most bytes that are looked at.
    pub(super) const MOST: usize = 64 << 10;

    /// All that will be shown.
    pub(super) fn all(bytes: &'a [u8]) -> Head<'a> {
        Head {
            bytes: bytes.get(..Self::MOST).unwrap_or(bytes),
            is_all: true,
        }
    }

    /// Whether they are these, white space between them aside.
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

/// What first bytes tell. More of them never turn a yes or a no around.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sniffed {
    Yes,
    No,
    /// It takes more of them to tell; a no, where there are none.
    Unclear,
}

/// Reads a trace in chunks of any size.
pub(super) trait FormatReader {
    /// Reads a chunk.
    fn push(&mut self, bytes: &[u8]) -> Result<(), ImportError>;

    /// Puts a part behind what was read; false where it does not follow, so that its text has to be read.
    /// Of a format that no [`PartReader`](super::PartReader) reads, none does.
    fn join(&mut self, _part: &Part) -> bool {
        false
    }

    /// Bytes read so far.
    fn n_bytes(&self) -> u64;

    /// Events so far, of any kind.
    fn n_events(&self) -> u32;

    /// Reads what is left and says whether it was a trace.
    fn end(&mut self) -> Result<(), ImportError>;

    /// What was read, after its end, and what was wrong with it.
    fn into_trace(self: Box<Self>) -> (Trace, Warnings);
}
