//! Writes the files of a report or a comparison into a folder or to standard output.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use dormer_core::base::format;
use dormer_core::output::archive;
use dormer_core::output::export::{Listed, Source};

use crate::Failure;
use crate::args::{ALL_FORMATS, FINDINGS, PAGE, PARQUET, ZIP};
use crate::stdout::Out;

/// The format of a single file for programs; for a report, that is its findings.
const JSON: &str = "json";

/// What a command outputs besides its summary.
#[derive(Clone, Copy)]
pub(crate) enum Destination<'a> {
    /// Only the summary.
    Summary,
    /// One file, printed instead of the summary: its path.
    Printed(&'static str),
    /// Files into a folder, in addition to the summary.
    Files(&'a Path),
}

/// Determines the destination before any trace is read. `printable` are the formats that are one file, with its path.
pub(crate) fn destination<'a>(
    folder: Option<&'a Path>,
    formats: &[String],
    printable: &[(&str, &'static str)],
) -> Result<Destination<'a>, Failure> {
    if let Some(folder) = folder {
        let mut above = folder.ancestors().filter(|path| path.exists());
        return match above.next().filter(|path| !path.is_dir()) {
            Some(file) => Err(Failure::Usage(format!(
                "{} is a file; -o takes a folder",
                file.display()
            ))),
            None => Ok(Destination::Files(folder)),
        };
    }
    let [format] = formats else {
        return match formats {
            [] => Ok(Destination::Summary),
            _ => Err(Failure::Usage(
                "standard output takes one format; for several, name a folder with --output"
                    .to_owned(),
            )),
        };
    };
    printable.iter().find(|(name, _)| name == format).map(|(_, path)| Destination::Printed(path)).ok_or_else(|| {
        let names: Vec<&str> = printable.iter().map(|(name, _)| *name).collect();
        Failure::Usage(format!(
            "--format {format} needs a folder, given with --output; without one, standard output takes {}",
            names.join(", ")
        ))
    })
}

/// Prints one file instead of the summary.
pub(crate) fn print<S: Source>(path: &str, source: &S, out: &mut Out) -> Result<(), Failure> {
    let file = source.artifact(path);
    let file = file.ok_or_else(|| Failure::Sentence(format!("cannot make {path}")))?;
    out.file(&file.bytes)?;
    // The terminal's prompt should start on a new line.
    if !file.bytes.ends_with(b"\n") {
        out.file(b"\n")?;
    }
    Ok(())
}

/// Whether the page with embedded traces was requested.
pub(crate) fn wants_page(formats: &[String]) -> bool {
    formats.iter().any(|format| format == PAGE)
}

/// Generates and writes the files of the requested formats, all by default, and prints their paths; does nothing if
/// only formats generated elsewhere were requested. An archive combines them into one file, named by `archive_name`.
pub(crate) fn write<S: Source>(
    folder: &Path,
    formats: &[String],
    source: &S,
    archive_name: impl FnOnce() -> String,
    out: &mut Out,
) -> Result<(), Failure> {
    let is_requested = |format: &str| formats.iter().any(|known| known == format);
    let made_elsewhere = [PAGE, PARQUET];
    let made_here = formats.iter().map(String::as_str);
    let n_here = made_here
        .filter(|one| !made_elsewhere.contains(one))
        .count();
    if n_here == 0 && !formats.is_empty() {
        return Ok(());
    }
    let is_archive = is_requested(ZIP);
    let is_all = formats.is_empty() || is_requested(ALL_FORMATS) || (is_archive && n_here == 1);
    // For a report, `json` is everything as JSON, including its findings.
    let is_requested =
        |format: &str| is_requested(format) || (format == FINDINGS && is_requested(JSON));
    let exporters = S::exporters();
    let selected = || {
        let exporters = exporters.iter();
        exporters.filter(|exporter| is_all || is_requested(exporter.format))
    };
    if is_archive {
        let path = archive_name();
        let mut files = selected().flat_map(|exporter| exporter.artifacts(source));
        let bytes = archive::zip(&mut files.by_ref().map(|file| (file.path, file.bytes)));
        let bytes = bytes.ok_or_else(|| Failure::Sentence(format!("cannot make {path}")))?;
        write_file(folder, &path, &bytes)?;
        let size = format::bytes(bytes.len() as u64);
        writeln!(out, "\nWrote {} ({size}).", folder.join(&path).display())?;
        return Ok(());
    }
    let mut n_files = 0;
    for exporter in selected() {
        for Listed { path, .. } in (exporter.list)(source) {
            if source.is_streamed(&path) {
                stream_file(folder, &path, source)?;
            } else if let Some(bytes) = (exporter.write)(source, &path) {
                write_file(folder, &path, &bytes)?;
            } else {
                continue;
            }
            n_files += 1;
        }
    }
    let count = format::counted(n_files, "file");
    writeln!(out, "\nWrote {count} to {}.", folder.display())?;
    Ok(())
}

/// Writes a file, which may be larger than memory, while it is generated.
fn stream_file<S: Source>(folder: &Path, path: &str, source: &S) -> Result<(), Failure> {
    let place = folder.join(path);
    create_parent(&place)?;
    let failed =
        |error: io::Error| Failure::of_file(&format!("cannot write {}", place.display()), &error);
    let mut file = BufWriter::new(File::create(&place).map_err(failed)?);
    let mut written = Ok(());
    source.stream(path, &mut |piece| {
        if written.is_ok() {
            written = file.write_all(piece);
        }
    });
    written.and_then(|()| file.flush()).map_err(failed)
}

/// Writes a file and creates its parent folders; an existing file is replaced.
pub(crate) fn write_file(folder: &Path, path: &str, bytes: &[u8]) -> Result<(), Failure> {
    let path = folder.join(path);
    create_parent(&path)?;
    fs::write(&path, bytes)
        .map_err(|error| Failure::of_file(&format!("cannot write {}", path.display()), &error))
}

fn create_parent(path: &Path) -> Result<(), Failure> {
    let folder = path.parent().unwrap_or(Path::new(""));
    fs::create_dir_all(folder).map_err(|error| {
        Failure::of_file(
            &format!("cannot create the folder {}", folder.display()),
            &error,
        )
    })
}
