//! The mark of categories that are not certain.

use leptos::prelude::*;

/// The mark of a category that a kernel's name alone tells.
pub const GUESS: &str = "\u{2248}";

/// What the mark means, under a table that has categories.
#[component]
pub fn CategoryLegend() -> impl IntoView {
    view! {
        <p class="fine under" data-testid="guess-legend">
            <span class="guess">{GUESS}</span>
            " marks a category that the kernel\u{2019}s name alone tells: no operator is known above it, as in GPU graphs."
        </p>
    }
}
