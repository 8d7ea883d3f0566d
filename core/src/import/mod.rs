//! Bytes to a [`Trace`], as they come.
//!
//! ```text
//! bytes ─Importer─┬─ gzip (gunzip, inflate) ─┬─ text ─ reader ─ event ─→ rows of the Trace
//!                 ├─ zip (zip, inflate) ─────┤          │        └ keys, scan, number, text
//!                 └─ as it is ───────────────┘          └ Warnings
//! ```
//!
//! The text is never held whole: a chunk is read where it lies, and only an event that a chunk
//! cuts is carried over. A split at any byte gives the same trace.

mod categories;
mod error;
mod event;
mod gunzip;
mod inflate;
mod keys;
mod metadata;
mod number;
mod reader;
mod resync;
mod scan;
mod text;
mod tracks;
mod values;
mod zip;

pub use error::{ImportError, ImportErrorKind};

use crate::trace::Trace;
use crate::warning::{WarningKind, Warnings};
use gunzip::Gunzip;
use reader::Reader;
use zip::Unzip;

/// A trace, and what was wrong with its bytes.
#[derive(Debug, Default)]
pub struct Imported {
    /// What was recorded.
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

/// Reads a trace that is all there.
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
#[derive(Debug, Default)]
pub struct Importer {
    container: Container,
    reader: Reader,
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
        let reader = &mut self.reader;
        self.container.push(bytes, &mut |text| reader.push(text))
    }

    /// How far it has come.
    pub fn progress(&self) -> Progress {
        Progress {
            bytes_read: self.bytes_read,
            text_bytes: self.reader.n_bytes(),
            events: u64::from(self.reader.n_elements()),
        }
    }

    /// The trace, once all bytes are pushed.
    pub fn finish(mut self) -> Result<Imported, ImportError> {
        let reader = &mut self.reader;
        let warnings = self.container.finish(&mut |text| reader.push(text))?;
        let text_bytes = self.reader.n_bytes();
        let broken =
            warnings.count(WarningKind::CutGzip) + warnings.count(WarningKind::CorruptGzip);
        let events = match self.reader.finish() {
            Err(_) if text_bytes == 0 && broken > 0 => {
                return Err(ImportError::new(ImportErrorKind::UnreadableGzip, None));
            }
            events => events?,
        };
        let mut all = events.warnings;
        all.extend(&warnings);
        Ok(Imported {
            trace: events.builder.finish(),
            warnings: all,
            text_bytes,
        })
    }
}

/// What the text is packed in; told by the first bytes.
#[derive(Debug, Default)]
enum Container {
    /// Fewer bytes than it takes to tell.
    #[default]
    Unknown,
    /// The first bytes, when a chunk was too short.
    Head(Vec<u8>),
    Plain,
    Gzip(Box<Gunzip>),
    Zip(Box<Unzip>, Box<Container>),
}

/// Bytes it takes to tell.
const HEAD: usize = 4;

type Sink<'a> = &'a mut dyn FnMut(&[u8]) -> Result<(), ImportError>;

impl Container {
    fn push(&mut self, bytes: &[u8], sink: Sink) -> Result<(), ImportError> {
        match self {
            Container::Unknown if bytes.len() >= HEAD => {
                *self = Container::sniff(bytes)?;
                self.push(bytes, sink)
            }
            Container::Unknown => {
                *self = Container::Head(bytes.to_vec());
                Ok(())
            }
            Container::Head(head) => {
                head.extend_from_slice(bytes);
                if head.len() < HEAD {
                    return Ok(());
                }
                let head = std::mem::take(head);
                *self = Container::sniff(&head)?;
                self.push(&head, sink)
            }
            Container::Plain => sink(bytes),
            Container::Gzip(gunzip) => gunzip.push(bytes, sink),
            Container::Zip(unzip, inner) => {
                unzip.push(bytes, |bytes| inner.push(bytes, &mut *sink))
            }
        }
    }

    fn finish(self, sink: Sink) -> Result<Warnings, ImportError> {
        match self {
            Container::Unknown | Container::Plain => Ok(Warnings::default()),
            Container::Head(head) => {
                let mut container = Container::sniff(&head)?;
                container.push(&head, sink)?;
                container.finish(sink)
            }
            Container::Gzip(gunzip) => Ok(gunzip.finish()),
            Container::Zip(unzip, inner) => {
                let mut warnings = unzip.finish()?;
                warnings.extend(&inner.finish(sink)?);
                Ok(warnings)
            }
        }
    }

    fn sniff(head: &[u8]) -> Result<Container, ImportError> {
        /// First bytes of what is not read here, and its name.
        const FOREIGN: [(&[u8], &str); 6] = [
            (b"\x28\xb5\x2f\xfd", "zstd"),
            (b"\xfd7zX", "xz"),
            (b"BZh", "bzip2"),
            (b"7z\xbc\xaf", "7-Zip"),
            (b"\x04\x22\x4d\x18", "LZ4"),
            (b"Rar!", "RAR"),
        ];
        if let Some((_, name)) = FOREIGN.iter().find(|(magic, _)| head.starts_with(magic)) {
            return Err(ImportError::new(ImportErrorKind::Compressed(name), 0));
        }
        Ok(if head.starts_with(b"\x1f\x8b") {
            Container::Gzip(Box::default())
        } else if head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06") {
            Container::Zip(Box::default(), Box::default())
        } else {
            Container::Plain
        })
    }
}
