//! The search of a tree: from one call of a name to the next.

use gloo::timers::callback::Timeout;
use leptos::ev::KeyboardEvent;
use leptos::prelude::*;

use super::buttons::{StepButton, Steps};
use super::icon;
use crate::page::state::AppState;
use crate::protocol::Direction;

const STEPS: [StepButton; 2] = [
    ("find-previous", "Previous match", ""),
    ("find-next", "Next match", ""),
];

/// A field for a name, the ways to its matches, and which of them is shown. The text is that of the
/// place's focus.
pub fn tree_search(
    find: Callback<Direction>,
    found: RwSignal<Option<(usize, usize)>>,
) -> impl IntoView {
    let state = expect_context::<AppState>();
    let wait = StoredValue::new_local(None::<Timeout>);
    let typed = move |event| {
        let text = event_target_value(&event);
        wait.set_value(Some(Timeout::new(160, move || {
            state.look_at(|focus| focus.find = text);
            find.run(Direction::Here);
        })));
    };
    let pressed = move |event: KeyboardEvent| {
        if event.key() == "Enter" {
            event.prevent_default();
            find.run(match event.shift_key() {
                true => Direction::Previous,
                false => Direction::Next,
            });
        }
    };
    let go = Callback::new(move |on| {
        find.run(if on {
            Direction::Next
        } else {
            Direction::Previous
        })
    });
    let said = Signal::derive(move || match found.get() {
        None => String::new(),
        Some((_, 0)) => "No matching call".to_owned(),
        Some((position, matches)) => {
            let count = |number: usize| dormer_core::base::format::count(number as u64);
            format!("{} of {}", count(position), count(matches))
        }
    });
    let text = Memo::new(move |_| state.place.with(|place| place.focus.find.clone()));
    view! {
        <label class="search">
            {icon("search")}
            <span class="unseen">"Search the call tree"</span>
            <input
                id="search"
                type="search"
                autocomplete="off"
                spellcheck="false"
                placeholder="Search calls"
                prop:value=move || text.get()
                on:input=typed
                on:keydown=pressed
            />
        </label>
        <Steps steps=STEPS none=Signal::stored(false) go said testid="matches"/>
    }
}
