//! The selected call, whole.

use leptos::prelude::*;

use super::state::{Drawing, TreeState};
use crate::page::components::{ViewLink, copy_button, details_button, pairs};
use crate::page::url::Focus;
use crate::protocol::TreeMode;

/// Everything that is known of the selected call.
pub(super) fn about(tree: TreeState) -> AnyView {
    view! {
        <section
            class="details"
            class:some=move || tree.list.rows.window.cursor.get().is_some()
            aria-label="The selected call"
            data-testid="details"
        >
            {move || match tree.list.rows.at_cursor() {
                None => view! {
                    <p class="hint">
                        {move || match tree.drawing.get() {
                            Drawing::Table => "Arrow keys move, right expands, left collapses, H follows the hottest path, / searches",
                            _ => "Click or Enter zooms into a call, Escape zooms out, arrow keys move, / searches",
                        }}
                        {move || match tree.look.with(|look| look.mode) {
                            TreeMode::BottomUp => " names and the visible callers.",
                            _ => ".",
                        }}
                    </p>
                }
                .into_any(),
                Some(row) => {
                    let name = row.whole.clone().unwrap_or_else(|| row.name.clone());
                    let in_timeline = row.uid.map(|uid| {
                        view! { {details_button(uid)} <ViewLink view="timeline" focus=Focus::at_event(uid)>"Show in timeline"</ViewLink> }
                    });
                    let figures = [
                        ("GPU time", row.gpu_time.clone()),
                        ("GPU self time", row.gpu_own.clone()),
                        ("Kernels", row.gpu_count.clone()),
                        ("CPU time", row.cpu_time.clone()),
                        ("CPU self time", row.cpu_own.clone()),
                        ("Calls", row.calls.clone()),
                    ];
                    let figures = figures.into_iter().filter(|(_, value)| !value.is_empty());
                    let figures = figures.map(|(label, value)| (label.to_owned(), value));
                    let uid = row.uid.map(|uid| format!("event {uid} of the trace"));
                    view! {
                        <div class="long">
                            <h2>{row.kind.clone()} <span class="soft">{uid}</span> {copy_button(name.clone(), "Copy")} {in_timeline}</h2>
                            <p class="mono">{name}</p>
                        </div>
                        {pairs("figures", figures.collect())}
                    }
                    .into_any()
                }
            }}
        </section>
    }
    .into_any()
}
