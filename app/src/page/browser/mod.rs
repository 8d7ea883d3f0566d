//! Everything the page asks of the browser. This file has what the others share.
//!
//! | file | what |
//! |---|---|
//! | `archive` | the files in an archive |
//! | `address` | reads, writes and follows the hash |
//! | `embedded` | the page as one file, and what is embedded in it |
//! | `worker` | workers, their messages, and requests |
//! | `fetched` | files of the page's own site |
//! | `files` | incoming files and downloads |
//! | `file_ports` | files that the page reads for its workers |
//! | `file_head` | the first text of a file |
//! | `stored_traces` | traces stored on this computer |
//! | `offline` | the offline copy of the page, and the page as an app |
//! | `senders` | other windows that send a trace |
//! | `focus` | the keyboard focus, and keys that no element handled |
//! | `layout` | sizes, positions, scrolling |
//! | `served` | where the page comes from, and requests to `dormer open` |

mod address;
mod archive;
mod embedded;
mod fetched;
mod file_head;
mod file_ports;
mod files;
mod focus;
mod layout;
mod offline;
mod senders;
mod served;
mod stored_traces;
mod visits;
mod worker;

use std::cell::RefCell;

use gloo::events::{EventListener, EventListenerOptions};
use gloo::timers::callback::Timeout;
use wasm_bindgen::prelude::*;
use web_sys::{Document, HtmlElement, HtmlInputElement, Window};

use crate::page::url::Theme;
pub use address::{
    follow_links, go_to_hash, hash, on_hash_change, push_hash, replace_hash, url_with,
};
pub use archive::members_of;
pub use embedded::{
    EmbeddedView, base64, compressed, cut_before, embedded_view, html_file, is_one_file,
    is_opened_as_file, is_sandboxed, page_file,
};
pub use fetched::{Found, fetched, found};
pub use file_head::{head_of, n_cores};
pub use file_ports::post;
pub use files::{
    Drag, Dropped, Half, choose_file, choose_folder, choose_reference, click, copy, download,
    download_file, on_drag, read_text, take_files, take_folder, take_waiting_drop,
};
pub use focus::{
    catch_focus, focus_leaves, focus_on, has_modifier, has_open_dialog, keep_focus, on_key,
    remember_focus, return_focus, reveal, types_text,
};
pub use layout::{
    bring_into_view, capture_pointer, colors_of, design_px, follow_size, go_to_element,
    is_wider_than, last_passed, lay_out_unseen, mono_letter, on_scroll, pointer_at, scroll_to_top,
    token_px, width_of,
};
pub use offline::{
    FrontPage, build, can_be_stored, copy_bytes, delete_build, front_page, offer_as_app, on_launch,
    store_build, stored_build,
};
pub use senders::{Sender, SenderMessage, SentTrace, on_sender_message};
pub use served::{
    PageSource, is_visible, json_of, local_time, notify_on_close, page_source, served_for,
};
pub use stored_traces::{StoredTrace, delete_trace, store_trace, stored_trace, stored_traces};
pub use visits::{Left, leaving, return_to};
pub use worker::{WorkerFiles, start_worker, watch_requests, worker_files};

thread_local! {
    /// Listeners that live as long as the page.
    static LISTENERS: RefCell<Vec<EventListener>> = const { RefCell::new(Vec::new()) };
}

fn window() -> Window {
    web_sys::window().expect("the page runs in a window")
}

fn document() -> Document {
    window().document().expect("a window has a document")
}

fn by_id<T: JsCast>(id: &str) -> Option<T> {
    document().get_element_by_id(id)?.dyn_into().ok()
}

fn first(css: &str) -> Option<web_sys::Element> {
    document().query_selector(css).ok()?
}

fn root() -> HtmlElement {
    document()
        .document_element()
        .and_then(|element| element.dyn_into().ok())
        .expect("an HTML document has a root element")
}

/// The page's own content security policy.
fn policy() -> String {
    let policy = first("meta[http-equiv=Content-Security-Policy]");
    policy
        .and_then(|policy| policy.get_attribute("content"))
        .unwrap_or_default()
}

/// Milliseconds since the page was opened.
pub fn now_ms() -> f64 {
    window().performance().map_or(0.0, |clock| clock.now())
}

fn keep(listener: EventListener) {
    LISTENERS.with_borrow_mut(|listeners| listeners.push(listener));
}

/// Sets the theme on the root element, where the style tokens read it.
pub fn set_theme(theme: Theme) {
    let _ = root().dataset().set("theme", theme.word());
}

/// Calls back when the system switches its colors.
pub fn on_system_colors(then: impl Fn() + Clone + 'static) {
    const QUERIES: [&str; 3] = [
        "(prefers-color-scheme: dark)",
        "(prefers-contrast: more)",
        "(forced-colors: active)",
    ];
    for query in QUERIES {
        if let Ok(Some(list)) = window().match_media(query) {
            let then = then.clone();
            keep(EventListener::new(&list, "change", move |_| then()));
        }
    }
}

/// Sets the title in the browser's tab.
pub fn set_title(title: &str) {
    document().set_title(title);
}

/// Tells tests and benchmarks that a report is on screen: the number of traces opened so far, the time the last one
/// took, and its worker's wasm memory.
pub fn mark_ready(loads: u32, opened_in_ms: f64, wasm_bytes: f64) {
    let marks = root().dataset();
    let _ = marks.set("wasmBytes", &wasm_bytes.to_string());
    let _ = marks.set("openedMs", &format!("{opened_in_ms:.1}"));
    let _ = marks.set("ready", &loads.to_string());
}

/// Makes the browser ask before the page is closed or reloaded while something would be lost.
pub fn ask_before_leaving(would_lose: impl Fn() -> bool + 'static) {
    let options = EventListenerOptions::enable_prevent_default();
    keep(EventListener::new_with_options(
        &window(),
        "beforeunload",
        options,
        move |event| {
            if would_lose() {
                event.prevent_default();
            }
        },
    ));
}

/// Draws names in one piece while a selection is copied: of a name that is cut in its middle, browsers copy two lines.
pub fn copy_whole_names() {
    const COPYING: &str = "copying";
    keep(EventListener::new(&document(), "copy", |_| {
        let _ = root().class_list().add_1(COPYING);
        Timeout::new(0, || {
            let _ = root().class_list().remove_1(COPYING);
        })
        .forget();
    }));
}

/// Calls back after the next frame is drawn.
pub fn after_paint(then: impl FnOnce() + 'static) {
    let next_task = Closure::once_into_js(move || {
        Timeout::new(0, then).forget();
    });
    let _ = window().request_animation_frame(next_task.unchecked_ref());
}

/// Calls back right before the next frame is drawn.
pub fn before_paint(then: impl FnOnce() + 'static) {
    let then = Closure::once_into_js(then);
    let _ = window().request_animation_frame(then.unchecked_ref());
}

/// The text of a text field; empty if there is no such field.
pub fn input_value(id: &str) -> String {
    by_id(id).map_or(String::new(), |input: HtmlInputElement| input.value())
}

/// Sets the text of a text field.
pub fn set_input_value(id: &str, value: &str) {
    if let Some(input) = by_id::<HtmlInputElement>(id) {
        input.set_value(value);
    }
}

/// Checks a checkbox or a radio button.
pub fn check(id: &str) {
    if let Some(input) = by_id::<HtmlInputElement>(id) {
        input.set_checked(true);
    }
}

/// Whether a checkbox or a radio button is checked.
pub fn is_checked(id: &str) -> bool {
    by_id(id).is_some_and(|input: HtmlInputElement| input.checked())
}

/// A text as a JSON string, quotes included.
pub fn json_text(text: &str) -> String {
    let json = js_sys::JSON::stringify(&JsValue::from_str(text));
    json.map_or_else(|_| "\"\"".to_owned(), String::from)
}

/// A text that the user asked this browser to store. Browsers may disable local storage.
pub fn stored_text(key: &str) -> Option<String> {
    window().local_storage().ok()??.get_item(key).ok()?
}

/// Stores a text in this browser, or deletes it.
pub fn store_text(key: &str, text: Option<&str>) {
    if let Ok(Some(storage)) = window().local_storage() {
        let _ = match text {
            Some(text) => storage.set_item(key, text),
            None => storage.remove_item(key),
        };
    }
}
