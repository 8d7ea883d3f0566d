//! A category in words, and whether it is certain.

use leptos::prelude::*;

use crate::protocol::Note;

/// The mark of a category that a kernel's name alone tells.
pub const GUESS: &str = "\u{2248}";

/// A category; one that is told by less than an operator's name has a mark that says so.
#[component]
pub fn Category(
    /// What it is called.
    text: String,
    /// What has to be said about it.
    note: Option<Note>,
) -> impl IntoView {
    let guess = note.and_then(|note| match note {
        Note::Guess(why) => Some(why),
        Note::Odd(_) | Note::Aside(_) => None,
    });
    let mark = guess.clone().map(|why| {
        view! {
            <span class="guess" aria-hidden="true">{GUESS}</span>
            <span class="unseen">{format!(", {why}")}</span>
        }
    });
    let title = match &guess {
        Some(why) => format!("{text}. {why}."),
        None => text.clone(),
    };
    view! { <span title=title>{text}{mark}</span> }
}

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
