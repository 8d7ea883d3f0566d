//! The summary of many traces, in a worker of its own.

use std::sync::Arc;

use gloo::events::EventListener;
use leptos::prelude::*;
use wasm_bindgen::prelude::*;
use web_sys::{File, Worker};

use super::workers::{listen, message_of, new_requests};
use super::{Engine, Waiting};
use crate::page::browser;
use crate::page::fleet::{FleetStage, VIEW};
use crate::page::state::Stage;
use crate::page::url::Focus;
use crate::protocol::{Failure, FleetRuns, FleetRunsQuery, OF_FLEET, Reply, Request, wire};

/// The start of a summary's text.
const START: &str = "{\"dormer_fleet\":";
/// A summary has at most 5 MB compressed.
const MOST_BYTES: f64 = 64e6;

/// The worker that holds the summary; it ends when this is dropped.
pub(super) struct FleetWorker {
    worker: Worker,
    name: String,
    chosen_at_ms: f64,
    requests: u32,
    _listeners: [EventListener; 2],
}

impl Drop for FleetWorker {
    fn drop(&mut self) {
        self.worker.terminate();
    }
}

/// Whether a file may be a summary, by its name and size; its first bytes decide.
pub(super) fn may_be_fleet(file: &File) -> bool {
    let name = file.name().to_ascii_lowercase();
    let named = name.ends_with(".json") || name.ends_with(".json.gz");
    named && file.size() <= MOST_BYTES
}

/// Whether a file that begins with this text is a summary.
pub(super) fn is_fleet(head: &str) -> bool {
    head.starts_with(START)
}

impl Engine {
    /// Opens a summary. An open trace stays open.
    pub(super) fn open_fleet(self, file: File) {
        if self
            .state
            .stage
            .with_untracked(|stage| matches!(stage, Stage::Loading(_)))
        {
            self.cancel();
        }
        self.state.open_error.set(Vec::new());
        self.state.fleet.set(FleetStage::Reading);
        let started = self.take(|inner| {
            let Some(files) = &inner.files else {
                inner.wanted_fleet = Some(file);
                return None;
            };
            let worker = match browser::start_worker(files, OF_FLEET) {
                Ok(worker) => worker,
                Err(why) => return Some(Err(why)),
            };
            let message = message_of(0, &Request::OpenFleet, std::slice::from_ref(&file));
            let posted = worker.post_message(&message);
            inner.fleet = Some(self.fleet_worker(worker, file.name()));
            Some(posted.map_err(|error| wire::error_text(&error)))
        });
        if let Some(Err(why)) = started {
            self.fleet_failed(why);
        }
        self.show_fleet();
    }

    /// Shows the open summary.
    pub fn show_fleet(self) {
        self.state.go(|place| {
            place.view = VIEW.to_owned();
            place.focus = Focus::default();
        });
    }

    fn fleet_worker(self, worker: Worker, name: String) -> FleetWorker {
        let listeners = listen(
            &worker,
            move |message| self.on_fleet_message(message),
            move |reason| self.fleet_failed(reason.to_owned()),
        );
        FleetWorker {
            worker,
            name,
            chosen_at_ms: browser::now_ms(),
            requests: 0,
            _listeners: listeners,
        }
    }

    fn on_fleet_message(self, message: &JsValue) {
        if let Some(reason) = wire::part(message, "crash").as_string() {
            self.fleet_failed(format!("reading it stopped ({reason})"));
            return;
        }
        if let Some(requests) = wire::part(message, "requests").as_f64() {
            self.inner.update_value(|inner| {
                if let Some(fleet) = &mut inner.fleet {
                    inner.past_requests += new_requests(&mut fleet.requests, requests as u32);
                }
            });
        }
        match wire::from_js(&wire::part(message, "body")) {
            Ok(Reply::FleetOpened(opened)) => {
                let about = self.inner.with_value(|inner| {
                    let fleet = inner.fleet.as_ref()?;
                    Some((fleet.name.clone(), fleet.chosen_at_ms))
                });
                if let Some((name, chosen_at_ms)) = about {
                    self.state.fleet.set(FleetStage::Open {
                        name,
                        opened: Arc::new(*opened),
                        ms: browser::now_ms() - chosen_at_ms,
                    });
                }
            }
            Ok(Reply::Failed(failure)) => self.fleet_failed(failure.sentence),
            Ok(Reply::Answer) => self.answered(message),
            _ => {}
        }
    }

    fn fleet_failed(self, sentence: String) {
        self.inner.update_value(|inner| inner.fleet = None);
        self.state
            .fleet
            .set(FleetStage::Failed(Failure::new(sentence)));
    }

    /// Queries runs of the summary.
    pub fn ask_fleet(self, query: FleetRunsQuery, then: impl FnOnce(FleetRuns) + 'static) {
        let waiting: Waiting = Box::new(move |value, _| {
            if let Ok(runs) = wire::from_js(&value) {
                then(runs);
            }
        });
        self.inner.update_value(|inner| {
            let Some(fleet) = &inner.fleet else { return };
            inner.last_id += 1;
            let message = message_of(inner.last_id, &Request::FleetRuns(query), &[]);
            if fleet.worker.post_message(&message).is_ok() {
                inner.waiting.insert(inner.last_id, waiting);
            }
        });
    }
}
