//! What the page knows. Everything else is derived from these signals.
//!
//! | file | content |
//! |---|---|
//! | here | the signals, and which of a trace, a job, a fleet and a list of runs is shown |
//! | `place` | where the user is: the URL's hash, links, what views showed when they were left |
//! | `choice` | what a trace is analyzed with, including the user's own GPU and models |
//! | `storage` | what this browser stores: settings, traces, trusted sites, a copy of the page |
//! | `embedded` | what is embedded in the page, what an exported page includes, and what is lost when it is closed |

mod choice;
mod embedded;
mod place;
mod storage;

use std::collections::BTreeMap;
use std::sync::Arc;

use dormer_core::job::strip::StepStrip;
use leptos::prelude::*;

use crate::page::browser::{self, EmbeddedView, Half, StoredTrace};
use crate::page::components::table_layout::ColumnChoice;
use crate::page::fleet::{FleetStage, VIEW as FLEET};
use crate::page::ranks::{JobStage, VIEW as JOB};
use crate::page::runs::{RunsStage, VIEW as RUNS};
use crate::page::url::{Focus, KeptRange, Place};
use crate::page::views::{VIEWS, View};
use crate::protocol::{
    CandidateFile, Failure, Opened, Overview, Progress, ReferenceOpened, Rejected,
};
pub use choice::{OwnGpu, OwnModels};
use embedded::by_view;
use storage::Stored;
pub use storage::{OfflineCopy, SenderQuestion};

/// What the page is doing with a file, of the trace or of the reference.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Stage<T> {
    /// There is no file.
    #[default]
    Empty,
    /// It is being read.
    Loading(Progress),
    /// It could not be analyzed.
    Failed(Failure),
    /// It is open, with this data.
    Open(T),
}

impl<T> Stage<T> {
    pub fn is_open(&self) -> bool {
        matches!(self, Stage::Open(_))
    }

    /// A file of this many bytes is being read.
    pub fn loading(bytes_total: f64) -> Stage<T> {
        Stage::Loading(Progress {
            bytes_total,
            ..Progress::default()
        })
    }
}

/// Files that are loading while something is open: their name and their progress.
pub type LoadingFile = (String, Progress);

/// A dialog, of which one is shown at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// The command palette: it finds views, operations, GPUs and actions.
    Palette,
    /// Keyboard shortcuts.
    Keys,
    /// Performance models.
    Models,
    /// Stored traces.
    Recent,
    /// The copy for offline use, and sites.
    Offline,
}

/// The signals of the page. `Copy`, so pass it around.
#[derive(Clone, Copy, Default)]
pub struct AppState {
    /// What the page is doing with a file.
    pub stage: RwSignal<Stage<Box<Opened>>>,
    /// What the page is doing with the reference trace.
    pub reference: RwSignal<Stage<ReferenceOpened>>,
    /// What the page is doing with a job of many ranks.
    pub job: RwSignal<JobStage>,
    /// The ranks' strip for the selected step of the job, with the number of the job; the previous one until the new
    /// one arrives.
    pub job_step: RwSignal<Option<(u32, Arc<StepStrip>)>>,
    /// What the page is doing with a summary of many traces.
    pub fleet: RwSignal<FleetStage>,
    /// The runs of a log directory; `None` if the page was not opened on one.
    pub runs: RwSignal<Option<RunsStage>>,
    /// The name of the file that `reference` is about.
    pub reference_name: RwSignal<String>,
    /// What could not be opened, while the open trace stays open.
    pub open_error: RwSignal<Vec<Rejected>>,
    /// Traces that are stored on this computer.
    pub stored_traces: RwSignal<Vec<StoredTrace>>,
    /// Whether newly opened traces are stored.
    pub stores_traces: RwSignal<bool>,
    /// Why a trace could not be stored; empty if it was.
    pub store_error: RwSignal<String>,
    /// The question about a trace from another window.
    pub sender_question: RwSignal<Option<SenderQuestion>>,
    /// Sites whose traces are opened without asking.
    pub trusted_sites: RwSignal<Vec<String>>,
    /// The copy of the page for offline use.
    pub offline: RwSignal<OfflineCopy>,
    /// The trace that a link refers to, while it is not open.
    pub linked_trace: RwSignal<Option<String>>,
    /// The GPU stays chosen when another trace is opened.
    pub gpu_is_pinned: RwSignal<bool>,
    /// The choices carried over when another trace was opened, in words.
    pub carried: RwSignal<Vec<String>>,
    /// Files from which the user chooses what to open.
    pub candidates: RwSignal<Vec<CandidateFile>>,
    /// Files that are being added to the open trace.
    pub adding: RwSignal<Option<LoadingFile>>,
    /// Files that are being fetched while something is open.
    pub fetching: RwSignal<Option<LoadingFile>>,
    /// The name of the file that `stage` is about.
    pub file_name: RwSignal<String>,
    /// Milliseconds from choosing that file to its first overview.
    pub opened_in_ms: RwSignal<f64>,
    /// The overview under the user's choice; it changes without opening the file again.
    pub overview: RwSignal<Overview>,
    /// Counts the worker's reports, so that views query their rows again.
    pub report: RwSignal<u32>,
    /// Counts the traces that were opened.
    pub loads: RwSignal<u32>,
    /// Where the user is; the URL's hash says the same.
    pub place: RwSignal<Place>,
    /// Counts how often the system switched its colors while the page was open.
    pub system_colors: RwSignal<u32>,
    /// The user's own GPU.
    pub own_gpu: RwSignal<Option<OwnGpu>>,
    /// Whether its specs are stored in this browser.
    pub own_gpu_is_stored: RwSignal<bool>,
    /// The user's own performance models.
    pub own_models: RwSignal<Option<OwnModels>>,
    /// The dialog that is shown.
    pub dialog: RwSignal<Option<Shown>>,
    /// Whether single-key shortcuts, which work wherever the focus is without a modifier, are on.
    pub single_keys: RwSignal<bool>,
    /// Why the models file that was read last is not used.
    pub models_error: RwSignal<Option<String>>,
    /// Kept ranges of the timeline that are in a link that the user followed or copied.
    pub linked_ranges: RwSignal<Vec<KeptRange>>,
    /// The view that was shown before the Export view.
    pub before_export: RwSignal<&'static str>,
    /// Traces are embedded in the page, and it opens at its sender's place.
    pub has_embedded: bool,
    /// What the other views showed when they were left.
    pub left_behind: RwSignal<BTreeMap<&'static str, Focus>>,
    /// The user's column settings of each sheet: which are shown, their order and widths.
    pub columns: RwSignal<BTreeMap<&'static str, ColumnChoice>>,
    /// Findings that the user opened or folded on the Overview.
    pub folds: RwSignal<BTreeMap<String, bool>>,
    /// The keyboard focus moves to the details when they appear.
    pub enters_details: RwSignal<bool>,
    /// The panel of thresholds is shown beside the view.
    pub thresholds: RwSignal<bool>,
    /// A file is being dragged over this half of the window.
    pub dragging: RwSignal<Option<Half>>,
    /// The names of the files that the page has requested since it loaded.
    pub requested: RwSignal<Vec<String>>,
    /// The number of requests that the workers made.
    pub worker_requests: RwSignal<u32>,
}

impl AppState {
    /// The state of a page newly opened at the place that its URL names.
    pub fn new() -> AppState {
        let sent = browser::embedded_view();
        let has_embedded = sent.is_some();
        let EmbeddedView {
            hash,
            left,
            gpu,
            models,
        } = sent.unwrap_or_default();
        let gpu = gpu.map(|(name, text)| OwnGpu { name, text });
        let stored = Stored::read();
        let is_stored = gpu.is_none() && stored.own_gpu.is_some();
        let here = Some(browser::hash()).filter(|here| here.len() > 1);
        let place = Place::parse(&here.unwrap_or(hash));
        let left: Vec<Place> = left.iter().map(|hash| Place::parse(hash)).collect();
        let ranges = left.iter().chain([&place]).flat_map(|at| &at.focus.kept);
        let runs = browser::served_for().filter(|what| what == RUNS);
        let runs = runs.map(|_| RunsStage::default());
        AppState {
            has_embedded,
            linked_ranges: RwSignal::new(ranges.cloned().collect()),
            left_behind: RwSignal::new(by_view(left)),
            own_gpu_is_stored: RwSignal::new(is_stored),
            own_gpu: RwSignal::new(gpu.or(stored.own_gpu)),
            own_models: RwSignal::new(models.map(|(file_name, text, n_models)| OwnModels {
                file_name,
                text,
                n_models,
            })),
            stores_traces: RwSignal::new(stored.stores_traces),
            single_keys: RwSignal::new(stored.single_keys),
            trusted_sites: RwSignal::new(stored.sites),
            place: RwSignal::new(place),
            runs: RwSignal::new(runs),
            ..AppState::default()
        }
    }

    /// Closes a dialog, unless another one is shown by then.
    pub fn close_dialog(self, dialog: Shown) {
        if self.dialog.get_untracked() == Some(dialog) {
            self.dialog.set(None);
        }
    }

    /// Whether a trace is open.
    pub fn is_open(self) -> bool {
        self.stage.with(Stage::is_open)
    }

    /// Whether a job is shown, and not a trace.
    pub fn shows_job(self) -> bool {
        let is_there = self.job.with(|job| !matches!(job, JobStage::Empty));
        is_there && self.place.with(|place| place.view == JOB)
    }

    /// Whether a summary of many traces is shown.
    pub fn shows_fleet(self) -> bool {
        let is_there = self.fleet.with(|fleet| !matches!(fleet, FleetStage::Empty));
        is_there && self.place.with(|place| place.view == FLEET)
    }

    /// Whether the page was opened on a log directory with runs to show.
    pub fn has_runs(self) -> bool {
        self.runs.with(Option::is_some)
    }

    /// Whether the runs of a log directory are shown.
    pub fn shows_runs(self) -> bool {
        self.has_runs() && self.place.with(|place| place.view == RUNS)
    }

    /// Whether a view over many traces is shown: a job, a fleet, or a list of runs.
    pub fn shows_many(self) -> bool {
        self.shows_job() || self.shows_fleet() || self.shows_runs()
    }

    /// Whether a trace is open and shown.
    pub fn shows_trace(self) -> bool {
        self.is_open() && !self.shows_many()
    }

    /// Switches from a view over many traces to the trace that is open or being opened.
    pub fn leave_job(self) {
        if untrack(|| self.shows_many()) {
            self.visit(|place| {
                place.view = String::new();
                place.focus = Focus::default();
            });
        }
    }

    /// Whether captures can be merged with what is open; not tracked as a signal.
    pub fn takes_captures(self) -> bool {
        let reference = self.reference.with_untracked(|stage| match stage {
            Stage::Open(reference) => reference.takes_captures,
            _ => false,
        });
        let is_open = self.stage.with_untracked(Stage::is_open);
        let target = self
            .overview
            .with_untracked(|overview| overview.captures.are_taken());
        is_open && (target || reference)
    }

    /// A value from the open trace; the default if none is open.
    pub fn of_opened<T: Default>(self, read: impl FnOnce(&Opened) -> T) -> T {
        self.stage.with(|stage| match stage {
            Stage::Open(opened) => read(opened),
            _ => T::default(),
        })
    }

    /// The current view.
    pub fn view(self) -> &'static View {
        let slug = self.place.with(|place| place.view.clone());
        VIEWS
            .iter()
            .find(|view| view.slug == slug)
            .unwrap_or(&VIEWS[0])
    }
}
