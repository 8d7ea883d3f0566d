//! Dialogs, shown and hidden by a signal, their headers, and file inputs.

use leptos::html::Dialog;
use web_sys::File;

use crate::page::prelude::*;
use crate::page::state::Shown;

/// Shows a dialog while `is_open`. The dialog's `close` event must reset that: the browser also closes dialogs by
/// itself.
pub fn show_while(dialog: NodeRef<Dialog>, is_open: impl Fn() -> bool + 'static) {
    Effect::new(move || {
        let is_open = is_open();
        if let Some(dialog) = dialog.get() {
            match is_open {
                true if !dialog.open() => drop(dialog.show_modal()),
                false if dialog.open() => dialog.close(),
                _ => {}
            }
        }
    });
}

/// A dialog with a title.
pub fn dialog(
    which: Shown,
    id: &'static str,
    class: &'static str,
    title: &'static str,
    inside: impl IntoView + 'static,
) -> AnyView {
    let state = expect_context::<AppState>();
    let dialog = NodeRef::<Dialog>::new();
    show_while(dialog, move || state.dialog.get() == Some(which));
    let title_id = format!("{id}-title");
    let close = move || state.close_dialog(which);
    let header = dialog_header(title_id.clone(), title, close);
    view! {
        <dialog
            class=format!("dialog {class}")
            id=id
            aria-labelledby=title_id
            node_ref=dialog
            on:close=move |_| close()
        >
            <div>{header} {inside}</div>
        </dialog>
    }
    .into_any()
}

/// A button in the navigation that opens a dialog.
pub fn dialog_button(
    which: Shown,
    id: &'static str,
    text: &'static str,
    hint: &'static str,
    badge: impl IntoView + 'static,
) -> impl IntoView {
    let state = expect_context::<AppState>();
    view! {
        <button
            type="button"
            class="ghost setting"
            id=id
            aria-haspopup="dialog"
            title=hint
            on:click=move |_| state.dialog.set(Some(which))
        >
            {text}
            {badge}
        </button>
    }
}

/// The header of a dialog: its title, with an id, and a button that closes it.
pub fn dialog_header(
    id: impl Into<String>,
    title: impl IntoView + 'static,
    close: impl Fn() + 'static,
) -> impl IntoView {
    let id = id.into();
    view! {
        <header role="presentation">
            <h2 id=id>{title}</h2>
            {close_button(close)}
        </header>
    }
}

/// The hidden input behind a button that opens a file; [`browser::click`] opens its file dialog.
pub fn file_input(
    id: String,
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
            aria-hidden="true"
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
    text: &'static str,
    /// The note beside it.
    note: &'static str,
    /// The file extensions and types to offer.
    accept: &'static str,
    on_file: impl Fn(File) + 'static,
) -> AnyView {
    let input_id = move || format!("{id}-input");
    let ask = move |_| browser::click(&input_id());
    let chosen = move |files: Vec<File>| files.into_iter().for_each(&on_file);
    view! {
        <p class="from-file">
            <button type="button" id=id on:click=ask>{text}</button>
            <span class="soft">{note}</span>
        </p>
        {file_input(input_id(), accept, false, chosen)}
    }
    .into_any()
}
