//! The selected row of a table, whole.

use leptos::prelude::*;

use super::{CopyButton, Reproduce};
use crate::engine::Engine;
use crate::protocol::{Field, RowQuery};
use crate::state::AppState;

/// Values longer than this get a line of their own, and a button that copies them.
const LONG: usize = 48;

/// The columns that say what a row is.
const NAMES: [&str; 3] = ["name", "Kernel name", "shapes"];

/// The sheet whose rows are operations that can be run alone.
const OPERATIONS: &str = "unified_perf_summary";

/// Everything about the selected row.
#[component]
pub fn Details(
    /// The sheet's name.
    sheet: &'static str,
    /// What the rows are, in the plural.
    noun: &'static str,
    /// The sheet's row that is selected.
    selected: Memo<Option<u32>>,
) -> impl IntoView {
    let state = expect_context::<AppState>();
    let engine = expect_context::<Engine>();
    let fields = RwSignal::new(Vec::<Field>::new());
    Effect::new(move || {
        state.report.track();
        match selected.get() {
            None => fields.set(Vec::new()),
            Some(row) => {
                let query = RowQuery {
                    sheet: sheet.to_owned(),
                    row: row as usize,
                };
                engine.ask(query, move |answer| {
                    if selected.try_get_untracked() == Some(Some(row)) {
                        fields.set(answer);
                    }
                });
            }
        }
    });
    view! {
        <section
            class="details"
            class:some=move || fields.with(|fields| !fields.is_empty())
            aria-label="The selected row"
            data-testid="details"
        >
            {move || {
                let fields = fields.get();
                if fields.is_empty() {
                    return view! {
                        <p class="hint">
                            {format!("Select one of the {noun} to read its whole name and every figure. Arrow keys move, Escape lets go.")}
                        </p>
                    }
                    .into_any();
                }
                let (long, short): (Vec<_>, Vec<_>) =
                    fields.into_iter().partition(|field| field.value.len() > LONG);
                // What it is called comes first, lists of everything about it last.
                let (names, lists): (Vec<_>, Vec<_>) = long
                    .into_iter()
                    .partition(|field| NAMES.contains(&field.label.as_str()));
                let reproduce = selected
                    .get_untracked()
                    .filter(|_| sheet == OPERATIONS)
                    .map(|row| view! { <Reproduce row/> });
                view! {
                    {names.into_iter().map(long_view).collect_view()}
                    {reproduce}
                    <dl class="figures">
                        {short.into_iter().map(field_view).collect_view()}
                    </dl>
                    {lists.into_iter().map(long_view).collect_view()}
                }
                .into_any()
            }}
        </section>
    }
}

fn long_view(field: Field) -> impl IntoView {
    view! {
        <div class="long" title=field.doc>
            <h3>{field.label} <CopyButton text=field.value.clone()/></h3>
            <p class="mono">{field.value}</p>
        </div>
    }
}

fn field_view(field: Field) -> impl IntoView {
    view! {
        <div title=field.doc>
            <dt>{field.label}</dt>
            <dd>{field.value}</dd>
        </div>
    }
}
