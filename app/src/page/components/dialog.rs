//! Dialogs: shown and hidden by a signal, and asking for a file.

use leptos::html::{Dialog, Input};
use web_sys::File;

use crate::page::prelude::*;

/// Shows a dialog while `wanted` says so. The dialog's `close` event has to take it back: the
/// browser closes dialogs by itself.
pub fn show_while(dialog: NodeRef<Dialog>, wanted: RwSignal<bool>) {
    Effect::new(move || {
        let wanted = wanted.get();
        if let Some(dialog) = dialog.get() {
            match wanted {
                true if !dialog.open() => drop(dialog.show_modal()),
                false if dialog.open() => dialog.close(),
                _ => {}
            }
        }
    });
}

/// A button that asks for a file, and what is said of it.
#[component]
pub fn ReadFile(
    /// The id of the button; that of the input behind it ends in `-input`.
    id: &'static str,
    /// What the button says.
    says: &'static str,
    /// What is said beside it.
    note: &'static str,
    /// What the file holds.
    label: &'static str,
    /// Endings and types of files that are offered.
    accept: &'static str,
    /// The input, to ask for a file without the button.
    input: NodeRef<Input>,
    on_file: impl Fn(File) + 'static,
) -> AnyView {
    let ask = move |_| {
        if let Some(input) = input.get_untracked() {
            input.click();
        }
    };
    let chosen = move |event: web_sys::Event| {
        if let Some(file) = browser::take_file(&event) {
            on_file(file);
        }
    };
    view! {
        <p class="from-file">
            <button type="button" id=id on:click=ask>{says}</button>
            <span class="soft">{note}</span>
        </p>
        <input
            id=format!("{id}-input")
            class="unseen"
            type="file"
            tabindex="-1"
            aria-label=label
            accept=accept
            node_ref=input
            on:change=chosen
        />
    }
    .into_any()
}
