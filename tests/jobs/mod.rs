//! Ranks of one job, real and synthetic.

mod faults;
mod figures;
mod inputs;
mod reference;

use std::collections::BTreeMap;
use std::path::Path;

use dormer_core::import::import;
use dormer_core::job::digest::SourceFile;
use dormer_core::job::files::JobFiles;
use dormer_core::job::overview::JobOverview;
use dormer_core::job::{Analysis, Digest, Job};
use dormer_core::output::export::{self, Artifact, Source};
use dormer_core::profile::Profile;

use crate::support::skipped::skipped;
use crate::support::{csv, shared};

type Row = BTreeMap<String, String>;

/// The rows of a CSV file, by column.
fn rows(text: &str) -> Vec<Row> {
    let mut rows = csv::rows(text).into_iter();
    let head = rows.next().unwrap_or_default();
    let named = rows.map(|row| head.iter().cloned().zip(row).collect());
    named.collect()
}

/// The rows of a job's sheet.
fn sheet(files: &[Artifact], name: &str) -> Vec<Row> {
    let path = format!("job_csvs/{name}.csv");
    let found = files.iter().find(|file| file.path == path);
    let file = found.unwrap_or_else(|| panic!("no {path}"));
    rows(std::str::from_utf8(&file.bytes).unwrap())
}

/// The files that Dormer writes for a job; `None`, and the test is skipped, if its traces are missing.
fn files(name: &str) -> Option<Vec<Artifact>> {
    Some(files_of(digests(name)?))
}

fn files_of(digests: Vec<Digest>) -> Vec<Artifact> {
    let job_files = JobFiles::new(digests);
    let window = job_files.windows.into_iter().next().unwrap();
    let job = Job::new(window);
    export::job::Input::new(&job, &job_files.excluded).artifacts()
}

fn overview_of(digests: Vec<Digest>) -> JobOverview {
    let job_files = JobFiles::new(digests);
    let job = Job::new(job_files.windows.into_iter().next().unwrap());
    JobOverview::new(&job, &Analysis::new(&job), &job_files.excluded)
}

/// The digests of a job's ranks; `None`, and the test is skipped, if its traces are missing.
fn digests(name: &str) -> Option<Vec<Digest>> {
    digests_in(&shared::folder()?.join("jobs").join(name))
}

/// The digests of the files in a folder, by name; `None`, and the test is skipped, if it is missing.
fn digests_in(folder: &Path) -> Option<Vec<Digest>> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        skipped(&format!("there is no {}", folder.display()));
        return None;
    };
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = paths.filter(|path| path.is_file()).collect();
    paths.sort();
    Some(paths.iter().map(|path| digest_of(path)).collect())
}

fn digest_of(path: &Path) -> Digest {
    let bytes = std::fs::read(path).unwrap();
    let name = path.file_name().unwrap().to_str().unwrap();
    digest(name, &bytes)
}

fn digest(name: &str, bytes: &[u8]) -> Digest {
    let file = SourceFile {
        name: name.to_owned(),
        bytes: bytes.len() as u64,
    };
    Digest::new(&Profile::new(import(bytes).unwrap()), file)
}
