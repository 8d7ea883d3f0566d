//! Many files as ranks of one job: each is read by a worker that ends with it, and what they leave is put
//! together by the worker that is there for a trace. The files stay, so that a rank opens as a trace.

use std::sync::Arc;

use dormer_core::base::format;
use gloo::events::EventListener;
use js_sys::{Array, Uint8Array};
use leptos::prelude::*;
use wasm_bindgen::prelude::*;
use web_sys::{ErrorEvent, File, MessageEvent, Worker};

use super::workers::message_of;
use super::{Engine, TraceSource};
use crate::page::browser::{self, Dropped};
use crate::page::ranks::heads::{Head, are_one_job};
use crate::page::ranks::queue::Queue;
use crate::page::ranks::{JobStage, OpenJob, RanksRead, VIEW};
use crate::page::state::Stage;
use crate::page::url::Focus;
use crate::protocol::{
    DigestRequest, Failure, JobOpened, JobRequest, LeftOut, ONE_FILE, Reply, Request, StepLine,
    wire,
};

/// So many files are looked at to tell whether all are of one job.
const MOST_HEADS: usize = 16;

/// A worker that reads one file; it ends when this is dropped.
struct Reader {
    at: usize,
    worker: Worker,
    _listeners: [EventListener; 2],
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.worker.terminate();
    }
}

/// The files of a job.
#[derive(Default)]
pub(super) struct Ranks {
    files: Vec<(String, File)>,
    queue: Queue,
    readers: Vec<Reader>,
    /// Bytes read of each file.
    bytes: Vec<f64>,
    digests: Vec<(usize, Uint8Array)>,
    /// Files that are no more than digests.
    only_digests: Vec<usize>,
    unreadable: Vec<(usize, String)>,
    chosen_at_ms: f64,
    /// The digests are on their way to be put together.
    is_together: bool,
    /// What its view showed when it was left.
    focus: Focus,
    /// The step at which a rank is opened.
    pub(super) step: Option<(usize, String)>,
}

impl Ranks {
    fn progress(&self) -> RanksRead {
        RanksRead {
            n_files: self.files.len(),
            n_read: self.digests.len(),
            n_failed: self.unreadable.len(),
            bytes_read: self.bytes.iter().sum(),
            bytes_total: self.files.iter().map(|(_, file)| file.size()).sum(),
        }
    }
}

impl Engine {
    /// Files came together: where they are ranks of one job, it is opened at once.
    pub fn take_together(self, dropped: Dropped, otherwise: impl FnOnce(Dropped) + 'static) {
        let is_archive = |dropped: &Dropped| match dropped.files.as_slice() {
            [(name, _)] => name.to_ascii_lowercase().ends_with(".zip"),
            _ => false,
        };
        let is_alone = dropped.files.len() < 2 && !is_archive(&dropped);
        if is_alone || self.state.takes_captures() {
            otherwise(dropped);
            return;
        }
        wasm_bindgen_futures::spawn_local(async move {
            let dropped = match is_archive(&dropped) {
                true => unpacked(dropped).await,
                false => dropped,
            };
            let may_be_opened = |path: &str| crate::protocol::may_be_opened(base_name(path));
            let named = dropped.files.iter();
            let traces = named.filter(|(path, _)| may_be_opened(path));
            let mut heads = Vec::new();
            for (_, file) in traces.take(MOST_HEADS) {
                heads.push(Head::of(&browser::head_of(file).await));
                if heads.last() == Some(&Head::Unknown) {
                    break;
                }
            }
            match are_one_job(&heads) {
                true => {
                    let files = dropped.files.into_iter();
                    let traces = files.filter(|(path, _)| may_be_opened(path));
                    self.open_job(traces.collect());
                }
                false => otherwise(dropped),
            }
        });
    }

    /// Opens all files that are offered as ranks of one job.
    pub fn open_candidates_as_job(self) {
        let paths = self.state.candidates.get_untracked();
        let files = self.take(|inner| Some(std::mem::take(&mut inner.candidates)));
        let paths = paths.into_iter().map(|candidate| candidate.path);
        self.state.candidates.set(Vec::new());
        self.open_job(paths.zip(files.unwrap_or_default()).collect());
    }

    /// Reads files as ranks of one job.
    pub fn open_job(self, files: Vec<(String, File)>) {
        if self
            .state
            .stage
            .with_untracked(|stage| matches!(stage, Stage::Loading(_)))
        {
            self.cancel();
        }
        let sizes = files.iter().map(|(path, file)| {
            let is_packed = !path.to_ascii_lowercase().ends_with(".json");
            (file.size(), is_packed)
        });
        let sizes: Vec<(f64, bool)> = sizes.collect();
        let ranks = Ranks {
            queue: Queue::new(&sizes, browser::n_cores()),
            bytes: vec![0.0; files.len()],
            files,
            chosen_at_ms: browser::now_ms(),
            ..Ranks::default()
        };
        self.state.open_error.set(Vec::new());
        self.state.job.set(JobStage::Reading(ranks.progress()));
        self.inner.update_value(|inner| inner.ranks = Some(ranks));
        self.show_job(Focus::default());
        self.read_ranks();
    }

    fn show_job(self, focus: Focus) {
        self.state.go(|place| {
            place.view = VIEW.to_owned();
            place.focus = focus;
        });
    }

    /// Starts as many workers as there may be; puts the job together once all files are read.
    pub(super) fn read_ranks(self) {
        let is_over = self.take(|inner| {
            let (files, ranks) = (inner.files.as_ref()?, inner.ranks.as_mut()?);
            while let Some(at) = ranks.queue.start() {
                let (path, file) = ranks.files.get(at)?.clone();
                let has_second = ranks.queue.at_once() == 1 && browser::n_cores() > 1;
                let request = Request::Digest(DigestRequest { path, has_second });
                let message = message_of(0, &request, &[file]);
                let started = browser::start_worker(files, ONE_FILE);
                let posted = started.and_then(|worker| match worker.post_message(&message) {
                    Ok(()) => Ok(worker),
                    Err(error) => Err(wire::error_text(&error)),
                });
                match posted {
                    Ok(worker) => ranks.readers.push(self.reader(at, worker)),
                    Err(why) => {
                        ranks.queue.end();
                        ranks.unreadable.push((at, why));
                    }
                }
            }
            Some(ranks.queue.is_over() && !ranks.is_together)
        });
        if is_over == Some(true) {
            self.put_together(0);
        }
    }

    fn reader(self, at: usize, worker: Worker) -> Reader {
        let listeners = [
            EventListener::new(&worker, "message", move |event| {
                if let Some(event) = event.dyn_ref::<MessageEvent>() {
                    self.hear_rank(at, &event.data());
                }
            }),
            EventListener::new(&worker, "error", move |event| {
                let reason = event.dyn_ref::<ErrorEvent>().map(ErrorEvent::message);
                self.rank_read(at, Err(reason.unwrap_or_default()));
            }),
        ];
        Reader {
            at,
            worker,
            _listeners: listeners,
        }
    }

    fn hear_rank(self, at: usize, message: &JsValue) {
        if let Some(reason) = wire::part(message, "crash").as_string() {
            let why =
                format!("the analysis stopped ({reason}); it may need more memory than there is");
            self.rank_read(at, Err(why));
            return;
        }
        match wire::from_js(&wire::part(message, "body")) {
            Ok(Reply::Progress(progress)) => {
                self.change_ranks(|ranks| {
                    if let Some(bytes) = ranks.bytes.get_mut(at) {
                        *bytes = progress.bytes_read;
                    }
                });
            }
            Ok(Reply::Digest(was_digest)) => {
                self.inner.update_value(|inner| {
                    let n_requests = wire::part(message, "requests").as_f64();
                    inner.past_requests += n_requests.unwrap_or(0.0) as u32;
                });
                let bytes = wire::part(message, "bytes").unchecked_into();
                self.rank_read(at, Ok((bytes, was_digest)));
            }
            Ok(Reply::Failed(failure)) => self.rank_read(at, Err(failure.with_place())),
            _ => {}
        }
    }

    fn change_ranks(self, change: impl FnOnce(&mut Ranks)) {
        let progress = self.take(|inner| {
            let ranks = inner.ranks.as_mut()?;
            change(ranks);
            Some(ranks.progress())
        });
        let is_reading = self
            .state
            .job
            .with_untracked(|job| matches!(job, JobStage::Reading(_)));
        if let Some(progress) = progress.filter(|_| is_reading) {
            self.state.job.set(JobStage::Reading(progress));
        }
    }

    /// A file was read, or cannot be.
    fn rank_read(self, at: usize, read: Result<(Uint8Array, bool), String>) {
        self.change_ranks(|ranks| {
            let Some(reader) = ranks.readers.iter().position(|reader| reader.at == at) else {
                return;
            };
            drop(ranks.readers.swap_remove(reader));
            ranks.queue.end();
            if let (Some(bytes), Some((_, file))) = (ranks.bytes.get_mut(at), ranks.files.get(at)) {
                *bytes = file.size();
            }
            match read {
                Ok((bytes, was_digest)) => {
                    ranks.digests.push((at, bytes));
                    if was_digest {
                        ranks.only_digests.push(at);
                    }
                }
                Err(why) => ranks.unreadable.push((at, why)),
            }
        });
        self.read_ranks();
    }

    /// Reads no more files: what was read of the job is shown, where that is more than one rank.
    pub fn cancel_job(self) {
        let n_read = self.take(|inner| {
            let ranks = inner.ranks.as_mut()?;
            ranks.queue.cancel();
            ranks.readers.clear();
            Some(ranks.digests.len())
        });
        if n_read.unwrap_or(0) > 1 {
            self.put_together(0);
            return;
        }
        self.inner.update_value(|inner| inner.ranks = None);
        self.state.job.set(JobStage::Empty);
        self.state.go(|place| {
            place.view = String::new();
            place.focus = Focus::default();
        });
    }

    /// Shows another window of the profiler.
    pub fn choose_job_window(self, window: u32) {
        self.put_together(window);
    }

    fn put_together(self, window: u32) {
        self.renew_for_job();
        let left_out = self.take(|inner| {
            let ranks = inner.ranks.as_mut()?;
            ranks.is_together = true;
            let file = |at: usize| ranks.files.get(at);
            if ranks.digests.is_empty() {
                let unreadable = ranks.unreadable.iter().filter_map(|(at, why)| {
                    let failure = Failure {
                        sentence: why.clone(),
                        at_byte: None,
                    };
                    Some(LeftOut::new(file(*at)?.0.clone(), failure))
                });
                return Some(unreadable.collect::<Vec<LeftOut>>());
            }
            let unreadable = ranks.unreadable.iter().filter_map(|(at, why)| {
                let (path, file) = file(*at)?;
                Some((path.clone(), file.size() as u64, why.clone()))
            });
            let request = Request::OpenJob(JobRequest {
                window,
                unreadable: unreadable.collect(),
            });
            let digests: Array = ranks.digests.iter().map(|(_, bytes)| bytes).collect();
            let message = message_of(0, &request, &[]);
            let _ = js_sys::Reflect::set(&message, &"digests".into(), &digests);
            let running = inner.running.as_ref()?;
            let posted = running.worker.post_message(&message);
            posted.err().map(|error| {
                let sentence = wire::error_text(&error);
                vec![LeftOut {
                    name: None,
                    failure: Failure {
                        sentence,
                        at_byte: None,
                    },
                }]
            })
        });
        if let Some(left_out) = left_out {
            self.state.job.set(JobStage::Failed(left_out));
        }
    }

    /// The worker that puts the job together is the one of the open trace, or a fresh one.
    fn renew_for_job(self) {
        if self.inner.with_value(|inner| inner.running.is_none()) {
            self.renew_worker();
        }
    }

    /// The job is open.
    pub(super) fn job_opened(self, opened: JobOpened) {
        let open = self.take(|inner| {
            let ranks = inner.ranks.as_ref()?;
            let has_trace = opened.overview.ranks.iter().map(|rank| {
                let at = ranks.files.iter().position(|(path, _)| *path == rank.file);
                at.is_some_and(|at| !ranks.only_digests.contains(&at))
            });
            Some(OpenJob {
                has_trace: has_trace.collect(),
                opened,
                n_unread: ranks.files.len() - ranks.digests.len() - ranks.unreadable.len(),
                n_files: ranks.files.len(),
                opened_in_ms: browser::now_ms() - ranks.chosen_at_ms,
            })
        });
        if let Some(open) = open {
            self.state.job.set(JobStage::Open(Arc::new(open)));
        }
    }

    pub(super) fn job_failed(self, failure: Failure) {
        let unreadable = self.inner.with_value(|inner| {
            let ranks = inner.ranks.as_ref()?;
            let unreadable = ranks.unreadable.iter().filter_map(|(at, why)| {
                let failure = Failure {
                    sentence: why.clone(),
                    at_byte: None,
                };
                Some(LeftOut::new(ranks.files.get(*at)?.0.clone(), failure))
            });
            Some(unreadable.collect::<Vec<LeftOut>>())
        });
        let first = LeftOut {
            name: None,
            failure,
        };
        let all = std::iter::once(first).chain(unreadable.unwrap_or_default());
        self.state.job.set(JobStage::Failed(all.collect()));
    }

    fn trace_of(self, rank: usize) -> Option<File> {
        let JobStage::Open(job) = self.state.job.get_untracked() else {
            return None;
        };
        let name = &job.opened.overview.ranks.get(rank)?.file;
        job.has_trace.get(rank).filter(|has_trace| **has_trace)?;
        self.inner.with_value(|inner| {
            let mut files = inner.ranks.as_ref()?.files.iter();
            files
                .find(|(path, _)| path == name)
                .map(|(_, file)| file.clone())
        })
    }

    /// Opens the trace of a rank, by position, at a step of the job.
    pub fn open_rank(self, rank: usize, step: Option<usize>) {
        let Some(file) = self.trace_of(rank) else {
            return;
        };
        let JobStage::Open(job) = self.state.job.get_untracked() else {
            return;
        };
        let named = step.and_then(|at| Some((at, job.opened.overview.steps.get(at)?.clone())));
        self.leave_job();
        self.open(TraceSource::Files(vec![file]));
        self.inner.update_value(|inner| {
            if let Some(ranks) = &mut inner.ranks {
                ranks.step = named;
            }
        });
    }

    /// Opens two ranks, by position, to compare.
    pub fn compare_ranks(self, target: usize, reference: usize) {
        if let (Some(target), Some(reference)) = (self.trace_of(target), self.trace_of(reference)) {
            self.leave_job();
            self.open(TraceSource::Files(vec![target, reference]));
        }
    }

    fn leave_job(self) {
        let focus = self.state.place.with_untracked(|place| place.focus.clone());
        self.inner.update_value(|inner| {
            if let Some(ranks) = &mut inner.ranks {
                ranks.focus = focus;
                ranks.step = None;
            }
        });
    }

    /// Shows the job again, as it was left. Nothing is read anew.
    pub fn back_to_job(self) {
        if self
            .state
            .stage
            .with_untracked(|stage| matches!(stage, Stage::Loading(_)))
        {
            self.cancel();
        }
        let focus = self
            .inner
            .with_value(|inner| Some(inner.ranks.as_ref()?.focus.clone()));
        self.show_job(focus.unwrap_or_default());
    }

    /// The part of the time that the step has at which a rank is opened.
    pub(super) fn step_of_rank(self, steps: &[StepLine]) -> Option<(u64, u64)> {
        let (at, name) = self.take(|inner| inner.ranks.as_mut()?.step.take())?;
        let number = |name: &str| {
            name.rsplit([' ', '#'])
                .next()
                .and_then(|end| end.parse::<u64>().ok())
        };
        let wanted = number(&name);
        let named = steps
            .iter()
            .find(|step| wanted.is_some() && number(&step.name) == wanted);
        named.or_else(|| steps.get(at)).map(|step| step.window)
    }
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// An archive of several traces as what it holds; one of a single trace as it is.
async fn unpacked(dropped: Dropped) -> Dropped {
    let Some((name, archive)) = dropped.files.first() else {
        return dropped;
    };
    let mut members = browser::members_of_zip(archive).await;
    members.retain(|(path, _)| crate::protocol::may_be_opened(base_name(path)));
    match members.len() {
        0 | 1 => dropped,
        _ => Dropped {
            folder: Some(name.clone()),
            files: members,
        },
    }
}

impl Failure {
    /// The sentence, with the place where it has one.
    fn with_place(&self) -> String {
        match &self.at_byte {
            Some(byte) => format!("{} (at byte {byte})", self.sentence),
            None => self.sentence.clone(),
        }
    }
}

/// Ranks that are read, of all.
pub fn ranks_of(read: &RanksRead) -> String {
    let n_files = format::counted(read.n_files as u64, "rank");
    format!("{} of {n_files} read", format::count(read.n_read as u64))
}
