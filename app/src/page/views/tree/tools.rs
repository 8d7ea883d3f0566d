//! Tree layout, how they are shown, and the ways around the tree.

use leptos::prelude::*;

use super::state::{Drawing, TreeState};
use crate::page::components::{icon, tree_search};
use crate::protocol::{TreeMode, TreeStep};

/// Levels that one button opens.
const LEVELS: std::ops::RangeInclusive<u32> = 1..=8;

/// Tree layout, and how they are drawn.
pub(super) fn modes(tree: TreeState) -> AnyView {
    let button = |(mode, slug, title): (TreeMode, &'static str, &'static str)| {
        let choose = move |_| tree.show_as(|focus| focus.table = slug.to_owned());
        let is_shown = move || tree.look.with(|look| look.mode == mode).to_string();
        view! { <button type="button" class="small" data-mode=slug aria-pressed=is_shown on:click=choose>{title}</button> }
    };
    let drawing = |(of, slug, title): (Drawing, &'static str, &'static str)| {
        let choose = move |_| {
            tree.list
                .state
                .look_at(|focus| focus.section = slug.to_owned())
        };
        let is_shown = move || (tree.drawing.get() == of).to_string();
        view! { <button type="button" class="small" data-drawing=slug aria-pressed=is_shown on:click=choose>{title}</button> }
    };
    view! {
        <div class="tree-ways">
            <div class="tabs tree-modes" role="group" aria-label="Tree layout">
                {TreeMode::ALL.map(button).into_iter().collect_view()}
            </div>
            <div class="tabs tree-modes" role="group" aria-label="Display">
                {Drawing::ALL.map(drawing).into_iter().collect_view()}
            </div>
        </div>
    }
    .into_any()
}

/// Search, and the ways around the tree.
pub(super) fn tools(tree: TreeState) -> AnyView {
    let hottest = move |_| tree.list.step(TreeStep::Hottest(None));
    view! {
        <div class="tools">
            {tree_search(Callback::new(move |direction| tree.list.find(direction)), tree.list.found)}
            <span class="grow"></span>
            <button type="button" id="hottest" title="Expand the path with the most GPU time from the top; press H to start at the selected call" on:click=hottest>
                {icon("flame")}
                "Hottest path"
            </button>
            <Show when=move || tree.drawing.get() == Drawing::Table>
            <select id="to-depth" aria-label="Expand to level" on:change=move |event| {
                if let Ok(depth) = event_target_value(&event).parse() {
                    tree.list.step(TreeStep::ToDepth(depth));
                }
            }>
                <option value="">"Expand to level…"</option>
                {LEVELS.map(|level| view! { <option value=level.to_string()>{format!("Level {level}")}</option> }).collect_view()}
            </select>
            <button type="button" id="close-all" on:click=move |_| tree.list.step(TreeStep::CloseAll)>
                "Collapse all"
            </button>
            </Show>
        </div>
    }
    .into_any()
}
