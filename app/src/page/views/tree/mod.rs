//! Call tree: who called what, and the time it led to: as it was recorded, or put together by name; as a
//! table or as blocks.
//!
//! ```text
//! worker ─rows──→ VirtualRows ─ table ┐
//!        ─blocks→ Scene ────── flame  ├─ one selection, told in `about`
//! tools, keys ──→ TreeState ──────────┘
//! ```
//!
//! The worker keeps which nodes are open and answers with rows of the unfolded tree, or with the
//! blocks that can be seen, so the page holds a screenful whatever the size of the trace.

mod about;
mod flame;
mod state;
mod table;
mod tools;

use leptos::prelude::*;

use crate::page::engine::Engine;
use crate::page::state::AppState;
use about::about;
use flame::flame;
use state::{Drawing, TreeState};
use table::table;
use tools::{modes, tools};

/// The calls.
pub fn tree() -> impl IntoView {
    let state = expect_context::<AppState>();
    let engine = expect_context::<Engine>();
    let tree = TreeState::new(state, engine);
    let is_table = Memo::new(move |_| tree.drawing.get() == Drawing::Table);
    let by_cpu = Memo::new(move |_| tree.drawing.get() == Drawing::FlameByCpu);
    view! {
        <h1 class="unseen">"Call tree"</h1>
        {modes(tree)}
        {tools(tree)}
        {move || {
            let is_table = is_table.get();
            untrack(|| if is_table { table(tree) } else { flame(tree, engine, by_cpu) })
        }}
        {about(tree)}
    }
}
