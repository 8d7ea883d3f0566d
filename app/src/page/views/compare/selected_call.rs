//! The selected call of both trees, whole.

use leptos::prelude::*;

use crate::page::components::{ViewLink, VirtualRows, copy_button};
use crate::page::url::Focus;
use crate::protocol::DiffRow;

/// Everything that is known of the call the cursor stands on.
pub(super) fn selected_call(rows: VirtualRows<DiffRow>) -> AnyView {
    let shown = move || {
        let Some(row) = rows.at_cursor() else {
            return view! {
                <p class="hint">
                    "Arrow keys move, right expands, left collapses, N goes to the next difference, / searches."
                </p>
            }
            .into_any();
        };
        let link = row.uid.map(|uid| {
            let focus = Focus::at_event(uid);
            view! { <ViewLink view="tree" focus>"Show in the target\u{2019}s call tree"</ViewLink> }
        });
        let sides = |what: &'static str, texts: [String; 2]| {
            let lines = ["reference", "target"].into_iter().zip(texts);
            let lines = lines.filter(|(_, text)| !text.is_empty());
            let lines = lines.map(|(side, text)| {
                view! { <div><dt>{format!("{what} {side}")}</dt><dd class="mono">{text}</dd></div> }
            });
            lines.collect_view()
        };
        view! {
            <div class="long">
                <h3>
                    {match row.mark.as_str() {
                        "" => "In both".to_owned(),
                        mark => mark.to_owned(),
                    }}
                    {copy_button(row.name.clone(), "Copy")}
                    {link}
                </h3>
                <p class="mono">{row.name.clone()}</p>
            </div>
            <dl class="diff-facts">
                {sides("Recorded in the", row.recorded.clone())}
                {sides("Launches in the", row.kernels.clone())}
            </dl>
        }
        .into_any()
    };
    view! {
        <section
            class="details"
            class:some=move || rows.window.cursor.get().is_some()
            aria-label="The selected call"
            data-testid="details"
        >
            {shown}
        </section>
    }
    .into_any()
}
