//! Places that the user left, by history entry: going back shows them as they were.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use gloo::timers::callback::Timeout;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{Element, HtmlElement};

use super::embedded::is_sandboxed;
use super::focus::focused;
use super::{after_paint, by_id, first, window};

thread_local! {
    /// The number of the shown history entry.
    static SHOWN: Cell<u64> = const { Cell::new(0) };
    static LEFT: RefCell<BTreeMap<u64, Left>> = const { RefCell::new(BTreeMap::new()) };
}

/// The element whose content scrolls.
const CONTENT: &str = "main";

/// How a place was left.
#[derive(Debug, Clone)]
pub struct Left {
    scrolled_px: i32,
    /// A selector of the link or the labeled button that had the focus.
    focused: Option<String>,
}

/// Numbers the first entry.
pub(super) fn start() {
    mark(new_entry());
}

/// Remembers how the shown place is left for a new entry, and returns what that entry is marked with.
pub(super) fn leave() -> JsValue {
    remember();
    let entry = new_entry();
    SHOWN.set(entry);
    JsValue::from_f64(entry as f64)
}

/// Another entry is shown: how it was left, if it was shown before.
pub(super) fn arrive() -> Option<Left> {
    // A sandboxed frame may have no history, and goes to other hashes by itself.
    if is_sandboxed() {
        return None;
    }
    remember();
    let history = window().history().ok()?;
    match history.state().ok().and_then(|entry| entry.as_f64()) {
        Some(entry) => {
            SHOWN.set(entry as u64);
            LEFT.with_borrow(|all| all.get(&(entry as u64)).cloned())
        }
        None => {
            mark(new_entry());
            None
        }
    }
}

/// Numbers go on rising when the page is loaded again, because the browser keeps its entries.
fn new_entry() -> u64 {
    (SHOWN.get() + 1).max(js_sys::Date::now() as u64)
}

fn mark(entry: u64) {
    SHOWN.set(entry);
    if let Ok(history) = window().history() {
        let _ = history.replace_state_with_url(&JsValue::from_f64(entry as f64), "", None);
    }
}

/// How the shown place is left if it is left now.
pub fn leaving() -> Left {
    let focused = focused().and_then(|element| {
        let of = |name: &str| Some(format!("[{name}=\"{}\"]", element.get_attribute(name)?));
        of("href").or_else(|| of("aria-label"))
    });
    let scrolled_px = by_id(CONTENT).map_or(0, |content: Element| content.scroll_top());
    Left {
        scrolled_px,
        focused,
    }
}

fn remember() {
    LEFT.with_borrow_mut(|all| all.insert(SHOWN.get(), leaving()));
}

/// Scrolls to where a place was left, and focuses what led away, as soon as they are drawn.
pub fn return_to(left: Left) {
    const TRIES: u32 = 8;
    fn attempt(mut left: Left, mut is_there: bool, tries: u32) {
        let Some(content) = by_id::<Element>(CONTENT) else {
            return;
        };
        let found = left.focused.as_deref().and_then(first);
        if let Some(found) = found.and_then(|found| found.dyn_into::<HtmlElement>().ok()) {
            let _ = found.focus();
            left.focused = None;
            is_there = false;
        }
        // The user may scroll on meanwhile.
        if !is_there {
            content.set_scroll_top(left.scrolled_px);
            is_there = content.scroll_top() == left.scrolled_px;
        }
        if (left.focused.is_some() || !is_there) && tries < TRIES {
            Timeout::new(60, move || attempt(left, is_there, tries + 1)).forget();
        }
    }
    after_paint(move || attempt(left, false, 0));
}
