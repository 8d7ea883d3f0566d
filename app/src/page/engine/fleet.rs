//! The summary of many traces, in a worker of its own.

use std::rc::Rc;
use std::sync::Arc;

use leptos::prelude::*;
use wasm_bindgen::prelude::*;
use web_sys::File;

use super::workers::OwnWorker;
use super::{Engine, Waiting};
use crate::page::browser;
use crate::page::fleet::{FleetStage, VIEW};
use crate::page::url::Focus;
use crate::protocol::{Failure, FleetRuns, FleetRunsQuery, OF_FLEET, Reply, Request, wire};

/// The start of a summary's text.
const START: &str = "{\"dormer_fleet\":";
/// A summary has at most 5 MB compressed.
const MOST_BYTES: f64 = 64e6;

/// The worker that holds the summary.
pub(super) struct FleetWorker {
    worker: OwnWorker,
    name: String,
    chosen_at_ms: f64,
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
        if self.is_loading() {
            self.cancel();
        }
        self.state.open_error.set(Vec::new());
        self.state.fleet.set(FleetStage::Reading);
        let started = self.take(|inner| {
            let Some(files) = &inner.files else {
                inner.wanted_fleet = Some(file);
                return None;
            };
            let worker = self.own_worker(
                files,
                OF_FLEET,
                Box::new(move |reply, message| self.on_fleet_reply(reply, message)),
                Rc::new(move |reason| self.fleet_failed(format!("reading it stopped ({reason})"))),
            );
            let posted = worker.and_then(|worker| {
                worker.post(0, &Request::OpenFleet, std::slice::from_ref(&file))?;
                inner.fleet = Some(FleetWorker {
                    worker,
                    name: file.name(),
                    chosen_at_ms: browser::now_ms(),
                });
                Ok(())
            });
            Some(posted)
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

    fn on_fleet_reply(self, reply: Reply, message: &JsValue) {
        match reply {
            Reply::FleetOpened(opened) => {
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
            Reply::Failed(failure) => self.fleet_failed(failure.sentence),
            Reply::Answer => self.answered(message),
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
            let request = Request::FleetRuns(query);
            if fleet.worker.post(inner.last_id, &request, &[]).is_ok() {
                inner.waiting.insert(inner.last_id, waiting);
            }
        });
    }
}
