//! Formats that are recognized by their first bytes but not supported: what they are, and what to do instead.

use super::error::{ImportError, ImportErrorKind, Unsupported};
use super::format::{FormatReader, Head, Sniffed};
use super::warning::Warnings;
use crate::trace::Trace;

const SQLITE: &[u8] = b"SQLite format 3\0";

/// The bytes that each format starts with, white space aside, and bytes that occur near its start if the first ones are
/// ambiguous. The first matching row counts.
#[rustfmt::skip]
const ROWS: &[(&[u8], &[u8], Unsupported)] = &[
    (b"\x28\xb5\x2f\xfd", b"", Unsupported::Zstd),
    (b"\xfd7zX", b"", Unsupported::Xz),
    (b"BZh", b"", Unsupported::Bzip2),
    (b"7z\xbc\xaf", b"", Unsupported::SevenZip),
    (b"\x04\x22\x4d\x18", b"", Unsupported::Lz4),
    (b"Rar!", b"", Unsupported::Rar),
    (SQLITE, b"rocpd_", Unsupported::Rocpd),
    (SQLITE, b"CUPTI_ACTIVITY_KIND_", Unsupported::NsysDatabase),
    (SQLITE, b"", Unsupported::Database),
    // Protocols 2 to 5.
    (b"\x80\x02", b"", Unsupported::Pickle),
    (b"\x80\x03", b"", Unsupported::Pickle),
    (b"\x80\x04", b"", Unsupported::Pickle),
    (b"\x80\x05", b"", Unsupported::Pickle),
    (b"[[", b"", Unsupported::MemoryTimeline),
    (b"{\"schema\":\"", b"chakra", Unsupported::ExecutionTrace),
];

/// Formats that are recognized only by file name, as their bytes do not identify them.
const NAMES: &[(&str, Unsupported)] = &[(".nsys-rep", Unsupported::NsysReport)];

/// The format of what starts with these bytes, or whether more bytes may decide.
pub(super) fn recognize(head: Head) -> Result<Unsupported, Sniffed> {
    for (begins, holds, unsupported) in ROWS {
        match head.begins_with(begins) {
            Sniffed::No => continue,
            Sniffed::Unclear => return Err(Sniffed::Unclear),
            Sniffed::Yes => {}
        }
        let is_held = |part: &[u8]| head.bytes.windows(part.len()).any(|held| held == part);
        match holds.is_empty() || is_held(holds) {
            true => return Ok(*unsupported),
            false if !head.is_all => return Err(Sniffed::Unclear),
            false => {}
        }
    }
    Err(Sniffed::No)
}

pub(super) fn sniff(head: Head) -> Sniffed {
    recognize(head).map_or_else(|why| why, |_| Sniffed::Yes)
}

pub(super) fn reader() -> Box<dyn FormatReader> {
    Box::new(Refuser)
}

/// Rejects the recognized format, whatever follows.
#[derive(Debug)]
struct Refuser;

impl FormatReader for Refuser {
    fn push(&mut self, bytes: &[u8]) -> Result<(), ImportError> {
        let recognized = recognize(Head::all(bytes));
        let kind = recognized.map_or(ImportErrorKind::NotJson, ImportErrorKind::Unsupported);
        Err(ImportError::new(kind, 0))
    }

    fn n_bytes(&self) -> u64 {
        0
    }

    fn n_events(&self) -> u32 {
        0
    }

    fn end(&mut self) -> Result<(), ImportError> {
        Ok(())
    }

    fn into_trace(self: Box<Self>) -> (Trace, Warnings) {
        Default::default()
    }
}

impl ImportError {
    /// The same error for a file of this name, if the name is more specific than the bytes.
    pub fn of_file(self, name: &str) -> ImportError {
        let mut named = NAMES.iter().filter(|(end, _)| name.ends_with(end));
        match (&self.kind, named.next()) {
            (ImportErrorKind::NotJson, Some((_, unsupported))) => ImportError {
                kind: ImportErrorKind::Unsupported(*unsupported),
                offset: None,
            },
            _ => self,
        }
    }
}
