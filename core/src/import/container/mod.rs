//! What a trace is packed in: gzip, zip, one inside of the other; and archives of several files.

mod gzip;
mod tar;
mod zip;

use super::error::{ImportError, ImportErrorKind};
use super::payload::Payload;
use super::warning::Warnings;
pub(super) use gzip::Gunzip;
pub use tar::Member;
pub(super) use tar::Untar;
pub(super) use zip::{Piece, Unzip};

/// What the text is packed in; told by the first bytes.
#[derive(Debug)]
pub(super) enum Container {
    /// Too few bytes yet to tell; inside of how many others it is.
    Unknown {
        head: Vec<u8>,
        n_outer: u8,
    },
    Plain,
    Gzip(Box<Gunzip>, Box<Container>),
    Zip(Box<Unzip>, Box<Members>),
}

impl Default for Container {
    fn default() -> Self {
        Container::inside(0)
    }
}

/// The members of a zip archive that may be the trace.
#[derive(Debug)]
pub(super) struct Members {
    current: Container,
    n_outer: u8,
    /// Why the current one is no trace.
    error: Option<ImportError>,
    /// Why the first one was none.
    first_error: Option<ImportError>,
    /// What was wrong with the packing of the one that is.
    warnings: Warnings,
}

impl Members {
    fn push(&mut self, bytes: &[u8], reader: &mut Payload) {
        if self.error.is_none() {
            self.error = self.current.push(bytes, reader).err();
        }
    }

    /// Whether the member that ends here is the trace; if not, the reader forgets it.
    fn end(&mut self, reader: &mut Payload) -> bool {
        let current = std::mem::replace(&mut self.current, Container::inside(self.n_outer));
        let read = match self.error.take() {
            Some(error) => Err(error),
            None => current.finish(reader),
        };
        match read.and_then(|warnings| reader.end().map(|()| warnings)) {
            Ok(warnings) => {
                self.warnings = warnings;
                true
            }
            Err(error) => {
                self.first_error.get_or_insert(error);
                *reader = Payload::default();
                false
            }
        }
    }
}

/// Bytes it takes to tell.
const HEAD: usize = 4;

/// So many containers may be inside of each other; more is a bomb.
const MAX_NESTED: u8 = 3;

impl Container {
    fn inside(n_outer: u8) -> Container {
        Container::Unknown {
            head: Vec::new(),
            n_outer,
        }
    }

    /// What a gzip file holds, which may be packed once more.
    pub(super) fn in_gzip() -> Container {
        Container::inside(1)
    }

    /// Whether a file that begins with these bytes is a gzip file.
    pub(super) fn is_gzip(head: &[u8]) -> bool {
        head.starts_with(b"\x1f\x8b")
    }

    /// Whether a file that begins with these bytes is no container, or of a kind that is not read.
    pub(super) fn is_text(head: &[u8]) -> bool {
        head.len() >= HEAD && !Self::is_gzip(head) && !Self::is_zip(head)
    }

    /// Whether a file that begins with these bytes is a zip archive.
    pub(super) fn is_zip(head: &[u8]) -> bool {
        head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06")
    }

    /// Whether the text comes as it is pushed.
    pub(super) fn is_plain(&self) -> bool {
        matches!(self, Container::Plain)
    }

    pub(super) fn push(&mut self, bytes: &[u8], reader: &mut Payload) -> Result<(), ImportError> {
        match self {
            Container::Unknown { head, n_outer } => {
                if head.is_empty() && bytes.len() >= HEAD {
                    *self = Container::sniff(bytes, *n_outer)?;
                    return self.push(bytes, reader);
                }
                head.extend_from_slice(bytes);
                if head.len() < HEAD {
                    return Ok(());
                }
                let head = std::mem::take(head);
                *self = Container::sniff(&head, *n_outer)?;
                self.push(&head, reader)
            }
            Container::Plain => reader.push(bytes),
            Container::Gzip(gunzip, inner) => gunzip.push(bytes, |bytes| inner.push(bytes, reader)),
            Container::Zip(unzip, members) => unzip.push(bytes, |piece| match piece {
                Piece::Begin(_) => false,
                Piece::Bytes(bytes) => {
                    members.push(bytes, reader);
                    true
                }
                Piece::End => members.end(reader),
            }),
        }
    }

    pub(super) fn finish(self, reader: &mut Payload) -> Result<Warnings, ImportError> {
        match self {
            Container::Unknown { head, .. } if head.is_empty() => Ok(Warnings::default()),
            Container::Unknown { head, n_outer } => {
                let mut container = Container::sniff(&head, n_outer)?;
                container.push(&head, reader)?;
                container.finish(reader)
            }
            Container::Plain => Ok(Warnings::default()),
            Container::Gzip(gunzip, inner) => {
                let mut warnings = gunzip.finish();
                warnings.extend(&inner.finish(reader)?);
                Ok(warnings)
            }
            Container::Zip(unzip, mut members) => {
                // It may be cut in the middle of the trace.
                let is_found = unzip.found || unzip.is_in_member() && members.end(reader);
                if let (false, Some(error)) = (is_found, members.first_error) {
                    return Err(error);
                }
                let mut warnings = unzip.finish(is_found)?;
                warnings.extend(&members.warnings);
                Ok(warnings)
            }
        }
    }

    fn sniff(head: &[u8], n_outer: u8) -> Result<Container, ImportError> {
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
        if n_outer == MAX_NESTED {
            return Ok(Container::Plain);
        }
        let n_outer = n_outer + 1;
        Ok(if Container::is_gzip(head) {
            Container::Gzip(Box::default(), Box::new(Container::inside(n_outer)))
        } else if Container::is_zip(head) {
            let members = Members {
                current: Container::inside(n_outer),
                n_outer,
                error: None,
                first_error: None,
                warnings: Warnings::default(),
            };
            Container::Zip(Box::default(), Box::new(members))
        } else {
            Container::Plain
        })
    }
}
