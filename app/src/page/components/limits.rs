//! What limits trust in the numbers: a row of chips under a headline, each opening its explanation
//! and the choice that changes it.

use dormer_core::report::overview::{Limit, LimitSwitch};

use super::table_tools::popup;
use crate::page::prelude::*;

/// The row; nothing if there are no limits.
pub fn limits(limits: Vec<Limit>) -> impl IntoView {
    (!limits.is_empty()).then(|| {
        let chips = each(limits, chip);
        view! { <ul class="limits" aria-label="Limitations of these numbers" data-testid="limits">{chips}</ul> }
    })
}

fn chip(limit: Limit) -> impl IntoView {
    let Limit {
        kind,
        level,
        label,
        explanation,
        switch,
    } = limit;
    let inside = view! {
        <div class="card">
            <p>{prose(explanation)}</p>
            {switch.map(switch_of)}
        </div>
    };
    let class = format!("limit {}", level.token());
    let id = format!("limit-{}", kind.key());
    view! { <li data-limit=kind.key()>{popup(class, id, label, inside)}</li> }
}

fn switch_of(switch: LimitSwitch) -> AnyView {
    let state = expect_context::<AppState>();
    match switch {
        LimitSwitch::SheetEvents => on_or_off(
            "seg",
            "events",
            "GPU activity counted in TraceLens-compatible sheets",
            [("linked", "Sheets: attributed"), ("all", "Sheets: all")],
            state.of_place(|place| place.choice.all_gpu_events),
            move |all| state.go(|place| place.choice.all_gpu_events = all),
        ),
        LimitSwitch::Basis => on_or_off(
            "seg",
            "limit",
            "Basis of the figures",
            [("achievable", "Achievable"), ("peak", "Peak")],
            state.of_place(|place| place.choice.peak),
            move |peak| state.go(|place| place.choice.peak = peak),
        ),
        LimitSwitch::Gpu => view! {
            <button type="button" class="small" on:click=|_| browser::focus_on("gpu")>"Choose a GPU"</button>
        }
        .into_any(),
    }
}
