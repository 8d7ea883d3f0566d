//! Reads the files of a job: several at once, the largest first, each reduced to its digest and dropped.

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use dormer_core::job::{Digest, digests};

use super::archives;
use super::files::{Found, ReadFile};
use crate::{Failure, input, progress};

/// The most files read at once; each may take memory of a third of its JSON.
const MOST_AT_ONCE: usize = 8;

/// The digests of the files, in order, or why there is none. A file may contain several ranks.
pub(super) fn read(files: &[Found]) -> Vec<ReadFile> {
    let mut largest_first: Vec<usize> = (0..files.len()).collect();
    largest_first.sort_by_key(|at| std::cmp::Reverse(files.get(*at).map(|file| file.source.bytes)));
    let results: Vec<Mutex<Vec<ReadFile>>> = files.iter().map(|_| Mutex::new(Vec::new())).collect();
    let bar = progress::bar(
        Some(files.len() as u64),
        "reading {bar:30} {pos} of {len} files",
    );
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(at) = largest_first.get(next.fetch_add(1, Ordering::Relaxed)) {
            let (Some(file), Some(result)) = (files.get(*at), results.get(*at)) else {
                continue;
            };
            let read = panic::catch_unwind(AssertUnwindSafe(|| ranks(file)));
            let read = read.unwrap_or_else(|_| Err("reading it failed".to_owned()));
            let read = read.unwrap_or_else(|why| vec![(file.source.clone(), Err(why))]);
            *result.lock().unwrap_or_else(PoisonError::into_inner) = read;
            bar.inc(1);
        }
    };
    let n_threads = thread::available_parallelism().map_or(1, |cores| cores.get());
    let n_threads = n_threads.min(files.len()).clamp(1, MOST_AT_ONCE);
    thread::scope(|scope| {
        for _ in 1..n_threads {
            scope.spawn(work);
        }
        work();
    });
    bar.finish_and_clear();
    let results = results.into_iter();
    let results = results.flat_map(|of| of.into_inner().unwrap_or_else(PoisonError::into_inner));
    results.collect()
}

/// Reads one file: a digest unchanged, a trace reduced to one, or to one for each of its ranks.
fn ranks(file: &Found) -> Result<Vec<ReadFile>, String> {
    if file.is_small() {
        let bytes = std::fs::read(&file.path).map_err(|error| crate::reason(&error))?;
        if let Some(digest) = Digest::from_file(&bytes) {
            return Ok(vec![(file.source.clone(), digest)]);
        }
    }
    let read = archives::read(&file.path, &file.source).map_err(|error| crate::reason(&error))?;
    if let Some(read) = read {
        return Ok(read);
    }
    let imported = match input::read_quietly(&file.path) {
        Ok(read) => read.map_err(|error| error.to_string())?,
        Err(Failure::Sentence(why)) => return Err(why),
        Err(_) => return Err("it cannot be read".to_owned()),
    };
    let read = digests(imported, file.source.clone()).into_iter();
    Ok(read
        .map(|digest| (digest.file.clone(), Ok(digest)))
        .collect())
}
