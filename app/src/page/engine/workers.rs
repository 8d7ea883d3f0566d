//! The workers: one with the open trace, one that waits for the next, and one for warm-up.
//!
//! The startup cost of the first trace is paid while the page waits for it: browsers compile the module's functions
//! when they are first called, and optimize those that are called often. All workers of a page share the compiled code.

use std::cell::RefCell;

use gloo::events::EventListener;
use gloo::timers::callback::Timeout;
use js_sys::{Array, Object};
use leptos::prelude::*;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{ErrorEvent, File, MessageEvent, Worker};

use super::{Engine, Inner};
use crate::page::browser;
use crate::protocol::{Opened, Reply, Request, WARM_UP, wire};

/// The delay before starting workers that nobody waits for, so that the page is shown first.
const AFTER_MS: u32 = 300;

/// A worker, which ends when this is dropped.
pub(super) struct Running {
    pub(super) worker: Worker,
    /// It was given a trace; another trace needs another worker.
    pub(super) used: bool,
    pub(super) requests: u32,
    /// Dropped with the worker.
    _listeners: [EventListener; 2],
}

impl Drop for Running {
    fn drop(&mut self) {
        self.worker.terminate();
    }
}

/// A worker that opens the sample repeatedly. It ends when this is dropped.
pub(super) struct Warming {
    worker: Worker,
    /// Dropped with the worker.
    _listeners: [EventListener; 2],
}

impl Drop for Warming {
    fn drop(&mut self) {
        self.worker.terminate();
    }
}

/// Listens to the messages of a worker, and to errors that end it, with their reason.
pub(super) fn listen(
    worker: &Worker,
    on_message: impl Fn(&JsValue) + 'static,
    on_error: impl Fn(&str) + 'static,
) -> [EventListener; 2] {
    [
        EventListener::new(worker, "message", move |event| {
            if let Some(event) = event.dyn_ref::<MessageEvent>() {
                on_message(&event.data());
            }
        }),
        EventListener::new(worker, "error", move |event| {
            let reason = event.dyn_ref::<ErrorEvent>().map(ErrorEvent::message);
            on_error(&reason.unwrap_or_default());
        }),
    ]
}

impl Engine {
    /// Ends a worker that was given a trace, and provides a fresh one.
    pub(super) fn renew_worker(self) {
        let used = |inner: &Inner| inner.running.as_ref().is_some_and(|running| running.used);
        if self.inner.with_value(used) {
            self.end_worker();
        }
        if self.inner.with_value(|inner| inner.running.is_none()) {
            self.start_worker();
        }
    }

    pub(super) fn end_worker(self) {
        self.inner.update_value(|inner| {
            inner.waiting.clear();
            if let Some(running) = inner.running.take() {
                inner.past_requests += running.requests;
            }
        });
    }

    fn start_worker(self) {
        let made = self.take(|inner| inner.spare.take().map(Ok));
        match made.or_else(|| self.made_worker()) {
            None => {}
            Some(Err(reason)) => self.crashed(&reason),
            Some(Ok(worker)) => self
                .inner
                .update_value(|inner| inner.running = Some(worker)),
        }
    }

    /// A worker that was given nothing yet; `None` until the page has the worker's files.
    fn made_worker(self) -> Option<Result<Running, String>> {
        let started = self.inner.with_value(|inner| {
            let files = inner.files.as_ref()?;
            Some(browser::start_worker(files, ""))
        });
        let made = |worker: Worker| {
            let listeners = listen(
                &worker,
                move |message| self.on_message(message),
                move |reason| self.crashed(reason),
            );
            Running {
                worker,
                used: false,
                requests: 0,
                _listeners: listeners,
            }
        };
        started.map(|started| started.map(made))
    }

    pub(super) fn count_worker_requests(self, requests: u32) {
        let all = self.inner.try_update_value(|inner| {
            if let Some(running) = &mut inner.running {
                running.requests = requests;
            }
            inner.past_requests + requests
        });
        let all = all.unwrap_or(requests);
        if self.state.worker_requests.get_untracked() != all {
            self.state.worker_requests.set(all);
        }
    }

    /// Warms up soon, unless a trace is being opened by then.
    pub(super) fn warm_up_soon(self, on_sample: fn(Engine, Box<Opened>)) {
        Timeout::new(AFTER_MS, move || self.warm_up(on_sample)).forget();
    }

    /// Soon starts a worker that waits for the next trace.
    pub(super) fn keep_spare_soon(self) {
        Timeout::new(AFTER_MS, move || {
            let has_one = self.inner.try_with_value(|inner| inner.spare.is_some());
            if has_one == Some(false)
                && let Some(Ok(made)) = self.made_worker()
            {
                self.inner.update_value(|inner| inner.spare = Some(made));
            }
        })
        .forget();
    }

    fn warm_up(self, on_sample: fn(Engine, Box<Opened>)) {
        let sample = RefCell::default();
        let on_message = move |message: &JsValue| match wire::from_js(&wire::part(message, "body"))
        {
            Ok(Reply::Opened(opened)) => drop(sample.replace(Some(opened))),
            Ok(Reply::Analyzed(analyzed)) => {
                if let Some(mut opened) = sample.take() {
                    opened.overview = analyzed.overview;
                    on_sample(self, opened);
                }
            }
            _ => {}
        };
        self.inner.try_update_value(|inner| {
            let is_used = inner.running.as_ref().is_none_or(|running| running.used);
            let files = inner.files.as_ref().filter(|_| !is_used);
            let worker = files.map(|files| browser::start_worker(files, WARM_UP));
            let worker = worker.and_then(Result::ok);
            inner.warming = worker.map(|worker| Warming {
                _listeners: listen(&worker, on_message, |_| {}),
                worker,
            });
        });
    }
}

/// Sets a worker's number of requests, and returns how many of them are new.
pub(super) fn new_requests(known: &mut u32, now: u32) -> u32 {
    let before = std::mem::replace(known, now);
    now.saturating_sub(before)
}

/// A request as a message, with its files.
pub(super) fn message_of(id: u32, request: &Request, files: &[File]) -> Object {
    let mut parts = vec![("id", id.into()), ("body", wire::to_js(request))];
    if !files.is_empty() {
        let files: Array = files.iter().collect();
        parts.push(("files", files.into()));
    }
    wire::message(&parts)
}
