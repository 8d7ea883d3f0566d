//! The workers: one with the open trace, one that waits for the next, and one for warm-up.
//!
//! The startup cost of the first trace is paid while the page waits for it: browsers compile the module's functions
//! when they are first called, and optimize those that are called often. All workers of a page share the compiled code.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use gloo::events::EventListener;
use gloo::timers::callback::Timeout;
use js_sys::{Array, Object};
use leptos::prelude::*;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{ErrorEvent, File, MessageEvent, Worker};

use super::{Engine, Inner};
use crate::page::browser::{self, WorkerFiles};
use crate::protocol::{Opened, Reply, Request, WARM_UP, wire};

/// The delay before starting workers that nobody waits for, so that the page is shown first.
const AFTER_MS: u32 = 300;

/// Gets what a worker sends, with the message that it came in.
type OnReply = Box<dyn Fn(Reply, &JsValue)>;

/// A worker, which ends when this is dropped.
pub(super) struct OwnWorker {
    pub(super) worker: Worker,
    _listeners: [EventListener; 2],
}

impl Drop for OwnWorker {
    fn drop(&mut self) {
        self.worker.terminate();
    }
}

impl OwnWorker {
    /// Sends a request, with its files.
    pub(super) fn post(&self, id: u32, request: &Request, files: &[File]) -> Result<(), String> {
        let posted = browser::post(&self.worker, &message_of(id, request, files));
        posted.map_err(|error| wire::error_text(&error))
    }
}

/// A worker for traces.
pub(super) struct Running {
    pub(super) worker: OwnWorker,
    /// It was given a trace; another trace needs another worker.
    pub(super) used: bool,
}

impl Engine {
    /// Starts a worker of a kind. `on_reply` gets what it sends, with the message; `on_stop` the reason if it stops. Not
    /// generic: compiled once for all kinds.
    pub(super) fn own_worker(
        self,
        files: &WorkerFiles,
        kind: &str,
        on_reply: OnReply,
        on_stop: Rc<dyn Fn(&str)>,
    ) -> Result<OwnWorker, String> {
        let worker = browser::start_worker(files, kind)?;
        let n_requests = Cell::new(0);
        let on_crash = on_stop.clone();
        let on_message = move |message: &JsValue| {
            if let Some(reason) = wire::part(message, "crash").as_string() {
                on_crash(&reason);
                return;
            }
            if let Some(now) = wire::part(message, "requests").as_f64() {
                let before = n_requests.replace(now as u32);
                self.count_requests(n_requests.get().saturating_sub(before));
            }
            match wire::from_js(&wire::part(message, "body")) {
                Ok(reply) => on_reply(reply, message),
                Err(error) => leptos::logging::error!("a message that cannot be read: {error}"),
            }
        };
        let listeners = [
            EventListener::new(&worker, "message", move |event| {
                if let Some(event) = event.dyn_ref::<MessageEvent>() {
                    on_message(&event.data());
                }
            }),
            EventListener::new(&worker, "error", move |event| {
                let reason = event.dyn_ref::<ErrorEvent>().map(ErrorEvent::message);
                on_stop(&reason.unwrap_or_default());
            }),
        ];
        Ok(OwnWorker {
            worker,
            _listeners: listeners,
        })
    }

    /// Adds to the number of requests that workers made.
    fn count_requests(self, n_new: u32) {
        if n_new > 0 {
            self.state.worker_requests.update(|all| *all += n_new);
        }
    }

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
            inner.running = None;
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
        self.inner.with_value(|inner| {
            let made = self.own_worker(
                inner.files.as_ref()?,
                "",
                Box::new(move |reply, message| self.on_reply(reply, message)),
                Rc::new(move |reason| self.crashed(reason)),
            );
            Some(made.map(|worker| Running {
                worker,
                used: false,
            }))
        })
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
        let on_reply = move |reply, _: &JsValue| match reply {
            Reply::Opened(opened) => drop(sample.replace(Some(opened))),
            Reply::Analyzed(analyzed) => {
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
            let worker = files
                .map(|files| self.own_worker(files, WARM_UP, Box::new(on_reply), Rc::new(|_| {})));
            inner.warming = worker.and_then(Result::ok);
        });
    }
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
