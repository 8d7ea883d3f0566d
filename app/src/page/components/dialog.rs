//! Dialogs, shown and hidden by a signal, their headers, and file inputs.

use leptos::html::Dialog;
use web_sys::File;

use crate::page::prelude::*;

/// Shows a dialog while `is_open` is set. The dialog's `close` event must reset it: the browser also closes dialogs by
/// itself.
pub fn show_while(dialog: NodeRef<Dialog>, is_open: RwSignal<bool>) {
    Effect::new(move || {
        let is_open = is_open.get();
        if let Some(dialog) = dialog.get() {
            match is_open {
                true if !dialog.open() => drop(dialog.show_modal()),
                false if dialog.open() => dialog.close(),
                _ => {}
            }
        }
    });
}

/// The header of a dialog: its title, with an id, and a button that closes it.
pub fn dialog_header(
    id: &'static str,
    title: impl IntoView + 'static,
    close: impl Fn() + 'static,
) -> impl IntoView {
    view! {
        <header role="presentation">
            <h2 id=id>{title}</h2>
            <button type="button" class="ghost square" aria-label="Close" on:click=move |_| close()>"\u{d7}"</button>
        </header>
    }
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
