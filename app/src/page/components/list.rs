//! Short tables, which grow down the page.

use crate::page::prelude::*;

/// The headings of columns; those of numbers are on the right.
pub fn heads<L: IntoView + 'static>(columns: impl IntoIterator<Item = (L, bool)>) -> Vec<AnyView> {
    each(columns, |(label, is_number)| {
        view! { <th scope="col" class:n=is_number>{label}</th> }.into_any()
    })
}

/// A table that scrolls sideways where it is wider than the page. The scroller takes the focus, so that all of it can
/// be read by keyboard.
pub fn list(
    label: impl Into<String>,
    head: impl IntoView + 'static,
    rows: impl IntoView + 'static,
) -> AnyView {
    let label = label.into();
    view! {
        <div class="wide" tabindex="0" role="group" aria-label=label>
            <table class="list">
                <thead><tr>{head}</tr></thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
    .into_any()
}
