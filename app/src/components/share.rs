//! A figure with a bar that shows its share.

use leptos::prelude::*;

/// A bar of some percent, and a figure beside it. The bars of a column line up. The bar has the
/// colour of the category around it.
#[component]
pub fn Share(
    /// How long the bar is; without, there is none.
    percent: Option<f64>,
    /// The figure.
    text: String,
) -> impl IntoView {
    let bar = percent.map(|percent| {
        view! {
            <span class="track" aria-hidden="true">
                <span style:width=format!("{:.2}%", percent.clamp(0.0, 100.0))></span>
            </span>
        }
    });
    view! {
        {bar}
        <span class="figure">{text}</span>
    }
}
