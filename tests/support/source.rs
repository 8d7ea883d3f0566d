//! The source tree, for tests that inspect it.

use std::fs;
use std::path::{Path, PathBuf};

/// A file or folder of the checkout.
pub(crate) fn path(below: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(below)
}

/// All files below a folder of the checkout whose names end in `.ending`: their paths relative to it, sorted, and
/// texts.
pub(crate) fn files(folder: &str, ending: &str) -> Vec<(PathBuf, String)> {
    let root = path(folder);
    let (mut found, mut folders) = (Vec::new(), vec![root.clone()]);
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
        {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|own| own == ending) {
                let text = fs::read_to_string(&path).unwrap();
                found.push((path.strip_prefix(&root).unwrap().to_owned(), text));
            }
        }
    }
    found.sort();
    found
}
