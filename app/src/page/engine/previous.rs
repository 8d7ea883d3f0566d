//! What was open when another trace was chosen. It is restored as it was if the other one is canceled or cannot be
//! analyzed.

use std::collections::BTreeMap;

use leptos::prelude::*;

use super::{Engine, Running, TraceSource};
use crate::page::browser;
use crate::page::state::Stage;
use crate::page::url::{Focus, Place};
use crate::protocol::{Analyzed, Failure, Opened, ReferenceOpened, Rejected};

/// An open trace, its worker, and what the page showed of it.
pub(super) struct Previous {
    running: Running,
    opened: Box<Opened>,
    /// The findings that its worker sent since then.
    pub(super) analyzed: Option<Box<Analyzed>>,
    opened_in_ms: f64,
    source: Option<TraceSource>,
    file_name: String,
    reference: Stage<ReferenceOpened>,
    reference_name: String,
    place: Place,
    left_behind: BTreeMap<&'static str, Focus>,
    folds: BTreeMap<String, bool>,
}

impl Engine {
    /// Sets the open trace aside while another one is read.
    pub(super) fn set_aside(self) {
        let state = self.state;
        let Stage::Open(opened) = state.stage.get_untracked() else {
            return;
        };
        self.inner.update_value(|inner| {
            inner.waiting.clear();
            let Some(running) = inner.running.take() else {
                return;
            };
            inner.previous = Some(Previous {
                running,
                opened,
                analyzed: None,
                opened_in_ms: state.opened_in_ms.get_untracked(),
                source: inner.source.take(),
                file_name: state.file_name.get_untracked(),
                // A reference that is still being read is dropped.
                reference: match state.reference.get_untracked() {
                    open @ Stage::Open(_) => open,
                    _ => Stage::Empty,
                },
                reference_name: state.reference_name.get_untracked(),
                place: state.place.get_untracked(),
                left_behind: state.left_behind.get_untracked(),
                folds: state.folds.get_untracked(),
            });
        });
    }

    /// Restores what was open before, if anything, and stops whatever is being read.
    pub(super) fn restore(self) -> bool {
        let Some(previous) = self.take(|inner| inner.previous.take()) else {
            return false;
        };
        self.end_worker();
        self.inner.update_value(|inner| {
            inner.running = Some(previous.running);
            inner.source = previous.source;
        });
        let state = self.state;
        state.file_name.set(previous.file_name);
        state.opened_in_ms.set(previous.opened_in_ms);
        state.reference.set(previous.reference);
        state.reference_name.set(previous.reference_name);
        state.left_behind.set(previous.left_behind);
        state.folds.set(previous.folds);
        state.go(|place| *place = previous.place);
        state.stage.set(Stage::Open(previous.opened));
        if let Some(analyzed) = previous.analyzed {
            self.on_analyzed(analyzed);
        }
        true
    }

    /// A trace cannot be analyzed: shows why, beside the one that was open before or in its place.
    pub(super) fn failed(self, failure: Failure) {
        let state = self.state;
        let name = state.file_name.get_untracked();
        match self.restore() {
            true => self.not_opened(vec![Rejected::new(name, failure)]),
            false => state.stage.set(Stage::Failed(failure)),
        }
    }

    /// Reports what could not be opened while something else stays open.
    pub(super) fn not_opened(self, rejected: Vec<Rejected>) {
        self.state.open_error.set(rejected);
        browser::after_paint(|| browser::focus_on("open-error"));
    }
}
