//! Where the page comes from, and requests to `dormer open` if it serves the page (`cli/src/open`).

use gloo::events::EventListener;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::Response;

use super::embedded::is_one_file;
use super::{document, keep, window};
use crate::protocol::wire::part;

/// Where the page comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageSource {
    /// A web server has its files, and any traces that it fetches.
    Site,
    /// `dormer open` serves it, with traces.
    Command,
    /// It is one file with everything in it, wherever it is stored: it requests nothing.
    OneFile,
}

/// Where the page comes from.
pub fn page_source() -> PageSource {
    match (served_for(), is_one_file()) {
        (Some(_), _) => PageSource::Command,
        (None, true) => PageSource::OneFile,
        (None, false) => PageSource::Site,
    }
}

/// The error if `dormer open` does not answer.
pub(super) const NO_ANSWER: &str = "`dormer open` has ended, or cannot be reached: start it again";

/// What `dormer open` serves the page for: `traces` or `runs`; `None` if something else serves it.
pub fn served_for() -> Option<String> {
    part(&part(&js_sys::global(), "dormer"), "served").as_string()
}

/// Tells `dormer open` when the page is closed or reloaded.
pub fn notify_on_close() {
    keep(EventListener::new(&window(), "pagehide", |_| {
        let _ = window().navigator().send_beacon("./bye");
    }));
}

/// Requests a JSON file beside the page; otherwise, the reason why it is not available.
pub async fn json_of(file: &str) -> Result<JsValue, String> {
    let no_answer = |_| NO_ANSWER.to_owned();
    let response = JsFuture::from(window().fetch_with_str(file)).await;
    let response: Response = response.map_err(no_answer)?.unchecked_into();
    if !response.ok() {
        return Err(format!(
            "the list of traces could not be loaded (status {})",
            response.status()
        ));
    }
    let json = response.json().map_err(no_answer)?;
    JsFuture::from(json).await.map_err(no_answer)
}

/// Whether the page is visible, not in a background tab.
pub fn is_visible() -> bool {
    !document().hidden()
}

/// A time in the local time zone: `2026-11-24 14:03`.
pub fn local_time(ms: f64) -> String {
    let at = js_sys::Date::new(&ms.into());
    format!(
        "{}-{:02}-{:02} {:02}:{:02}",
        at.get_full_year(),
        at.get_month() + 1,
        at.get_date(),
        at.get_hours(),
        at.get_minutes()
    )
}
