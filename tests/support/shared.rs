//! Real traces and the reference's sheets, which are not part of the repository.
//!
//! They lie in a folder `shared` beside the checkout, or where `DORMER_SHARED` says. Tests that
//! need them say so and pass where they are missing.

use std::path::{Path, PathBuf};

use dormer_core::hardware::{self, GpuSpec};
use dormer_core::sample;

/// The folder, where there is one.
pub(crate) fn folder() -> Option<PathBuf> {
    let folder = match std::env::var_os("DORMER_SHARED") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared"),
    };
    if folder.join("traces").is_dir() {
        return Some(folder);
    }
    eprintln!(
        "skipped: no real traces in {}; set DORMER_SHARED to the folder that holds them",
        folder.display()
    );
    None
}

/// The names of all traces in the folder, sorted.
pub(crate) fn traces(folder: &Path) -> Vec<String> {
    let names = names_in(&folder.join("traces")).into_iter();
    names
        .filter_map(|name| Some(name.strip_suffix(".json.gz")?.to_owned()))
        .collect()
}

/// The names of all folders of the reference's sheets, sorted.
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

/// The figures of a GPU that some of the reference's sheets were made with.
pub(crate) fn gpu(folder: &Path, name: &str) -> GpuSpec {
    let text = std::fs::read_to_string(folder.join(format!("golden/{name}.json"))).unwrap();
    hardware::parse(&text).unwrap()
}

/// The bytes of a trace.
pub(crate) fn trace(folder: &Path, name: &str) -> Vec<u8> {
    std::fs::read(folder.join(format!("traces/{name}.json.gz"))).unwrap()
}

/// The bytes of a trace of a serving engine; `None`, said on standard error, where it is not there.
pub(crate) fn serving(name: &str) -> Option<Vec<u8>> {
    let path = folder()?.join(format!("serving/{name}.json.gz"));
    let bytes = std::fs::read(&path).ok();
    if bytes.is_none() {
        eprintln!("skipped: no {}", path.display());
    }
    bytes
}

/// Dormer's own sample, and the real traces where they are: name and bytes.
pub(crate) fn with_sample() -> Vec<(String, Vec<u8>)> {
    let mut traces = vec![("sample".to_owned(), sample::TRACE.as_bytes().to_vec())];
    if let Some(folder) = folder() {
        let names = self::traces(&folder);
        traces.extend(names.into_iter().map(|name| {
            let bytes = trace(&folder, &name);
            (name, bytes)
        }));
    }
    traces
}
