//! The mark of categories that are not certain.

use leptos::prelude::*;

/// The mark of a category that a kernel's name alone tells.
pub const GUESS: &str = "\u{2248}";

/// What the mark means, under a table that has categories.
pub fn category_legend() -> impl IntoView {
    view! {
        <p class="fine under" data-testid="guess-legend">
            <span class="guess">{GUESS}</span>
            " marks a category inferred from the kernel name alone: no launching operator is known, as in GPU graphs."
        </p>
    }
}
