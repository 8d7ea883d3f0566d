//! What this browser stores for the page at the user's request: settings, GPU specs, traces, sites that may send traces,
//! and a copy of the page itself.

use leptos::prelude::*;

use super::{AppState, OwnGpu};
use crate::page::browser;

/// The keys for the specs of the user's own GPU.
const GPU_NAME: &str = "dormer.gpu.name";
const GPU_TEXT: &str = "dormer.gpu.text";

/// The key for whether single-key shortcuts are off.
const KEYS: &str = "dormer.keys";
const KEYS_OFF: &str = "off";

/// The key for trusted sites, whose traces are opened without asking; one a line.
const SITES: &str = "dormer.sites";

/// The key for whether traces are stored.
const TRACES: &str = "dormer.traces";

/// What was stored in an earlier session.
pub(super) struct Stored {
    pub(super) own_gpu: Option<OwnGpu>,
    pub(super) single_keys: bool,
    pub(super) sites: Vec<String>,
    pub(super) stores_traces: bool,
}

impl Stored {
    pub(super) fn read() -> Stored {
        let gpu = browser::stored_text(GPU_NAME).zip(browser::stored_text(GPU_TEXT));
        let sites = browser::stored_text(SITES).unwrap_or_default();
        Stored {
            own_gpu: gpu.map(|(name, text)| OwnGpu { name, text }),
            single_keys: browser::stored_text(KEYS).as_deref() != Some(KEYS_OFF),
            sites: sites.lines().map(str::to_owned).collect(),
            stores_traces: browser::stored_text(TRACES).is_some(),
        }
    }
}

/// Stores the specs of the user's own GPU, or deletes them.
pub(super) fn store_own_gpu(own: Option<&OwnGpu>) {
    browser::store_text(GPU_NAME, own.map(|own| own.name.as_str()));
    browser::store_text(GPU_TEXT, own.map(|own| own.text.as_str()));
}

/// Another window sends a trace, and the user is asked whether to open it.
#[derive(Debug, Clone, PartialEq)]
pub struct SenderQuestion {
    /// The site that sends it; `None` if its origin does not identify it.
    pub origin: Option<String>,
    /// The name of the trace.
    pub name: String,
    /// Its size; `None` if unknown.
    pub bytes: Option<f64>,
}

/// The state of the page's offline copy.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OfflineCopy {
    /// The build that is stored.
    pub kept: Option<String>,
    /// A different build on the server.
    pub newer: Option<String>,
    /// Progress or outcome of the current action.
    pub message: String,
    /// An action is in progress.
    pub is_busy: bool,
}

impl AppState {
    /// Turns keeping of newly opened traces on or off.
    pub fn store_traces(self, on: bool) {
        browser::store_text(TRACES, on.then_some("keep"));
        self.stores_traces.set(on);
    }

    /// Opens the traces of a site without asking from now on, or asks again; stored in this browser.
    pub fn trust_site(self, site: String, on: bool) {
        self.trusted_sites.update(|sites| {
            sites.retain(|known| *known != site);
            if on {
                sites.push(site);
            }
        });
        let sites = self.trusted_sites.get_untracked().join("\n");
        browser::store_text(
            SITES,
            Some(sites.as_str()).filter(|sites| !sites.is_empty()),
        );
    }

    /// Turns single-key shortcuts on or off; stored in this browser.
    pub fn use_single_keys(self, on: bool) {
        browser::store_text(KEYS, (!on).then_some(KEYS_OFF));
        self.single_keys.set(on);
    }
}
