//! A trace whose bytes are hashed while they are read: the id of a file comes from all of them.

use std::io::{self, Read};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use dormer_core::import::{ImportError, Imported};
use indicatif::ProgressBar;
use sha2::{Digest, Sha256};

/// What was read of a file.
pub(crate) struct Hashed {
    /// The trace, or why it is none.
    pub(crate) read: Result<Imported, ImportError>,
    /// The whole file, also where reading the trace ended before.
    pub(crate) bytes: Bytes,
}

/// The bytes of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bytes {
    pub(crate) n: u64,
    /// In hexadecimal digits.
    pub(crate) sha256: String,
}

/// Reads a trace, and the rest of the file where it is none.
pub(crate) fn read(trace: &Path) -> io::Result<Hashed> {
    let (source, _) = super::open(trace)?;
    let source = Arc::new(Mutex::new(Hashing::new(source)));
    let shared = Box::new(Shared(Arc::clone(&source)));
    let read = super::read_source(shared, ProgressBar::hidden())?;
    let mut source = source.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(Hashed {
        read,
        bytes: source.rest()?,
    })
}

/// The bytes of a file, of which nothing else is wanted.
pub(crate) fn bytes(file: &Path) -> io::Result<Bytes> {
    Hashing::new(super::open(file)?.0).rest()
}

/// Hashes what it hands on.
struct Hashing {
    source: Box<dyn Read + Send>,
    hash: Sha256,
    n: u64,
}

impl Hashing {
    fn new(source: Box<dyn Read + Send>) -> Hashing {
        Hashing {
            source,
            hash: Sha256::new(),
            n: 0,
        }
    }

    fn rest(&mut self) -> io::Result<Bytes> {
        io::copy(self, &mut io::sink())?;
        let hash = self.hash.clone().finalize();
        Ok(Bytes {
            n: self.n,
            sha256: hash.iter().map(|byte| format!("{byte:02x}")).collect(),
        })
    }
}

impl Read for Hashing {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.source.read(into)?;
        self.hash.update(into.get(..n).unwrap_or_default());
        self.n += n as u64;
        Ok(n)
    }
}

/// The same source for whoever reads the trace and for whoever takes the rest.
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
