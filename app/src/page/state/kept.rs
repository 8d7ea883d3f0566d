//! What this browser keeps for the page, where the user wants it: settings, figures of a GPU, traces, sites that may send
//! some, and a copy of the page itself.

use leptos::prelude::*;

use super::{AppState, OwnGpu};
use crate::page::browser;

/// The keys under which the figures of the user's own GPU are kept.
const GPU_NAME: &str = "dormer.gpu.name";
const GPU_TEXT: &str = "dormer.gpu.text";

/// The key under which it is kept that single keys do nothing.
const KEYS: &str = "dormer.keys";
const KEYS_OFF: &str = "off";

/// The key under which sites are kept whose traces are opened unasked, one a line.
const SITES: &str = "dormer.sites";

/// The key under which it is kept that traces are.
const TRACES: &str = "dormer.traces";

/// What was kept by an earlier page.
pub(super) struct Kept {
    pub(super) own_gpu: Option<OwnGpu>,
    pub(super) single_keys: bool,
    pub(super) sites: Vec<String>,
    pub(super) keeps_traces: bool,
}

impl Kept {
    pub(super) fn read() -> Kept {
        let gpu = browser::kept(GPU_NAME).zip(browser::kept(GPU_TEXT));
        let sites = browser::kept(SITES).unwrap_or_default();
        Kept {
            own_gpu: gpu.map(|(name, text)| OwnGpu { name, text }),
            single_keys: browser::kept(KEYS).as_deref() != Some(KEYS_OFF),
            sites: sites.lines().map(str::to_owned).collect(),
            keeps_traces: browser::kept(TRACES).is_some(),
        }
    }
}

/// Keeps the figures of the user's own GPU, or keeps none.
pub(super) fn keep_own_gpu(own: Option<&OwnGpu>) {
    browser::keep_text(GPU_NAME, own.map(|own| own.name.as_str()));
    browser::keep_text(GPU_TEXT, own.map(|own| own.text.as_str()));
}

/// Another window sends a trace, and the user is asked whether to open it.
#[derive(Debug, Clone, PartialEq)]
pub struct SenderQuestion {
    /// The site that sends it; `None` where that cannot be told from others.
    pub origin: Option<String>,
    /// What the trace is called.
    pub name: String,
    /// Its size; `None` where that is not known.
    pub bytes: Option<f64>,
}

/// What is known of the copy of the page for offline use.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OfflineCopy {
    /// The build that is kept.
    pub kept: Option<String>,
    /// Another build that the server has.
    pub newer: Option<String>,
    /// What is being done, or what came of it.
    pub said: String,
    /// Something is being done.
    pub is_busy: bool,
}

impl AppState {
    /// Keeps the traces that are opened from now on, or keeps no more.
    pub fn keep_traces(self, on: bool) {
        browser::keep_text(TRACES, on.then_some("keep"));
        self.keeps_traces.set(on);
    }

    /// Opens the traces of a site unasked from now on, or asks again; this browser keeps it.
    pub fn trust_site(self, site: String, on: bool) {
        self.trusted_sites.update(|sites| {
            sites.retain(|known| *known != site);
            if on {
                sites.push(site);
            }
        });
        let sites = self.trusted_sites.get_untracked().join("\n");
        browser::keep_text(
            SITES,
            Some(sites.as_str()).filter(|sites| !sites.is_empty()),
        );
    }

    /// Switches single keys on or off; this browser keeps it.
    pub fn use_single_keys(self, on: bool) {
        browser::keep_text(KEYS, (!on).then_some(KEYS_OFF));
        self.single_keys.set(on);
    }
}
