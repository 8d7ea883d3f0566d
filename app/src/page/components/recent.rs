//! Traces stored on this computer at the user's request: the list of them, and the switch.

use crate::page::browser::StoredTrace;
use crate::page::prelude::*;
use crate::page::state::Shown;

const TITLE: &str = "Recent traces";

/// A button that opens the dialog about stored traces.
pub fn recent_button() -> impl IntoView {
    let state = expect_context::<AppState>();
    dialog_button(
        Shown::Recent,
        "recent-button",
        TITLE,
        "Traces saved on this computer: a reload or a link opens them again",
        view! { <Show when=move || state.stores_traces.get()><span class="badge">"on"</span></Show> },
    )
}

/// The dialog.
pub fn recent_dialog() -> impl IntoView {
    let state = expect_context::<AppState>();
    let inside = view! {
        {keep_switch()}
        {recent_list()}
        <Show when=move || state.stored_traces.with(Vec::is_empty)>
            <p class="soft fine">"No saved traces."</p>
        </Show>
    };
    dialog(Shown::Recent, "recent-dialog", "", TITLE, inside)
}

/// The switch for whether opened traces are stored.
fn keep_switch() -> impl IntoView {
    let state = expect_context::<AppState>();
    let engine = expect_context::<Engine>();
    let turn = move |event| {
        let on = event_target_checked(&event);
        state.store_traces(on);
        if on {
            engine.store_open_files();
        }
    };
    view! {
        <label class="keep-traces">
            <input type="checkbox" id="keep-traces" prop:checked=move || state.stores_traces.get() on:change=turn/>
            <span>
                "Save traces on this computer"
                <span class="fine">"The traces you open are copied into this browser\u{2019}s private storage, so that a reload or a link opens the same place. Nothing leaves this computer."</span>
            </span>
        </label>
        <p class="fine" role="status" data-testid="keep-error">{move || state.store_error.get()}</p>
    }
}

/// The stored traces, with buttons to open and to delete each; nothing if there are none.
pub fn recent_list() -> impl IntoView {
    let state = expect_context::<AppState>();
    let engine = expect_context::<Engine>();
    let delete = move |names: Vec<String>| {
        wasm_bindgen_futures::spawn_local(async move {
            for name in names {
                browser::delete_trace(&name).await;
            }
            engine.list_stored().await;
        });
    };
    let line = move |stored: StoredTrace| {
        let (name, again) = (stored.name.clone(), stored.name.clone());
        let delete_label = format!("Delete {name}");
        view! {
            <li>
                <button type="button" class="ghost name mono" data-kept=name.clone() on:click=move |_| {
                    state.close_dialog(Shown::Recent);
                    engine.open_stored(name.clone(), false);
                }>{stored.name.clone()}</button>
                <span class="soft">{format::bytes(stored.bytes as u64)}</span>
                <button type="button" class="small" aria-label=delete_label on:click=move |_| delete(vec![again.clone()])>"Delete"</button>
            </li>
        }
    };
    let total = move || {
        let bytes: f64 = state
            .stored_traces
            .with(|stored| stored.iter().map(|one| one.bytes).sum());
        format::bytes(bytes as u64)
    };
    let delete_all = move |_| {
        let stored = state.stored_traces.get_untracked();
        delete(stored.into_iter().map(|one| one.name).collect());
    };
    view! {
        <Show when=move || state.stored_traces.with(|stored| !stored.is_empty())>
            <section class="recent" aria-label="Traces saved on this computer" data-testid="recent">
                <p class="fine">"Saved on this computer, " {total} " "
                    <button type="button" class="small" id="delete-all" on:click=delete_all>"Delete all"</button>
                </p>
                <ul>{move || each(state.stored_traces.get(), line)}</ul>
            </section>
        </Show>
    }
}
