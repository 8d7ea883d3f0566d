//! What was open when another trace was chosen. It is restored as it was if the other one is canceled or cannot be
//! analyzed.

use std::collections::BTreeMap;

use leptos::prelude::*;

use super::{Engine, Running, TraceSource};
use crate::page::browser;
use crate::page::state::Stage;
use crate::page::url::{Focus, Place};
use crate::protocol::{Failure, Judged, LeftOut, Opened, ReferenceOpened};

/// An open trace, its worker, and what the page showed of it.
pub(super) struct Before {
    running: Running,
    opened: Box<Opened>,
    /// The findings that its worker sent since then.
    pub(super) judged: Option<Box<Judged>>,
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
            inner.past_requests += running.requests;
            inner.before = Some(Before {
                running,
                opened,
                judged: None,
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
    pub(super) fn bring_back(self) -> bool {
        let Some(before) = self.take(|inner| inner.before.take()) else {
            return false;
        };
        self.end_worker();
        self.inner.update_value(|inner| {
            inner.past_requests -= before.running.requests;
            inner.running = Some(before.running);
            inner.source = before.source;
        });
        let state = self.state;
        state.file_name.set(before.file_name);
        state.opened_in_ms.set(before.opened_in_ms);
        state.reference.set(before.reference);
        state.reference_name.set(before.reference_name);
        state.left_behind.set(before.left_behind);
        state.folds.set(before.folds);
        state.go(|place| *place = before.place);
        state.stage.set(Stage::Open(before.opened));
        if let Some(judged) = before.judged {
            self.judged(judged);
        }
        true
    }

    /// A trace cannot be analyzed: shows why, beside the one that was open before or in its place.
    pub(super) fn failed(self, failure: Failure) {
        let state = self.state;
        let name = state.file_name.get_untracked();
        match self.bring_back() {
            true => self.not_opened(vec![LeftOut::new(name, failure)]),
            false => state.stage.set(Stage::Failed(failure)),
        }
    }

    /// Reports what could not be opened while something else stays open.
    pub(super) fn not_opened(self, left_out: Vec<LeftOut>) {
        self.state.open_error.set(left_out);
        browser::after_paint(|| browser::focus_on("open-error"));
    }
}
