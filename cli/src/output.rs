//! The files of a report or a comparison, into a folder.

use std::fs;
use std::io::Write;
use std::path::Path;

use dormer_core::base::format;
use dormer_core::output::archive;
use dormer_core::output::export::{Artifact, Source};

use crate::Failure;
use crate::args::{ALL_FORMATS, ZIP};

/// Makes the files of the formats that were asked for and writes them, where a folder was given,
/// and says so. As an archive they are one file, called as `archive_name` says.
pub(crate) fn write<S: Source>(
    folder: Option<&Path>,
    asked: &[String],
    source: &S,
    archive_name: impl FnOnce() -> String,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let Some(folder) = folder else {
        writeln!(out, "\nTo write the report and its tables, add -o DIR.")?;
        return Ok(());
    };
    let is_asked = |format: &str| asked.iter().any(|asked| asked == format);
    let is_archive = is_asked(ZIP);
    let is_all = is_asked(ALL_FORMATS) || (is_archive && asked.len() == 1);
    let exporters = S::exporters();
    let files = exporters
        .iter()
        .filter(|exporter| is_all || is_asked(exporter.format))
        .flat_map(|exporter| exporter.artifacts(source));
    if is_archive {
        let path = archive_name();
        let bytes = archive::zip(&mut files.map(|file| (file.path, file.bytes)));
        let bytes = bytes.ok_or_else(|| Failure::Sentence(format!("cannot make {path}")))?;
        write_file(folder, &path, &bytes)?;
        let size = format::bytes(bytes.len() as u64);
        writeln!(out, "\nWrote {} ({size}).", folder.join(&path).display())?;
        return Ok(());
    }
    let mut n_files = 0;
    for Artifact { path, bytes, .. } in files {
        write_file(folder, &path, &bytes)?;
        n_files += 1;
    }
    let count = format::counted(n_files, "file");
    writeln!(out, "\nWrote {count} to {}.", folder.display())?;
    Ok(())
}

/// Writes a file and the folders it belongs in; a file of the same name is replaced.
fn write_file(folder: &Path, path: &str, bytes: &[u8]) -> Result<(), Failure> {
    let path = folder.join(path);
    let written = path
        .parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| fs::write(&path, bytes));
    written.map_err(|error| Failure::Sentence(format!("cannot write {}: {error}", path.display())))
}
