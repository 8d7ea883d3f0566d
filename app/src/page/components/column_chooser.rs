//! Which columns of a table are shown.

use leptos::ev::FocusEvent;
use leptos::html::Details;

use crate::page::prelude::*;
use crate::page::url;

/// A menu of the columns. Until the user chooses, a table shows those that fit.
pub fn column_chooser(
    sheet: &'static str,
    known: Memo<Vec<&'static TableColumn>>,
    shown: Memo<Vec<&'static TableColumn>>,
    is_chosen: Signal<bool>,
) -> impl IntoView {
    let state = expect_context::<AppState>();
    let menu = NodeRef::<Details>::new();
    let toggle = move |label: &'static str| {
        let mut chosen: Vec<&'static str> =
            shown.with_untracked(|shown| shown.iter().map(|column| column.label).collect());
        url::toggle(&mut chosen, label);
        state.columns.update(|columns| {
            columns.insert(sheet, chosen);
        });
    };
    let left = move |event: FocusEvent| {
        if let Some(menu) = menu.get_untracked()
            && browser::focus_leaves(&menu, &event)
        {
            menu.set_open(false);
        }
    };
    let on_key = move |event: KeyboardEvent| {
        if let Some(menu) = menu.get_untracked()
            && event.key() == "Escape"
        {
            menu.set_open(false);
        }
    };
    view! {
        <details class="menu" node_ref=menu on:focusout=left on:keydown=on_key>
            <summary id="columns">
                "Columns"
                <small>{move || {
                    let (shown, known) = (shown.with(Vec::len), known.with(Vec::len));
                    (shown < known).then(|| format!("{shown} of {known}"))
                }}</small>
            </summary>
            <fieldset>
                <legend class="unseen">"Columns to show"</legend>
                {move || each(known.get(), |column| {
                    let is_shown = move || shown.with(|shown| shown.iter().any(|one| one.label == column.label));
                    view! {
                        <label>
                            <input
                                type="checkbox"
                                prop:checked=is_shown
                                disabled=column.rank == 0
                                on:change=move |_| toggle(column.label)
                            />
                            {column.heading}
                            {(!column.unit.is_empty()).then(|| view! { <small>{column.unit}</small> })}
                        </label>
                    }
                })}
                <button
                    type="button"
                    class="small"
                    disabled=move || !is_chosen.get()
                    on:click=move |_| state.columns.update(|columns| {
                        columns.remove(sheet);
                    })
                >"Fit to width"</button>
            </fieldset>
        </details>
    }
}
