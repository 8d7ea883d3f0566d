//! Bytes to a [`Trace`], as they come.
//!
//! ```text
//! bytes ─Importer─ container (gzip, zip, as it is) ─ format (by content) ─┬ chrome_json ─→ Trace
//!                                                                          ├ rocprof ───→ │
//!                                                                          ├ perfetto ──→ │
//!                                                                          ├ rocprof ───→ │
//!                                                                          └ xplane ────→ └ Warnings
//! ```
//!
//! [`Inflater`] decompresses gzip separately, in another thread or worker; a [`PartReader`] reads a piece of the text
//! separately.
//!
//! The text is never held as a whole: a chunk is read in place, and only an event that spans chunks is carried over. A
//! split at any byte gives the same trace.

mod archive;
mod args_text;
mod categories;
mod chrome_json;
mod container;
mod error;
mod execution;
mod file_names;
mod format;
mod json;
mod limits;
mod part;
mod payload;
mod perfetto;
mod rocprof;
mod stages;
mod text_buffer;
mod unordered;
mod unsupported;
pub mod warning;
mod wire;
mod xplane;

pub use archive::{Archive, InTar, Member, TarIndex, looks_like_trace};
pub use chrome_json::PartReader;
pub use error::{ImportError, ImportErrorKind, Unsupported};
pub use execution::ExecutionTrace;
pub use file_names::{
    ENDINGS, ENDINGS_IN_WORDS, FileKind, is_called_like_a_trace, is_called_like_an_archive,
    is_called_like_traces,
};
pub use part::Part;
pub use stages::{Cutter, Inflated, Inflater, Piece};
pub use text_buffer::TextBuffer;

use crate::import::warning::{WarningKind, Warnings};
use crate::trace::Trace;
use container::Container;
use payload::Payload;

/// A trace, and the warnings about its bytes.
#[derive(Debug, Default)]
pub struct Imported {
    /// The recorded data.
    pub trace: Trace,
    /// What was wrong with the bytes.
    pub warnings: Warnings,
    /// Size of the decompressed text.
    pub text_bytes: u64,
}

/// How far an [`Importer`] has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Bytes pushed.
    pub bytes_read: u64,
    /// Bytes of decompressed text.
    pub text_bytes: u64,
    /// Events, of any kind.
    pub events: u64,
}

/// Reads a trace whose bytes are complete.
pub fn import(bytes: &[u8]) -> Result<Imported, ImportError> {
    let mut importer = Importer::new();
    importer.push(bytes)?;
    importer.finish()
}

/// Reads a trace in chunks of any size.
///
/// ```
/// use dormer_core::import::Importer;
///
/// let mut importer = Importer::new();
/// importer.push(br#"{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "#)?;
/// importer.push(br#""pid": 1, "tid": 1, "ts": 12.5, "dur": 3}]}"#)?;
/// let trace = importer.finish()?.trace;
/// let mm = trace.events.ids().next().unwrap();
/// assert_eq!(trace.strings.get(trace.events.name(mm)), "aten::mm");
/// assert_eq!(trace.events.ts_ns(mm), 12_500);
/// # Ok::<(), dormer_core::import::ImportError>(())
/// ```
#[derive(Default)]
pub struct Importer {
    container: Container,
    reader: Payload,
    bytes_read: u64,
}

impl Importer {
    /// An importer that has read nothing.
    pub fn new() -> Importer {
        Importer::default()
    }

    /// Reads a chunk.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), ImportError> {
        self.bytes_read += bytes.len() as u64;
        self.container.push(bytes, &mut self.reader)
    }

    /// How far it has come.
    pub fn progress(&self) -> Progress {
        Progress {
            bytes_read: self.bytes_read,
            text_bytes: self.reader.n_bytes(),
            events: u64::from(self.reader.n_events()),
        }
    }

    /// The trace, once all bytes are pushed.
    pub fn finish(self) -> Result<Imported, ImportError> {
        self.finish_with(Warnings::default())
    }

    /// The same, with warnings from outside the pushed bytes.
    fn finish_with(mut self, mut warnings: Warnings) -> Result<Imported, ImportError> {
        warnings.extend(&self.container.finish(&mut self.reader)?);
        let text_bytes = self.reader.n_bytes();
        let broken =
            warnings.count(WarningKind::CutGzip) + warnings.count(WarningKind::CorruptGzip);
        match self.reader.end() {
            Err(_) if text_bytes == 0 && broken > 0 => {
                return Err(ImportError::new(ImportErrorKind::UnreadableGzip, None));
            }
            ended => ended?,
        }
        let (trace, mut all) = self.reader.into_trace();
        all.extend(&warnings);
        Ok(Imported {
            trace,
            warnings: all,
            text_bytes,
        })
    }
}
