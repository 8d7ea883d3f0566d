//! What is told by its first bytes and not read: what it is, and what to do instead.

use super::error::{Foreign, ImportError, ImportErrorKind};
use super::format::{FormatReader, Head, Sniffed};
use super::warning::Warnings;
use crate::trace::Trace;

const SQLITE: &[u8] = b"SQLite format 3\0";

/// What they begin with, white space aside, and what they hold near their start where that alone does not
/// tell. The first row that fits counts.
#[rustfmt::skip]
const ROWS: &[(&[u8], &[u8], Foreign)] = &[
    (b"\x28\xb5\x2f\xfd", b"", Foreign::Zstd),
    (b"\xfd7zX", b"", Foreign::Xz),
    (b"BZh", b"", Foreign::Bzip2),
    (b"7z\xbc\xaf", b"", Foreign::SevenZip),
    (b"\x04\x22\x4d\x18", b"", Foreign::Lz4),
    (b"Rar!", b"", Foreign::Rar),
    (SQLITE, b"rocpd_", Foreign::Rocpd),
    (SQLITE, b"CUPTI_ACTIVITY_KIND_", Foreign::NsysDatabase),
    (SQLITE, b"", Foreign::Database),
    // Protocols 2 to 5.
    (b"\x80\x02", b"", Foreign::Pickle),
    (b"\x80\x03", b"", Foreign::Pickle),
    (b"\x80\x04", b"", Foreign::Pickle),
    (b"\x80\x05", b"", Foreign::Pickle),
    (b"[[", b"", Foreign::MemoryTimeline),
    (b"{\"schema\":\"", b"chakra", Foreign::ExecutionTrace),
];

/// What is told by the end of a file's name alone, where its bytes say nothing.
const NAMES: &[(&str, Foreign)] = &[(".nsys-rep", Foreign::NsysReport)];

/// What begins with these bytes, or whether more may tell.
pub(super) fn told(head: Head) -> Result<Foreign, Sniffed> {
    for (begins, holds, foreign) in ROWS {
        match head.begins_with(begins) {
            Sniffed::No => continue,
            Sniffed::Unclear => return Err(Sniffed::Unclear),
            Sniffed::Yes => {}
        }
        let is_held = |part: &[u8]| head.bytes.windows(part.len()).any(|held| held == part);
        match holds.is_empty() || is_held(holds) {
            true => return Ok(*foreign),
            false if !head.is_all => return Err(Sniffed::Unclear),
            false => {}
        }
    }
    Err(Sniffed::No)
}

pub(super) fn sniff(head: Head) -> Sniffed {
    told(head).map_or_else(|why| why, |_| Sniffed::Yes)
}

pub(super) fn reader() -> Box<dyn FormatReader> {
    Box::new(Refuser)
}

/// Refuses what was told, whatever follows.
#[derive(Debug)]
struct Refuser;

impl FormatReader for Refuser {
    fn push(&mut self, bytes: &[u8]) -> Result<(), ImportError> {
        let told = told(Head::all(bytes));
        let kind = told.map_or(ImportErrorKind::NotJson, ImportErrorKind::Foreign);
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
    /// The same of a file of this name, where that tells more than its bytes.
    pub fn of_file(self, name: &str) -> ImportError {
        let mut named = NAMES.iter().filter(|(end, _)| name.ends_with(end));
        match (&self.kind, named.next()) {
            (ImportErrorKind::NotJson, Some((_, foreign))) => ImportError {
                kind: ImportErrorKind::Foreign(*foreign),
                offset: None,
            },
            _ => self,
        }
    }
}
