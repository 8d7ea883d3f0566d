//! Real traces and the reference's sheets, which are not part of the repository.
//!
//! They are in a folder `shared` beside the checkout, or in the one that `DORMER_SHARED` names. Tests that need them
//! report if they are missing and pass; `cargo xtask test` counts these at its end.

use std::path::{Path, PathBuf};

use dormer_core::hardware::{self, GpuSpec};
use dormer_core::sample;

use super::skipped::{partly_skipped, skipped};

/// The folder, if it exists; otherwise the running test is skipped.
pub(crate) fn folder() -> Option<PathBuf> {
    find().map_err(|why| skipped(&why)).ok()
}

/// The folder, if it exists; otherwise the running test checks less.
pub(crate) fn folder_for_more() -> Option<PathBuf> {
    find().map_err(|why| partly_skipped(&why)).ok()
}

/// The folder, or why there is none.
fn find() -> Result<PathBuf, String> {
    let folder = match std::env::var_os("DORMER_SHARED") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared"),
    };
    if folder.join("traces").is_dir() {
        return Ok(folder);
    }
    let there = folder.display();
    Err(format!(
        "no real traces in {there}; set DORMER_SHARED to the folder that holds them"
    ))
}

/// The names of all traces in the folder, sorted.
pub(crate) fn traces(folder: &Path) -> Vec<String> {
    let names = names_in(&folder.join("traces")).into_iter();
    names
        .filter_map(|name| Some(name.strip_suffix(".json.gz")?.to_owned()))
        .collect()
}

/// The names of all folders with reference sheets, sorted.
pub(crate) fn goldens(folder: &Path) -> Vec<String> {
    let golden = folder.join("golden");
    let mut names = names_in(&golden);
    names.retain(|name| golden.join(name).is_dir());
    names
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

/// The specs of a GPU with which some of the reference's sheets were generated.
pub(crate) fn gpu(folder: &Path, name: &str) -> GpuSpec {
    let text = std::fs::read_to_string(folder.join(format!("golden/{name}.json"))).unwrap();
    hardware::parse(&text).unwrap()
}

/// The bytes of a trace.
pub(crate) fn trace(folder: &Path, name: &str) -> Vec<u8> {
    std::fs::read(folder.join(format!("traces/{name}.json.gz"))).unwrap()
}

/// The bytes of a trace in another format than Kineto's JSON; if it is missing, the running test is skipped.
pub(crate) fn format(name: &str) -> Option<Vec<u8>> {
    let path = folder()?.join("formats").join(name);
    let bytes = std::fs::read(&path).ok();
    if bytes.is_none() {
        skipped(&format!("there is no {}", path.display()));
    }
    bytes
}

/// The folder of serving engine traces; if it is missing, the running test is skipped.
pub(crate) fn serving_folder() -> Option<PathBuf> {
    let serving = folder()?.join("serving");
    if serving.is_dir() {
        return Some(serving);
    }
    skipped(&format!("there is no {}", serving.display()));
    None
}

/// The bytes of a serving engine trace; if it is missing, the running test is skipped.
pub(crate) fn serving(name: &str) -> Option<Vec<u8>> {
    let serving = serving_folder()?;
    let bytes = std::fs::read(serving.join(format!("{name}.json.gz"))).ok();
    if bytes.is_none() {
        skipped(&format!("traces are missing in {}", serving.display()));
    }
    bytes
}

/// Dormer's own sample, and the real traces if available: name and bytes.
pub(crate) fn with_sample() -> Vec<(String, Vec<u8>)> {
    let mut traces = vec![("sample".to_owned(), sample::TRACE.as_bytes().to_vec())];
    if let Some(folder) = folder_for_more() {
        let names = self::traces(&folder);
        traces.extend(names.into_iter().map(|name| {
            let bytes = trace(&folder, &name);
            (name, bytes)
        }));
    }
    traces
}
