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
pub fn fold_mark(open: Option<bool>) -> AnyView {
    let class = match open {
        None => "leaf",
        Some(false) => "fold",
        Some(true) => "fold open",
    };
    view! { <i class=class aria-hidden="true"></i> }.into_any()
}

/// What a key does to a tree, beyond moving the cursor up and down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeKey {
    /// Opens or closes the row it stands on.
    Toggle,
    /// Goes into the row it stands on: to the next one.
    Into,
    /// Goes to the row's parent.
    Parent,
    /// Goes to the search.
    Search,
}

/// What a key does; `None` for one that does nothing here. `open` is that of the row it stands on,
/// once the row is known.
pub fn tree_key(event: &KeyboardEvent, open: Option<Option<bool>>) -> Option<TreeKey> {
    let key = match (event.key().as_str(), open) {
        ("ArrowRight", Some(Some(false))) => TreeKey::Toggle,
        ("ArrowRight", Some(Some(true))) => TreeKey::Into,
        ("ArrowLeft", Some(Some(true))) => TreeKey::Toggle,
        ("ArrowLeft", Some(_)) => TreeKey::Parent,
        ("Enter" | " ", Some(Some(_))) => TreeKey::Toggle,
        ("/", _) => TreeKey::Search,
        _ => return None,
    };
    Some(key)
}
