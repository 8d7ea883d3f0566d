//! The journal of a compaction: which files replace which. It exists from when the new files are written until the old
//! ones are removed.
//!
//! Once the journal exists, the compaction counts as done: readers use the new files, under either name, and ignore the
//! old ones. The next writer completes it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{failed, finish, unfinished};
use crate::Failure;

const NAME: &str = ".compacting";

/// The pending changes.
#[derive(Debug, Default)]
pub(super) struct Journal {
    /// Written under their unfinished names.
    pub(super) new: Vec<PathBuf>,
    pub(super) old: Vec<PathBuf>,
}

impl Journal {
    /// The journal of a store; empty if no compaction is in progress.
    pub(super) fn read(store: &Path) -> io::Result<Journal> {
        let mut journal = Journal::default();
        let text = match fs::read_to_string(store.join(NAME)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(journal),
            text => text?,
        };
        for (what, below) in text.lines().filter_map(|line| line.split_once('\t')) {
            match what {
                "new" => journal.new.push(store.join(below)),
                "old" => journal.old.push(store.join(below)),
                _ => {}
            }
        }
        Ok(journal)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.new.is_empty() && self.old.is_empty()
    }

    /// New files that have not been renamed yet.
    pub(super) fn waiting(&self) -> impl Iterator<Item = &PathBuf> {
        self.new.iter().filter(|path| unfinished(path).exists())
    }

    pub(super) fn write(&self, store: &Path) -> Result<(), Failure> {
        if self.is_empty() {
            return Ok(());
        }
        let line = |what: &str, path: &PathBuf| {
            let below = path.strip_prefix(store).unwrap_or(path);
            format!("{what}\t{}\n", below.display())
        };
        let new = self.new.iter().map(|path| line("new", path));
        let old = self.old.iter().map(|path| line("old", path));
        let text: String = new.chain(old).collect();
        let journal = store.join(NAME);
        fs::write(draft(store), text)
            .and_then(|()| fs::rename(draft(store), &journal))
            .map_err(|error| failed(&journal, &error))
    }
}

/// The name of the journal until it is complete: if writing it is interrupted, the journal is ignored.
pub(super) fn draft(store: &Path) -> PathBuf {
    store.join(format!("{NAME}.tmp"))
}

/// Carries out the journal, which remains until everything is done.
pub(crate) fn complete_compaction(store: &Path) -> Result<(), Failure> {
    let place = store.join(NAME);
    let journal = Journal::read(store).map_err(|error| failed(&place, &error))?;
    if journal.is_empty() {
        return Ok(());
    }
    for path in journal.waiting() {
        finish(path)?;
    }
    // Without the new files, the old ones are the only copy.
    if let Some(lost) = journal.new.iter().find(|path| !path.exists()) {
        let lost = lost.display();
        let why = format!("{lost}: it was written by a compaction, and is gone");
        return Err(Failure::Sentence(why));
    }
    for path in &journal.old {
        remove(path)?;
    }
    remove(&place)
}

/// Removes a file that may be gone already.
pub(super) fn remove(path: &Path) -> Result<(), Failure> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(path, &error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::parts;
    use super::*;
    use dormer_core::tables::{RUNS, TableKind};

    /// Two files become one; readers see the same rows wherever the compaction is interrupted.
    #[test]
    fn a_compaction_counts_as_done_once_it_is_noted() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path();
        let day = store.join("runs/date=2025-07-01");
        fs::create_dir_all(&day).unwrap();
        let [a, b, new] = ["a", "b", "new"].map(|name| day.join(format!("{name}.parquet")));
        for path in [&a, &b, &unfinished(&new)] {
            fs::write(path, "rows").unwrap();
        }
        let runs = TableKind::find(RUNS).unwrap();
        let read = || {
            let parts = parts(store, runs).unwrap().into_iter();
            parts.map(|part| part.path).collect::<Vec<PathBuf>>()
        };
        assert_eq!(read(), [a.clone(), b.clone()]);
        let journal = Journal {
            new: vec![new.clone()],
            old: vec![a.clone(), b.clone()],
        };
        journal.write(store).unwrap();
        assert_eq!(read(), [unfinished(&new)]);
        finish(&new).unwrap();
        assert_eq!(read(), std::slice::from_ref(&new));
        remove(&a).unwrap();
        assert_eq!(read(), std::slice::from_ref(&new));
        complete_compaction(store).unwrap();
        assert_eq!(read(), std::slice::from_ref(&new));
        assert!(!b.exists() && !store.join(NAME).exists());
    }

    #[test]
    fn what_cannot_be_removed_is_reported_and_stays_noted() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path();
        let old = store.join("old.parquet");
        // A folder cannot be removed as a file.
        fs::create_dir(&old).unwrap();
        let mut journal = Journal {
            new: Vec::new(),
            old: vec![old.clone()],
        };
        journal.write(store).unwrap();
        complete_compaction(store).unwrap_err();
        assert_eq!(
            Journal::read(store).unwrap().old,
            std::slice::from_ref(&old)
        );
        // Nothing is removed if its rows are nowhere else.
        fs::remove_dir(&old).unwrap();
        fs::write(&old, "rows").unwrap();
        journal.new.push(store.join("new.parquet"));
        journal.write(store).unwrap();
        complete_compaction(store).unwrap_err();
        assert!(old.exists());
    }
}
