//! The panel of thresholds: where the lines are drawn, to be moved.

use dormer_core::assess::{ThresholdInfo, Thresholds};
use web_sys::HtmlInputElement;

use crate::page::prelude::*;
use crate::page::url::parse_threshold;

/// The id of the panel.
const PANEL: &str = "thresholds";

/// Opens and closes the panel, and says how many thresholds are not the usual ones.
pub fn thresholds_button() -> impl IntoView {
    let state = expect_context::<AppState>();
    let n_changed = n_changed(state);
    let toggle = move |_| match state.thresholds.get_untracked() {
        true => state.thresholds.set(false),
        false => {
            state.thresholds.set(true);
            browser::after_paint(|| browser::focus_on(PANEL));
        }
    };
    view! {
        <button
            type="button"
            class="ghost setting"
            id="thresholds-button"
            aria-expanded=move || state.thresholds.get().to_string()
            aria-controls=PANEL
            on:click=toggle
        >
            "Thresholds"
            {move || match n_changed.get() {
                0 => None,
                n => Some(view! { <span class="badge">{n} <span class="unseen">" changed"</span></span> }),
            }}
        </button>
    }
}

/// How many thresholds are not the usual ones.
fn n_changed(state: AppState) -> Memo<usize> {
    Memo::new(move |_| {
        let known = Thresholds::ALL.iter();
        state.place.with(|place| {
            let chosen = &place.choice.thresholds;
            known.filter(|one| chosen.contains_key(one.key)).count()
        })
    })
}

fn usual(threshold: &ThresholdInfo) -> f64 {
    (threshold.get)(&Thresholds::default())
}

/// Chooses a threshold; the usual value is no choice.
fn choose(state: AppState, threshold: &ThresholdInfo, value: f64) {
    state.go(|place| {
        let chosen = &mut place.choice.thresholds;
        match value.total_cmp(&usual(threshold)).is_eq() {
            true => chosen.remove(threshold.key),
            false => chosen.insert(threshold.key.to_owned(), value),
        };
    });
}

/// The panel, beside the view; nothing while it is closed.
pub fn thresholds_panel() -> impl IntoView {
    let state = expect_context::<AppState>();
    let n_changed = n_changed(state);
    let groups = || {
        let mut names: Vec<&'static str> = Thresholds::ALL.iter().map(|one| one.group).collect();
        names.dedup();
        each(names, group)
    };
    view! {
        <Show when=move || state.thresholds.get()>
            <aside
                id=PANEL
                class="panel"
                tabindex="-1"
                aria-labelledby="thresholds-title"
                on:keydown=move |event| {
                    if event.key() == "Escape" {
                        state.thresholds.set(false);
                    }
                }
            >
                <header>
                    <h2 id="thresholds-title">"Thresholds"</h2>
                    <button
                        type="button"
                        class="small"
                        id="reset-thresholds"
                        disabled=move || n_changed.get() == 0
                        on:click=move |_| state.go(|place| place.choice.thresholds.clear())
                    >
                        "Reset all"
                    </button>
                    <button type="button" class="small" aria-label="Close" on:click=move |_| state.thresholds.set(false)>
                        "\u{2715}"
                    </button>
                </header>
                <p class="fine">"Changes apply at once to findings, report and files. They are part of the page\u{2019}s URL."</p>
                {groups()}
            </aside>
        </Show>
    }
}

/// Thresholds of one kind; open where one of them was changed.
fn group(name: &'static str) -> impl IntoView {
    let state = expect_context::<AppState>();
    let all = move || Thresholds::ALL.iter().filter(move |one| one.group == name);
    let n_changed = Memo::new(move |_| {
        state.place.with(|place| {
            let chosen = &place.choice.thresholds;
            all().filter(|one| chosen.contains_key(one.key)).count()
        })
    });
    let has_changed = n_changed.get_untracked() > 0;
    let lines = all().map(line).collect_view();
    view! {
        <details open=has_changed data-group=name>
            <summary>
                {name}
                {move || (n_changed.get() > 0).then(|| view! { <span class="badge">{n_changed.get()} <span class="unseen">" changed"</span></span> })}
            </summary>
            {lines}
        </details>
    }
}

/// One threshold.
fn line(threshold: &'static ThresholdInfo) -> impl IntoView {
    let state = expect_context::<AppState>();
    let chosen = Memo::new(move |_| {
        state.place.with(|place| {
            let chosen = &place.choice.thresholds;
            chosen.get(threshold.key).copied()
        })
    });
    let value = move || chosen.get().unwrap_or_else(|| usual(threshold)).to_string();
    let change = move |event: leptos::ev::Event| {
        let input: HtmlInputElement = event_target(&event);
        match parse_threshold(&input.value()) {
            Some(value) => choose(state, threshold, value),
            // What is no threshold changes nothing.
            None => input.set_value(&untrack(value)),
        }
    };
    let unit = threshold.unit.label();
    let id = format!("threshold-{}", threshold.key);
    view! {
        <div class="threshold" class:changed=move || chosen.get().is_some()>
            <label for=id.clone()>{threshold.doc}</label>
            <div>
                <input id=id type="number" min="0" step="any" prop:value=value on:change=change/>
                <span class="soft unit">{unit}</span>
                {move || chosen.get().map(|_| view! {
                    <button
                        type="button"
                        class="small"
                        title=format!("Reset to {} {unit}", usual(threshold))
                        on:click=move |_| choose(state, threshold, usual(threshold))
                    >
                        "Reset"
                    </button>
                    <span class="fine">{format!("default {} {unit}", usual(threshold))}</span>
                })}
            </div>
        </div>
    }
}
