//! The job itself, in a worker of its own, which receives each file's digest, combines them, and answers queries about
//! steps. What has been read so far is shown while the rest is read.

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use gloo::timers::callback::Timeout;
use js_sys::{Array, Uint8Array};
use leptos::prelude::*;

use super::ranks::Ranks;
use super::workers::{OwnWorker, message_of};
use super::{Engine, rejected};
use crate::page::browser;
use crate::page::ranks::{JobStage, OpenJob};
use crate::page::url::Focus;
use crate::protocol::{
    Failure, JobOpened, JobRequest, OF_JOB, Rejected, Reply, Request, StepRequest, wire,
};

/// What is read is combined again once there are this many times as many digests.
const GROWTH: f64 = 1.5;
/// But not sooner than after this many times the duration of the last time.
const PAUSE: f64 = 5.0;

/// The combining of the digests of the files.
#[derive(Default)]
pub(super) struct Combining {
    worker: Option<OwnWorker>,
    /// The pending requests to it.
    updates: VecDeque<JobUpdate>,
    /// The number of digests; a file into which ranks are merged has one for each.
    pub(super) n_digests: usize,
    /// The digests that it was not sent yet.
    pub(super) unsent: Vec<Uint8Array>,
    /// Everything is read and sent.
    pub(super) is_last_sent: bool,
    /// Its last result: the number of digests, how long it took, when it arrived.
    shown: (usize, f64, f64),
    /// Counts the results.
    number: u32,
    /// The profiler window that is shown.
    window: u32,
    /// A rank's bandwidth to other nodes, in GB/s, if the user entered it.
    network_gbps: Option<f64>,
}

/// A request to combine the digests.
#[derive(Clone, Copy)]
struct JobUpdate {
    n_digests: usize,
    n_unread: usize,
    is_last: bool,
    at_ms: f64,
}

impl Ranks {
    /// Whether there is enough new data to combine, and in how many milliseconds to do so.
    fn is_due(&self, now_ms: f64) -> Option<f64> {
        let of = &self.combining;
        let (n_shown, took_ms, at_ms) = of.shown;
        let n = of.n_digests;
        let grew = n > 1 && n as f64 >= GROWTH * n_shown as f64;
        let is_more = grew && self.reading.n_read < self.files.len();
        let at_ms = match n_shown {
            0 => self.chosen_at_ms + f64::from(super::ranks::SOON_MS),
            _ => at_ms + PAUSE * took_ms,
        };
        let is_free = of.updates.is_empty() && !of.is_last_sent;
        (is_more && is_free).then_some((at_ms - now_ms).max(0.0))
    }

    /// The file that a digest is of. If ranks are merged into a file, the names of their digests begin with the file's
    /// name.
    pub(super) fn file_of(&self, name: &str) -> Option<usize> {
        let is_of = |path: &str| {
            name.strip_prefix(path)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(", "))
        };
        self.files.iter().position(|(path, _)| is_of(path))
    }

    fn unreadable(&self) -> Vec<(String, u64, String)> {
        let files = self.reading.unreadable.iter().filter_map(|(at, why)| {
            let (path, file) = self.files.get(*at)?;
            Some((path.clone(), file.size() as u64, why.clone()))
        });
        files.collect()
    }

    /// Why files could not be read.
    fn failures(&self) -> Vec<Rejected> {
        let failures = self.unreadable().into_iter();
        failures.map(|(name, _, why)| rejected(name, why)).collect()
    }
}

impl Engine {
    /// Stops reading files. What was read of the job is shown if it is more than one rank.
    pub fn cancel_job(self) {
        self.stop_reading();
        let n_digests = self.with_ranks(|ranks| ranks.combining.n_digests);
        if n_digests.unwrap_or(0) > 1 {
            self.combine(true);
            return;
        }
        self.inner.update_value(|inner| inner.ranks = None);
        self.state.job.set(JobStage::Empty);
        self.state.go(|place| {
            place.view = String::new();
            place.focus = Focus::default();
        });
    }

    /// Shows another profiler window.
    pub fn choose_job_window(self, window: u32) {
        self.combine_with(|combining| combining.window = window);
    }

    /// Compares links between nodes with this bandwidth per rank, in GB/s; `None` if unknown.
    pub fn choose_network(self, gbps: Option<f64>) {
        self.combine_with(|combining| combining.network_gbps = gbps);
    }

    fn combine_with(self, change: impl FnOnce(&mut Combining)) {
        let is_reading = self.state.job.with_untracked(JobStage::is_reading);
        self.with_ranks(|ranks| change(&mut ranks.combining));
        self.combine(!is_reading);
    }

    /// Shows what has been read so far, if that is due.
    pub(super) fn show_so_far(self) {
        let wait_ms = self.with_ranks(|ranks| ranks.is_due(browser::now_ms()));
        if wait_ms.flatten().is_some_and(|wait_ms| wait_ms <= 0.0) {
            self.combine(false);
        }
    }

    /// The same after a delay.
    pub(super) fn show_so_far_in(self, wait_ms: u32) {
        Timeout::new(wait_ms, move || self.show_so_far()).forget();
    }

    /// Combines what was read; `is_last` if there will be no more.
    pub(super) fn combine(self, is_last: bool) {
        let failures = self.take(|inner| {
            let ranks = inner.ranks.as_mut()?;
            ranks.combining.is_last_sent |= is_last;
            if ranks.combining.n_digests == 0 {
                return Some(ranks.failures());
            }
            let unreadable = ranks.unreadable();
            let n_unread = ranks.files.len() - ranks.reading.n_read - unreadable.len();
            let of = &mut ranks.combining;
            if of.worker.is_none() {
                let started = self.own_worker(
                    inner.files.as_ref()?,
                    OF_JOB,
                    Box::new(move |reply, _| self.on_job_reply(reply)),
                    Rc::new(move |reason| self.job_crashed(reason)),
                );
                match started {
                    Ok(worker) => of.worker = Some(worker),
                    Err(why) => return Some(vec![rejected(None, why)]),
                }
            }
            let request = Request::OpenJob(JobRequest {
                window: of.window,
                unreadable,
                network_gbps: of.network_gbps,
            });
            let message = message_of(0, &request, &[]);
            let digests: Array = of.unsent.iter().collect();
            let given: Array = of.unsent.iter().map(Uint8Array::buffer).collect();
            let _ = js_sys::Reflect::set(&message, &"digests".into(), &digests);
            let worker = &of.worker.as_ref()?.worker;
            let posted = worker.post_message_with_transfer(&message, &given);
            of.unsent.clear();
            of.updates.push_back(JobUpdate {
                n_digests: of.n_digests,
                n_unread,
                is_last,
                at_ms: browser::now_ms(),
            });
            posted
                .err()
                .map(|error| vec![rejected(None, wire::error_text(&error))])
        });
        if let Some(failures) = failures {
            self.state.job.set(JobStage::Failed(failures));
        }
    }

    fn on_job_reply(self, reply: Reply) {
        match reply {
            Reply::JobOpened(opened) => self.job_opened(*opened),
            Reply::JobFailed(failure) => self.job_failed(failure),
            Reply::JobStep(strip) => {
                let number = self
                    .state
                    .job
                    .with_untracked(|job| Some(job.shown()?.number));
                let step = number.map(|number| (number, Arc::new(*strip)));
                self.state.job_step.set(step);
            }
            _ => {}
        }
    }

    /// The job's worker ran out of memory, or has a bug.
    fn job_crashed(self, reason: &str) {
        self.stop_reading();
        self.with_ranks(|Ranks { combining, .. }| {
            combining.worker = None;
            combining.updates.clear();
        });
        let sentence = format!(
            "the analysis of the job stopped ({reason}); it may need more memory than the browser \
             gives a page (4 GB): open fewer ranks, or use the command line, `dormer job DIR -o OUT`"
        );
        let failures = std::iter::once(rejected(None, sentence)).chain(self.failures());
        self.state.job.set(JobStage::Failed(failures.collect()));
    }

    /// What was read is combined.
    fn job_opened(self, opened: JobOpened) {
        let open = self.take(|inner| {
            let ranks = inner.ranks.as_mut()?;
            let of = &mut ranks.combining;
            let update = of.updates.pop_front()?;
            let now_ms = browser::now_ms();
            of.shown = (update.n_digests, now_ms - update.at_ms, now_ms);
            of.number += 1;
            let number = of.number;
            let has_trace = opened.overview.ranks.iter().map(|rank| {
                let at = ranks.file_of(&rank.file);
                at.is_some_and(|at| !ranks.reading.only_digests.contains(&at))
            });
            let open = OpenJob {
                has_trace: has_trace.collect(),
                opened,
                number,
                n_unread: update.n_unread,
                is_partial: !update.is_last,
                n_files: ranks.files.len(),
                opened_in_ms: now_ms - ranks.chosen_at_ms,
            };
            Some((Arc::new(open), ranks.progress()))
        });
        let Some((open, progress)) = open else {
            return;
        };
        browser::keep_focus();
        if open.is_partial {
            let took_ms = self.with_ranks(|ranks| ranks.combining.shown.1);
            self.state.job.set(JobStage::Reading(progress, Some(open)));
            self.show_so_far_in((PAUSE * took_ms.unwrap_or(0.0)) as u32 + 1);
        } else {
            self.state.job.set(JobStage::Open(open));
        }
    }

    fn job_failed(self, failure: Failure) {
        let update = self.with_ranks(|ranks| ranks.combining.updates.pop_front());
        // Files that are still being read may form a job.
        if update.flatten().is_some_and(|update| !update.is_last) {
            return;
        }
        let first = Rejected {
            name: None,
            failure,
        };
        let all = std::iter::once(first).chain(self.failures());
        self.state.job.set(JobStage::Failed(all.collect()));
    }

    fn failures(self) -> Vec<Rejected> {
        self.with_ranks(|ranks| ranks.failures())
            .unwrap_or_default()
    }

    /// Queries how the ranks ran a step.
    pub fn ask_job_step(self, request: StepRequest) {
        self.with_ranks(|Ranks { combining, .. }| {
            if let Some(worker) = &combining.worker {
                // If the worker cannot be reached, its own error reports it.
                let _ = worker.post(0, &Request::JobStep(request), &[]);
            }
        });
    }
}
