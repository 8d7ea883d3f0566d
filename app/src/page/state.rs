//! What the page knows. Everything else is derived from these signals.

use std::collections::BTreeMap;
use std::sync::Arc;

use dormer_core::base::format;
use dormer_core::job::strip::StepStrip;
use dormer_core::output::enclosed::{self, OwnFile};
use leptos::prelude::*;

use crate::page::browser::{self, EnclosedView, Half, KeptTrace};
use crate::page::components::table_layout::ColumnChoice;
use crate::page::fleet::{FleetStage, VIEW as FLEET};
use crate::page::ranks::{JobStage, VIEW as JOB};
use crate::page::runs::{RunsStage, VIEW as RUNS};
use crate::page::url::{DetailsOf, Focus, KeptRange, Place, Theme};
use crate::page::views::{EXPORT, VIEWS, View};
use crate::protocol::{
    CandidateFile, Choice, Failure, LeftOut, OWN, Opened, Overview, Progress, ReferenceOpened,
};

/// What the page is doing with a file: that of the trace, or that which it is compared with.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Stage<T> {
    /// There is none.
    #[default]
    Empty,
    /// It is being read.
    Loading(Progress),
    /// It could not be analyzed.
    Failed(Failure),
    /// It is open, and this is known of it.
    Open(T),
}

impl<T> Stage<T> {
    pub fn is_open(&self) -> bool {
        matches!(self, Stage::Open(_))
    }

    /// A file of so many bytes is being read.
    pub fn loading(bytes_total: f64) -> Stage<T> {
        Stage::Loading(Progress {
            bytes_total,
            ..Progress::default()
        })
    }
}

/// Files on their way while something is open: what they are called, and how far they have come.
pub type Coming = (String, Progress);

/// Another window sends a trace, and the user is asked whether to open it.
#[derive(Debug, Clone, PartialEq)]
pub struct SenderQuestion {
    /// The site that sends it; `None` where that cannot be told from others.
    pub origin: Option<String>,
    /// What the trace is called.
    pub name: String,
    /// Its size; `None` where that is not known.
    pub bytes: Option<f64>,
}

/// What is known of the copy of the page for offline use.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OfflineCopy {
    /// The build that is kept.
    pub kept: Option<String>,
    /// Another build that the server has.
    pub newer: Option<String>,
    /// What is being done, or what came of it.
    pub said: String,
    /// Something is being done.
    pub is_busy: bool,
}

/// Figures of the user's own GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnGpu {
    /// What to call it.
    pub name: String,
    /// The text of a file with its figures.
    pub text: String,
}

/// The keys under which its figures are kept, where the user wants it.
const KEPT_NAME: &str = "dormer.gpu.name";
const KEPT_TEXT: &str = "dormer.gpu.text";

/// The key under which it is kept that single keys do nothing.
const KEPT_KEYS: &str = "dormer.keys";
const KEYS_OFF: &str = "off";

/// The key under which sites are kept whose traces are opened unasked, one a line.
const KEPT_SITES: &str = "dormer.sites";

/// The key under which it is kept that traces are.
const KEPT_TRACES: &str = "dormer.traces";

/// The user's own performance models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnModels {
    pub file_name: String,
    pub text: String,
    /// How many models it has.
    pub n_models: usize,
}

/// The signals of the page. Copy: pass it around.
#[derive(Clone, Copy, Default)]
pub struct AppState {
    /// What the page is doing with a file.
    pub stage: RwSignal<Stage<Box<Opened>>>,
    /// What the page is doing with the trace that the open one is compared with.
    pub reference: RwSignal<Stage<ReferenceOpened>>,
    /// What the page is doing with a job of many ranks.
    pub job: RwSignal<JobStage>,
    /// The step of the job that its ranks are shown in, with the number of the job; the one before until
    /// another is here.
    pub job_step: RwSignal<Option<(u32, Arc<StepStrip>)>>,
    /// What the page is doing with a summary of many traces.
    pub fleet: RwSignal<FleetStage>,
    /// The runs of a log directory; `None` where the page was not opened on one.
    pub runs: RwSignal<Option<RunsStage>>,
    /// The name of the file that `reference` is about.
    pub reference_name: RwSignal<String>,
    /// What could not be opened while the open trace stays open.
    pub open_error: RwSignal<Vec<LeftOut>>,
    /// Traces that are kept on this computer.
    pub kept_traces: RwSignal<Vec<KeptTrace>>,
    /// Traces that are opened are kept.
    pub keeps_traces: RwSignal<bool>,
    /// Why a trace could not be kept; empty where it could.
    pub keep_error: RwSignal<String>,
    /// The dialog about kept traces is shown.
    pub recent_dialog: RwSignal<bool>,
    /// What the user is asked about another window.
    pub sender_question: RwSignal<Option<SenderQuestion>>,
    /// Sites whose traces are opened unasked.
    pub trusted_sites: RwSignal<Vec<String>>,
    /// The copy of the page for offline use.
    pub offline: RwSignal<OfflineCopy>,
    /// The dialog about both is shown.
    pub offline_dialog: RwSignal<bool>,
    /// The trace that a link is of, while it is not open.
    pub wanted_trace: RwSignal<Option<String>>,
    /// The GPU stays chosen when another trace is opened.
    pub gpu_is_pinned: RwSignal<bool>,
    /// What was kept of the choices when another trace was opened, in words.
    pub carried: RwSignal<Vec<String>>,
    /// Files of which the user chooses what to open.
    pub candidates: RwSignal<Vec<CandidateFile>>,
    /// Files that are being added to the open trace.
    pub adding: RwSignal<Option<Coming>>,
    /// Files that are being fetched while something is open.
    pub fetching: RwSignal<Option<Coming>>,
    /// The name of the file that `stage` is about.
    pub file_name: RwSignal<String>,
    /// Milliseconds from choosing that file to its first report.
    pub opened_in_ms: RwSignal<f64>,
    /// The report under the user's choice; it changes without opening the file again.
    pub overview: RwSignal<Overview>,
    /// Counts the reports the worker made, so that views ask for their rows anew.
    pub report: RwSignal<u32>,
    /// Counts the traces that were opened.
    pub loads: RwSignal<u32>,
    /// Where the user is; the URL's hash says the same.
    pub place: RwSignal<Place>,
    /// The user's own GPU.
    pub own_gpu: RwSignal<Option<OwnGpu>>,
    /// Whether its figures are kept in this browser.
    pub own_gpu_is_kept: RwSignal<bool>,
    /// The user's own performance models.
    pub own_models: RwSignal<Option<OwnModels>>,
    /// The dialog about them is shown.
    pub models_dialog: RwSignal<bool>,
    /// Keys that work wherever the focus is, without another one held down, do what they do.
    pub single_keys: RwSignal<bool>,
    /// The sheet of keys is shown.
    pub key_sheet: RwSignal<bool>,
    /// The dialog that finds views, operations, GPUs and actions is shown.
    pub palette: RwSignal<bool>,
    /// Why the file that was read last is not used.
    pub models_error: RwSignal<Option<String>>,
    /// Kept ranges of the timeline that are in a link which the user came by, or copied.
    pub linked_ranges: RwSignal<Vec<KeptRange>>,
    /// The view that was shown before the files that can be downloaded.
    pub before_export: RwSignal<&'static str>,
    /// The page came with traces in it, and lands where its sender was.
    pub was_sent: bool,
    /// What the other views showed when they were left.
    pub left_behind: RwSignal<BTreeMap<&'static str, Focus>>,
    /// What the user chose of the columns of a sheet's table: which, their order and widths.
    pub columns: RwSignal<BTreeMap<&'static str, ColumnChoice>>,
    /// Findings the user opened or folded on the Overview.
    pub folds: RwSignal<BTreeMap<String, bool>>,
    /// The keyboard focus moves to the details as soon as they are shown.
    pub enters_details: RwSignal<bool>,
    /// The panel of thresholds stands beside the view.
    pub thresholds: RwSignal<bool>,
    /// A file is being dragged over the window: over its right half, or its left one.
    pub dragging: RwSignal<Option<Half>>,
    /// What the page requested since it loaded: the names of the files.
    pub requested: RwSignal<Vec<String>>,
    /// Requests the workers made.
    pub worker_requests: RwSignal<u32>,
}

impl AppState {
    /// The state of a page that was just opened at the place its URL names.
    pub fn new() -> AppState {
        let sent = browser::enclosed_view();
        let was_sent = sent.is_some();
        let EnclosedView {
            hash,
            left,
            gpu,
            models,
        } = sent.unwrap_or_default();
        let kept = browser::kept(KEPT_NAME).zip(browser::kept(KEPT_TEXT));
        let is_kept = gpu.is_none() && kept.is_some();
        let here = Some(browser::hash()).filter(|here| here.len() > 1);
        let place = Place::parse(&here.unwrap_or(hash));
        let left: Vec<Place> = left.iter().map(|hash| Place::parse(hash)).collect();
        let ranges = left.iter().chain([&place]).flat_map(|at| &at.focus.kept);
        let runs = browser::served_for().filter(|what| what == RUNS);
        let runs = runs.map(|_| RunsStage::default());
        let sites = browser::kept(KEPT_SITES).unwrap_or_default();
        let sites = sites.lines().map(str::to_owned).collect();
        AppState {
            was_sent,
            linked_ranges: RwSignal::new(ranges.cloned().collect()),
            left_behind: RwSignal::new(by_view(left)),
            own_gpu_is_kept: RwSignal::new(is_kept),
            own_gpu: RwSignal::new(gpu.or(kept).map(|(name, text)| OwnGpu { name, text })),
            own_models: RwSignal::new(models.map(|(file_name, text, n_models)| OwnModels {
                file_name,
                text,
                n_models,
            })),
            keeps_traces: RwSignal::new(browser::kept(KEPT_TRACES).is_some()),
            single_keys: RwSignal::new(browser::kept(KEPT_KEYS).as_deref() != Some(KEYS_OFF)),
            trusted_sites: RwSignal::new(sites),
            place: RwSignal::new(place),
            runs: RwSignal::new(runs),
            ..AppState::default()
        }
    }

    /// Whether a trace is open.
    pub fn is_open(self) -> bool {
        self.stage.with(Stage::is_open)
    }

    /// Whether the job is what is shown, and not a trace.
    pub fn shows_job(self) -> bool {
        let is_there = self.job.with(|job| !matches!(job, JobStage::Empty));
        is_there && self.place.with(|place| place.view == JOB)
    }

    /// Whether a summary of many traces is what is shown.
    pub fn shows_fleet(self) -> bool {
        let is_there = self.fleet.with(|fleet| !matches!(fleet, FleetStage::Empty));
        is_there && self.place.with(|place| place.view == FLEET)
    }

    /// Whether the page was opened on a log directory, whose runs it can show.
    pub fn has_runs(self) -> bool {
        self.runs.with(Option::is_some)
    }

    /// Whether the runs of a log directory are what is shown.
    pub fn shows_runs(self) -> bool {
        self.has_runs() && self.place.with(|place| place.view == RUNS)
    }

    /// Whether something of many traces is shown: a job, a fleet, a list of runs.
    pub fn shows_many(self) -> bool {
        self.shows_job() || self.shows_fleet() || self.shows_runs()
    }

    /// Whether a trace is open and shown.
    pub fn shows_trace(self) -> bool {
        self.is_open() && !self.shows_many()
    }

    /// Shows the trace that is open or being opened, and no longer many.
    pub fn leave_job(self) {
        if untrack(|| self.shows_many()) {
            self.go(|place| {
                place.view = String::new();
                place.focus = Focus::default();
            });
        }
    }

    /// Whether captures can be merged with what is open; not read as a signal.
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

    /// What is known of the open trace; the usual where none is open.
    pub fn of_opened<T: Default>(self, read: impl FnOnce(&Opened) -> T) -> T {
        self.stage.with(|stage| match stage {
            Stage::Open(opened) => read(opened),
            _ => T::default(),
        })
    }

    /// The view that is shown.
    pub fn view(self) -> &'static View {
        let slug = self.place.with(|place| place.view.clone());
        VIEWS
            .iter()
            .find(|view| view.slug == slug)
            .unwrap_or(&VIEWS[0])
    }

    /// Something of the place; read as a signal.
    pub fn of_place<T: PartialEq + Send + Sync + 'static>(
        self,
        read: impl Fn(&Place) -> T + Send + Sync + 'static,
    ) -> Memo<T> {
        Memo::new(move |_| self.place.with(&read))
    }

    /// What the shown view shows; read as a signal.
    pub fn focus(self) -> Memo<Focus> {
        self.of_place(|place| place.focus.clone())
    }

    /// The user's choice; read as a signal.
    pub fn choice(self) -> Memo<Choice> {
        Memo::new(move |_| self.whole_choice())
    }

    /// The choice of the place, with the figures and models that the hash does not have.
    pub fn whole_choice(self) -> Choice {
        let mut choice = self.place.with(|place| place.choice.clone());
        let own = self.own_gpu.get();
        let figures = |gpu: &Option<String>| {
            let name = gpu.as_deref()?.strip_prefix(OWN)?;
            let own = own.as_ref().filter(|own| own.name == name);
            own.map(|own| own.text.clone())
        };
        choice.profile = figures(&choice.gpu);
        choice.reference_profile = figures(&choice.reference_gpu);
        choice.perf_models = self.own_models.get().map(|models| models.text);
        choice
    }

    /// The user's own GPU that a link names and whose figures are not here.
    pub fn missing_gpu(self) -> Option<String> {
        let choice = self.whole_choice();
        let name = choice.gpu.as_deref()?.strip_prefix(OWN)?;
        choice.profile.is_none().then(|| name.to_owned())
    }

    /// Judges by the user's own figures, or forgets them; keeps them in the browser where the user
    /// wants it, and only there.
    pub fn set_own_gpu(self, own: Option<OwnGpu>, keep: bool) {
        let kept = own.as_ref().filter(|_| keep);
        browser::keep_text(KEPT_NAME, kept.map(|own| own.name.as_str()));
        browser::keep_text(KEPT_TEXT, kept.map(|own| own.text.as_str()));
        self.own_gpu_is_kept.set(kept.is_some());
        let name = own.as_ref().map(|own| format!("{OWN}{}", own.name));
        self.own_gpu.set(own);
        self.go(|place| {
            let chosen = &mut place.choice.gpu;
            // Forgetting leaves a GPU of the table chosen.
            if name.is_some() || chosen.as_deref().is_some_and(|gpu| gpu.starts_with(OWN)) {
                *chosen = name;
            }
        });
    }

    /// Keeps the traces that are opened from now on, or keeps no more.
    pub fn keep_traces(self, on: bool) {
        browser::keep_text(KEPT_TRACES, on.then_some("keep"));
        self.keeps_traces.set(on);
    }

    /// Opens the traces of a site unasked from now on, or asks again; this browser keeps it.
    pub fn trust_site(self, site: String, on: bool) {
        self.trusted_sites.update(|sites| {
            sites.retain(|known| *known != site);
            if on {
                sites.push(site);
            }
        });
        let sites = self.trusted_sites.get_untracked().join("\n");
        browser::keep_text(
            KEPT_SITES,
            Some(sites.as_str()).filter(|sites| !sites.is_empty()),
        );
    }

    /// The ranges of the timeline that the user kept, also while another view is shown.
    fn kept_ranges(self) -> Vec<KeptRange> {
        let here = self.place.with_untracked(|place| place.focus.kept.clone());
        let left = self.left_behind.with_untracked(|left| {
            let left = left.values().flat_map(|focus| &focus.kept);
            left.cloned().collect::<Vec<KeptRange>>()
        });
        [here, left].concat()
    }

    /// The link to what is shown was copied, with the ranges that are in it.
    pub fn link_was_copied(self) {
        let here = self.place.with_untracked(|place| place.focus.kept.clone());
        self.linked_ranges.update(|linked| linked.extend(here));
    }

    /// Whether closing the page would lose what the user made: the browser asks then, and only then.
    ///
    /// The address of a page that is closed is gone with it, and that of another view has no ranges of
    /// the timeline: they count until a link that has them was copied.
    pub fn would_lose(self) -> bool {
        let linked = self.linked_ranges.get_untracked();
        let ranges = self.kept_ranges();
        let has_ranges = ranges.iter().any(|range| !linked.contains(range));
        let has_models = self.own_models.with_untracked(Option::is_some);
        let has_gpu = self.own_gpu.with_untracked(Option::is_some);
        let is_kept = self.own_gpu_is_kept.get_untracked();
        let thresholds = self
            .place
            .with_untracked(|place| place.choice.thresholds.len());
        let is_open = self.stage.with_untracked(Stage::is_open);
        is_open && (has_models || (has_gpu && !is_kept) || thresholds > 0 || has_ranges)
    }

    /// Another trace is opened: what was chosen for the one before is let go of, but for settings and a
    /// GPU that is pinned. What is kept is said.
    pub fn let_go(self) {
        self.forget_focus();
        let is_pinned = self.gpu_is_pinned.get_untracked();
        self.go(|place| {
            let choice = &mut place.choice;
            choice.reference_gpu = None;
            if !is_pinned {
                choice.gpu = None;
            }
        });
        let carried = self.place.with_untracked(|place| carried(&place.choice));
        let models = self.own_models.with_untracked(Option::is_some);
        let models = models.then(|| "custom perf models".to_owned());
        self.carried
            .set(carried.into_iter().chain(models).collect());
    }

    /// Goes back to what a page has that was just opened.
    pub fn drop_carried(self) {
        self.gpu_is_pinned.set(false);
        self.own_models.set(None);
        self.carried.set(Vec::new());
        self.go(|place| {
            place.choice = Choice {
                window: place.choice.window,
                device: place.choice.device.clone(),
                ..Choice::default()
            };
        });
    }

    /// Switches single keys on or off; this browser keeps it.
    pub fn use_single_keys(self, on: bool) {
        browser::keep_text(KEPT_KEYS, (!on).then_some(KEYS_OFF));
        self.single_keys.set(on);
    }

    /// Where whoever gets a file with the page in it lands: where the user was before the export, and with all that was chosen. Without
    /// names nothing goes with it that the user typed, or that may be called after something of the trace.
    pub fn view_to_send(self, is_redacted: bool) -> enclosed::View {
        let sent = |mut at: Place| {
            at.file = String::new();
            if is_redacted {
                at.focus = at.focus.without_words();
                at.choice.gpu = at.choice.gpu.filter(|gpu| !gpu.starts_with(OWN));
                at.choice.reference_gpu =
                    at.choice.reference_gpu.filter(|gpu| !gpu.starts_with(OWN));
            }
            at.hash()
        };
        let view = self.before_export.get_untracked();
        let mut left = self.left_behind.get_untracked();
        let focus = left.remove(view).unwrap_or_default();
        left.remove(EXPORT);
        let place = Place {
            view: view.to_owned(),
            focus,
            theme: Theme::System,
            ..self.place.get_untracked()
        };
        let left = left.into_iter().map(|(view, focus)| Place {
            view: view.to_owned(),
            focus,
            ..Place::default()
        });
        let left = left.map(&sent).collect();
        let file = |name, text| OwnFile { name, text };
        let own = self.own_gpu.get_untracked().filter(|_| !is_redacted);
        let models = self.own_models.get_untracked().filter(|_| !is_redacted);
        enclosed::View {
            hash: sent(place),
            left,
            gpu: own.map(|own| file(own.name, own.text)),
            n_models: models.as_ref().map_or(0, |models| models.n_models),
            models: models.map(|models| file(models.file_name, models.text)),
        }
    }

    /// The theme; read as a signal.
    pub fn theme(self) -> Memo<Theme> {
        self.of_place(|place| place.theme)
    }

    /// Changes the place and the hash with it, without a new entry in the history.
    pub fn go(self, change: impl FnOnce(&mut Place)) {
        let mut place = self.place.get_untracked();
        change(&mut place);
        if self.place.with_untracked(|old| *old == place) {
            return;
        }
        browser::replace_hash(place.hash());
        self.place.set(place);
    }

    /// Analyses a part of the time alone, or the whole trace again.
    pub fn analyze(self, window: Option<(u64, u64)>) {
        self.analyze_part(window, None);
    }

    /// Analyses one GPU alone.
    pub fn analyze_gpu(self, device: String) {
        self.analyze_part(None, Some(device));
    }

    /// Rows that were selected mean others then.
    fn analyze_part(self, window: Option<(u64, u64)>, device: Option<String>) {
        self.left_behind.update(|left| {
            for focus in left.values_mut() {
                focus.row = None;
            }
        });
        self.go(|place| {
            place.choice.window = window;
            place.choice.device = device;
            place.focus.row = None;
        });
    }

    /// Changes what the shown view shows.
    pub fn look_at(self, change: impl FnOnce(&mut Focus)) {
        self.go(|place| change(&mut place.focus));
    }

    /// The hash that shows another view as it was left.
    pub fn link_to(self, slug: &'static str) -> String {
        let is_here = self.place.with(|place| place.view == slug);
        let left = self.left_behind.with(|left| left.get(slug).cloned());
        match is_here {
            true => self.place.with(Place::hash),
            false => self.link_into(slug, left.unwrap_or_default()),
        }
    }

    /// The hash that shows something particular in another view.
    pub fn link_into(self, slug: &'static str, focus: Focus) -> String {
        let mut place = self.place.get();
        place.view = slug.to_owned();
        place.focus = focus;
        place.hash()
    }

    /// The hash that shows the same, with details beside it.
    pub fn link_to_details(self, told: DetailsOf) -> String {
        let mut place = self.place.get();
        place.focus.details = Some(told);
        place.hash()
    }

    /// Follows a hash that the browser went to: a link, or back and forward. Where that names files to be fetched, and not
    /// those that are open, it is given back.
    pub fn follow(self, hash: &str) -> Option<Place> {
        let old_view = untrack(|| self.view().slug);
        let old_focus = self.place.with_untracked(|place| place.focus.clone());
        self.left_behind.update(|left| {
            left.insert(old_view, old_focus);
        });
        if old_view != EXPORT {
            self.before_export.set(old_view);
        }
        let known = self.kept_ranges();
        let mut place = Place::parse(hash);
        // What was not here before is of a link that the user came by.
        let came = place.focus.kept.iter();
        let came = came.filter(|range| !known.contains(range)).cloned();
        let came: Vec<KeptRange> = came.collect();
        self.linked_ranges.update(|linked| linked.extend(came));
        let of_open = self.place.with_untracked(|place| place.urls.clone());
        let link = (!place.urls.is_empty() && place.urls != of_open).then(|| place.clone());
        place.urls = of_open;
        let open = self.place.with_untracked(|place| place.file.clone());
        if place.is_of_many() {
            // The address of many traces says nothing of the trace that is open beside it.
            self.place.with_untracked(|open| {
                place.choice.window = open.choice.window;
                place.choice.device.clone_from(&open.choice.device);
            });
        }
        if place.file.is_empty() || link.is_some() {
            place.file = open;
        } else if place.file != open && untrack(|| self.is_open()) {
            // A link to a place of another trace: this one has no such place.
            self.wanted_trace.set(Some(place.file));
            place.file = open;
        }
        self.place.set(place);
        link
    }

    /// Forgets rows that were selected: they mean others now.
    pub fn forget_rows(self) {
        let forget = |focus: &mut Focus| {
            focus.row = None;
            focus.top = None;
            focus.details = None;
        };
        self.left_behind
            .update(|left| left.values_mut().for_each(forget));
        self.look_at(forget);
    }

    /// Forgets what was selected, searched and marked off in the trace before.
    pub fn forget_focus(self) {
        self.analyze(None);
        self.left_behind.set(BTreeMap::new());
        self.folds.set(BTreeMap::new());
        self.look_at(|focus| *focus = Focus::default());
    }
}

/// What views show, by their slugs.
fn by_view(places: Vec<Place>) -> BTreeMap<&'static str, Focus> {
    let known = places.into_iter().filter_map(|at| {
        let view = VIEWS.iter().find(|view| view.slug == at.view)?;
        Some((view.slug, at.focus))
    });
    known.collect()
}

/// What of some choices is not as usual, in words.
fn carried(choice: &Choice) -> Vec<String> {
    let n_thresholds = choice.thresholds.len() as u64;
    let parts = [
        choice.gpu.as_ref().map(|gpu| {
            let name = gpu.strip_prefix(OWN).unwrap_or(gpu);
            format!("GPU {name} (pinned)")
        }),
        (n_thresholds > 0).then(|| format::counted(n_thresholds, "threshold")),
        choice.peak.then(|| "peak figures".to_owned()),
        choice.all_gpu_events.then(|| "all GPU events".to_owned()),
    ];
    parts.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_carried_over_is_said() {
        assert_eq!(carried(&Choice::default()), [""; 0]);
        let choice = Choice {
            gpu: Some("own:Mine".to_owned()),
            peak: true,
            thresholds: [("short_kernel_us".to_owned(), 2.5)].into(),
            ..Choice::default()
        };
        assert_eq!(
            carried(&choice),
            ["GPU Mine (pinned)", "1 threshold", "peak figures"]
        );
    }
}
