//! Builds the same page with Trunk, if it is installed: both builds must give the same files.
//!
//! Trunk calls Cargo with the same arguments, so the modules are already compiled and it takes seconds.

use std::fs;
use std::path::Path;

use crate::page::at;
use crate::project::{Project, run};
use crate::stamp::files;
use crate::tools;

/// Builds the page with Trunk, outside of `dist/`, and compares.
pub(crate) fn compare(project: &Project) -> Result<(), String> {
    let Some(version) = tools::trunk(project) else {
        println!(
            "Not compared with a build by Trunk: its version {} is not installed.",
            tools::TRUNK
        );
        return Ok(());
    };
    let theirs = project.target.join("trunk-dist");
    run(project
        .command("trunk")
        .args(["build", "--release", "--log", "warn", "--dist"])
        .arg(&theirs)
        .env("TRUNK_SKIP_VERSION_CHECK", "true"))?;
    let differences = differences(&project.dist, &theirs)?;
    if differences.is_empty() {
        println!("Trunk {version} builds the same files.");
        return Ok(());
    }
    Err(format!(
        "Trunk {version} builds other files (in {}): {}",
        theirs.display(),
        differences.join(", ")
    ))
}

/// The names of the files that differ between the folders.
fn differences(ours: &Path, theirs: &Path) -> Result<Vec<String>, String> {
    let mut names = files(ours)?;
    names.extend(files(theirs)?);
    names.sort();
    names.dedup();
    let mut different = Vec::new();
    for name in names {
        let [a, b] = [ours, theirs].map(|folder| folder.join(&name));
        let is_same = a.is_file()
            && b.is_file()
            && fs::read(&a).map_err(at(&a))? == fs::read(&b).map_err(at(&b))?;
        if !is_same {
            different.push(name);
        }
    }
    Ok(different)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_differ_or_are_missing_are_named() {
        let base = tempfile::tempdir().unwrap();
        let folders = ["ours", "theirs"].map(|name| base.path().join(name));
        let rows = [
            ("a.css", ["1", "1"]),
            ("b.css", ["1", "2"]),
            ("c.css", ["1", ""]),
            ("d/e.js", ["", "1"]),
        ];
        for (name, texts) in rows {
            for (folder, text) in folders.iter().zip(texts) {
                let file = folder.join(name);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                if !text.is_empty() {
                    fs::write(file, text).unwrap();
                }
            }
        }
        let [ours, theirs] = &folders;
        assert_eq!(
            differences(ours, theirs).unwrap(),
            ["b.css", "c.css", "d/e.js"]
        );
    }
}
