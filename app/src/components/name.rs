//! A name that fits its column by losing its middle.

use leptos::prelude::*;

/// Letters of the end that are always shown: what tells one long name from the next.
const TAIL: usize = 13;

/// A name whose middle is cut out where the column is too narrow. Its ends tell names apart, and
/// selecting it selects the whole.
#[component]
pub fn Name(
    /// The name.
    text: String,
) -> impl IntoView {
    let tail = text
        .char_indices()
        .rev()
        .nth(TAIL - 1)
        .map_or(0, |(start, _)| start);
    // A short name is its own head: cutting it would save nothing.
    let tail = if tail < TAIL / 2 { text.len() } else { tail };
    let (head, tail) = text.split_at(tail);
    let (head, tail) = (head.to_owned(), tail.to_owned());
    view! {
        <span class="cut">
            <span>{head}</span>
            <span>{tail}</span>
        </span>
    }
}
