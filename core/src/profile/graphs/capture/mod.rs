//! Merges a graph's capture with the trace of its replays.
//!
//! A replay is one call and hundreds of kernels, without operators or shapes. During the capture of the graph the same
//! launches were made one by one, each below its operator. If that was recorded, each replay gets a copy of it below
//! its graph launch, and each kernel is assigned to the launch that it comes from.
//!
//! ```text
//! cudaGraphLaunch -> 3 kernels       cudaGraphLaunch
//!                                      aten::mm
//! capture: aten::mm            →         cudaLaunchKernel -> gemm
//!            cudaLaunchKernel          my::norm
//!          my::norm …                    cudaLaunchKernel -> norm
//! ```
//!
//! | step | file |
//! |---|---|
//! | the captured calls of a file, graph by graph | `segments.rs` |
//! | which of them a replay comes from | `choosing.rs` |
//! | which launch each kernel comes from | `matching.rs`, `names.rs` |
//! | copies below the launches | `copies.rs` |
//! | operators for the parts of an MoE layer, and for functions | `parts.rs`, `functions.rs` |
//! | what was merged, and what was not and why | `coverage.rs`, `why.rs` |
//!
//! Times, streams and counts come from the replay; operators, shapes, modules and launch grids from the capture.

mod choosing;
mod copies;
mod counted;
mod coverage;
mod functions;
mod matching;
mod names;
mod notes;
mod parts;
mod segments;
mod steps;
#[cfg(test)]
mod tests;
mod why;

pub use coverage::{Coverage, FileUse, GraphUse, Problem};
pub use notes::{Note, notes};
pub use why::Why;

use crate::import::{ImportError, Imported};
use crate::profile::launch::{Launches, is_graph_launch};
use crate::trace::{ByName, Trace};
use choosing::{File, Replays};
use copies::Merge;
use names::Symbols;
use segments::ExpectedSize;

/// A file that may hold captures.
#[derive(Debug)]
pub struct CaptureFile {
    /// Its name, without folders.
    pub name: String,
    /// Its contents, or why it cannot be read.
    imported: Result<Imported, String>,
    /// The batch size it was captured for, in tokens, according to a notes file.
    size: Option<u64>,
    /// It was expected to be a notes file about captures.
    are_notes: bool,
}

impl CaptureFile {
    /// A file that was or could not be read, with what `notes` say about it.
    pub fn new(name: &str, imported: Result<Imported, ImportError>, notes: &[Note]) -> CaptureFile {
        let own = notes.iter().find(|note| note.is_of(name));
        CaptureFile {
            name: notes::file_name(name).to_owned(),
            imported: imported.map_err(|error| error.to_string()),
            size: own.and_then(|note| note.size),
            are_notes: false,
        }
    }

    /// A notes file about captures that cannot be read.
    pub fn unreadable_notes(name: &str) -> CaptureFile {
        CaptureFile {
            name: notes::file_name(name).to_owned(),
            imported: Err(String::new()),
            size: None,
            are_notes: true,
        }
    }

    fn trace(&self) -> Option<&Trace> {
        self.imported.as_ref().ok().map(|imported| &imported.trace)
    }

    /// Whether a trace contains captures of graphs.
    pub fn is_capture(trace: &Trace) -> bool {
        let mut names = trace.strings.iter();
        names.any(|(_, name)| segments::is_begin(name))
    }

    fn expected_size(&self) -> ExpectedSize {
        ExpectedSize {
            noted: self.size,
            named: names::size_of_file(&self.name),
        }
    }
}

/// Whether a trace replays graphs that are not merged with a capture.
pub fn has_bare_replays(trace: &Trace, launches: &Launches) -> bool {
    !Replays::find(trace, launches, &mut Symbols::default()).is_empty()
}

/// Whether a trace both contains captures of graphs and launches graphs.
pub(crate) fn holds_both(trace: &Trace, launches: &Launches) -> bool {
    let mut is_graph = ByName::new(is_graph_launch);
    let mut launches = launches.launches.iter();
    launches.any(|launch| is_graph.of(trace, launch.call)) && CaptureFile::is_capture(trace)
}

/// What captures explain of the replays of a trace, before anything is merged.
#[derive(Debug)]
pub struct Merging {
    merges: Vec<Merge>,
    coverage: Coverage,
}

impl Merging {
    /// Whether there is nothing to merge.
    pub fn is_empty(&self) -> bool {
        self.merges.is_empty()
    }

    /// How far the files explain the replays that are not merged yet, and the problems of the files.
    pub fn coverage(&self) -> &Coverage {
        &self.coverage
    }
}

/// Finds which captured calls each replay comes from, in these files and in the trace itself, which may contain both
/// captures and replays.
pub(crate) fn find(trace: &Trace, launches: &Launches, files: &[CaptureFile]) -> Merging {
    let mut symbols = Symbols::default();
    let replays = Replays::find(trace, launches, &mut symbols);
    let found = files.iter().map(|file| {
        let source = file.trace();
        let segments =
            source.map(|source| segments::find(source, file.expected_size(), &mut symbols));
        File::new(&file.name, source, segments.unwrap_or_default())
    });
    let mut found: Vec<File> = found.collect();
    if !replays.is_empty() && CaptureFile::is_capture(trace) {
        let own = segments::find(trace, ExpectedSize::default(), &mut symbols);
        found.push(File::new("", Some(trace), own));
    }
    let plan = choosing::choose(trace, &replays, &found);
    let coverage = counted::coverage(files, &found, &replays, &plan);
    Merging {
        merges: plan.into_merges(&replays, found),
        coverage,
    }
}

/// Puts captured calls below the launches that replay them, and reports the coverage.
pub(crate) fn merge(
    trace: &mut Trace,
    launches: &mut Launches,
    files: &[CaptureFile],
    merging: Merging,
) -> Coverage {
    let sources: Vec<Option<&Trace>> = files.iter().map(CaptureFile::trace).collect();
    copies::put_below(trace, launches, &sources, &merging.merges);
    if !merging.merges.is_empty() {
        parts::add(trace, launches);
        functions::add(trace, launches);
    }
    merging.coverage
}
