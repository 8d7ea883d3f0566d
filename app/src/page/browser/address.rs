//! The address: reads, writes and follows the URL's hash.

use std::cell::{Cell, RefCell};

use gloo::events::{EventListener, EventListenerOptions};
use gloo::timers::callback::Timeout;
use wasm_bindgen::JsCast;
use web_sys::{Element, Event};

use super::embedded::is_sandboxed;
use super::visits::{self, Left};
use super::{document, keep, now_ms, window};

thread_local! {
    static LAST_HASH_MS: Cell<f64> = const { Cell::new(f64::NEG_INFINITY) };
    /// The pending write of the hash.
    static LATE_HASH: RefCell<Option<Timeout>> = const { RefCell::new(None) };
    /// The hash of a sandboxed frame whose address cannot be changed, such as one loaded from `srcdoc`.
    static OWN_HASH: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// The URL's hash, `#` included.
pub fn hash() -> String {
    let own = OWN_HASH.with_borrow(Clone::clone);
    own.unwrap_or_else(|| window().location().hash().unwrap_or_default())
}

/// Writes the hash as a new history entry or in place of the current one, without a `hashchange` event.
fn write_hash(hash: &str, is_new: bool) {
    let Ok(history) = window().history() else {
        return;
    };
    let written = match is_new {
        true => history.push_state_with_url(&visits::leave(), "", Some(hash)),
        false => {
            let entry = history.state().unwrap_or_default();
            history.replace_state_with_url(&entry, "", Some(hash))
        }
    };
    if written.is_err() && is_sandboxed() {
        OWN_HASH.set(Some(hash.to_owned()));
    }
}

/// The current URL with another hash.
pub fn url_with(hash: &str) -> String {
    let here = window().location().href().unwrap_or_default();
    let before = here.split('#').next().unwrap_or_default();
    format!("{before}{hash}")
}

/// Changes the hash soon, without a new history entry and without a `hashchange` event.
///
/// Browsers allow only a few changes a second, and a held arrow key makes thirty, so only the last one of a burst is
/// written, when the burst is over. A change takes the browser some milliseconds, so other reactions, such as asking a
/// worker, come first.
pub fn replace_hash(hash: String) {
    const PAUSE_MS: f64 = 400.0;
    let rest = (PAUSE_MS + LAST_HASH_MS.get() - now_ms()).max(0.0);
    let here = self::hash();
    // If the user has navigated elsewhere in the meantime, stay there, even before the browser reports it.
    let write = move || {
        if self::hash() == here {
            LAST_HASH_MS.set(now_ms());
            write_hash(&hash, false);
        }
    };
    LATE_HASH.set(Some(Timeout::new(rest as u32, write)));
}

/// Goes on from one hash to another with a new history entry and without a `hashchange` event.
pub fn push_hash(from: &str, to: &str) {
    // The pending write was for the place that is left.
    LATE_HASH.set(None);
    write_hash(from, false);
    write_hash(to, true);
}

/// Calls back whenever the browser goes to another hash: a link, back, forward. Where it goes back to a place, with how
/// that was left.
pub fn on_hash_change(mut then: impl FnMut(String, Option<Left>) + 'static) {
    visits::start();
    keep(EventListener::new(&window(), "hashchange", move |_| {
        // The pending write was for the place that is left.
        LATE_HASH.set(None);
        then(hash(), visits::arrive());
    }));
}

/// Goes to another hash, as a link does.
pub fn go_to_hash(hash: &str) {
    if !is_sandboxed() {
        let _ = window().location().set_hash(hash);
        return;
    }
    // In a sandboxed frame the browser may block navigation.
    write_hash(hash, true);
    if let Ok(event) = Event::new("hashchange") {
        let _ = window().dispatch_event(&event);
    }
}

/// Follows links within the page if the browser does not.
pub fn follow_links() {
    if !is_sandboxed() {
        return;
    }
    let options = EventListenerOptions::enable_prevent_default();
    let follow = |event: &Event| {
        let target = event.target().and_then(|of| of.dyn_into::<Element>().ok());
        let link = target.and_then(|of| of.closest("a[href^='#']").ok().flatten());
        if let Some(hash) = link.and_then(|link| link.get_attribute("href")) {
            event.prevent_default();
            go_to_hash(&hash);
        }
    };
    keep(EventListener::new_with_options(
        &document(),
        "click",
        options,
        follow,
    ));
}
