//! Incoming files, classified by content: runs, captures of their GPU graphs, and files that accompany both.

use dormer_core::import::warning::WarningKind;
use dormer_core::import::{ExecutionTrace, Imported, Unsupported};
use dormer_core::perf::model_config::{self, ModelConfig};
use dormer_core::profile::graphs::capture::{CaptureFile, Note, notes};
use dormer_core::trace::Trace;

use crate::protocol::{Failure, Rejected};

/// A file that was read.
pub struct Incoming {
    /// Its name.
    pub name: String,
    /// What it holds, or why it cannot be read.
    pub content: Result<Content, Failure>,
}

/// What a file holds.
pub enum Content {
    /// What a profiler recorded.
    Recording(Box<Imported>),
    /// Which capture has which batch size.
    Notes(Vec<Note>),
    /// The shapes of operators, without times.
    Execution(ExecutionTrace),
    /// The sizes of a model, or why they cannot be determined.
    Config(Result<ModelConfig, String>),
}

/// Larger files are always recordings.
pub(super) const MOST_ASIDE_BYTES: f64 = 1_048_576.0;

impl Content {
    /// The content of a file that accompanies recordings; `None` for anything else.
    pub fn aside(bytes: &[u8]) -> Option<Content> {
        let text = std::str::from_utf8(bytes).ok()?.trim_start();
        match text.as_bytes().first()? {
            b'[' => {
                let notes = notes(text).filter(|notes| !notes.is_empty())?;
                Some(Content::Notes(notes))
            }
            b'{' if model_config::is_config(bytes) => {
                let config = model_config::parse(text);
                Some(Content::Config(config.map_err(|error| error.to_string())))
            }
            _ => None,
        }
    }
}

/// Why the model's sizes are not used.
pub(super) const NO_REPLAYS: &str = "it is a model configuration, which gives the shapes of kernels in GPU graphs, and no open trace replays a GPU graph; drop it together with such a trace";

/// A recording and the name of its file.
pub(super) type Named = (String, Imported);

/// Files that were opened together, by kind.
#[derive(Default)]
pub(super) struct Group {
    /// Recordings of runs, in the order of the files.
    pub(super) runs: Vec<Named>,
    /// Recordings of GPU graph captures.
    pub(super) captures: Vec<Named>,
    notes: Vec<Note>,
    executions: Vec<(String, ExecutionTrace)>,
    /// The model's sizes, with the name of the file.
    pub(super) config: Option<(String, ModelConfig)>,
    /// Files that cannot be read or are not used.
    pub(super) rejected: Vec<Rejected>,
}

impl Group {
    /// Classifies files.
    pub(super) fn new(files: Vec<Incoming>) -> Group {
        let mut group = Group::default();
        let mut names_of_notes = Vec::new();
        for Incoming { name, content } in files {
            match content {
                Ok(Content::Recording(recorded)) if CaptureFile::is_capture(&recorded.trace) => {
                    group.captures.push((name, *recorded));
                }
                Ok(Content::Recording(recorded)) => group.runs.push((name, *recorded)),
                Ok(Content::Notes(notes)) => {
                    group.notes.extend(notes);
                    names_of_notes.push(name);
                }
                Ok(Content::Execution(execution)) => group.executions.push((name, execution)),
                Ok(Content::Config(Ok(config))) => group.config = Some((name, config)),
                Ok(Content::Config(Err(why))) => group.leave_out(name, &why),
                Err(failure) => group.rejected.push(Rejected::new(name, failure)),
            }
        }
        if group.captures.is_empty() {
            for name in names_of_notes {
                group.leave_out(
                    name,
                    "it describes captures of GPU graphs; drop it together with them",
                );
            }
        }
        group
    }

    /// Beside a trace that accepts captures, a truncated or empty recording without GPU activity is a broken capture.
    pub(super) fn with_broken_captures(mut self) -> Group {
        let (broken, runs) = self.runs.into_iter().partition(|(_, run)| {
            let is_cut = [WarningKind::CutGzip, WarningKind::CutJson]
                .iter()
                .any(|kind| run.warnings.count(*kind) > 0);
            !has_gpu_activity(&run.trace) && (is_cut || run.trace.events.is_empty())
        });
        self.runs = runs;
        self.captures.extend::<Vec<Named>>(broken);
        self
    }

    /// Adds the shapes of the execution traces to their runs.
    pub(super) fn add_executions(&mut self) {
        for (name, execution) in std::mem::take(&mut self.executions) {
            let runs = self.runs.iter_mut();
            let joined = runs.map(|(_, run)| execution.add_to(run).n_joined);
            match (joined.sum::<usize>(), self.runs.is_empty()) {
                (0, true) => self.leave_out(name, Unsupported::ExecutionTrace.label()),
                (0, false) => self.leave_out(name, ExecutionTrace::OF_ANOTHER_RUN),
                _ => {}
            }
        }
    }

    /// If there is no other run, a capture that also replays graphs counts as a run; so does a single capture, if that
    /// is allowed. Otherwise says why nothing can be opened; `why` is the reason for captures.
    pub(super) fn with_a_run(mut self, is_allowed: bool, why: &str) -> Result<Group, Failure> {
        self.add_executions();
        if !self.runs.is_empty() {
            return Ok(self);
        }
        let mut captures = self.captures.iter();
        let replayed = captures.position(|(_, capture)| has_gpu_activity(&capture.trace));
        let alone = (is_allowed && self.captures.len() == 1).then_some(0);
        if let Some((name, _)) = self.config.take_if(|_| self.captures.is_empty()) {
            self.leave_out(name, NO_REPLAYS);
        }
        if let Some(at) = replayed.or(alone) {
            self.runs.push(self.captures.remove(at));
            return Ok(self);
        }
        Err(match (self.captures.len(), self.rejected.as_slice()) {
            (0, []) => Failure::new("no file was given"),
            (0, [rejected]) => rejected.failure.clone(),
            (0, rejected) => {
                let each = rejected.iter().map(|Rejected { name, failure }| {
                    let name = name.as_ref().map(|name| format!("{name}: "));
                    format!(" {}{}.", name.unwrap_or_default(), failure.sentence)
                });
                Failure::new(format!(
                    "none of the files is a trace.{}",
                    each.collect::<String>()
                ))
            }
            _ => Failure::new(why),
        })
    }

    /// The captures, in the form for merging.
    pub(super) fn files(&mut self) -> Vec<CaptureFile> {
        let captures = std::mem::take(&mut self.captures).into_iter();
        captures
            .map(|(name, capture)| CaptureFile::new(&name, Ok(capture), &self.notes))
            .collect()
    }

    /// Records why a file is not used.
    pub(super) fn leave_out(&mut self, name: String, sentence: &str) {
        self.rejected
            .push(Rejected::new(name, Failure::new(sentence)));
    }
}

impl Rejected {
    /// Captures that are not merged, and why, in sentences that name them.
    pub(super) fn captures(why: &str) -> Rejected {
        Rejected {
            name: None,
            failure: Failure::new(why.trim_end_matches('.')),
        }
    }
}

/// Whether anything ran on the GPU.
pub(super) fn has_gpu_activity(trace: &Trace) -> bool {
    let events = &trace.events;
    events.ids().any(|event| events.category(event).is_gpu())
}
