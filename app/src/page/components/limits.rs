//! What limits trust in the numbers: a row of chips under a headline, each opening its explanation
//! and the choice that changes it.

use dormer_core::report::overview::{Limit, LimitSwitch};

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
    // Only one `details` element of the same name is open at a time.
    view! {
        <li>
            <details name="limit" class=format!("limit {}", level.token()) data-limit=kind.key()>
                <summary>{label}</summary>
                <div class="card">
                    <p>{prose(explanation)}</p>
                    {switch.map(switch_of)}
                </div>
            </details>
        </li>
    }
}

fn switch_of(switch: LimitSwitch) -> AnyView {
    let state = expect_context::<AppState>();
    match switch {
        LimitSwitch::SheetEvents => view! {
            <Switch
                label="GPU activity counted in TraceLens-compatible sheets"
                options=[("events-linked", "Sheets: attributed"), ("events-all", "Sheets: all")]
                on=state.of_place(|place| place.choice.all_gpu_events)
                choose=move |all| state.go(|place| place.choice.all_gpu_events = all)
            />
        }
        .into_any(),
        LimitSwitch::Basis => view! {
            <Switch
                label="Basis of the figures"
                options=[("limit-achievable", "Achievable"), ("limit-peak", "Peak")]
                on=state.of_place(|place| place.choice.peak)
                choose=move |peak| state.go(|place| place.choice.peak = peak)
            />
        }
        .into_any(),
        LimitSwitch::Gpu => view! {
            <button type="button" class="small" on:click=|_| browser::focus_on("gpu")>"Choose a GPU"</button>
        }
        .into_any(),
    }
}
