//! The only access to the worker.
//!
//! One worker reads one trace; the next trace gets the next worker, from files that the page already has. The previous
//! worker is ended, with everything it holds, once the next trace is open. Messages of an ended worker are never seen:
//! its listener is dropped with it.
//!
//! | file | what |
//! |---|---|
//! | `workers`, `messages` | the workers of a trace, and what they send |
//! | `files`, `reference`, `previous` | opens files: what they are, the trace to compare with, what was open before |
//! | `fetching`, `senders`, `stored_traces`, `embedded` | files of a link, of another window, stored here, in the page |
//! | `ranks`, `job`, `drill` | many files as ranks of a job: reads and combines them, opens the trace of one |
//! | `fleet` | the summary of many traces |

mod drill;
mod embedded;
mod fetching;
mod files;
mod fleet;
mod job;
mod messages;
mod previous;
mod ranks;
mod reference;
mod senders;
mod stored_traces;
mod workers;

use std::collections::HashMap;

use js_sys::Uint8Array;
use leptos::prelude::*;
use wasm_bindgen::prelude::*;
use web_sys::{AbortController, File};

use crate::page::browser::{self, WorkerFiles};
use crate::page::ranks::JobStage;
use crate::page::state::{AppState, Stage};
use crate::page::url::Place;
use crate::protocol::wire;
use crate::protocol::{Failure, Opened, Query, Rejected, Request};
use fleet::FleetWorker;
use previous::Previous;
use ranks::Ranks;
pub use ranks::ranks_of;
use senders::Senders;
use workers::{OwnWorker, Running};

/// The name of the built-in sample.
const SAMPLE: &str = "sample trace";

/// What can be opened.
#[derive(Clone)]
pub enum TraceSource {
    /// The user's files, opened together.
    Files(Vec<File>),
    /// The built-in sample.
    Sample,
}

/// The access to the worker. `Copy`, so pass it around.
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
    /// Runs until the first trace is opened.
    warming: Option<OwnWorker>,
    /// Waits for the next trace.
    spare: Option<Running>,
    /// What was open before, while another trace is being read.
    previous: Option<Previous>,
    /// What to open as soon as the worker's files have arrived.
    wanted: Option<TraceSource>,
    /// A link whose files are fetched as soon as the worker's have arrived.
    wanted_link: Option<Place>,
    /// Files that were fetched for a link.
    fetched: Vec<File>,
    /// The link for which they are opened next.
    link: Option<Place>,
    /// Aborts the current fetch.
    fetching: Option<AbortController>,
    /// Files that could not be fetched, of those to be opened next.
    not_fetched: Vec<Rejected>,
    /// What was opened last, including what is merged with it. It is opened again if adding more was too much for the
    /// worker.
    source: Option<TraceSource>,
    /// The reference of the open trace, if it was chosen later.
    reference_file: Option<File>,
    /// Files that are being added to the open trace.
    adding: Vec<File>,
    /// Files among which the user chooses.
    candidates: Vec<File>,
    /// The job that is open or being read.
    ranks: Option<Ranks>,
    /// The summary of many traces that is open.
    fleet: Option<FleetWorker>,
    /// A summary to open as soon as the worker's files have arrived.
    wanted_fleet: Option<File>,
    /// Other windows that send traces.
    senders: Senders,
    /// Files that were still being read when others came; captures among the new ones may belong to them.
    interrupted: Vec<File>,
    /// The callbacks that wait for answers, by question id.
    waiting: HashMap<u32, Waiting>,
    last_id: u32,
    /// When the user chose the file that is open or being opened.
    chosen_at_ms: f64,
}

impl Engine {
    /// The engine of a newly opened page. Requests are counted once everything is loaded. `on_sample` gets the sample,
    /// opened for warm-up.
    pub fn new(state: AppState, on_sample: fn(Engine, Box<Opened>)) -> Engine {
        let engine = Engine {
            state,
            inner: StoredValue::new_local(Inner::default()),
        };
        browser::worker_files(
            move |files| {
                browser::watch_requests(move |name| {
                    state.requested.update(|names| names.push(name))
                });
                engine.inner.update_value(|inner| inner.files = Some(files));
                engine.renew_worker();
                if let Some(source) = engine.take(|inner| inner.wanted.take()) {
                    engine.send_open(&source);
                }
                engine.read_ranks();
                if let Some(file) = engine.take(|inner| inner.wanted_fleet.take()) {
                    engine.open_fleet(file);
                }
                if let Some(link) = engine.take(|inner| inner.wanted_link.take()) {
                    engine.open_link(link);
                }
                engine.warm_up_soon(on_sample);
            },
            move |reason| {
                state.stage.set(Stage::Failed(Failure::new(format!(
                    "the page did not load completely ({reason}); reload it"
                ))));
            },
        );
        engine
    }

    /// Opens a trace. What is open stays until the other one is read.
    pub fn open(self, source: TraceSource) {
        // A pending destination in a rank of a job is only for that rank.
        self.with_ranks(|ranks| ranks.visit.forget_destination());
        self.open_as(source, false);
    }

    /// The same; `is_again` for the trace that was open before, which keeps the user's choices.
    fn open_as(self, source: TraceSource, is_again: bool) {
        let state = self.state;
        let (name, size) = match &source {
            TraceSource::Files(files) => (shown_name(files), total_bytes(files)),
            TraceSource::Sample => (SAMPLE.to_owned(), 0.0),
        };
        self.cancel_adding();
        self.stop_fetching();
        let is_loading = self.is_loading();
        self.set_aside();
        state.leave_job();
        let link = self.link_of(match &source {
            TraceSource::Files(files) => files,
            TraceSource::Sample => &[],
        });
        // A link's place refers to the link's trace.
        let of_link = state.place.with_untracked(|place| place.file.clone());
        let is_other = match state.loads.get_untracked() {
            // The place of a page with embedded traces refers to those.
            0 => !state.has_embedded && link.is_none() && !of_link.is_empty() && of_link != name,
            _ => true,
        };
        if is_other && !is_again {
            state.reset_for_other_trace();
        }
        if let Some(link) = link {
            state.go(|place| *place = link);
        }
        state.linked_trace.set(None);
        state.candidates.set(Vec::new());
        self.report_not_fetched();
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
            inner.reference_file = None;
        });
        self.renew_worker();
        let ready = self.inner.with_value(|inner| inner.running.is_some());
        if ready {
            self.send_open(&source);
        } else {
            self.inner.update_value(|inner| inner.wanted = Some(source));
        }
    }

    fn is_loading(self) -> bool {
        let stage = self.state.stage;
        stage.with_untracked(|stage| matches!(stage, Stage::Loading(_)))
    }

    /// Stops opening. The worker is ended, whatever it is doing; what was open before is shown again.
    pub fn cancel(self) {
        self.stop_fetching();
        self.inner.update_value(|inner| inner.wanted = None);
        if !self.restore() {
            self.renew_worker();
            self.state.stage.set(Stage::Empty);
            if self.state.job.with_untracked(JobStage::is_shown) {
                self.back_to_job();
            }
        }
    }

    /// Queries the worker; `then` gets the answer, unless another trace is opened before it comes.
    pub fn ask<Q: Query>(self, query: Q, then: impl FnOnce(Q::Answer) + 'static) {
        self.ask_for_bytes(query, move |answer, _| then(answer));
    }

    /// The answer to a query, asked again for every report; `None` until the first arrives. An unchanged answer does
    /// not trigger the signal.
    pub fn follow<Q: Query<Answer: PartialEq + Send + Sync>>(
        self,
        query: impl Fn() -> Q + 'static,
    ) -> RwSignal<Option<Q::Answer>> {
        let answer = RwSignal::new(None);
        Effect::new(move || {
            self.state.report.track();
            self.ask(query(), move |new| {
                // The view may be gone by then.
                let is_known = answer.try_with_untracked(|old| old.as_ref() == Some(&new));
                if is_known == Some(false) {
                    answer.set(Some(new));
                }
            });
        });
        answer
    }

    /// Queries the worker for an answer with bytes.
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
                let is_another_open = self.inner.with_value(|inner| inner.previous.is_some());
                self.send(&Request::OpenFiles(choice, is_another_open), files, None);
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
            if running.worker.post(inner.last_id, request, files).is_ok()
                && let Some(waiting) = waiting
            {
                inner.waiting.insert(inner.last_id, waiting);
            }
        });
    }

    /// Takes something out of the engine's inner state; `None` once the page is gone.
    fn take<T>(self, out: impl FnOnce(&mut Inner) -> Option<T>) -> Option<T> {
        self.inner.try_update_value(out).flatten()
    }

    fn since_chosen_ms(self) -> f64 {
        browser::now_ms() - self.inner.with_value(|inner| inner.chosen_at_ms)
    }
}

/// The name shown for files that are opened together.
fn shown_name(files: &[File]) -> String {
    let first = files.first().map(|file| file.name()).unwrap_or_default();
    match files.len() {
        0 | 1 => first,
        2 => format!("{first} and another file"),
        n => format!("A group of {n} files"),
    }
}

/// A file that is not opened, and why.
fn rejected(name: impl Into<Option<String>>, sentence: String) -> Rejected {
    Rejected {
        name: name.into(),
        failure: Failure::new(sentence),
    }
}

fn total_bytes(files: &[File]) -> f64 {
    files.iter().map(|file| file.size()).sum()
}
