//! A built page in a folder; `build.rs` reads it with the same function.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

/// Files by their names, as the page's links have them.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

/// The files below a folder that holds a whole page, without the wheels that lie beside it.
pub(crate) fn files(folder: &Path) -> io::Result<Files> {
    let mut files = Files::new();
    add(&mut files, folder, "")?;
    for name in ["index.html", "dormer.html"] {
        if !files.contains_key(name) {
            let folder = folder.display();
            let sentence =
                format!("{folder} has no {name}; `cargo xtask dist` leaves a whole page in dist/");
            return Err(io::Error::other(sentence));
        }
    }
    Ok(files)
}

fn add(files: &mut Files, folder: &Path, below: &str) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = format!(
            "{below}{}",
            name.to_str()
                .ok_or_else(|| io::Error::other("a file's name is no text"))?
        );
        if entry.path().is_dir() {
            add(files, &entry.path(), &format!("{name}/"))?;
        } else if !name.ends_with(".whl") {
            files.insert(name, fs::read(entry.path())?);
        }
    }
    Ok(())
}
