//! The files of a report or a comparison, into a folder.

use std::fs;
use std::io::Write;
use std::path::Path;

use dormer_core::export::Artifact;
use dormer_core::format;

use crate::Failure;
use crate::args::ALL_FORMATS;

/// True for a format that was asked for.
pub(crate) fn is_wanted(asked: &[String], format: &str) -> bool {
    asked
        .iter()
        .any(|asked| asked == format || asked == ALL_FORMATS)
}

/// Makes the files and writes them, where a folder was given, and says so.
pub(crate) fn write(
    folder: Option<&Path>,
    files: impl FnOnce() -> Vec<Artifact>,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let Some(folder) = folder else {
        writeln!(out, "\nTo write the report and its tables, add -o DIR.")?;
        return Ok(());
    };
    let files = files();
    write_files(&files, folder)?;
    let count = format::counted(files.len() as u64, "file");
    writeln!(out, "\nWrote {count} to {}.", folder.display())?;
    Ok(())
}

/// Writes the files and the folders they belong in; files of the same name are replaced.
fn write_files(files: &[Artifact], folder: &Path) -> Result<(), Failure> {
    for file in files {
        let path = folder.join(&file.path);
        let written = path
            .parent()
            .map_or(Ok(()), fs::create_dir_all)
            .and_then(|()| fs::write(&path, &file.bytes));
        written.map_err(|error| {
            Failure::Sentence(format!("cannot write {}: {error}", path.display()))
        })?;
    }
    Ok(())
}
