//! Traces that other windows send, in the protocol of Perfetto's page.
//!
//! Traces from the page's own site are opened at once. For any other site the user is asked, one question at a time,
//! and can choose to always trust that site.

use leptos::prelude::*;

use super::Engine;
use crate::page::browser::{self, Sender, SenderMessage, SentTrace};
use crate::page::fleet::FleetStage;
use crate::page::ranks::JobStage;
use crate::page::state::{SenderQuestion, Stage};

/// What is known about other windows.
#[derive(Default)]
pub(super) struct Senders {
    /// A trace came; no further ones are accepted.
    is_over: bool,
    /// A sender wants status messages about its traces.
    wants_status: bool,
    /// The current question to the user.
    question: Option<(Sender, SentTrace)>,
    /// A trace that is being opened, whose sender waits for its status.
    waiting: Option<Waiting>,
}

struct Waiting {
    sender: Sender,
    name: String,
    /// The number of traces opened before it.
    n_loads: u32,
}

impl Engine {
    /// Listens to other windows from now on.
    pub fn listen_to_senders(self) {
        browser::on_sender_message(move |message, sender| self.on_sender_message(message, sender));
        let state = self.state;
        Effect::new(move || {
            let n_loads = state.loads.get();
            let shows_many = state.job.with(JobStage::is_shown) && state.shows_job()
                || state.fleet.with(FleetStage::is_open) && state.shows_fleet();
            let has_failed = state.stage.with(|stage| matches!(stage, Stage::Failed(_)))
                || state.open_error.with(|error| !error.is_empty())
                || state.job.with(|job| matches!(job, JobStage::Failed(_)));
            let is_done = |waiting: &Waiting| n_loads > waiting.n_loads || shows_many || has_failed;
            let done = self.take(|inner| inner.senders.waiting.take_if(|waiting| is_done(waiting)));
            if let Some(Waiting {
                sender,
                name,
                n_loads: before,
            }) = done
            {
                let is_open = n_loads > before || shows_many;
                sender.send_status(if is_open { "opened" } else { "failed" }, &name);
            }
        });
    }

    fn on_sender_message(self, message: SenderMessage, sender: Sender) {
        let senders = self.inner.with_value(|inner| {
            let senders = &inner.senders;
            (
                senders.is_over,
                senders.question.is_some(),
                inner.files.is_some(),
            )
        });
        let (false, is_asking, is_ready) = senders else {
            return;
        };
        match message {
            SenderMessage::Ping if is_ready => sender.answer(&"PONG".into()),
            SenderMessage::Ping => {}
            SenderMessage::WantsStatus => self
                .inner
                .update_value(|inner| inner.senders.wants_status = true),
            SenderMessage::Trace(trace) if is_asking => trace.refuse(),
            SenderMessage::Trace(trace) if trace.size == Some(0.0) => {
                if self.wants_status(&trace) {
                    sender.send_status("failed", &trace.name);
                }
            }
            SenderMessage::Trace(trace) if sender.is_own() || self.trusts(&sender) => {
                self.accept(sender, trace)
            }
            SenderMessage::Trace(trace) => {
                self.state.sender_question.set(Some(SenderQuestion {
                    origin: sender.has_origin().then(|| sender.origin.clone()),
                    name: trace.name.clone(),
                    bytes: trace.size,
                }));
                self.inner
                    .update_value(|inner| inner.senders.question = Some((sender, trace)));
            }
        }
    }

    fn trusts(self, sender: &Sender) -> bool {
        let trusted = self.state.trusted_sites;
        sender.has_origin() && trusted.with_untracked(|sites| sites.contains(&sender.origin))
    }

    /// The user's answer: open the trace or not, and whether to always trust its sender.
    pub fn answer_question(self, is_opened: bool, is_trusted: bool) {
        self.state.sender_question.set(None);
        let Some((sender, trace)) = self.take(|inner| inner.senders.question.take()) else {
            return;
        };
        if is_trusted && sender.has_origin() {
            self.state.trust_site(sender.origin.clone(), true);
        }
        if is_opened {
            self.accept(sender, trace);
        } else {
            if self.wants_status(&trace) {
                sender.send_status("refused", &trace.name);
            }
            trace.refuse();
        }
    }

    fn wants_status(self, trace: &SentTrace) -> bool {
        trace.wants_status || self.inner.with_value(|inner| inner.senders.wants_status)
    }

    fn accept(self, sender: Sender, trace: SentTrace) {
        let wants_status = self.wants_status(&trace);
        let name = trace.name.clone();
        self.inner
            .update_value(|inner| inner.senders.is_over = !trace.keeps_open);
        wasm_bindgen_futures::spawn_local(async move {
            match trace.file().await {
                Ok(file) => {
                    let n_loads = self.state.loads.get_untracked();
                    let waiting = wants_status.then(|| Waiting {
                        sender,
                        name,
                        n_loads,
                    });
                    self.inner
                        .update_value(|inner| inner.senders.waiting = waiting);
                    self.open_together(vec![file]);
                }
                Err(why) => {
                    if wants_status {
                        sender.send_status("failed", &name);
                    }
                    self.not_fetched(vec![super::rejected(name, why)]);
                }
            }
        });
    }
}
