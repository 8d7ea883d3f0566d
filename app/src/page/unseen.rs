//! Draws the Overview of the sample while the page waits, where nobody sees it: when the first trace comes, the code
//! that draws it is compiled, and its fonts are loaded.

use crate::page::components::header::navigation;
use crate::page::prelude::*;
use crate::page::state::Stage;
use crate::page::views::overview::overview;
use crate::protocol::Opened;

/// Draws it with a state of its own, and removes it.
pub fn draw(engine: Engine, opened: Box<Opened>) {
    let owner = Owner::new();
    owner.with(|| {
        let state = AppState::default();
        state.overview.set(opened.overview.clone());
        state.stage.set(Stage::Open(opened));
        provide_context(state);
        provide_context(engine);
        browser::lay_out_unseen(|| view! { {navigation()} <main>{overview()}</main> });
    });
    owner.cleanup();
}
