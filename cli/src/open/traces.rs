//! The files that may be read: the named ones, and those found in the named folders.
//!
//! A request refers to one by its number. Paths in requests are never looked up on disk.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::runs::Runs;
use crate::captures::file_name;
use crate::{Failure, input};

/// The traces by number.
pub(super) struct Traces {
    /// Set if folders were named: the page lists their runs.
    runs: Option<Mutex<Runs>>,
    known: Mutex<NumberedFiles>,
}

/// The files found so far. A file keeps its number, even after it is gone.
#[derive(Default)]
pub(super) struct NumberedFiles(Vec<PathBuf>);

impl NumberedFiles {
    /// The number of a file.
    pub(super) fn number(&mut self, path: &Path) -> usize {
        let known = self.0.iter().position(|known| known == path);
        known.unwrap_or_else(|| {
            self.0.push(path.to_owned());
            self.0.len() - 1
        })
    }
}

impl Traces {
    /// The traces of files and folders.
    pub(super) fn of(paths: &[PathBuf]) -> Result<Traces, Failure> {
        let mut known = NumberedFiles::default();
        let mut has_folder = false;
        for path in paths {
            if input::is_stdin(path) {
                let sentence = "dormer open reads files and folders, not standard input";
                return Err(Failure::Usage(sentence.to_owned()));
            }
            let metadata =
                fs::metadata(path).map_err(|error| Failure::of_file(&input::name(path), &error))?;
            if !metadata.is_dir() && !metadata.is_file() {
                return Err(Failure::Sentence(format!(
                    "{}: is neither a file nor a folder",
                    path.display()
                )));
            }
            has_folder |= metadata.is_dir();
            if metadata.is_file() {
                known.number(path);
            }
        }
        Ok(Traces {
            runs: has_folder.then(|| Mutex::new(Runs::of(paths.to_vec()))),
            known: Mutex::new(known),
        })
    }

    /// Whether the page lists runs instead of opening traces at once.
    pub(super) fn are_listed(&self) -> bool {
        self.runs.is_some()
    }

    /// The hash of the page that shows them.
    pub(super) fn place(&self) -> String {
        if self.are_listed() {
            return "#/runs".to_owned();
        }
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let urls = known.0.iter().enumerate().map(|(number, path)| {
            format!("url={}", utf8_percent_encode(&url(number, path), PLAIN))
        });
        format!("#/?{}", urls.collect::<Vec<String>>().join("&"))
    }

    /// The current content of the folders, as JSON; `None` if no folder was named.
    pub(super) fn list(&self) -> Option<Vec<u8>> {
        let runs = self.runs.as_ref()?;
        let mut runs = runs.lock().unwrap_or_else(PoisonError::into_inner);
        serde_json::to_vec(&runs.scan(&self.known)).ok()
    }

    /// A trace by its number and its name in the address, with its size; `None` for any other, or if the file is gone.
    pub(super) fn open(&self, number: usize, name: &str) -> Option<(File, u64)> {
        let path = {
            let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.0.get(number)?.clone()
        };
        let is_called_so = percent_decode_str(name).decode_utf8_lossy() == file_name(&path);
        // Opening a pipe would wait for a writer.
        let is_file = || fs::metadata(&path).is_ok_and(|metadata| metadata.is_file());
        if !is_called_so || !is_file() {
            return None;
        }
        let file = File::open(&path).ok()?;
        let bytes = file.metadata().ok()?.len();
        Some((file, bytes))
    }
}

/// The characters that need no encoding in an address.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'/');

/// The address of a trace, relative to the page.
pub(super) fn url(number: usize, path: &Path) -> String {
    let name = file_name(path);
    format!("traces/{number}/{}", utf8_percent_encode(&name, PLAIN))
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn a_file_is_given_by_its_number_and_name_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a b?.json");
        fs::write(&path, "{}").unwrap();
        fs::write(folder.path().join("other.json"), "[]").unwrap();
        let traces = Traces::of(std::slice::from_ref(&path)).unwrap();
        assert_eq!(traces.place(), "#/?url=traces/0/a%2520b%253F.json");
        let read = |number, name| {
            let (mut file, bytes) = traces.open(number, name)?;
            let mut text = String::new();
            file.read_to_string(&mut text).unwrap();
            Some((text, bytes))
        };
        assert_eq!(read(0, "a%20b%3F.json"), Some(("{}".to_owned(), 2)));
        for (number, name) in [
            (0, "other.json"),
            (0, ""),
            (0, "..%2Fother.json"),
            (1, "other.json"),
        ] {
            assert_eq!(read(number, name), None, "{number} {name}");
        }
        fs::remove_file(&path).unwrap();
        assert_eq!(read(0, "a%20b%3F.json"), None);
    }
}
