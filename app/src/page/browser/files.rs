//! Files that come in by dropping and choosing, and go out as downloads and copies.

use std::cell::RefCell;

use gloo::events::{EventListener, EventListenerOptions};
use gloo::timers::callback::Timeout;
use js_sys::{Array, Uint8Array};
use wasm_bindgen::prelude::*;
use web_sys::{
    Blob, BlobPropertyBag, DragEvent, File, HtmlAnchorElement, HtmlElement, HtmlInputElement, Url,
};

use super::{by_id, document, keep, window};
use crate::protocol::wire::part;

/// What a drag over the window does.
pub enum Drag {
    /// A file hovers over the window.
    Over(Half),
    /// It left.
    Gone,
    Dropped(Vec<File>, Half),
}

/// Half of the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Half {
    Left,
    Right,
}

impl Half {
    fn of(event: &DragEvent) -> Half {
        let width = window().inner_width().ok().and_then(|width| width.as_f64());
        match width.is_some_and(|width| f64::from(event.client_x()) > width / 2.0) {
            true => Half::Right,
            false => Half::Left,
        }
    }
}

/// Makes the whole window a drop zone.
pub fn on_drag(then: impl Fn(Drag) + Clone + 'static) {
    // `dragleave` also fires on the way from one element to the next; only when the innermost
    // element that was entered is left has the pointer gone from the window.
    let innermost: std::rc::Rc<RefCell<Option<web_sys::EventTarget>>> = Default::default();
    for kind in ["dragenter", "dragover", "dragleave", "drop"] {
        let (innermost, then) = (innermost.clone(), then.clone());
        let hear = move |event: &web_sys::Event| {
            let Some(event) = event.dyn_ref().filter(|event| carries_files(event)) else {
                return;
            };
            event.prevent_default();
            let half = Half::of(event);
            match kind {
                "dragenter" => {
                    innermost.replace(event.target());
                    then(Drag::Over(half));
                }
                "dragover" => then(Drag::Over(half)),
                "dragleave" if *innermost.borrow() == event.target() => then(Drag::Gone),
                "drop" => {
                    let files = event.data_transfer().and_then(|data| data.files());
                    let files = files.map(all_files).unwrap_or_default();
                    then(match files.is_empty() {
                        true => Drag::Gone,
                        false => Drag::Dropped(files, half),
                    });
                }
                _ => {}
            }
        };
        let options = EventListenerOptions::enable_prevent_default();
        let listener = EventListener::new_with_options(&window(), kind, options, hear);
        keep(listener);
    }
}

fn carries_files(event: &DragEvent) -> bool {
    event
        .data_transfer()
        .is_some_and(|data| data.types().includes(&"Files".into(), 0))
}

fn all_files(list: web_sys::FileList) -> Vec<File> {
    (0..list.length()).filter_map(|at| list.get(at)).collect()
}

/// The files a file input holds. The input is emptied, so that they can be chosen again.
pub fn take_files(event: &web_sys::Event) -> Vec<File> {
    let input = event.target().and_then(|target| target.dyn_into().ok());
    input.map_or_else(Vec::new, |input: HtmlInputElement| {
        let files = input.files().map(all_files).unwrap_or_default();
        input.set_value("");
        files
    })
}

/// Reads a small file as text; `then` hears `None` where that fails.
pub fn read_text(file: &File, then: impl FnOnce(Option<String>) + 'static) {
    let text = file.text();
    wasm_bindgen_futures::spawn_local(async move {
        let text = wasm_bindgen_futures::JsFuture::from(text).await;
        then(text.ok().and_then(|text| text.as_string()));
    });
}

/// Opens the file dialog of the page's file input.
pub fn choose_file() {
    click("file-input");
}

/// Opens the file dialog for the trace that the open one is compared with.
pub fn choose_reference() {
    click("reference-input");
}

/// Clicks an element, as the user might.
pub fn click(id: &str) {
    if let Some(element) = by_id::<HtmlElement>(id) {
        element.click();
    }
}

/// Hands bytes to the user as a file.
pub fn download(file_name: &str, mime: &str, bytes: &Uint8Array) {
    let options = BlobPropertyBag::new();
    options.set_type(mime);
    let Ok(blob) = Blob::new_with_u8_array_sequence_and_options(&Array::of1(bytes), &options)
    else {
        return;
    };
    let Ok(url) = Url::create_object_url_with_blob(&blob) else {
        return;
    };
    let link = document()
        .create_element("a")
        .ok()
        .and_then(|element| element.dyn_into::<HtmlAnchorElement>().ok());
    if let Some(link) = link {
        link.set_href(&url);
        link.set_download(file_name);
        link.click();
    }
    // The browser reads the blob after this task.
    Timeout::new(60_000, move || {
        let _ = Url::revoke_object_url(&url);
    })
    .forget();
}

/// Copies text to the clipboard; `done` hears whether it went well.
pub fn copy(text: &str, done: impl FnOnce(bool) + 'static) {
    let navigator = window().navigator();
    // Without a secure context (plain HTTP from another machine) there is no clipboard.
    if part(&navigator, "clipboard").is_undefined() {
        done(false);
        return;
    }
    let promise = navigator.clipboard().write_text(text);
    wasm_bindgen_futures::spawn_local(async move {
        done(wasm_bindgen_futures::JsFuture::from(promise).await.is_ok());
    });
}
