//! Dialogs: shown and hidden by a signal, and asking for a file.

use leptos::html::Dialog;
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

/// The input behind what asks for files; [`browser::click`] opens its dialog.
pub fn file_input(
    id: String,
    label: &'static str,
    accept: &'static str,
    multiple: bool,
    on_files: impl Fn(Vec<File>) + 'static,
) -> impl IntoView {
    view! {
        <input
            id=id
            class="unseen"
            type="file"
            tabindex="-1"
            aria-label=label
            accept=accept
            multiple=multiple
            on:change=move |event| on_files(browser::take_files(&event))
        />
    }
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
    on_file: impl Fn(File) + 'static,
) -> AnyView {
    let input_id = move || format!("{id}-input");
    let ask = move |_| browser::click(&input_id());
    let chosen = move |files: Vec<File>| files.into_iter().for_each(&on_file);
    view! {
        <p class="from-file">
            <button type="button" id=id on:click=ask>{says}</button>
            <span class="soft">{note}</span>
        </p>
        {file_input(input_id(), label, accept, false, chosen)}
    }
    .into_any()
}
