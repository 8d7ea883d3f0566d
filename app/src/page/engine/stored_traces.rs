//! Traces that are stored on this computer.

use leptos::prelude::*;

use super::{Engine, SAMPLE, TraceSource};
use crate::page::browser;
use crate::page::state::Stage;

impl Engine {
    /// Stores the files that are open on this computer.
    pub fn store_open_files(self) {
        let source = self.inner.with_value(|inner| inner.source.clone());
        let Some(TraceSource::Files(files)) = source else {
            return;
        };
        let state = self.state;
        wasm_bindgen_futures::spawn_local(async move {
            let mut error = String::new();
            for file in files {
                let name = file.name();
                if let Err(why) = browser::store_trace(file).await {
                    error = format!("{name} is not saved: {why}.");
                }
            }
            state.store_error.set(error);
            self.list_stored().await;
        });
    }

    /// Lists the traces that are stored on this computer.
    pub async fn list_stored(self) {
        let stored = browser::stored_traces().await;
        let _ = self.state.stored_traces.try_set(stored);
    }

    /// Opens a stored trace; if a link names it, only if nothing else was opened in the meantime.
    pub fn open_stored(self, name: String, is_of_link: bool) {
        let state = self.state;
        wasm_bindgen_futures::spawn_local(async move {
            let file = browser::stored_trace(&name).await;
            let is_free = state.stage.with_untracked(|stage| *stage == Stage::Empty);
            match file {
                Some(file) if is_free || !is_of_link => self.open(TraceSource::Files(vec![file])),
                Some(_) => {}
                None => state
                    .linked_trace
                    .set(Some(name).filter(|_| is_free || !is_of_link)),
            }
        });
    }

    /// The start of a newly opened page: lists stored traces, and opens what its link names or refers to.
    pub fn start(self) {
        let state = self.state;
        let wanted = state.place.with_untracked(|place| place.file.clone());
        wasm_bindgen_futures::spawn_local(self.list_stored());
        if state.place.with_untracked(|place| !place.urls.is_empty()) {
            self.open_link(state.place.get_untracked());
        } else if wanted == SAMPLE {
            state.linked_trace.set(Some(wanted));
        } else if !wanted.is_empty() {
            self.open_stored(wanted, true);
        }
    }
}
