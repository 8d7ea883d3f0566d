//! Labels with their values.

use leptos::prelude::*;

/// A list of labels with their values; nothing where there are none.
#[component]
pub fn Pairs(
    /// The class of the list.
    class: &'static str,
    /// Label and value.
    pairs: Vec<(String, String)>,
) -> impl IntoView {
    (!pairs.is_empty()).then(|| {
        let pairs = pairs.into_iter();
        let pairs =
            pairs.map(|(label, value)| view! { <div><dt>{label}</dt><dd>{value}</dd></div> });
        view! { <dl class=class>{pairs.collect_view()}</dl> }
    })
}
