//! Which tests reported that they could not run here, and why: an incomplete run must not be mistaken for a complete
//! one.
//!
//! Cargo does not show the output of passing tests, so tests that skip append rows to a file: what was skipped (`all`
//! of the test or a `part`), the test's name and the reason, separated by tabs (`tests/support/skipped.rs`).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::page::at;
use crate::project::Project;

/// The environment variable with the file's path.
pub(crate) const FILE: &str = "DORMER_SKIPPED";

/// The file of one run, which is removed with it.
pub(crate) struct Skips {
    file: PathBuf,
}

impl Skips {
    /// Creates an empty one.
    pub(crate) fn new(project: &Project) -> Result<Skips, String> {
        let name = format!("skipped-{}.txt", std::process::id());
        let file = project.target.join(name);
        fs::create_dir_all(&project.target)
            .and_then(|()| fs::write(&file, ""))
            .map_err(at(&file))?;
        Ok(Skips { file })
    }

    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// A sentence for each reason.
    pub(crate) fn lines(&self) -> Vec<String> {
        lines(&fs::read_to_string(&self.file).unwrap_or_default())
    }
}

impl Drop for Skips {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.file);
    }
}

fn lines(rows: &str) -> Vec<String> {
    let mut tests: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for row in rows.lines() {
        let mut cells = row.splitn(3, '\t');
        if let (Some(what), Some(test), Some(why)) = (cells.next(), cells.next(), cells.next()) {
            tests.entry((what, why)).or_default().insert(test);
        }
    }
    let line = |((what, why), tests): ((&str, &str), BTreeSet<&str>)| {
        let (were, n) = match tests.len() {
            1 => ("test was", 1),
            n => ("tests were", n),
        };
        let how = match what {
            "part" => "run in part",
            _ => "skipped (counted as passed)",
        };
        format!("{n} {were} {how}: {why}")
    };
    tests.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_is_reported_once_with_its_number_of_tests() {
        let rows = "\
            all\tgolden::a\tno real traces\n\
            part\ttrees::b\tno real traces\n\
            all\tgolden::c\tno real traces\n\
            all\tgolden::c\tno real traces\n\
            all\tgolden::d\tno python3\n";
        assert_eq!(
            lines(rows),
            [
                "1 test was skipped (counted as passed): no python3",
                "2 tests were skipped (counted as passed): no real traces",
                "1 test was run in part: no real traces",
            ]
        );
        assert!(lines("").is_empty());
    }
}
