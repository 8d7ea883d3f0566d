//! Sentences of ours with names of the trace in them.

use dormer_core::output::document::{Span, line};
use leptos::prelude::*;

/// A sentence; what stands in backticks is a name, quoted as it is.
pub fn prose(text: String) -> impl IntoView {
    line(&with_units(&text))
        .into_iter()
        .map(|span| match span {
            Span::Code(name) => view! { <code>{name}</code> }.into_any(),
            Span::Text(text) | Span::Bold(text) | Span::Link { text, .. } => text.into_any(),
        })
        .collect_view()
}

/// A sentence whose numbers keep their units beside them when it wraps.
pub fn with_units(sentence: &str) -> String {
    ["%", "ms", "µs"]
        .iter()
        .fold(sentence.to_owned(), |sentence, unit| {
            sentence.replace(&format!(" {unit}"), &format!("\u{a0}{unit}"))
        })
}
