//! Hashes a trace while reading it: the id of a file depends on its whole content.

use std::io::{self, Read};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use dormer_core::base::format;
use dormer_core::import::{ImportError, Imported, Member};
use indicatif::ProgressBar;
use sha2::{Digest, Sha256};

use super::locate::{Location, locate};
use crate::Failure;

/// The result of reading a file.
pub(crate) struct Hashed {
    /// The trace, or why it cannot be read.
    pub(crate) read: Result<Imported, ImportError>,
    /// The whole file, even if reading the trace stopped earlier.
    pub(crate) bytes: Bytes,
}

/// The content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bytes {
    pub(crate) n: u64,
    /// In hexadecimal digits.
    pub(crate) sha256: String,
}

/// Reads the trace at a path, as [`super::import`] does. The returned bytes are those that were read; for a file in an
/// archive, its own.
pub(crate) fn import(trace: &Path) -> Result<(Imported, Bytes), Failure> {
    let name = super::name(trace);
    let unreadable = |error: io::Error| Failure::of_file(&name, &error);
    let file = match super::is_stdin(trace) {
        true => trace.to_owned(),
        false => match locate(trace)? {
            Location::File(file) => file,
            Location::Member(archive, member) => {
                let imported = super::import(trace)?;
                let bytes = of_member(&archive, &member).map_err(unreadable)?;
                return Ok((imported, bytes));
            }
        },
    };
    let hashed = read_with_bar(&file, super::progress_bar).map_err(unreadable)?;
    let refused =
        |error: ImportError| Failure::Sentence(format!("{name}: {}", error.of_file(&name)));
    Ok((hashed.read.map_err(refused)?, hashed.bytes))
}

/// Reads a trace, or, if it is not one, the rest of the file.
pub(crate) fn read(trace: &Path) -> io::Result<Hashed> {
    read_with_bar(trace, |_| ProgressBar::hidden())
}

fn read_with_bar(trace: &Path, bar: impl FnOnce(Option<u64>) -> ProgressBar) -> io::Result<Hashed> {
    let (source, total_bytes) = super::open(trace)?;
    let source = Arc::new(Mutex::new(Hashing::new(source)));
    let read = super::read_source(Box::new(Shared(Arc::clone(&source))), bar(total_bytes))?;
    let mut source = source.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(Hashed {
        read,
        bytes: source.rest()?,
    })
}

/// Hashes a file without reading it as a trace.
pub(crate) fn bytes(file: &Path) -> io::Result<Bytes> {
    Hashing::new(super::open(file)?.0).rest()
}

/// The bytes of a file in an archive.
fn of_member(archive: &Path, wanted: &str) -> io::Result<Bytes> {
    let (mut sum, mut is_open, mut is_over) = (Sum::default(), false, false);
    super::each_member(archive, |part| {
        match part {
            Member::Begin(name) => is_open = name == wanted,
            Member::Bytes(bytes) if is_open => sum.add(bytes),
            Member::Bytes(_) => {}
            Member::End => is_over = is_open,
        }
        !is_over
    })?;
    Ok(sum.bytes())
}

/// Size and hash of bytes.
#[derive(Default)]
struct Sum {
    hash: Sha256,
    n: u64,
}

impl Sum {
    fn add(&mut self, bytes: &[u8]) {
        self.hash.update(bytes);
        self.n += bytes.len() as u64;
    }

    fn bytes(&self) -> Bytes {
        let hash = self.hash.clone().finalize();
        Bytes {
            n: self.n,
            sha256: format::hex(&hash),
        }
    }
}

/// Hashes what it passes on.
struct Hashing {
    source: Box<dyn Read + Send>,
    sum: Sum,
}

impl Hashing {
    fn new(source: Box<dyn Read + Send>) -> Hashing {
        let sum = Sum::default();
        Hashing { source, sum }
    }

    fn rest(&mut self) -> io::Result<Bytes> {
        io::copy(self, &mut io::sink())?;
        Ok(self.sum.bytes())
    }
}

impl Read for Hashing {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.source.read(into)?;
        self.sum.add(into.get(..n).unwrap_or_default());
        Ok(n)
    }
}

/// The same source for reading the trace and for reading the rest.
struct Shared(Arc<Mutex<Hashing>>);

impl Read for Shared {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut source = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        source.read(into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_id_is_of_all_bytes_also_of_what_is_no_trace() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.json");
        let text = format!("<html>{}", "x".repeat(1 << 20));
        for text in [text.as_str(), r#"{"traceEvents": []}"#, ""] {
            fs::write(&file, text).unwrap();
            let hashed = read(&file).unwrap();
            assert_eq!(hashed.bytes, bytes(&file).unwrap());
            assert_eq!(hashed.bytes.n, text.len() as u64);
        }
        let nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(bytes(&file).unwrap().sha256, nothing);
    }
}
