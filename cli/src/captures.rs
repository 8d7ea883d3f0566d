//! Files that accompany the trace: recordings of GPU graph captures, in files and folders, and the execution trace of
//! the same run.

use std::fs;
use std::path::{Path, PathBuf};

use dormer_core::Profile;
use dormer_core::import::{ExecutionTrace, Imported};
use dormer_core::profile::graphs::capture::{CaptureFile, Note, notes};

use crate::{Failure, input};

/// The file that engines write next to their captures; its name may have the capture's name as a prefix.
const NOTES: &str = "execution_details.json";

/// The profile of a trace, merged with the given captures, and with the shapes of its execution trace.
pub(crate) fn profile(
    mut imported: Imported,
    trace: &Path,
    captures: &[PathBuf],
    execution: Option<&Path>,
) -> Result<Profile, Failure> {
    if let Some(path) = execution {
        let name = input::name(path);
        let bytes = fs::read(path).map_err(|error| Failure::of_file(&name, &error))?;
        let added = ExecutionTrace::read(&bytes).map(|execution| execution.add_to(&mut imported));
        let why = match added {
            Ok(added) if added.n_joined > 0 => None,
            Ok(_) => Some(ExecutionTrace::OF_ANOTHER_RUN.to_owned()),
            Err(why) => Some(why),
        };
        if let Some(why) = why {
            return Err(Failure::Sentence(format!("{name}: {why}")));
        }
    }
    let (mut files, mut unreadable) = (Vec::new(), Vec::new());
    for path in captures {
        let folder = match path.is_dir() {
            true => Some(path.as_path()),
            false => path.parent(),
        };
        let all = folder.map(in_folder).transpose()?.unwrap_or_default();
        let (notes, unread) = all_notes(&all);
        for name in unread {
            if !unreadable.contains(&name) {
                files.push(CaptureFile::unreadable_notes(&name));
                unreadable.push(name);
            }
        }
        let named: Vec<PathBuf> = match path.is_dir() {
            true => all
                .into_iter()
                .filter(|file| is_trace(file) && !is_same(file, trace))
                .collect(),
            false => vec![path.clone()],
        };
        if named.is_empty() {
            let name = input::name(path);
            return Err(Failure::Sentence(format!(
                "{name}: no capture is directly in this folder"
            )));
        }
        for file in named {
            let read = input::read(&file)?;
            files.push(CaptureFile::new(&input::name(&file), read, &notes));
        }
    }
    Ok(Profile::with_captures(imported, &files))
}

/// The files of a folder, sorted by name.
pub(crate) fn in_folder(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    // The parent of a plain file name is the current folder.
    let folder = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    let entries =
        fs::read_dir(folder).map_err(|error| Failure::of_file(&input::name(folder), &error))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    files.retain(|file| file.is_file());
    files.sort();
    Ok(files)
}

/// The last part of a path.
pub(crate) fn file_name(file: &Path) -> String {
    let name = file
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_default()
}

fn is_trace(file: &Path) -> bool {
    const ENDINGS: [&str; 3] = [".json", ".json.gz", ".zip"];
    let name = file_name(file);
    !name.ends_with(NOTES) && ENDINGS.iter().any(|ending| name.ends_with(ending))
}

fn is_same(one: &Path, other: &Path) -> bool {
    let whole = |path: &Path| fs::canonicalize(path).ok();
    whole(one).is_some() && whole(one) == whole(other)
}

/// The content of the notes among some files, and the files without usable notes.
fn all_notes(files: &[PathBuf]) -> (Vec<Note>, Vec<String>) {
    let (mut all, mut unread) = (Vec::new(), Vec::new());
    for file in files.iter().filter(|file| file_name(file).ends_with(NOTES)) {
        let text = fs::read_to_string(file).ok();
        match text.and_then(|text| notes(&text)) {
            Some(notes) => all.extend(notes),
            None => unread.push(file_name(file)),
        }
    }
    (all, unread)
}
