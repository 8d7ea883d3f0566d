//! The way through things that were found, one by one.

use leptos::prelude::*;

use super::icon;

/// What a step is called.
#[derive(Clone, Copy)]
pub struct StepButton {
    /// The button's id.
    pub id: &'static str,
    /// What it does.
    pub label: &'static str,
    /// The key that does the same; empty for none.
    pub key: &'static str,
}

/// Two buttons, back and on, and which one of how many is shown.
#[component]
pub fn Steps(
    /// What the buttons are called: back, on.
    steps: [StepButton; 2],
    /// There is nowhere to go.
    #[prop(into)]
    none: Signal<bool>,
    /// Goes on, or back.
    #[prop(into)]
    go: Callback<bool>,
    /// Which one of how many.
    #[prop(into)]
    said: Signal<String>,
    /// What tests call that text.
    testid: &'static str,
) -> impl IntoView {
    let button = |(step, on): (StepButton, bool)| {
        let title = match step.key {
            "" => step.label.to_owned(),
            key => format!("{} ({key})", step.label),
        };
        view! {
            <button
                type="button"
                id=step.id
                aria-label=step.label
                title=title
                disabled=move || none.get()
                on:click=move |_| go.run(on)
            >
                {icon(if on { "down" } else { "up" })}
            </button>
        }
    };
    view! {
        <div class="steps">{steps.into_iter().zip([false, true]).map(button).collect_view()}</div>
        <p class="count" role="status" data-testid=testid>{move || said.get()}</p>
    }
}
