//! How close a figure comes to its limit.

use leptos::prelude::*;

use crate::protocol::Note;

/// A bar that is full at 100 percent, and the figure beside it. What is impossible has no bar: it
/// is no achievement.
#[component]
pub fn Gauge(
    /// How far it comes; without, there is no bar.
    percent: Option<f64>,
    /// The figure.
    text: String,
    /// What has to be said about it.
    note: Option<Note>,
) -> impl IntoView {
    match note {
        Some(Note::Odd(why)) => view! {
            <span class="odd" title=why>
                <span class="word">"above the roof"</span>
                <span class="figure">{text}<span class="unseen">", above the roof"</span></span>
            </span>
        }
        .into_any(),
        note => {
            let aside = note.map(|note| match note {
                Note::Odd(text) | Note::Aside(text) | Note::Guess(text) => text,
            });
            let bar = percent.map(|percent| {
                view! {
                    <span class="track gauge" aria-hidden="true">
                        <span style:width=format!("{:.2}%", percent.clamp(0.0, 100.0))></span>
                    </span>
                }
            });
            view! {
                <span title=aside.clone()>
                    {bar}
                    <span class="figure">
                        {text}
                        {aside.clone().map(|aside| view! {
                            <sup aria-hidden="true">"\u{2020}"</sup>
                            <span class="unseen">{format!(", {aside}")}</span>
                        })}
                    </span>
                </span>
            }
            .into_any()
        }
    }
}
