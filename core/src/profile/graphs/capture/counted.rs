//! Counts what a plan merges with captures.

use super::CaptureFile;
use super::choosing::{File, Fit, Plan, Replay, Replays};
use super::coverage::{Coverage, FileUse, GraphUse, Problem};
use crate::base::map::{Map, Set};
use crate::import::warning::{WarningKind, Warnings};
use crate::trace::EventId;

/// What is merged with captures.
#[derive(Default)]
struct Merged {
    graphs: Map<usize, GraphUse>,
    /// The segments, each by its file and its index in that.
    segments: Set<(usize, usize)>,
    /// By file.
    n_kernels: Map<usize, u64>,
    /// As in [`Coverage::cut`].
    cut: Vec<EventId>,
    /// As in [`Coverage::sizes`].
    sizes: Vec<(EventId, u64)>,
}

impl Merged {
    /// Adds a replay of a known graph.
    fn add(&mut self, found: &[File], replay: &Replay, fit: &Fit) {
        let (file, segment) = fit.segment;
        self.segments.insert(fit.segment);
        let segment = found
            .get(file)
            .and_then(|file| file.found.segments.get(segment));
        let size = segment.and_then(|segment| segment.size);
        self.sizes.extend(size.map(|size| (replay.launch, size)));
        let n_launches = segment.map_or(0, |segment| segment.launches.len());
        let is_cut = fit.is_cut(n_launches);
        self.cut.extend(is_cut.then_some(replay.launch));
        *self.n_kernels.entry(file).or_default() += fit.n_matched as u64;
        if let Some(graph) = self.graphs.get_mut(&replay.graph) {
            graph.n_merged += 1;
            graph.n_matched = fit.n_matched as u64;
            graph.n_unrecorded = n_launches.saturating_sub(fit.n_matched) as u64;
        }
    }
}

/// The coverage of files and graphs under a plan.
pub(super) fn coverage(
    files: &[CaptureFile],
    found: &[File],
    replays: &Replays,
    plan: &Plan,
) -> Coverage {
    let mut merged = Merged::default();
    for (at, replay) in replays.all.iter().enumerate() {
        let graph = merged.graphs.entry(replay.graph);
        let graph = graph.or_insert_with(|| GraphUse {
            n_kernels: replay.kernels.len() as u64,
            ..GraphUse::default()
        });
        graph.n_replays += 1;
        match plan.fit(replay.graph, at) {
            Some(fit) => merged.add(found, replay, fit),
            None => {
                let why = plan
                    .of_replay
                    .get(at)
                    .and_then(|chosen| chosen.as_ref().err());
                graph.why = graph.why.take().or_else(|| why.cloned());
            }
        }
    }
    let usage = |at: usize, name: String, file: &File| FileUse {
        name,
        n_segments: file.found.segments.len() as u64,
        n_used: merged
            .segments
            .iter()
            .filter(|(file, _)| *file == at)
            .count() as u64,
        n_kernels: merged.n_kernels.get(&at).copied().unwrap_or(0),
        problem: None,
    };
    let uses = files.iter().zip(found).enumerate();
    let uses = uses.map(|(at, (file, found))| {
        let usage = usage(at, file.name.clone(), found);
        FileUse {
            problem: problem(file, found, usage.n_used, replays.is_empty()),
            ..usage
        }
    });
    // Followed by the trace itself, if it contains captures that are replayed; its other captures are not a problem.
    let own = found.get(files.len());
    let own = own.map(|own| usage(files.len(), String::new(), own));
    Coverage {
        files: uses.chain(own.filter(|own| own.n_used > 0)).collect(),
        cut: merged.cut,
        sizes: merged.sizes,
        graphs: merged.graphs.into_values().collect(),
    }
}

fn is_cut(warnings: &Warnings) -> bool {
    let kinds = [WarningKind::CutGzip, WarningKind::CutJson];
    kinds.iter().any(|kind| warnings.count(*kind) > 0)
}

fn problem(file: &CaptureFile, found: &File, n_used: u64, is_eager: bool) -> Option<Problem> {
    let imported = match &file.imported {
        Ok(imported) => imported,
        Err(_) if file.are_notes => return Some(Problem::NoNotes),
        Err(why) => return Some(Problem::Unreadable(why.clone())),
    };
    let n_unfinished = u64::from(found.found.n_unfinished);
    let n_segments = found.found.segments.len();
    match (imported.trace.events.is_empty(), n_segments) {
        (true, _) => Some(Problem::Empty),
        _ if n_unfinished > 0 => Some(Problem::Unfinished(n_unfinished)),
        (false, 0) if is_cut(&imported.warnings) => Some(Problem::Cut),
        (false, 0) => Some(Problem::NoCapture),
        _ if n_used == 0 && !is_eager => Some(Problem::Unused),
        _ => {
            let contradiction = found.found.contradiction;
            contradiction.map(|(noted, own)| Problem::OtherSize { noted, own })
        }
    }
}
