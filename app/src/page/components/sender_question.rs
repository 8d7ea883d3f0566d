//! Another window sends a trace: whether to open it.

use leptos::html::Dialog;

use crate::page::prelude::*;

/// The dialog. It is shown while [`AppState::sender_question`] holds a question.
pub fn sender_question() -> impl IntoView {
    let state = expect_context::<AppState>();
    let engine = expect_context::<Engine>();
    let dialog = NodeRef::<Dialog>::new();
    let is_asked = move || state.sender_question.with(Option::is_some);
    show_while(dialog, is_asked);
    // Not with `autofocus`: browsers block that in cross-site frames.
    Effect::new(move || {
        if is_asked() {
            request_animation_frame(|| browser::focus_on("sender-no"));
        }
    });
    let answer = move |is_opened, is_trusted| engine.answer_question(is_opened, is_trusted);
    // If the next question is already shown, this `close` event is about the previous one.
    let closed = move |_| {
        if !dialog.get_untracked().is_some_and(|dialog| dialog.open()) {
            answer(false, false);
        }
    };
    let question = move || {
        let question = state.sender_question.get()?;
        let origin = question.origin.clone();
        let sender = match &origin {
            Some(origin) => view! { <b class="mono">{origin.clone()}</b> }.into_any(),
            None => "A page without an origin (a file, or a sandboxed frame)".into_any(),
        };
        let size = question
            .bytes
            .map(|bytes| format!(" ({})", format::bytes(bytes as u64)));
        let always = origin.map(|origin| {
            view! {
                <button type="button" id="sender-always" on:click=move |_| answer(true, true)>
                    {format!("Always from {origin}")}
                </button>
            }
        });
        Some(view! {
            <p>{sender} " sends a trace: " <b>{question.name}</b> {size} ". Open it?"</p>
            <p class="fine">"It is analyzed in this browser, and nothing of it is sent back."</p>
            <footer>
                <button type="button" id="sender-open" on:click=move |_| answer(true, false)>"Open"</button>
                {always}
                <button type="button" id="sender-no" on:click=move |_| answer(false, false)>"No"</button>
            </footer>
        })
    };
    view! {
        <dialog class="dialog question" id="sender-question" aria-labelledby="sender-title" node_ref=dialog on:close=closed>
            <div>
                <header><h2 id="sender-title">"Open a trace from another page?"</h2></header>
                {question}
            </div>
        </dialog>
    }
    .into_any()
}
