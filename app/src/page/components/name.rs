//! A name that fits its column by losing its middle.

use leptos::prelude::*;

/// Letters of the end that are always shown: what tells one long name from the next.
const TAIL: usize = 13;

/// A name whose middle is cut out where the column is too narrow. Its ends tell names apart, and
/// selecting it selects the whole.
pub fn cut_name(text: String) -> impl IntoView {
    match ends(&text) {
        None => view! { <span class="cut whole" prop:textContent=text></span> }.into_any(),
        Some((head, tail)) => {
            let (head, tail) = (head.to_owned(), tail.to_owned());
            view! {
                <span class="cut">
                    <span prop:textContent=head></span>
                    <span prop:textContent=tail></span>
                </span>
            }
            .into_any()
        }
    }
}

/// What gives way in a name and what does not; `None` for a short one, where cutting would save
/// nothing.
pub fn ends(text: &str) -> Option<(&str, &str)> {
    let (tail, _) = text.char_indices().rev().nth(TAIL - 1)?;
    (tail >= TAIL / 2).then(|| text.split_at(tail))
}
