//! The panel of thresholds that the user can change.

use dormer_core::assess::{ThresholdInfo, Thresholds};
use web_sys::HtmlInputElement;

use crate::page::prelude::*;
use crate::page::url::parse_threshold;

const PANEL: &str = "thresholds";

/// Opens and closes the panel, and shows how many thresholds were changed.
pub fn thresholds_button() -> impl IntoView {
    let state = expect_context::<AppState>();
    let n_changed = n_changed(state, None);
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
            {move || changed(n_changed)}
        </button>
    }
}

/// A count badge, with a label for screen readers.
pub fn badge(number: usize, what: &'static str) -> impl IntoView {
    view! { <span class="badge">{number} <span class="unseen">{what}</span></span> }
}

fn changed(n_changed: Memo<usize>) -> Option<impl IntoView> {
    let number = Some(n_changed.get()).filter(|number| *number > 0);
    number.map(|number| badge(number, " changed"))
}

/// The number of changed thresholds, in a group or in all.
fn n_changed(state: AppState, group: Option<&'static str>) -> Memo<usize> {
    state.of_place(move |place| {
        let known = Thresholds::ALL.iter();
        let known = known.filter(|one| group.is_none_or(|group| one.group == group));
        let chosen = &place.choice.thresholds;
        known.filter(|one| chosen.contains_key(one.key)).count()
    })
}

fn usual(threshold: &ThresholdInfo) -> f64 {
    (threshold.get)(&Thresholds::default())
}

/// Sets a threshold; the default value is not stored.
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
    let n_changed = n_changed(state, None);
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
                    {close_button(move || state.thresholds.set(false))}
                </header>
                <p class="fine">"Changes apply at once to findings, report and files. They are part of the page\u{2019}s URL."</p>
                {groups()}
            </aside>
        </Show>
    }
}

/// Thresholds of one group; open if one of them was changed.
fn group(name: &'static str) -> impl IntoView {
    let state = expect_context::<AppState>();
    let n_changed = n_changed(state, Some(name));
    let has_changed = n_changed.get_untracked() > 0;
    let lines = Thresholds::ALL.iter().filter(|one| one.group == name);
    let lines = lines.map(line).collect_view();
    view! {
        <details open=has_changed data-group=name>
            <summary>
                {name}
                {move || changed(n_changed)}
            </summary>
            {lines}
        </details>
    }
}

fn line(threshold: &'static ThresholdInfo) -> impl IntoView {
    let state = expect_context::<AppState>();
    let chosen = state.of_place(move |place| place.choice.thresholds.get(threshold.key).copied());
    let value = move || chosen.get().unwrap_or_else(|| usual(threshold)).to_string();
    let change = move |event: leptos::ev::Event| {
        let input: HtmlInputElement = event_target(&event);
        match parse_threshold(&input.value()) {
            Some(value) => choose(state, threshold, value),
            // Invalid input changes nothing.
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
