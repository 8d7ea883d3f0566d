//! A button that copies a text.

use gloo::timers::callback::Timeout;
use leptos::prelude::*;

use crate::page::browser;

/// Copies a text and says so.
pub fn copy_button(text: String, says: &'static str) -> impl IntoView {
    let label = RwSignal::new(says);
    let copy = move |_| {
        browser::copy(&text, move |copied| {
            label.set(if copied {
                "Copied"
            } else {
                "Select and press Ctrl+C"
            });
            Timeout::new(1600, move || {
                // The button may be gone by then.
                let _ = label.try_set(says);
            })
            .forget();
        });
    };
    view! {
        <button type="button" class="small" on:click=copy aria-live="polite">{label}</button>
    }
}
