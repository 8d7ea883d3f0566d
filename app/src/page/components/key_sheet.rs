//! The page-wide keyboard shortcuts, and the sheet that lists all shortcuts.

use crate::page::keys::{DIGITS, KEYS, KeyRow};
use crate::page::prelude::*;
use crate::page::state::Shown;
use crate::page::views::VIEWS;

const TITLE: &str = "Keyboard shortcuts";

/// Handles the keys that work wherever the keyboard focus is.
pub fn listen_to_keys(state: AppState) {
    browser::on_key(move |event| pressed(state, event));
}

fn pressed(state: AppState, event: &KeyboardEvent) {
    let with_command = (event.ctrl_key() || event.meta_key()) && !event.alt_key();
    let alone = !browser::has_modifier(event);
    // Typed letters are not commands, and a dialog handles its own keys.
    let is_on = state.single_keys.get_untracked();
    let is_free = is_on && alone && !browser::types_text(event) && !browser::has_open_dialog();
    match event.key().as_str() {
        "k" | "K" if with_command && !event.shift_key() => {
            let is_shown = state.dialog.get_untracked() == Some(Shown::Palette);
            if !is_shown && browser::has_open_dialog() {
                return;
            }
            state.dialog.set((!is_shown).then_some(Shown::Palette));
        }
        "?" if is_free => state.dialog.set(Some(Shown::Keys)),
        "Escape" if alone && shows_details(state) && !browser::has_open_dialog() => {
            op_details::close(state);
        }
        digit if is_free && DIGITS.contains(&digit) => {
            let position = DIGITS.iter().position(|known| *known == digit);
            let is_open = untrack(|| state.shows_trace());
            match position.and_then(|position| VIEWS.get(position)) {
                Some(view) if is_open => browser::go_to_hash(&untrack(|| state.link_to(view.slug))),
                _ => return,
            }
        }
        _ => return,
    }
    event.prevent_default();
}

/// Whether the details panel shows something other than a row of the view's table.
fn shows_details(state: AppState) -> bool {
    let has_details = state
        .place
        .with_untracked(|place| place.focus.details.is_some());
    has_details && untrack(|| state.is_open())
}

/// A button that opens the sheet.
pub fn keys_button() -> impl IntoView {
    let state = expect_context::<AppState>();
    view! {
        <button
            type="button"
            id="keys"
            class="ghost square"
            aria-label=TITLE
            title="Keyboard shortcuts (?)"
            aria-haspopup="dialog"
            on:click=move |_| state.dialog.set(Some(Shown::Keys))
        >
            "?"
        </button>
    }
}

/// The sheet.
pub fn key_sheet() -> impl IntoView {
    let state = expect_context::<AppState>();
    let groups = || {
        let group = |group: &'static crate::page::keys::KeyGroup| {
            let rows = group.rows.iter().map(caps_and_use).collect_view();
            view! { <section><h3>{group.title}</h3><dl>{rows}</dl></section> }
        };
        KEYS.iter().map(group).collect_view()
    };
    let inside = view! {
        {move || (state.dialog.get() == Some(Shown::Keys)).then(groups)}
        <label class="single-keys">
            <input
                type="checkbox"
                id="single-keys"
                prop:checked=move || state.single_keys.get()
                on:change=move |event| state.use_single_keys(event_target_checked(&event))
            />
            "Digits and ? work everywhere. Keys of a table, chart or tree work while it has the focus."
        </label>
    };
    dialog(Shown::Keys, "key-sheet", "key-sheet", TITLE, inside)
}

fn caps_and_use(row: &'static KeyRow) -> impl IntoView {
    let caps = match row.keys == DIGITS {
        true => vec!["1".to_owned(), "\u{2026}".to_owned(), "0".to_owned()],
        false => row.caps(),
    };
    let caps = caps.into_iter().map(|cap| match cap.as_str() {
        "\u{2026}" => view! { <span>{cap}</span> }.into_any(),
        _ => view! { <kbd>{cap}</kbd> }.into_any(),
    });
    let held = (!row.held.is_empty()).then(|| view! { <span>{row.held}</span> });
    view! { <div><dt>{held}{caps.collect_view()}</dt><dd>{row.does}</dd></div> }
}
