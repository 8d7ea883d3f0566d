//! The files of a job: the named ones, and those in named folders.

use std::path::{Path, PathBuf};
use std::{fs, io};

use dormer_core::job::Digest;
use dormer_core::job::digest::SourceFile;

use dormer_core::import::is_called_like_traces;

use crate::Failure;

/// Digests are never larger, so larger files are not tried as one.
pub(super) const MOST_BYTES_OF_DIGEST: u64 = 64 << 20;

/// A file to read.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) path: PathBuf,
    pub(super) source: SourceFile,
}

/// A rank, or a file and why it could not be read.
pub(super) type ReadFile = (SourceFile, Result<Digest, String>);

impl Found {
    /// Whether it may be a digest.
    pub(super) fn is_small(&self) -> bool {
        self.source.bytes <= MOST_BYTES_OF_DIGEST
    }
}

/// All files of the paths, sorted by name; of a folder, those named like traces.
pub(super) fn find(paths: &[PathBuf]) -> Result<Vec<Found>, Failure> {
    let mut found = Vec::new();
    for path in paths {
        let failed = |error: io::Error| Failure::of_file(&path.display().to_string(), &error);
        let metadata = fs::metadata(path).map_err(failed)?;
        match metadata.is_dir() {
            true => inside(path, path, &mut found).map_err(failed)?,
            false => found.push(of(path, path.parent().unwrap_or(path), metadata.len())),
        }
    }
    found.sort_by(|one, other| one.source.name.cmp(&other.source.name));
    // A folder and a file in it, or the same folder twice.
    found.dedup_by_key(|one| fs::canonicalize(&one.path).unwrap_or_else(|_| one.path.clone()));
    Ok(found)
}

fn inside(folder: &Path, root: &Path, found: &mut Vec<Found>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let metadata = fs::metadata(&path)?;
        let name = path.to_string_lossy();
        if metadata.is_dir() {
            inside(&path, root, found)?;
        } else if is_called_like_traces(&name) {
            found.push(of(&path, root, metadata.len()));
        }
    }
    Ok(())
}

fn of(path: &Path, root: &Path, bytes: u64) -> Found {
    let below = path.strip_prefix(root).unwrap_or(path);
    Found {
        path: path.to_owned(),
        source: SourceFile {
            name: below.to_string_lossy().replace('\\', "/"),
            bytes,
        },
    }
}
