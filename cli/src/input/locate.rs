//! Archives and folders: the traces in them, identified by content, and which one a path refers to.

use std::cell::Cell;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use dormer_core::import::{Archive, ImportError, Imported, Importer, Member, looks_like_trace};

use super::{CHUNK_BYTES, name, next};
use crate::stdout::NEXT;
use crate::{Failure, text};

/// The number of bytes that identify a trace.
const HEAD_BYTES: usize = CHUNK_BYTES;

/// The most traces listed.
const MOST_LISTED: usize = 20;

/// What a path refers to.
pub(super) enum Location {
    /// A file, which may be an archive with one trace.
    File(PathBuf),
    /// A file in an archive, by its path in it.
    Member(PathBuf, String),
}

/// The trace that a path refers to: a file, the only trace of a folder or an archive, or one named after it, as in
/// `ARCHIVE:NAME`.
pub(super) fn locate(path: &Path) -> Result<Location, Failure> {
    let failed = |error: io::Error| Failure::of_file(&name(path), &error);
    let text = path.to_string_lossy();
    if let Some((archive, member)) = text.rsplit_once(':')
        && !path.exists()
        && Path::new(archive).is_file()
    {
        return Ok(Location::Member(archive.into(), member.to_owned()));
    }
    if path.is_dir() {
        let traces = in_folder(path).map_err(failed)?;
        return match traces.as_slice() {
            [] => Err(Failure::Sentence(format!(
                "{text}: no trace is directly in this folder"
            ))),
            [one] => Ok(Location::File(one.clone())),
            _ => Err(ambiguous(path, &traces)),
        };
    }
    // A pipe can only be read once.
    let traces = match path.is_file() {
        true => in_archive(path).map_err(failed)?,
        false => Vec::new(),
    };
    match traces.len() > 1 {
        true => {
            let named = traces
                .iter()
                .map(|member| format!("{text}:{member}").into());
            Err(ambiguous(path, &named.collect::<Vec<PathBuf>>()))
        }
        false => Ok(Location::File(path.to_owned())),
    }
}

/// The error for several traces, one of which must be named.
fn ambiguous(path: &Path, traces: &[PathBuf]) -> Failure {
    let listed = traces.iter().take(MOST_LISTED);
    let printable = |one: &PathBuf| text::printable(&one.to_string_lossy());
    let listed: String = listed
        .map(|one| format!("{NEXT}{}", printable(one)))
        .collect();
    let rest = match traces.len().saturating_sub(MOST_LISTED) {
        0 => String::new(),
        n => format!("{NEXT}and {n} more"),
    };
    Failure::Usage(format!(
        "{}: it holds {} traces; name one of them (dormer job reads all as the ranks of one job):{listed}{rest}",
        path.display(),
        traces.len()
    ))
}

/// The traces of a folder, sorted by name.
fn in_folder(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut traces = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_file() {
            let mut head = vec![0; HEAD_BYTES];
            let n_bytes = next(&mut File::open(&path)?, &mut head)?;
            let head = head.get(..n_bytes).unwrap_or_default();
            if looks_like_trace(head) || Archive::of(head).is_some() {
                traces.push(path);
            }
        }
    }
    traces.sort();
    Ok(traces)
}

/// The paths of the traces in an archive, in archive order; empty if the file is not an archive.
fn in_archive(path: &Path) -> io::Result<Vec<String>> {
    let (mut traces, mut head, mut member) = (Vec::new(), Vec::new(), String::new());
    each_member(path, |part| {
        match part {
            Member::Begin(name) => {
                head.clear();
                name.clone_into(&mut member);
            }
            Member::Bytes(bytes) => {
                let missing = HEAD_BYTES.saturating_sub(head.len()).min(bytes.len());
                head.extend_from_slice(bytes.get(..missing).unwrap_or_default());
            }
            Member::End if looks_like_trace(&head) => traces.push(std::mem::take(&mut member)),
            Member::End => {}
        }
        true
    })?;
    Ok(traces)
}

/// Reads a file in an archive; `None` if there is none with that name.
pub(super) fn read_member(
    archive: &Path,
    wanted: &str,
    on_progress: impl Fn(u64, u64),
) -> io::Result<Option<Result<Imported, ImportError>>> {
    let mut importer = None;
    let mut is_open = false;
    let mut broken = None;
    each_member(archive, |part| {
        match part {
            Member::Begin(name) if name == wanted && importer.is_none() => {
                importer = Some(Importer::new());
                is_open = true;
            }
            Member::Bytes(bytes) if is_open && broken.is_none() => {
                if let Some(importer) = &mut importer {
                    broken = importer.push(bytes).err();
                    let progress = importer.progress();
                    on_progress(progress.bytes_read, progress.events);
                }
            }
            Member::End => is_open = false,
            _ => {}
        }
        is_open || importer.is_none()
    })?;
    Ok(importer.map(|importer| match broken {
        Some(error) => Err(error),
        None => importer.finish(),
    }))
}

/// Passes the files of an archive to `sink` in archive order, until `sink` stops. Returns whether the archive could be
/// read; `None` if it is not an archive.
pub(crate) fn each_member(
    path: &Path,
    mut sink: impl FnMut(Member) -> bool,
) -> io::Result<Option<Result<(), ImportError>>> {
    let mut file = File::open(path)?;
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut n_bytes = next(&mut file, &mut chunk)?;
    let Some(mut archive) = Archive::of(chunk.get(..n_bytes).unwrap_or_default()) else {
        return Ok(None);
    };
    let is_wanted = Cell::new(true);
    let mut sink = |member: Member| is_wanted.set(is_wanted.get() && sink(member));
    let mut read = Ok(());
    while n_bytes > 0 && is_wanted.get() && read.is_ok() {
        read = archive.push(chunk.get(..n_bytes).unwrap_or_default(), &mut sink);
        n_bytes = next(&mut file, &mut chunk)?;
    }
    archive.finish(&mut sink);
    Ok(Some(read))
}
