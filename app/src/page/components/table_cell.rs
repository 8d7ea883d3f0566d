//! The cells of long tables, each of as few elements as it takes: while a table scrolls, hundreds
//! of them are made and laid out within a frame.

use leptos::prelude::*;

use super::words::GUESS;
use super::words::{self, cut_name};
use crate::protocol::Note;

/// A text, or a number where the class is `n`.
pub fn text_cell(class: &'static str, text: String) -> AnyView {
    view! { <td class=class prop:textContent=text></td> }.into_any()
}

/// A name that loses its middle where the column is too narrow.
pub fn name_cell(class: &'static str, text: String, whole: Option<String>) -> AnyView {
    let title = whole.unwrap_or_else(|| text.clone());
    match words::ends(&text).is_some() {
        true => view! { <td class=class title=title>{cut_name(text)}</td> }.into_any(),
        false => view! { <td class=class title=title prop:textContent=text></td> }.into_any(),
    }
}

/// A category; one that is told by less than an operator's name has a mark that says so.
pub fn category_cell(text: String, note: Option<Note>) -> AnyView {
    let Some(Note::Guess(why)) = note else {
        return view! { <td class="soft" title=text.clone() prop:textContent=text></td> }
            .into_any();
    };
    let title = format!("{text}. {why}.");
    view! {
        <td class="soft" title=title>
            {text}
            <span class="guess" aria-hidden="true">{GUESS}</span>
            <span class="unseen">{format!(", {why}")}</span>
        </td>
    }
    .into_any()
}

/// A share with its bar, in the color of its row.
pub fn share_cell(percent: Option<f64>, text: String) -> AnyView {
    view! { <td class="n share" style=("--share", share(percent)) prop:textContent=text></td> }
        .into_any()
}

/// How close a figure comes to its limit, with a bar that is full there. What is impossible has no
/// bar: it is no achievement.
pub fn gauge_cell(percent: Option<f64>, text: String, note: Option<Note>) -> AnyView {
    match note {
        Some(Note::Odd(why)) => view! {
            <td class="n odd" title=why>
                <span class="word">"above the roofline"</span>
                {text}
                <span class="unseen">", above the roofline"</span>
            </td>
        }
        .into_any(),
        Some(Note::Aside(aside) | Note::Guess(aside)) => view! {
            <td class="n share gauge" title=aside.clone() style=("--share", share(percent))>
                {text}
                <sup aria-hidden="true">"\u{2020}"</sup>
                <span class="unseen">{format!(", {aside}")}</span>
            </td>
        }
        .into_any(),
        None => view! {
            <td class="n share gauge" style=("--share", share(percent)) prop:textContent=text></td>
        }
        .into_any(),
    }
}

/// How much of a bar is full; without, there is none.
fn share(percent: Option<f64>) -> Option<String> {
    percent.map(|percent| format!("{:.2}%", percent.clamp(0.0, 100.0)))
}
