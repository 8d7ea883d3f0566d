//! Dialogs, shown and hidden by a signal, and file inputs.

use leptos::html::Dialog;
use web_sys::File;

use crate::page::prelude::*;

/// Shows a dialog while `wanted` is set. The dialog's `close` event must reset it: the browser also closes dialogs by
/// itself.
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

/// The hidden input behind a button that opens a file; [`browser::click`] opens its file dialog.
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

/// A button that opens a file, with a note.
#[component]
pub fn ReadFile(
    /// The id of the button; its input's id ends in `-input`.
    id: &'static str,
    /// The button's text.
    says: &'static str,
    /// The note beside it.
    note: &'static str,
    /// What the file holds.
    label: &'static str,
    /// The file extensions and types to offer.
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
