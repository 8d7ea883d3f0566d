//! Files that a link names by their addresses: `#/?url=traces/rank0.json.gz`.
//!
//! They are fetched from the page's own site, one after another, and opened as if they were dropped.

use leptos::prelude::*;
use web_sys::{AbortController, File};

use super::{Engine, rejected};
use crate::page::browser;
use crate::page::state::Stage;
use crate::page::url::Place;
use crate::protocol::{OpeningStep, Progress, Rejected};

impl Engine {
    /// Fetches and opens the files that a link names.
    pub fn open_link(self, link: Place) {
        if self.inner.with_value(|inner| inner.files.is_none()) {
            // Wait until the page has everything it needs: requests are counted from then on.
            self.inner
                .update_value(|inner| inner.wanted_link = Some(link));
            return;
        }
        self.stop_fetching();
        let mut found = Vec::new();
        let mut missing = Vec::new();
        for url in &link.urls {
            match browser::found(url) {
                Ok(one) => found.push(one),
                Err(why) => missing.push(rejected(url.clone(), why)),
            }
        }
        let Ok(abort) = AbortController::new() else {
            return;
        };
        let stage = self.state.stage;
        if stage.with_untracked(|stage| matches!(stage, Stage::Failed(_))) {
            stage.set(Stage::Empty);
        }
        self.inner
            .update_value(|inner| inner.fetching = Some(abort.clone()));
        wasm_bindgen_futures::spawn_local(async move {
            let mut files = Vec::new();
            for (at, one) in found.iter().enumerate() {
                let name = match found.len() {
                    1 => one.name.clone(),
                    n => format!("{} ({} of {n})", one.name, at + 1),
                };
                let show_progress = |read, total| self.show_fetch_progress(&name, read, total);
                show_progress(0.0, 0.0);
                match browser::fetched(one, &abort.signal(), show_progress).await {
                    Ok(file) => files.push(file),
                    Err(why) => missing.push(rejected(one.name.clone(), why)),
                }
                if abort.signal().aborted() {
                    return;
                }
            }
            self.stop_fetching();
            if files.is_empty() {
                self.not_fetched(missing);
                return;
            }
            self.inner.update_value(|inner| {
                inner.fetched.clone_from(&files);
                inner.not_fetched = missing;
                inner.link = Some(link);
            });
            self.open_together(files);
        });
    }

    /// Stops fetching.
    pub fn stop_fetching(self) {
        if let Some(abort) = self.take(|inner| inner.fetching.take()) {
            abort.abort();
        }
        if self.state.fetching.with_untracked(Option::is_some) {
            self.state.fetching.set(None);
        }
    }

    /// Ends the fetching stage if the fetched files are not opened directly: nothing is loading any more.
    pub(super) fn is_fetched(self) {
        self.state.stage.update(|stage| {
            if matches!(stage, Stage::Loading(progress) if progress.step == OpeningStep::Fetching) {
                *stage = Stage::Empty;
            }
        });
    }

    /// Shows the progress: in place of the page if nothing is open, otherwise in a bar.
    fn show_fetch_progress(self, name: &str, bytes_read: f64, bytes_total: f64) {
        let state = self.state;
        let progress = Progress {
            step: OpeningStep::Fetching,
            bytes_read,
            bytes_total,
            events: 0.0,
        };
        let is_free = state.stage.with_untracked(|stage| !stage.is_open());
        if is_free && !untrack(|| state.shows_many()) {
            state.file_name.set(name.to_owned());
            state.stage.set(Stage::Loading(progress));
        } else {
            state.fetching.set(Some((name.to_owned(), progress)));
        }
    }

    /// Shows why there is nothing to open: in place of the page if nothing is open, otherwise in a bar.
    pub(super) fn not_fetched(self, rejected: Vec<Rejected>) {
        let state = self.state;
        let is_free = state.stage.with_untracked(|stage| !stage.is_open());
        match rejected.as_slice() {
            [Rejected { name, failure }] if is_free => {
                state.file_name.set(name.clone().unwrap_or_default());
                state.stage.set(Stage::Failed(failure.clone()));
            }
            _ => {
                if is_free {
                    state.stage.set(Stage::Empty);
                }
                self.not_opened(rejected);
            }
        }
    }

    /// The place in the link for which files are opened; `None` if it was used already, or if the files were not
    /// fetched for a link. In that case, clears the addresses, which no longer name the source of the open files.
    pub(super) fn link_of(self, files: &[File]) -> Option<Place> {
        let is_fetched = self.inner.with_value(|inner| {
            !files.is_empty() && files.iter().all(|file| inner.fetched.contains(file))
        });
        if !is_fetched {
            self.state.go(|place| place.urls.clear());
        }
        self.take(|inner| inner.link.take()).filter(|_| is_fetched)
    }

    /// Reports which of the files now being opened could not be fetched.
    pub(super) fn report_not_fetched(self) {
        let rejected = self.take(|inner| Some(std::mem::take(&mut inner.not_fetched)));
        self.state.open_error.set(rejected.unwrap_or_default());
    }
}
