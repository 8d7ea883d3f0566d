//! What the tables of trees have in common: keys, indentation, the mark that opens a node.

use leptos::prelude::*;

use super::{RowAct, VirtualRow, VirtualRows};
use crate::page::browser;
use crate::protocol::TreeTarget;

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

/// A row of a tree.
pub trait TreeLine: VirtualRow {
    /// `None` for a leaf, else whether its children are shown.
    fn open(&self) -> Option<bool>;
}

/// What a tree does.
pub enum TreeAct<'a> {
    /// Selects a row.
    Select(TreeTarget),
    /// Opens or closes a node.
    Toggle(u32),
    /// Goes to a node's parent.
    Parent(u32),
    /// Whatever this key means to this tree alone, at this node; `false` if it means nothing.
    Press(&'a str, Option<u32>),
}

/// What rows and keys of a tree's table mean; `tree` does it.
pub fn tree_act<T: TreeLine>(
    rows: VirtualRows<T>,
    act: RowAct,
    tree: impl FnOnce(TreeAct) -> bool,
) -> bool {
    let drawn = |position| rows.drawn(position).map(|row| row.id());
    let act = match act {
        RowAct::Pick(row) => drawn(row).map(|node| TreeAct::Select(TreeTarget { row, node })),
        RowAct::Toggle(row) => drawn(row).map(TreeAct::Toggle),
        RowAct::Press(event) => {
            let here = untrack(|| rows.at_cursor());
            let node = here.as_ref().map(|row| row.id());
            let open = here.and_then(|row| row.open());
            match (event.key().as_str(), open) {
                ("ArrowRight", Some(true)) => {
                    rows.window.go_on();
                    return true;
                }
                ("ArrowRight", Some(false))
                | ("ArrowLeft", Some(true))
                | ("Enter" | " ", Some(_)) => node.map(TreeAct::Toggle),
                ("ArrowLeft", _) => node.map(TreeAct::Parent),
                ("/", _) => {
                    browser::focus_on("search");
                    return true;
                }
                (key, _) => return tree(TreeAct::Press(key, node)),
            }
        }
    };
    act.is_some_and(tree)
}
