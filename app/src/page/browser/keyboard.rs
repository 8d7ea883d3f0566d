//! Keys that no element took for itself.

use gloo::events::{EventListener, EventListenerOptions};
use wasm_bindgen::JsCast;
use web_sys::KeyboardEvent;

use super::{first, keep, window};

/// Calls back for every key that no element took for itself.
pub fn on_key(then: impl Fn(&KeyboardEvent) + 'static) {
    let options = EventListenerOptions::enable_prevent_default();
    keep(EventListener::new_with_options(
        &window(),
        "keydown",
        options,
        move |event| {
            if let Some(event) = event.dyn_ref::<KeyboardEvent>()
                && !event.default_prevented()
            {
                then(event);
            }
        },
    ));
}

/// Whether an event comes from an element that takes what is typed.
pub fn types_text(event: &web_sys::Event) -> bool {
    let element = event.target().and_then(|target| target.dyn_into().ok());
    element.is_some_and(|element: web_sys::Element| {
        let field = element.closest("input, select, textarea, [contenteditable]");
        field.is_ok_and(|field| field.is_some())
    })
}

/// Whether a dialog stands before the page.
pub fn has_open_dialog() -> bool {
    first("dialog[open]").is_some()
}
