//! The selected row of a table whose rows have no details panel: every value, below the table.

use dormer_core::report::sheet::Field;
use leptos::prelude::*;

use super::ViewLink;
use super::op_details::{LONG, field_list};
use crate::page::engine::Engine;
use crate::page::state::AppState;
use crate::page::url::Focus;
use crate::protocol::RowQuery;

/// The sheet of CPU operators: its rows have calls, but no details without GPU activity.
const CPU_OPERATORS: &str = "cpu_ops_summary";

/// Everything about the selected row.
pub fn selected_row(sheet: &'static str, selected: Memo<Option<u32>>) -> impl IntoView {
    let state = expect_context::<AppState>();
    let engine = expect_context::<Engine>();
    let known = RwSignal::new(Vec::<Field>::new());
    Effect::new(move || {
        state.report.track();
        let Some(row) = selected.get() else {
            known.set(Vec::new());
            return;
        };
        let query = RowQuery {
            sheet: sheet.to_owned(),
            row: row as usize,
        };
        engine.ask(query, move |fields| {
            if selected.try_get_untracked() == Some(Some(row)) {
                known.set(fields);
            }
        });
    });
    view! {
        <section
            class="details"
            class:some=move || known.with(|known| !known.is_empty())
            aria-label="The selected row"
            data-testid="details"
        >
            {move || {
                let fields = known.get();
                if fields.is_empty() {
                    return view! {
                        <p class="hint">
                            "Select a row to see its full name and every value. Arrow keys move, Escape clears the selection."
                        </p>
                    }
                    .into_any();
                }
                let operator = fields.iter().find(|field| sheet == CPU_OPERATORS && field.label == "Name");
                let calls = operator.map(|field| {
                    let focus = Focus::finding(field.value.clone());
                    view! { <p><ViewLink view="tree" focus>"Show its calls in the call tree"</ViewLink></p> }
                });
                let (long, short) = fields.into_iter().partition(|field| field.value.len() > LONG);
                view! { {field_list(short, long)} {calls} }.into_any()
            }}
        </section>
    }
}
