//! Containers of a trace: gzip, zip, tar, possibly nested, and archives of several files.

mod gzip;
mod tar;
mod zip;

use super::error::{ImportError, ImportErrorKind};
use super::file_names::is_called_like_a_trace;
use super::payload::Payload;
use super::warning::{WarningKind, Warnings};
pub(super) use gzip::Gunzip;
pub use tar::Member;
pub(super) use tar::Untar;
pub(super) use zip::{Piece, Unzip};

/// The container of the text, detected from its first bytes.
#[derive(Debug)]
pub(super) enum Container {
    /// Too few bytes yet to decide; `n_outer` is the number of containers around it.
    Unknown {
        head: Vec<u8>,
        n_outer: u8,
    },
    Plain,
    Gzip(Box<Gunzip>, Box<Container>),
    Zip(Box<Unzip>, Box<Members>),
    Tar(Box<Untar>, Box<Members>),
}

impl Default for Container {
    fn default() -> Self {
        Container::inside(0)
    }
}

/// The members of an archive that may be the trace.
#[derive(Debug)]
pub(super) struct Members {
    current: Container,
    n_outer: u8,
    /// One of them was the trace; the others are not read.
    is_found: bool,
    /// A candidate member is being read.
    is_open: bool,
    /// Why the current one is not a trace.
    error: Option<ImportError>,
    /// Why the first one was not a trace.
    first_error: Option<ImportError>,
    /// Warnings about the packing of the trace.
    warnings: Warnings,
}

impl Members {
    fn push(&mut self, bytes: &[u8], reader: &mut Payload) {
        if self.error.is_none() {
            self.error = self.current.push(bytes, reader).err();
        }
    }

    /// Ends a member; returns whether it is the trace. If not, the reader is reset.
    fn end(&mut self, reader: &mut Payload) -> bool {
        let current = std::mem::replace(&mut self.current, Container::inside(self.n_outer));
        let read = match self.error.take() {
            Some(error) => Err(error),
            None => current.finish(reader),
        };
        match read.and_then(|warnings| reader.end().map(|()| warnings)) {
            Ok(warnings) => {
                self.warnings.extend(&warnings);
                self.is_found = true;
                true
            }
            Err(error) => {
                // The most informative error wins: that a note next to the traces is not JSON says little.
                let says_little = |error: &ImportError| {
                    matches!(
                        error.kind,
                        ImportErrorKind::NotJson | ImportErrorKind::Empty
                    )
                };
                if self.first_error.as_ref().is_none_or(says_little) && !says_little(&error) {
                    self.first_error = Some(error);
                }
                *reader = Payload::default();
                false
            }
        }
    }

    fn warn_once(&mut self, kind: WarningKind, at: u64) {
        if self.warnings.count(kind) == 0 {
            self.warnings.add(kind, Some(at));
        }
    }

    /// Reads a piece of a member of a tar archive.
    fn take(&mut self, member: Member, reader: &mut Payload) {
        match member {
            Member::Begin(name) if self.is_found => {
                if is_called_like_a_trace(name) {
                    self.warnings.add(WarningKind::OtherZipMembers, None);
                }
            }
            Member::Begin(name) => self.is_open = may_be_trace(name.as_bytes()),
            Member::Bytes(bytes) if self.is_open => self.push(bytes, reader),
            Member::Bytes(_) => {}
            Member::End => {
                if std::mem::take(&mut self.is_open) {
                    self.end(reader);
                }
            }
        }
    }
}

/// Whether a file in an archive may be a trace: all but the ones that macOS adds for each file.
fn may_be_trace(path: &[u8]) -> bool {
    let base = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    !path.starts_with(b"__MACOSX/") && !base.starts_with(b"._") && !base.is_empty()
}

/// Bytes needed to decide; a tar archive has its magic after the first file's name.
const HEAD: usize = 512;

/// Bytes needed to recognize gzip and zip.
const MAGIC: usize = 4;

/// Containers may be nested this deep; more is a decompression bomb.
const MAX_NESTED: u8 = 3;

impl Container {
    fn inside(n_outer: u8) -> Container {
        Container::Unknown {
            head: Vec::new(),
            n_outer,
        }
    }

    /// The content of a gzip file, which may be a container again.
    pub(super) fn in_gzip() -> Container {
        Container::inside(1)
    }

    /// Whether a file that starts with these bytes is a gzip file.
    pub(super) fn is_gzip(head: &[u8]) -> bool {
        head.starts_with(b"\x1f\x8b")
    }

    /// Whether a file that starts with these bytes is not a container, or one of an unsupported kind.
    pub(super) fn is_text(head: &[u8]) -> bool {
        head.len() >= MAGIC && !Self::is_gzip(head) && !Self::is_zip(head)
    }

    /// Whether a file that starts with these bytes is a zip archive.
    pub(super) fn is_zip(head: &[u8]) -> bool {
        head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06")
    }

    /// Whether the first bytes are enough to decide.
    fn is_recognized(head: &[u8]) -> bool {
        Self::is_gzip(head) || Self::is_zip(head)
    }

    /// Whether the text is exactly what is pushed.
    pub(super) fn is_plain(&self) -> bool {
        matches!(self, Container::Plain)
    }

    pub(super) fn push(&mut self, bytes: &[u8], reader: &mut Payload) -> Result<(), ImportError> {
        match self {
            Container::Unknown { head, n_outer } => {
                if head.is_empty() && (bytes.len() >= HEAD || Container::is_recognized(bytes)) {
                    *self = Container::sniff(bytes, *n_outer);
                    return self.push(bytes, reader);
                }
                head.extend_from_slice(bytes);
                if head.len() < HEAD && !Container::is_recognized(head) {
                    return Ok(());
                }
                let head = std::mem::take(head);
                *self = Container::sniff(&head, *n_outer);
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
            Container::Tar(untar, members) => {
                let read = untar.push(bytes, &mut |member| members.take(member, reader));
                if read.is_err() && members.is_found {
                    members.warn_once(WarningKind::CorruptGzip, reader.n_bytes());
                    return Ok(());
                }
                read
            }
        }
    }

    pub(super) fn finish(self, reader: &mut Payload) -> Result<Warnings, ImportError> {
        match self {
            Container::Unknown { head, .. } if head.is_empty() => Ok(Warnings::default()),
            Container::Unknown { head, n_outer } => {
                let mut container = Container::sniff(&head, n_outer);
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
                // The archive may be cut in the middle of the trace.
                let is_found = unzip.found || unzip.is_in_member() && members.end(reader);
                if let (false, Some(error)) = (is_found, members.first_error) {
                    return Err(error);
                }
                let mut warnings = unzip.finish(is_found)?;
                warnings.extend(&members.warnings);
                Ok(warnings)
            }
            Container::Tar(untar, mut members) => {
                let is_cut = untar.is_in_file();
                members.take(Member::End, reader);
                if is_cut && members.is_found {
                    members.warn_once(WarningKind::CutGzip, reader.n_bytes());
                }
                match (members.is_found, members.first_error) {
                    (true, _) => Ok(members.warnings),
                    (false, Some(error)) => Err(error),
                    (false, None) => {
                        let why = ImportErrorKind::UnreadableTar("it holds no trace");
                        Err(ImportError::new(why, None))
                    }
                }
            }
        }
    }

    fn sniff(head: &[u8], n_outer: u8) -> Container {
        if n_outer == MAX_NESTED {
            return Container::Plain;
        }
        let n_outer = n_outer + 1;
        let members = || {
            Box::new(Members {
                current: Container::inside(n_outer),
                n_outer,
                is_found: false,
                is_open: false,
                error: None,
                first_error: None,
                warnings: Warnings::default(),
            })
        };
        if Container::is_gzip(head) {
            Container::Gzip(Box::default(), Box::new(Container::inside(n_outer)))
        } else if Container::is_zip(head) {
            Container::Zip(Box::default(), members())
        } else if Untar::fits(head) {
            Container::Tar(Box::default(), members())
        } else {
            Container::Plain
        }
    }
}
