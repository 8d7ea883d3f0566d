//! The command palette, which finds anything by typing: views, settings, actions, GPUs; findings, categories, modules,
//! operations and kernels of the trace; thresholds; and last, files to export.
//!
//! Entries of the page are matched in `entries`; the worker searches the trace. To add an action: a variant of `Act`, a
//! row in `actions`, an arm in `act`.

mod entries;

use gloo::timers::callback::Timeout;
use leptos::html::Dialog;

use crate::page::prelude::*;
use crate::page::state::Shown;
use crate::page::views::export::list_files;
use crate::protocol::{FindInTrace, Found};
use entries::{Entry, act, downloads, entries};

const LABEL: &str = "Operations, kernels, modules, findings, settings, views, files";

/// The typed text, and what it finds. `Copy`, so pass it around.
#[derive(Clone, Copy)]
struct Palette {
    state: AppState,
    engine: Engine,
    text: RwSignal<String>,
    in_trace: RwSignal<Vec<Found>>,
    /// The files that can be exported.
    files: RwSignal<Vec<Entry>>,
    /// The entry that Enter chooses.
    cursor: RwSignal<usize>,
    entries: Memo<Vec<Entry>>,
    debounce: StoredValue<Option<Timeout>, LocalStorage>,
}

impl Palette {
    fn new() -> Palette {
        let state = expect_context::<AppState>();
        let text = RwSignal::new(String::new());
        let in_trace = RwSignal::new(Vec::<Found>::new());
        let files = RwSignal::new(Vec::<Entry>::new());
        let entries = Memo::new(move |_| match state.dialog.get() == Some(Shown::Palette) {
            true => text.with(|text| entries(state, text, files.get(), &in_trace.get())),
            false => Vec::new(),
        });
        Palette {
            state,
            engine: expect_context::<Engine>(),
            text,
            in_trace,
            files,
            cursor: RwSignal::new(0),
            entries,
            debounce: StoredValue::new_local(None),
        }
    }

    /// Starts over, and asks which files can be exported.
    fn reset(self) {
        self.text.set(String::new());
        self.in_trace.set(Vec::new());
        self.files.set(Vec::new());
        self.cursor.set(0);
        if self.state.is_open() {
            let is_open = move || self.state.dialog.get_untracked() == Some(Shown::Palette);
            list_files(self.engine, false, is_open, move |offers| {
                self.files.set(downloads(self.state, &offers));
            });
        }
    }

    fn type_text(self, text: String) {
        self.text.set(text);
        self.cursor.set(0);
        // Debounce: typing is faster than reading.
        self.debounce.set_value(Some(Timeout::new(60, move || {
            if untrack(|| self.state.is_open()) {
                let text = self.text.get_untracked();
                let query = FindInTrace { text };
                self.engine
                    .ask(query, move |found| self.in_trace.set(found));
            }
        })));
    }

    /// The entry at a position was chosen.
    fn choose(self, dialog: NodeRef<Dialog>, position: usize) {
        let chosen = self
            .entries
            .with_untracked(|entries| entries.get(position).cloned());
        if let Some(entry) = chosen {
            // The action may move the focus or open another dialog.
            if let Some(dialog) = dialog.get_untracked() {
                dialog.close();
            }
            self.state.close_dialog(Shown::Palette);
            act(self.state, self.engine, entry.act);
        }
    }

    fn press(self, dialog: NodeRef<Dialog>, event: &KeyboardEvent) {
        let last = self.entries.with_untracked(Vec::len).saturating_sub(1);
        let here = self.cursor.get_untracked();
        match event.key().as_str() {
            "ArrowDown" => self.cursor.set(if here >= last { 0 } else { here + 1 }),
            "ArrowUp" => self.cursor.set(here.checked_sub(1).unwrap_or(last)),
            "Enter" => self.choose(dialog, here),
            "Escape" => self.state.close_dialog(Shown::Palette),
            _ => return,
        }
        event.prevent_default();
        browser::after_paint(|| browser::bring_into_view("#palette [aria-selected=true]"));
    }
}

/// The dialog.
pub fn palette() -> impl IntoView {
    let palette = Palette::new();
    let (state, cursor) = (palette.state, palette.cursor);
    let is_open = move || state.dialog.get() == Some(Shown::Palette);
    let dialog = NodeRef::<Dialog>::new();
    show_while(dialog, is_open);
    Effect::new(move || {
        if is_open() {
            palette.reset();
        }
    });
    let option = move |(position, entry): (usize, Entry)| {
        let dot = (!entry.token.is_empty()).then(|| dot(""));
        let is_code = matches!(entry.kind, "Operation" | "Kernel" | "Module");
        let title = is_code.then(|| entry.text.clone());
        let text = match is_code {
            true => cut_name(entry.text).into_any(),
            false => view! { <span class="cut whole">{entry.text}</span> }.into_any(),
        };
        view! {
            <li
                id=option_id(position)
                role="option"
                class=format!("c-{}", entry.token)
                aria-selected=move || (cursor.get() == position).to_string()
                on:click=move |_| palette.choose(dialog, position)
            >
                <span class="what" class:mono=is_code title=title>{dot}{text}</span>
                <span class="soft">{entry.note}</span>
                <span class="kind-of">{entry.kind}</span>
            </li>
        }
    };
    let options = move || each(palette.entries.get().into_iter().enumerate(), option);
    let n_entries = move || palette.entries.with(Vec::len);
    let count = move || match n_entries() {
        0 => "No matches.".to_owned(),
        n => format::counted(n as u64, "result"),
    };
    view! {
        <dialog class="dialog palette" id="palette" aria-label="Find anything" node_ref=dialog on:close=move |_| state.close_dialog(Shown::Palette)>
            <div>
                <input
                    id="palette-find"
                    type="text"
                    role="combobox"
                    aria-label=LABEL
                    aria-autocomplete="list"
                    aria-expanded="true"
                    aria-controls="palette-list"
                    aria-activedescendant=move || (n_entries() > 0).then(|| option_id(cursor.get()))
                    autocomplete="off"
                    spellcheck="false"
                    placeholder=LABEL
                    prop:value=move || palette.text.get()
                    on:input=move |event| palette.type_text(event_target_value(&event))
                    on:keydown=move |event| palette.press(dialog, &event)
                />
                <ul id="palette-list" role="listbox" aria-label="Results">{options}</ul>
                <p class="fine" role="status">{count}</p>
            </div>
        </dialog>
    }
    .into_any()
}

fn option_id(position: usize) -> String {
    format!("palette-{position}")
}
