//! The keyboard: where the focus moves and returns to, and keys that no element handled.

use std::cell::RefCell;

use gloo::events::{EventListener, EventListenerOptions};
use gloo::timers::callback::Timeout;
use wasm_bindgen::JsCast;
use web_sys::{HtmlElement, KeyboardEvent};

use super::{after_paint, by_id, document, first, keep, window};

thread_local! {
    /// The element that had the focus before it moved into a panel.
    static FOCUS: RefCell<Option<HtmlElement>> = const { RefCell::new(None) };
}

/// Focuses an element.
pub fn focus_on(id: &str) {
    if let Some(element) = by_id::<HtmlElement>(id) {
        let _ = element.focus();
    }
}

/// Focuses an element and opens the folded parts around it.
pub fn reveal(id: &str) {
    if let Some(element) = by_id::<HtmlElement>(id) {
        if let Ok(Some(folded)) = element.closest("details") {
            let _ = folded.set_attribute("open", "");
        }
        let _ = element.focus();
    }
}

/// The focused element; `None` if there is none.
pub(super) fn focused() -> Option<HtmlElement> {
    let element: HtmlElement = document().active_element()?.dyn_into().ok()?;
    let is_body = document().body().is_some_and(|body| body == element);
    (!is_body).then_some(element)
}

/// Restores the focus to the element with the same id after the focused one is redrawn.
pub fn keep_focus() {
    let id = focused().map(|element| element.id());
    if let Some(id) = id.filter(|id| !id.is_empty()) {
        after_paint(move || {
            if focused().is_none() {
                focus_on(&id);
            }
        });
    }
}

/// Remembers the focused element, for [`return_focus`].
pub fn remember_focus() {
    FOCUS.set(focused());
}

/// Restores the focus to the remembered element; if that is gone, to the first of `others` that exists.
pub fn return_focus(others: &[&str]) {
    let before = FOCUS.take().filter(|element| element.is_connected());
    let other = || others.iter().find_map(|css| first(css))?.dyn_into().ok();
    let before = before.or_else(other);
    if let Some(element) = before {
        let _ = element.focus();
    }
}

/// If the focus is lost, or is in an element of a view that was left: focuses the first of the wanted elements as soon
/// as it exists, or finally the element with the given id.
pub fn catch_focus(left: Option<&'static str>, wanted: &'static [&'static str], id: &'static str) {
    const TRIES: u32 = 8;
    fn attempt(
        left: Option<&'static str>,
        wanted: &'static [&'static str],
        id: &'static str,
        tries: u32,
    ) {
        let is_left = |focused: &HtmlElement| {
            let around = left.map(|css| focused.closest(css));
            matches!(around, Some(Ok(Some(_))))
        };
        if focused().is_some_and(|focused| !is_left(&focused)) {
            return;
        }
        let found = wanted.iter().find_map(|css| first(css));
        match found.and_then(|element| element.dyn_into::<HtmlElement>().ok()) {
            Some(element) => drop(element.focus()),
            None if tries == TRIES => focus_on(id),
            None => {
                let again = move || attempt(left, wanted, id, tries + 1);
                Timeout::new(60, again).forget();
            }
        }
    }
    after_paint(move || attempt(left, wanted, id, 0));
}

/// Whether the focus moves from an element to one outside it.
pub fn focus_leaves(element: &web_sys::Element, event: &web_sys::FocusEvent) -> bool {
    event
        .related_target()
        .and_then(|to| to.dyn_into::<web_sys::Node>().ok())
        .is_some_and(|to| !element.contains(Some(&to)))
}

/// Calls back for every key that no element handled.
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

/// Whether an event comes from an element that accepts typed text.
pub fn types_text(event: &web_sys::Event) -> bool {
    let element = event.target().and_then(|target| target.dyn_into().ok());
    element.is_some_and(|element: web_sys::Element| {
        let field = element.closest("input, select, textarea, [contenteditable]");
        field.is_ok_and(|field| field.is_some())
    })
}

/// Whether a key is pressed together with Ctrl, Meta or Alt.
pub fn has_modifier(event: &web_sys::KeyboardEvent) -> bool {
    event.ctrl_key() || event.meta_key() || event.alt_key()
}

/// Whether a modal dialog is open.
pub fn has_open_dialog() -> bool {
    first("dialog[open]").is_some()
}
