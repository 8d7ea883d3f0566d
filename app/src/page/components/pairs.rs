//! Labels with their values.

use leptos::prelude::*;

/// A list of labels with their values; nothing where there are none.
pub fn pairs(class: &'static str, pairs: Vec<(String, String)>) -> impl IntoView {
    (!pairs.is_empty()).then(|| {
        let pairs = pairs.into_iter();
        let pairs =
            pairs.map(|(label, value)| view! { <div><dt>{label}</dt><dd>{value}</dd></div> });
        view! { <dl class=class>{pairs.collect_view()}</dl> }
    })
}
