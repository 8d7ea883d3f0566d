//! A switch between two ways.

use leptos::prelude::*;

/// Two buttons of which one is pressed.
#[component]
pub fn Switch(
    /// What is chosen.
    label: &'static str,
    /// What is said of it.
    #[prop(optional, into)]
    title: String,
    /// A further class.
    #[prop(default = "")]
    class: &'static str,
    /// The id and the text of each button: off, on.
    options: [(&'static str, &'static str); 2],
    /// Which one is pressed.
    on: Memo<bool>,
    /// Hears of a choice.
    #[prop(into)]
    choose: Callback<bool>,
) -> impl IntoView {
    let button = |((id, text), value): ((&'static str, &'static str), bool)| {
        let is_pressed = move || (on.get() == value).to_string();
        view! {
            <button type="button" id=id aria-pressed=is_pressed on:click=move |_| choose.run(value)>{text}</button>
        }
    };
    let title = (!title.is_empty()).then_some(title);
    view! {
        <div class=format!("seg {class}") role="group" aria-label=label title=title>
            {options.into_iter().zip([false, true]).map(button).collect_view()}
        </div>
    }
}
