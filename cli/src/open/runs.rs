//! Log directories: the runs below the folders, and the traces of each, newest first.
//!
//! A run is a folder that contains traces, as in TensorBoard. Only the beginning of each file is read, and if that is
//! not conclusive, the end of an uncompressed one; results are cached until the file changes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::UNIX_EPOCH;

use dormer_core::import::{is_called_like_a_trace, is_called_like_traces};
use dormer_core::job::files::head::Head;
use flate2::read::MultiGzDecoder;
use serde::Serialize;

use super::names::Name;
use super::traces::{NumberedFiles, url};
use crate::captures::file_name;

/// The number of bytes read to identify a file.
const HEAD_BYTES: u64 = 64 << 10;

/// The list of runs; `app/src/page/runs.rs` reads it.
#[derive(Debug, Serialize)]
pub(super) struct Listing {
    /// The requested folder.
    folder: String,
    /// Files named like traces that are not traces.
    n_others: usize,
    runs: Vec<Run>,
}

#[derive(Debug, Serialize)]
struct Run {
    /// The folder, relative to the requested one.
    name: String,
    traces: Vec<Listed>,
}

/// A trace of a run.
#[derive(Debug, Serialize)]
struct Listed {
    url: String,
    file: String,
    worker: String,
    /// Its position among the traces of its worker, from 1, and their number.
    nth: (usize, usize),
    rank: Option<u64>,
    /// The number of ranks in the job.
    world_size: Option<u64>,
    /// When it was recorded, from its name, or otherwise when it was written; in milliseconds since 1970.
    time_ms: u64,
    bytes: u64,
}

/// The folders, and cached results for the files in them.
pub(super) struct Runs {
    paths: Vec<PathBuf>,
    heads: HashMap<PathBuf, (Stamp, Content)>,
}

/// Identifies a version of a file.
type Stamp = (u64, u64);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Content {
    Trace(Head),
    Other,
}

impl Runs {
    pub(super) fn of(paths: Vec<PathBuf>) -> Runs {
        Runs {
            paths,
            heads: HashMap::new(),
        }
    }

    /// Scans the folders again.
    pub(super) fn scan(&mut self, known: &Mutex<NumberedFiles>) -> Listing {
        let mut found = Vec::new();
        for path in &self.paths {
            match path.is_dir() {
                true => {
                    let root = fs::canonicalize(path).unwrap_or_else(|_| path.clone());
                    inside(path, &root, &mut found);
                }
                false => found.push(path.clone()),
            }
        }
        let before = std::mem::take(&mut self.heads);
        let mut n_others = 0;
        let mut runs: BTreeMap<String, Vec<Listed>> = BTreeMap::new();
        for path in found {
            // A file that is gone by now, or may not be read, cannot be opened.
            let Ok(metadata) = fs::metadata(&path) else {
                continue;
            };
            let stamp = (metadata.len(), written_ms(&metadata));
            let content = match before.get(&path) {
                Some((then, content)) if *then == stamp => Ok(*content),
                _ => content_of(&path),
            };
            let Ok(content) = content else {
                continue;
            };
            self.heads.insert(path.clone(), (stamp, content));
            let Content::Trace(head) = content else {
                n_others += 1;
                continue;
            };
            let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
            let number = known.number(&path);
            let run = runs.entry(self.run_of(&path)).or_default();
            run.push(listed(&path, url(number, &path), head, stamp));
        }
        let mut runs: Vec<Run> = runs
            .into_iter()
            .map(|(name, traces)| Run { name, traces })
            .collect();
        for run in &mut runs {
            run.put_in_order();
        }
        runs.sort_by_key(|run| Reverse(run.traces.iter().map(|trace| trace.time_ms).max()));
        Listing {
            folder: self.folder(),
            n_others,
            runs,
        }
    }

    fn folder(&self) -> String {
        let paths = self.paths.iter();
        let paths = paths.map(|path| fs::canonicalize(path).unwrap_or_else(|_| path.clone()));
        let names: Vec<String> = paths.map(|path| path.display().to_string()).collect();
        names.join(", ")
    }

    /// The folder of a file, relative to the requested one; if several were requested, including it.
    fn run_of(&self, path: &Path) -> String {
        let folder = path.parent().unwrap_or(path);
        let below = match self.paths.as_slice() {
            [root] => folder.strip_prefix(root).unwrap_or(folder),
            _ => folder,
        };
        below.to_string_lossy().replace('\\', "/")
    }
}

impl Run {
    /// Sorts by time, newest first, then by rank and worker; numbers each trace among those of its worker.
    fn put_in_order(&mut self) {
        self.traces
            .sort_by(|one, other| (one.time_ms, &one.file).cmp(&(other.time_ms, &other.file)));
        let mut counts: HashMap<String, usize> = HashMap::new();
        for trace in &mut self.traces {
            let count = counts.entry(trace.worker.clone()).or_default();
            *count += 1;
            trace.nth.0 = *count;
        }
        for trace in &mut self.traces {
            trace.nth.1 = counts.get(&trace.worker).copied().unwrap_or(1);
        }
        // Ranks of a job that were recorded together stay together, even if their clocks differ.
        let together = |trace: &Listed| (trace.world_size, trace.nth.0);
        let mut newest: HashMap<(Option<u64>, usize), u64> = HashMap::new();
        for trace in &self.traces {
            let newest = newest.entry(together(trace)).or_default();
            *newest = trace.time_ms.max(*newest);
        }
        let place = |trace: &Listed| {
            let of_job = trace.world_size.and_then(|_| newest.get(&together(trace)));
            let time_ms = of_job.copied().unwrap_or(trace.time_ms);
            (Reverse(time_ms), trace.rank, trace.worker.clone())
        };
        self.traces.sort_by_key(place);
    }
}

fn listed(path: &Path, url: String, head: Head, (bytes, written_ms): Stamp) -> Listed {
    let file = file_name(path);
    let name = Name::of(&file);
    let (rank, world_size) = match head {
        Head::Rank { rank, world_size } => (Some(rank), Some(world_size)),
        Head::Digest | Head::Unknown => (name.rank, None),
    };
    Listed {
        url,
        file,
        worker: name.worker,
        nth: (1, 1),
        rank,
        world_size,
        time_ms: name.time_ms.unwrap_or(written_ms),
        bytes,
    }
}

/// The files below a folder that are named like traces. Links to folders are not followed: they may be circular, or
/// lead outside. Links to files are accepted if they lead to a file below the root, whose path is free of links.
fn inside(folder: &Path, root: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        if name.to_string_lossy().starts_with('.') {
            continue;
        }
        let Ok(of) = entry.file_type() else { continue };
        if of.is_dir() {
            inside(&path, root, found);
        } else if is_called_like_traces(&path.to_string_lossy())
            && path.is_file()
            && (!of.is_symlink()
                || fs::canonicalize(&path).is_ok_and(|real| real.starts_with(root)))
        {
            found.push(path);
        }
    }
}

fn written_ms(metadata: &Metadata) -> u64 {
    let written = metadata.modified().ok();
    let since = written.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}

/// The content of a file; if it is not JSON, judged by its name only.
fn content_of(path: &Path) -> io::Result<Content> {
    let mut file = File::open(path)?;
    let bytes = file.metadata()?.len();
    let mut start = [0; 2];
    let n = file.read(&mut start)?;
    file.seek(SeekFrom::Start(0))?;
    let is_packed = start.get(..n) == Some(&[0x1f, 0x8b]);
    let head = match is_packed {
        true => beginning(MultiGzDecoder::new(&file)),
        false => beginning(&file),
    };
    let is_json = head.trim_start().starts_with(['{', '[']);
    let name = file_name(path);
    if !is_json && is_called_like_a_trace(&name) && name.contains(".json") {
        return Ok(Content::Other);
    }
    let kind = Head::of(&head);
    if kind != Head::Unknown || !is_json {
        return Ok(Content::Trace(kind));
    }
    // In files written by hand or assembled from parts, the job's data may follow the events.
    if !is_packed && bytes > HEAD_BYTES {
        file.seek(SeekFrom::Start(bytes - HEAD_BYTES))?;
        let kind = Head::of(&beginning(&file));
        if kind != Head::Unknown {
            return Ok(Content::Trace(kind));
        }
    }
    const KEYS: [&str; 4] = [
        "\"traceEvents\"",
        "\"schemaVersion\"",
        "\"ph\"",
        "\"rocprofiler-sdk-tool\"",
    ];
    let is_trace = KEYS.iter().any(|key| head.contains(key));
    Ok(if is_trace {
        Content::Trace(kind)
    } else {
        Content::Other
    })
}

/// The first text of a file, up to its events; as much as can be read.
fn beginning(mut from: impl Read) -> String {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4 << 10];
    while (bytes.len() as u64) < HEAD_BYTES {
        let n = from.read(&mut chunk).unwrap_or(0);
        bytes.extend_from_slice(chunk.get(..n).unwrap_or_default());
        if n == 0 || String::from_utf8_lossy(&bytes).contains("\"traceEvents\"") {
            break;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// A folder with files; content that is not a trace is turned into one.
    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    fn rank(rank: u32) -> String {
        format!(
            r#"{{"schemaVersion": 1, "distributedInfo": {{"rank": {rank}, "world_size": 2}}, "traceEvents": []}}"#
        )
    }

    fn scan(runs: &mut Runs) -> Value {
        serde_json::to_value(runs.scan(&Mutex::default())).unwrap()
    }

    /// For each run its name, and for each of its traces the given keys.
    fn values_of(listing: &Value, keys: &[&str]) -> Value {
        let runs = listing["runs"].as_array().unwrap().iter();
        let rows = runs.map(|run| {
            let traces = run["traces"].as_array().unwrap().iter();
            let traces = traces.map(|trace| {
                keys.iter()
                    .map(|key| trace[*key].clone())
                    .collect::<Value>()
            });
            json!([run["name"], traces.collect::<Value>()])
        });
        rows.collect()
    }

    #[test]
    fn a_folder_lists_its_runs_newest_first() {
        let (zero, one) = (rank(0), rank(1));
        let plain = r#"{"traceEvents": []}"#;
        let root = folder(&[
            ("old/host_1.1764000000000000000.pt.trace.json", plain),
            ("new/host_1.1764000300000000000.pt.trace.json", &zero),
            ("new/host_2.1764000300009000000.pt.trace.json", &one),
            ("new/host_1.1764000200000000000.pt.trace.json", &zero),
            ("new/host_2.1764000200000000000.pt.trace.json", &one),
            ("new/deep/er/x-rank-7.1764000100000.pt.trace.json", plain),
            ("new/config.json", r#"{"lr": 0.1}"#),
            ("new/notes.json", "no JSON at all"),
            ("new/notes.md", "of no interest"),
            (".git/trace.json", plain),
        ]);
        let listing = scan(&mut Runs::of(vec![root.path().to_owned()]));
        assert_eq!(listing["n_others"], 2);
        assert_eq!(
            values_of(
                &listing,
                &["worker", "nth", "rank", "world_size", "time_ms"]
            ),
            json!([
                [
                    "new",
                    [
                        ["host_1", [2, 2], 0, 2, 1_764_000_300_000_u64],
                        ["host_2", [2, 2], 1, 2, 1_764_000_300_009_u64],
                        ["host_1", [1, 2], 0, 2, 1_764_000_200_000_u64],
                        ["host_2", [1, 2], 1, 2, 1_764_000_200_000_u64],
                    ]
                ],
                [
                    "new/deep/er",
                    [["x-rank-7", [1, 1], 7, null, 1_764_000_100_000_u64]]
                ],
                [
                    "old",
                    [["host_1", [1, 1], null, null, 1_764_000_000_000_u64]]
                ],
            ])
        );
    }

    #[test]
    fn new_files_are_seen_and_numbers_stay() {
        let root = folder(&[("b.json", &rank(0))]);
        let mut runs = Runs::of(vec![root.path().to_owned()]);
        let known = Mutex::default();
        let mut urls = || {
            let listing = serde_json::to_value(runs.scan(&known)).unwrap();
            let mut urls = values_of(&listing, &["url", "rank"])[0][1]
                .as_array()
                .unwrap()
                .clone();
            urls.sort_by_key(Value::to_string);
            urls
        };
        assert_eq!(urls(), [json!(["traces/0/b.json", 0])]);
        fs::write(root.path().join("a.json"), rank(1)).unwrap();
        assert_eq!(
            urls(),
            [json!(["traces/0/b.json", 0]), json!(["traces/1/a.json", 1])]
        );
        fs::remove_file(root.path().join("b.json")).unwrap();
        assert_eq!(urls(), [json!(["traces/1/a.json", 1])]);
        // A file that has grown is read again.
        fs::write(root.path().join("a.json"), rank(2) + " ").unwrap();
        assert_eq!(urls(), [json!(["traces/1/a.json", 2])]);
    }

    #[test]
    fn what_follows_the_events_is_found() {
        let events = r#"{"ph": "X"},"#.repeat(20_000);
        let text = format!(
            r#"{{"traceEvents": [{events}{{}}], "distributedInfo": {{"rank": 3, "world_size": 4}}}}"#
        );
        let root = folder(&[("run/trace.json", &text)]);
        let listing = scan(&mut Runs::of(vec![root.path().to_owned()]));
        assert_eq!(
            values_of(&listing, &["rank", "world_size"]),
            json!([["run", [[3, 4]]]])
        );
    }

    #[cfg(unix)]
    #[test]
    fn links_do_not_lead_out_of_the_folder_or_in_circles() {
        use std::os::unix::fs::symlink;

        let root = folder(&[("logs/a.json", &rank(0)), ("private/b.json", &rank(1))]);
        let logs = root.path().join("logs");
        symlink(root.path().join("private"), logs.join("out")).unwrap();
        symlink(&logs, logs.join("circle")).unwrap();
        symlink(root.path().join("private/b.json"), logs.join("b.json")).unwrap();
        symlink(logs.join("a.json"), logs.join("newest.json")).unwrap();
        let listing = scan(&mut Runs::of(vec![logs]));
        assert_eq!(
            values_of(&listing, &["file"]),
            json!([["", [["a.json"], ["newest.json"]]]])
        );
    }
}
