//! What the tables of trees have in common: keys, indentation, the mark that opens a node.

use leptos::ev::KeyboardEvent;
use leptos::prelude::*;

/// Indentation of a level.
const STEP_PX: u32 = 16;
/// From here on levels are indented less and less: calls nest hundreds deep, and names must stay
/// on screen.
const DEEP: u32 = 12;
/// What all deeper levels share.
const DEEP_PX: u32 = 96;

/// How far a name stands from the left: never more than some percent of the table.
pub fn indent(depth: u32, most_percent: u32) -> String {
    let deeper = depth.saturating_sub(DEEP);
    let px = depth.min(DEEP) * STEP_PX + DEEP_PX * deeper / (deeper + 20);
    format!("calc(8px + min({px}px, {most_percent}cqi))")
}

/// The mark of a node that opens and closes; the space of one for a leaf.
pub fn fold_mark(open: Option<bool>, toggle: impl Fn() + 'static) -> AnyView {
    let Some(open) = open else {
        return view! { <i class="leaf" aria-hidden="true"></i> }.into_any();
    };
    view! {
        <i
            class="fold"
            class:open=open
            aria-hidden="true"
            on:click=move |event| {
                event.stop_propagation();
                toggle();
            }
        ></i>
    }
    .into_any()
}

/// What a key does to a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeKey {
    /// Goes to a row; beyond the last one it is the last one.
    To(usize),
    /// Opens or closes the row it stands on.
    Toggle,
    /// Goes to the row's parent.
    Parent,
    /// Goes to the search.
    Search,
}

/// What a key does; `None` for one that does nothing here. `open` is that of the row it stands on,
/// once the row is known.
pub fn tree_key(
    event: &KeyboardEvent,
    here: Option<usize>,
    rows_per_screen: usize,
    open: Option<Option<bool>>,
) -> Option<TreeKey> {
    if event.ctrl_key() || event.meta_key() || event.alt_key() {
        return None;
    }
    let at = here.unwrap_or(0);
    let key = match (event.key().as_str(), open) {
        ("ArrowDown", _) => TreeKey::To(here.map_or(0, |position| position + 1)),
        ("ArrowUp", _) => TreeKey::To(at.saturating_sub(1)),
        ("PageDown", _) => TreeKey::To(at + rows_per_screen),
        ("PageUp", _) => TreeKey::To(at.saturating_sub(rows_per_screen)),
        ("Home", _) => TreeKey::To(0),
        ("End", _) => TreeKey::To(usize::MAX),
        ("ArrowRight", Some(Some(false))) => TreeKey::Toggle,
        ("ArrowRight", Some(Some(true))) => TreeKey::To(at + 1),
        ("ArrowLeft", Some(Some(true))) => TreeKey::Toggle,
        ("ArrowLeft", Some(_)) => TreeKey::Parent,
        ("Enter" | " ", Some(Some(_))) => TreeKey::Toggle,
        ("/", _) => TreeKey::Search,
        _ => return None,
    };
    Some(key)
}
