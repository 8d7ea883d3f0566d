//! The job itself, in a worker of its own, which receives each file's digest, combines them, and answers queries about
//! steps. What has been read so far is shown while the rest is read.

use std::rc::Rc;
use std::sync::Arc;

use gloo::timers::callback::Timeout;
use js_sys::{Array, Uint8Array};
use leptos::prelude::*;

use super::ranks::Ranks;
use super::workers::message_of;
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

/// A request to combine the digests.
#[derive(Clone, Copy)]
pub(super) struct JobUpdate {
    n_digests: usize,
    n_unread: usize,
    is_last: bool,
    at_ms: f64,
}

impl Ranks {
    /// Whether there is enough new data to combine, and in how many milliseconds to do so.
    fn is_due(&self, now_ms: f64) -> Option<f64> {
        let (n_shown, took_ms, at_ms) = self.shown;
        let n = self.n_digests;
        let grew = n > 1 && n as f64 >= GROWTH * n_shown as f64;
        let is_more = grew && self.n_read < self.files.len();
        let at_ms = match n_shown {
            0 => self.chosen_at_ms + f64::from(super::ranks::SOON_MS),
            _ => at_ms + PAUSE * took_ms,
        };
        let is_free = self.updates.is_empty() && !self.is_together;
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
        let files = self.unreadable.iter().filter_map(|(at, why)| {
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
        let n_read = self.inner.with_value(|inner| {
            let ranks = inner.ranks.as_ref();
            ranks.map_or(0, |ranks| ranks.n_digests)
        });
        if n_read > 1 {
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
        self.combine_with(|ranks| ranks.window = window);
    }

    /// Compares links between nodes with this bandwidth per rank, in GB/s; `None` if unknown.
    pub fn choose_network(self, gbps: Option<f64>) {
        self.combine_with(|ranks| ranks.network_gbps = gbps);
    }

    fn combine_with(self, change: impl FnOnce(&mut Ranks)) {
        let is_reading = self.state.job.with_untracked(JobStage::is_reading);
        self.inner.update_value(|inner| {
            if let Some(ranks) = &mut inner.ranks {
                change(ranks);
            }
        });
        self.combine(!is_reading);
    }

    /// Shows what has been read so far, if that is due.
    pub(super) fn show_so_far(self) {
        let now_ms = browser::now_ms();
        let due = self.inner.try_with_value(|inner| {
            let ranks = inner.ranks.as_ref()?;
            ranks.is_due(now_ms)
        });
        match due.flatten() {
            Some(wait_ms) if wait_ms > 0.0 => {}
            Some(_) => self.combine(false),
            None => {}
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
            ranks.is_together |= is_last;
            if ranks.n_digests == 0 {
                return Some(ranks.failures());
            }
            if ranks.worker.is_none() {
                let started = self.own_worker(
                    inner.files.as_ref()?,
                    OF_JOB,
                    Box::new(move |reply, _| self.on_job_reply(reply)),
                    Rc::new(move |reason| self.job_crashed(reason)),
                );
                match started {
                    Ok(worker) => ranks.worker = Some(worker),
                    Err(why) => return Some(vec![rejected(None, why)]),
                }
            }
            let request = Request::OpenJob(JobRequest {
                window: ranks.window,
                unreadable: ranks.unreadable(),
                network_gbps: ranks.network_gbps,
            });
            let message = message_of(0, &request, &[]);
            let digests: Array = ranks.digests.iter().collect();
            let given: Array = ranks.digests.iter().map(Uint8Array::buffer).collect();
            let _ = js_sys::Reflect::set(&message, &"digests".into(), &digests);
            let worker = &ranks.worker.as_ref()?.worker;
            let posted = worker.post_message_with_transfer(&message, &given);
            ranks.digests.clear();
            ranks.updates.push_back(JobUpdate {
                n_digests: ranks.n_digests,
                n_unread: ranks.files.len() - ranks.n_read - ranks.unreadable.len(),
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
        self.inner.update_value(|inner| {
            if let Some(ranks) = &mut inner.ranks {
                ranks.worker = None;
                ranks.updates.clear();
            }
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
            let update = ranks.updates.pop_front()?;
            let now_ms = browser::now_ms();
            ranks.shown = (update.n_digests, now_ms - update.at_ms, now_ms);
            ranks.number += 1;
            let has_trace = opened.overview.ranks.iter().map(|rank| {
                let at = ranks.file_of(&rank.file);
                at.is_some_and(|at| !ranks.only_digests.contains(&at))
            });
            let open = OpenJob {
                has_trace: has_trace.collect(),
                opened,
                number: ranks.number,
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
            let pause_ms = self.inner.with_value(|inner| {
                let ranks = inner.ranks.as_ref();
                ranks.map_or(0.0, |ranks| PAUSE * ranks.shown.1)
            });
            self.state.job.set(JobStage::Reading(progress, Some(open)));
            self.show_so_far_in(pause_ms as u32 + 1);
        } else {
            self.state.job.set(JobStage::Open(open));
        }
    }

    fn job_failed(self, failure: Failure) {
        let update = self.take(|inner| inner.ranks.as_mut()?.updates.pop_front());
        // Files that are still being read may form a job.
        if update.is_some_and(|update| !update.is_last) {
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
        self.inner.with_value(|inner| {
            let ranks = inner.ranks.as_ref();
            ranks.map_or_else(Vec::new, Ranks::failures)
        })
    }

    /// Queries how the ranks ran a step.
    pub fn ask_job_step(self, request: StepRequest) {
        self.inner.with_value(|inner| {
            let worker = inner.ranks.as_ref().and_then(|of| of.worker.as_ref());
            if let Some(worker) = worker {
                // If the worker cannot be reached, its own error reports it.
                let _ = worker.post(0, &Request::JobStep(request), &[]);
            }
        });
    }
}
