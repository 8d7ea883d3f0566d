//! Messages of a trace's worker, and the page's reactions to them.

use leptos::prelude::*;
use wasm_bindgen::prelude::*;

use super::{Engine, TraceSource, shown_name};
use crate::page::browser;
use crate::page::state::Stage;
use crate::protocol::wire;
use crate::protocol::{Analyzed, Failure, Opened, Rejected, Reply};

impl Engine {
    pub(super) fn on_reply(self, reply: Reply, message: &JsValue) {
        match reply {
            Reply::Progress(progress) => self.state.stage.set(Stage::Loading(progress)),
            Reply::Opened(opened) => self.opened(opened),
            Reply::Analyzed(analyzed) => self.on_analyzed(analyzed),
            Reply::Failed(failure) => {
                self.offer_where_too_many(&failure);
                self.failed(failure);
            }
            Reply::IsJob => self.open_as_job(),
            Reply::AddProgress(now) => self.state.adding.update(|adding| {
                if let Some((_, progress)) = adding {
                    *progress = now;
                }
            }),
            Reply::Added(opened) => {
                if let Some(files) = self.added() {
                    self.inner.update_value(|inner| {
                        if let Some(TraceSource::Files(open)) = &mut inner.source {
                            open.extend(files);
                        }
                    });
                    self.merged(opened);
                }
            }
            Reply::Replaced(opened) => {
                if let Some(files) = self.added() {
                    self.inner
                        .update_value(|inner| inner.source = Some(TraceSource::Files(files)));
                    self.state.reset_for_other_trace();
                    self.opened(opened);
                }
            }
            Reply::NotAdded(rejected) => {
                if self.added().is_some() {
                    self.not_opened(rejected);
                }
            }
            Reply::ReferenceProgress(now) => self.state.reference.update(|stage| {
                if let Stage::Loading(progress) = stage {
                    *progress = now;
                }
            }),
            Reply::ReferenceOpened(opened) => self.reference_read(Stage::Open(opened)),
            Reply::ReferenceFailed(failure) => self.reference_read(Stage::Failed(failure)),
            Reply::BelowOpened(failure) => self.below_opened(failure),
            Reply::Answer => self.answered(message),
            // Workers of a single rank's file, a job or a fleet send these; they have their own handlers.
            Reply::Digest(_)
            | Reply::JobOpened(_)
            | Reply::JobFailed(_)
            | Reply::JobStep(_)
            | Reply::FleetOpened(_) => {}
        }
    }

    /// Another trace is open.
    pub(super) fn opened(self, mut opened: Box<Opened>) {
        let state = self.state;
        let interrupted = self.take(|inner| Some(std::mem::take(&mut inner.interrupted)));
        let interrupted = interrupted.unwrap_or_default();
        if opened.is_capture && !interrupted.is_empty() {
            // The capture came while its trace was being read: open both together.
            let own = self.inner.with_value(|inner| inner.source.clone());
            let own = match own {
                Some(TraceSource::Files(files)) => files,
                _ => Vec::new(),
            };
            self.open(TraceSource::Files([interrupted, own].concat()));
            return;
        }
        state.file_name.set(opened.file_name.clone());
        state.go(|place| place.file.clone_from(&opened.file_name));
        let reference = opened.reference.take();
        let has_reference = reference.is_some();
        state.reference.set(match reference {
            Some((name, reference)) => {
                state.reference_name.set(name);
                Stage::Open(reference)
            }
            None => Stage::Empty,
        });
        self.show(opened);
        // A page with both embedded opens at its sender's place.
        let is_sent = state.has_embedded && state.loads.get_untracked() == 1;
        if has_reference && !is_sent && !self.shows_timelines_of_ranks() {
            self.go_to_comparison();
        }
        if state.stores_traces.get_untracked() {
            self.store_open_files();
        }
    }

    /// Shows what is open; its findings may follow.
    pub(super) fn show(self, mut opened: Box<Opened>) {
        let state = self.state;
        let has_findings = opened.overview.findings.is_some();
        state.overview.set(opened.overview.clone());
        state.opened_in_ms.set(self.since_chosen_ms());
        state.loads.update(|loads| *loads += 1);
        state.report.update(|report| *report += 1);
        self.inner.update_value(|inner| inner.previous = None);
        let wasm_bytes = opened.wasm_bytes;
        let rejected = std::mem::take(&mut opened.rejected);
        state.stage.set(Stage::Open(opened));
        if has_findings {
            self.is_shown(wasm_bytes);
        }
        if !rejected.is_empty() {
            self.not_opened(rejected);
        }
    }

    /// The findings of the open trace, or of the one that was open before another was chosen.
    pub(super) fn on_analyzed(self, analyzed: Box<Analyzed>) {
        let state = self.state;
        if !state.stage.with_untracked(Stage::is_open) {
            self.inner.update_value(|inner| {
                if let Some(previous) = &mut inner.previous {
                    previous.analyzed = Some(analyzed);
                }
            });
            return;
        }
        state.overview.set(analyzed.overview);
        state.opened_in_ms.set(self.since_chosen_ms());
        self.is_shown(analyzed.wasm_bytes);
    }

    /// Everything that is shown first of a trace has arrived.
    fn is_shown(self, wasm_bytes: f64) {
        let state = self.state;
        let steps = state.stage.with_untracked(|stage| match stage {
            Stage::Open(opened) => opened.steps.clone(),
            _ => Vec::new(),
        });
        if let Some(step) = self.drilled(&steps) {
            state.analyze(Some(step));
        }
        self.keep_spare_soon();
        let took_ms = self.since_chosen_ms();
        browser::after_paint(move || {
            browser::mark_ready(state.loads.get_untracked(), took_ms, wasm_bytes);
        });
    }

    pub(super) fn answered(self, message: &JsValue) {
        let id = wire::part(message, "id").as_f64().unwrap_or(0.0) as u32;
        if let Some(waiting) = self.take(|inner| inner.waiting.remove(&id)) {
            let bytes = wire::part(message, "bytes").dyn_into().ok();
            waiting(wire::part(message, "value"), bytes);
        }
    }

    /// The worker trapped: it ran out of memory, or has a bug.
    pub(super) fn crashed(self, reason: &str) {
        self.end_worker();
        let failure = Failure::new(format!(
            "the analysis stopped ({reason}); the trace may need more memory than the browser \
                 gives a page (4 GB): record fewer steps, or use the command line"
        ));
        let state = self.state;
        let source = self.inner.with_value(|inner| inner.source.clone());
        let is_second = matches!(state.reference.get_untracked(), Stage::Loading(_));
        let is_open = state.stage.with_untracked(Stage::is_open);
        let added = self.added().map(|files| shown_name(&files));
        match (source, added) {
            // The second trace was too much: the first is opened again.
            (Some(source), _) if is_second => {
                self.open_as(source, true);
                state.reference.set(Stage::Failed(failure));
            }
            (Some(source), Some(name)) => {
                self.open_as(source, true);
                state.open_error.set(vec![Rejected::new(name, failure)]);
            }
            (Some(TraceSource::Files(files)), None) if files.len() > 1 && !is_open => {
                let names = shown_name(&files);
                state.stage.set(Stage::Empty);
                self.open(TraceSource::Files(files.into_iter().take(1).collect()));
                state.open_error.set(vec![Rejected::new(names, failure)]);
            }
            _ => self.failed(failure),
        }
    }
}
