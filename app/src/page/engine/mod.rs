//! The only door to the worker.
//!
//! One worker reads one trace; the next trace gets the next worker, from the files the page already
//! has. The worker before it is ended, with everything it holds, once the next trace is open.
//! Messages of a worker that was ended are never seen: its listener goes with it.

mod before;
mod drill;
mod job;
mod ranks;
mod workers;

use std::collections::HashMap;

use js_sys::Uint8Array;
use leptos::prelude::*;
use wasm_bindgen::prelude::*;
use web_sys::File;

use crate::page::browser::{self, Dropped, WorkerFiles};
use crate::page::ranks::JobStage;
use crate::page::state::{AppState, Stage};
use crate::page::url::Focus;
use crate::protocol::wire;
use crate::protocol::{
    CandidateFile, CloseReference, Failure, FileNames, LeftOut, Opened, Progress, Query,
    ReferenceOpened, Reply, Request, SwapTraces, TOO_MANY, TakeOff, may_be_opened,
};
use before::Before;
use ranks::Ranks;
pub use ranks::ranks_of;
use workers::{Running, Warming, message_of};

/// What the built-in sample is called.
const SAMPLE: &str = "sample trace";

/// What can be opened.
#[derive(Clone)]
pub enum TraceSource {
    /// Files of the user's, which came together.
    Files(Vec<File>),
    /// The built-in sample.
    Sample,
}

/// The door. Copy: pass it around.
#[derive(Clone, Copy)]
pub struct Engine {
    state: AppState,
    inner: StoredValue<Inner, LocalStorage>,
}

type Waiting = Box<dyn FnOnce(JsValue, Option<Uint8Array>)>;

#[derive(Default)]
struct Inner {
    files: Option<WorkerFiles>,
    running: Option<Running>,
    /// Until the first trace comes.
    warming: Option<Warming>,
    /// Waits for the next trace.
    spare: Option<Running>,
    /// What was open, while another trace is being read.
    before: Option<Before>,
    /// What to open as soon as the worker's files are there.
    wanted: Option<TraceSource>,
    /// What was opened last, and what is merged with it; opened anew where more was too much for
    /// the worker.
    source: Option<TraceSource>,
    /// Files that are being added to it.
    adding: Vec<File>,
    /// Files of which the user chooses.
    candidates: Vec<File>,
    /// The job that is open or being read.
    ranks: Option<Ranks>,
    /// Files that were being read when others came: what captures among those may be of.
    interrupted: Vec<File>,
    /// Who waits for the answer to which question.
    waiting: HashMap<u32, Waiting>,
    last_id: u32,
    /// When the user chose the file that is open or being opened.
    chosen_at_ms: f64,
    /// Requests of the workers that were ended.
    past_requests: u32,
}

impl Engine {
    /// The door of a page that was just opened. Requests are counted from the moment everything
    /// is loaded.
    pub fn new(state: AppState) -> Engine {
        let engine = Engine {
            state,
            inner: StoredValue::new_local(Inner::default()),
        };
        browser::worker_files(
            move |files| {
                browser::count_requests(move |count| state.page_requests.set(count));
                engine.inner.update_value(|inner| inner.files = Some(files));
                engine.renew_worker();
                if let Some(source) = engine.take(|inner| inner.wanted.take()) {
                    engine.send_open(&source);
                }
                engine.read_ranks();
                engine.warm_up_soon();
            },
            move |reason| {
                state.stage.set(Stage::Failed(Failure {
                    sentence: format!("the page did not load completely ({reason}); reload it"),
                    at_byte: None,
                }));
            },
        );
        engine
    }

    /// Opens a trace. What is open stays as it is until the other one was read.
    pub fn open(self, source: TraceSource) {
        self.open_as(source, false);
    }

    /// The same; `is_again` for the trace that was open before, which keeps all that was chosen.
    fn open_as(self, source: TraceSource, is_again: bool) {
        let state = self.state;
        let (name, size) = match &source {
            TraceSource::Files(files) => (called(files), total_bytes(files)),
            TraceSource::Sample => (SAMPLE.to_owned(), 0.0),
        };
        self.cancel_adding();
        let is_loading = state
            .stage
            .with_untracked(|stage| matches!(stage, Stage::Loading(_)));
        self.set_aside();
        state.leave_job();
        // The place of a link is that of its trace.
        let of_link = state.place.with_untracked(|place| place.file.clone());
        let is_other = match state.loads.get_untracked() {
            0 => !of_link.is_empty() && of_link != name,
            _ => true,
        };
        if is_other && !is_again {
            state.let_go();
        }
        state.wanted_trace.set(None);
        state.candidates.set(Vec::new());
        state.open_error.set(Vec::new());
        state.reference.set(Stage::Empty);
        state.file_name.set(name);
        state.stage.set(Stage::loading(size));
        self.inner.update_value(|inner| {
            inner.chosen_at_ms = browser::now_ms();
            inner.interrupted = match inner.source.take() {
                Some(TraceSource::Files(files)) if is_loading => files,
                _ => Vec::new(),
            };
            inner.source = Some(source.clone());
        });
        self.renew_worker();
        let ready = self.inner.with_value(|inner| inner.running.is_some());
        if ready {
            self.send_open(&source);
        } else {
            self.inner.update_value(|inner| inner.wanted = Some(source));
        }
    }

    /// Opens files that came together: a trace with captures of its GPU graphs, or two to compare.
    /// Where the open trace replays graphs, captures are merged with it.
    pub fn open_all(self, mut files: Vec<File>) {
        let state = self.state;
        if files.is_empty() {
            return;
        }
        if state.takes_captures() {
            self.add(files);
            return;
        }
        // A capture that was opened alone waits for its trace.
        if state.of_opened(|opened| opened.is_capture) {
            let source = self.inner.with_value(|inner| inner.source.clone());
            if let Some(TraceSource::Files(open)) = source {
                files.extend(open);
            }
        }
        self.open(TraceSource::Files(files));
    }

    /// Many files came at once, or a folder: of several that may be traces the user chooses.
    pub fn choose_among(self, dropped: Dropped) {
        let state = self.state;
        let mut files = dropped.files;
        if dropped.folder.is_some() {
            files.retain(|(_, file)| may_be_opened(&file.name()));
        }
        match (files.len(), dropped.folder) {
            (0, Some(folder)) => {
                let sentence =
                    "the folder has no file that may be a trace: .json, .json.gz or .zip";
                let failure = Failure {
                    sentence: sentence.to_owned(),
                    at_byte: None,
                };
                self.not_opened(vec![LeftOut::new(folder, failure)]);
            }
            (0, None) => {}
            (1, _) => self.open_all(files.into_iter().map(|(_, file)| file).collect()),
            _ => {
                state.open_error.set(Vec::new());
                self.offer(files);
            }
        }
    }

    /// Shows files to choose from.
    fn offer(self, files: Vec<(String, File)>) {
        let candidates = files.iter().map(|(path, file)| CandidateFile {
            path: path.clone(),
            bytes: file.size(),
        });
        self.state.candidates.set(candidates.collect());
        self.inner.update_value(|inner| {
            inner.candidates = files.into_iter().map(|(_, file)| file).collect();
        });
    }

    /// More traces came than can be opened: which of them is to be?
    fn offer_where_too_many(self, failure: &Failure) {
        let files = self.inner.with_value(|inner| match &inner.source {
            Some(TraceSource::Files(files)) if failure.sentence == TOO_MANY => files.clone(),
            _ => Vec::new(),
        });
        if !files.is_empty() {
            self.offer(files.into_iter().map(|file| (file.name(), file)).collect());
        }
    }

    /// Opens some of the files that were offered: the trace first, then what it is compared with.
    pub fn open_candidates(self, chosen: &[usize]) {
        let files = self.take(|inner| {
            let all = std::mem::take(&mut inner.candidates);
            let files = chosen.iter().filter_map(|at| all.get(*at).cloned());
            Some(files.collect::<Vec<File>>())
        });
        self.open_all(files.unwrap_or_default());
    }

    /// Adds files to the open trace, which stays open whatever comes of it.
    fn add(self, files: Vec<File>) {
        let state = self.state;
        state.open_error.set(Vec::new());
        let files = self.take(|inner| {
            inner.chosen_at_ms = browser::now_ms();
            // Those that are being read are read anew with the others.
            inner.adding.extend(files);
            Some(inner.adding.clone())
        });
        let files = files.unwrap_or_default();
        let progress = Progress {
            bytes_total: total_bytes(&files),
            ..Progress::default()
        };
        state.adding.set(Some((called(&files), progress)));
        let choice = untrack(|| state.whole_choice());
        self.send(&Request::AddFiles(choice), &files, None);
    }

    /// Stops reading files that are to be added.
    pub fn cancel_adding(self) {
        if self.added().is_some() {
            self.send(&Request::CancelAdding, &[], None);
        }
    }

    /// The files that were being added, which are no longer.
    fn added(self) -> Option<Vec<File>> {
        let is_adding = self.state.adding.with_untracked(Option::is_some);
        is_adding.then(|| {
            self.state.adding.set(None);
            self.take(|inner| Some(std::mem::take(&mut inner.adding)))
                .unwrap_or_default()
        })
    }

    /// Takes off a capture that is merged with the open trace, or the configuration of its model.
    pub fn take_off(self, name: Option<String>) {
        let choice = untrack(|| self.state.whole_choice());
        self.inner.update_value(|inner| {
            inner.chosen_at_ms = browser::now_ms();
            if let Some(TraceSource::Files(files)) = &mut inner.source
                && let Some(at) = files.iter().position(|file| Some(file.name()) == name)
            {
                files.remove(at);
            }
        });
        self.ask(TakeOff { name, choice }, move |opened| {
            if let Some(opened) = opened {
                self.merged(opened);
            }
        });
    }

    /// The open trace, with other captures: all of it is made anew.
    fn merged(self, opened: Box<Opened>) {
        self.state.forget_rows();
        self.show(opened);
    }

    /// Compares the open trace with another one. It stays open whatever comes of it.
    pub fn compare_with(self, file: File) {
        let state = self.state;
        let names = FileNames {
            target: state.file_name.get_untracked(),
            reference: file.name(),
        };
        state.reference_name.set(file.name());
        state.reference.set(Stage::loading(file.size()));
        let choice = untrack(|| state.whole_choice()).of_reference();
        self.send(&Request::OpenReference(choice, names), &[file], None);
    }

    /// Stops reading the trace that the open one is to be compared with.
    pub fn cancel_reference(self) {
        self.send(&Request::CancelReference, &[], None);
        self.state.reference.set(Stage::Empty);
    }

    /// Forgets the trace that the open one is compared with.
    pub fn close_reference(self) {
        self.state.reference.set(Stage::Empty);
        self.ask(CloseReference, |()| {});
    }

    /// Makes the target the reference, and the reference the target, each with its GPU.
    pub fn swap(self) {
        let state = self.state;
        let mut choice = untrack(|| state.whole_choice());
        std::mem::swap(&mut choice.gpu, &mut choice.reference_gpu);
        std::mem::swap(&mut choice.profile, &mut choice.reference_profile);
        choice.window = None;
        self.ask(SwapTraces { choice }, move |swapped| {
            let is_open = state.reference.with_untracked(Stage::is_open);
            let Some(swapped) = swapped.filter(|_| is_open) else {
                return;
            };
            state.forget_focus();
            state.go(|place| {
                let choice = &mut place.choice;
                std::mem::swap(&mut choice.gpu, &mut choice.reference_gpu);
            });
            let target = state.file_name.get_untracked();
            state.file_name.set(state.reference_name.get_untracked());
            state.reference_name.set(target);
            state.reference.set(Stage::Open(swapped.reference));
            state.overview.set(swapped.target.overview.clone());
            state.stage.set(Stage::Open(Box::new(swapped.target)));
            state.report.update(|report| *report += 1);
            state.loads.update(|loads| *loads += 1);
        });
    }

    /// Stops opening. The worker is ended in the middle of whatever it does; what was open before
    /// is shown again.
    pub fn cancel(self) {
        self.inner.update_value(|inner| inner.wanted = None);
        if !self.bring_back() {
            self.renew_worker();
            self.state.stage.set(Stage::Empty);
            if self.state.job.with_untracked(JobStage::is_shown) {
                self.back_to_job();
            }
        }
    }

    /// Asks the worker; `then` gets the answer, unless another trace is opened before it comes.
    pub fn ask<Q: Query>(self, query: Q, then: impl FnOnce(Q::Answer) + 'static) {
        self.ask_for_bytes(query, move |answer, _| then(answer));
    }

    /// The answer to a query, asked anew for every report; `None` until the first is here.
    pub fn follow<Q: Query<Answer: Send + Sync>>(
        self,
        query: impl Fn() -> Q + 'static,
    ) -> RwSignal<Option<Q::Answer>> {
        let answer = RwSignal::new(None);
        Effect::new(move || {
            self.state.report.track();
            self.ask(query(), move |new| {
                // The view may be gone by then.
                let _ = answer.try_set(Some(new));
            });
        });
        answer
    }

    /// Asks the worker for an answer that has bytes beside it.
    pub fn ask_for_bytes<Q: Query>(
        self,
        query: Q,
        then: impl FnOnce(Q::Answer, Option<Uint8Array>) + 'static,
    ) {
        let waiting: Waiting = Box::new(move |value, bytes| match wire::from_js(&value) {
            Ok(answer) => then(answer, bytes),
            Err(error) => leptos::logging::error!("an answer that cannot be read: {error}"),
        });
        self.send(&Request::Ask(query.into()), &[], Some(waiting));
    }

    fn send_open(self, source: &TraceSource) {
        let choice = untrack(|| self.state.whole_choice());
        self.inner.update_value(|inner| {
            if let Some(running) = &mut inner.running {
                running.used = true;
            }
            inner.warming = None;
        });
        match source {
            TraceSource::Files(files) => {
                let is_beside = self.inner.with_value(|inner| inner.before.is_some());
                self.send(&Request::OpenFiles(choice, is_beside), files, None);
            }
            TraceSource::Sample => self.send(&Request::OpenSample(choice), &[], None),
        }
    }

    fn send(self, request: &Request, files: &[File], waiting: Option<Waiting>) {
        self.inner.update_value(|inner| {
            let Some(running) = &inner.running else {
                return;
            };
            inner.last_id += 1;
            let message = message_of(inner.last_id, request, files);
            if running.worker.post_message(&message).is_ok()
                && let Some(waiting) = waiting
            {
                inner.waiting.insert(inner.last_id, waiting);
            }
        });
    }

    /// Takes something out of what the engine holds; nothing once the page is gone.
    fn take<T>(self, out: impl FnOnce(&mut Inner) -> Option<T>) -> Option<T> {
        self.inner.try_update_value(out).flatten()
    }

    fn hear(self, message: &JsValue) {
        if let Some(reason) = wire::part(message, "crash").as_string() {
            self.crashed(&reason);
            return;
        }
        if let Some(requests) = wire::part(message, "requests").as_f64() {
            self.count_worker_requests(requests as u32);
        }
        match wire::from_js(&wire::part(message, "body")) {
            Ok(Reply::Progress(progress)) => self.state.stage.set(Stage::Loading(progress)),
            Ok(Reply::Opened(opened)) => self.opened(opened),
            Ok(Reply::Failed(failure)) => {
                self.offer_where_too_many(&failure);
                self.failed(failure);
            }
            Ok(Reply::AddProgress(now)) => self.state.adding.update(|adding| {
                if let Some((_, progress)) = adding {
                    *progress = now;
                }
            }),
            Ok(Reply::Added(opened)) => {
                if let Some(files) = self.added() {
                    self.inner.update_value(|inner| {
                        if let Some(TraceSource::Files(open)) = &mut inner.source {
                            open.extend(files);
                        }
                    });
                    self.merged(opened);
                }
            }
            Ok(Reply::Replaced(opened)) => {
                if let Some(files) = self.added() {
                    self.inner
                        .update_value(|inner| inner.source = Some(TraceSource::Files(files)));
                    self.state.let_go();
                    self.opened(opened);
                }
            }
            Ok(Reply::NotAdded(left_out)) => {
                if self.added().is_some() {
                    self.not_opened(left_out);
                }
            }
            Ok(Reply::ReferenceProgress(now)) => self.state.reference.update(|stage| {
                if let Stage::Loading(progress) = stage {
                    *progress = now;
                }
            }),
            Ok(Reply::ReferenceOpened(opened)) => self.reference_read(Stage::Open(opened)),
            Ok(Reply::ReferenceFailed(failure)) => self.reference_read(Stage::Failed(failure)),
            Ok(Reply::Answer) => self.answered(message),
            // Workers of one file and that of a job say these, and are heard by themselves.
            Ok(
                Reply::Digest(_) | Reply::JobOpened(_) | Reply::JobFailed(_) | Reply::JobStep(_),
            ) => {}
            Err(error) => leptos::logging::error!("a message that cannot be read: {error}"),
        }
    }

    /// Another trace is open.
    fn opened(self, mut opened: Box<Opened>) {
        let state = self.state;
        let interrupted = self.take(|inner| Some(std::mem::take(&mut inner.interrupted)));
        let interrupted = interrupted.unwrap_or_default();
        if opened.is_capture && !interrupted.is_empty() {
            // It came while its trace was being read.
            let own = self.inner.with_value(|inner| inner.source.clone());
            let own = match own {
                Some(TraceSource::Files(files)) => files,
                _ => Vec::new(),
            };
            self.open(TraceSource::Files([interrupted, own].concat()));
            return;
        }
        state.file_name.set(opened.file_name.clone());
        state.go(|place| place.file.clone_from(&opened.file_name));
        let reference = opened.reference.take();
        let has_reference = reference.is_some();
        state.reference.set(match reference {
            Some((name, reference)) => {
                state.reference_name.set(name);
                Stage::Open(reference)
            }
            None => Stage::Empty,
        });
        self.show(opened);
        if has_reference {
            self.go_to_comparison();
        }
        if state.keeps_traces.get_untracked() {
            self.keep_open_files();
        }
    }

    /// Keeps the files that are open on this computer.
    pub fn keep_open_files(self) {
        let source = self.inner.with_value(|inner| inner.source.clone());
        let Some(TraceSource::Files(files)) = source else {
            return;
        };
        let state = self.state;
        wasm_bindgen_futures::spawn_local(async move {
            let mut said = String::new();
            for file in files {
                let name = file.name();
                if let Err(why) = browser::keep_trace(file).await {
                    said = format!("{name} is not kept: {why}.");
                }
            }
            state.keep_error.set(said);
            self.look_for_kept().await;
        });
    }

    /// Sees which traces are kept on this computer.
    pub async fn look_for_kept(self) {
        let kept = browser::kept_traces().await;
        let _ = self.state.kept_traces.try_set(kept);
    }

    /// Opens a trace that is kept; of a link only where nothing else was opened meanwhile.
    pub fn open_kept(self, name: String, is_of_link: bool) {
        let state = self.state;
        wasm_bindgen_futures::spawn_local(async move {
            let file = browser::kept_trace(&name).await;
            let is_free = state.stage.with_untracked(|stage| *stage == Stage::Empty);
            match file {
                Some(file) if is_free || !is_of_link => self.open(TraceSource::Files(vec![file])),
                Some(_) => {}
                None => state
                    .wanted_trace
                    .set(Some(name).filter(|_| is_free || !is_of_link)),
            }
        });
    }

    /// What a page does that was just opened: it looks for kept traces, and opens the one that its link
    /// is of.
    pub fn start(self) {
        let state = self.state;
        let wanted = state.place.with_untracked(|place| place.file.clone());
        wasm_bindgen_futures::spawn_local(self.look_for_kept());
        if wanted == SAMPLE {
            state.wanted_trace.set(Some(wanted));
        } else if !wanted.is_empty() {
            self.open_kept(wanted, true);
        }
    }

    /// Shows what is open.
    fn show(self, mut opened: Box<Opened>) {
        let state = self.state;
        let chosen_at_ms = self.inner.with_value(|inner| inner.chosen_at_ms);
        state.overview.set(opened.overview.clone());
        state.opened_in_ms.set(browser::now_ms() - chosen_at_ms);
        state.loads.update(|loads| *loads += 1);
        state.report.update(|report| *report += 1);
        self.inner.update_value(|inner| inner.before = None);
        let wasm_bytes = opened.wasm_bytes;
        let left_out = std::mem::take(&mut opened.left_out);
        let steps = opened.steps.clone();
        state.stage.set(Stage::Open(opened));
        if let Some(step) = self.drilled(&steps) {
            state.analyze(Some(step));
        }
        if !left_out.is_empty() {
            self.not_opened(left_out);
        }
        self.keep_spare_soon();
        browser::after_paint(move || {
            browser::mark_ready(
                state.loads.get_untracked(),
                browser::now_ms() - chosen_at_ms,
                wasm_bytes,
            );
        });
    }

    /// The reference is open, or cannot be analyzed; nothing where it is no longer wanted.
    fn reference_read(self, next: Stage<ReferenceOpened>) {
        let state = self.state;
        let Stage::Loading(_) = state.reference.get_untracked() else {
            return;
        };
        let is_open = next.is_open();
        state.reference.set(next);
        if is_open {
            state.report.update(|report| *report += 1);
            self.go_to_comparison();
        }
    }

    fn go_to_comparison(self) {
        self.state.go(|place| {
            place.view = "compare".to_owned();
            place.focus = Focus::default();
        });
    }

    fn answered(self, message: &JsValue) {
        let id = wire::part(message, "id").as_f64().unwrap_or(0.0) as u32;
        if let Some(waiting) = self.take(|inner| inner.waiting.remove(&id)) {
            let bytes = wire::part(message, "bytes").dyn_into().ok();
            waiting(wire::part(message, "value"), bytes);
        }
    }

    /// The worker trapped: memory ran out, or it met a defect of ours.
    fn crashed(self, reason: &str) {
        self.end_worker();
        let failure = Failure {
            sentence: format!(
                "the analysis stopped ({reason}); the trace may need more memory than the browser \
                 gives a page (4 GB): record fewer steps, or use the command line"
            ),
            at_byte: None,
        };
        let state = self.state;
        let source = self.inner.with_value(|inner| inner.source.clone());
        let is_second = matches!(state.reference.get_untracked(), Stage::Loading(_));
        let is_open = state.stage.with_untracked(Stage::is_open);
        let added = self.added().map(|files| called(&files));
        match (source, added) {
            // What came second was too much: the first is opened again.
            (Some(source), _) if is_second => {
                self.open_as(source, true);
                state.reference.set(Stage::Failed(failure));
            }
            (Some(source), Some(name)) => {
                self.open_as(source, true);
                state.open_error.set(vec![LeftOut::new(name, failure)]);
            }
            (Some(TraceSource::Files(files)), None) if files.len() > 1 && !is_open => {
                let names = called(&files);
                state.stage.set(Stage::Empty);
                self.open(TraceSource::Files(files.into_iter().take(1).collect()));
                state.open_error.set(vec![LeftOut::new(names, failure)]);
            }
            _ => self.failed(failure),
        }
    }
}

/// What files are called that come together.
fn called(files: &[File]) -> String {
    let first = files.first().map(|file| file.name()).unwrap_or_default();
    match files.len() {
        0 | 1 => first,
        2 => format!("{first} and another file"),
        n => format!("A group of {n} files"),
    }
}

fn total_bytes(files: &[File]) -> f64 {
    files.iter().map(|file| file.size()).sum()
}
