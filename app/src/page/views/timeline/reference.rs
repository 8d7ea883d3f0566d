//! The reference's timeline below the target's while two traces are compared; for ranks of a job, the timelines of
//! further ranks below both.

use super::model::Model;
use crate::page::prelude::*;
use crate::protocol::{Align, TraceSide};

/// A switch for the reference's lanes; nothing while there is no reference.
pub(super) fn show_reference(model: Model) -> impl IntoView {
    let is_shown = move || model.below.with(Option::is_some);
    let turn = move |_| {
        let align = model.below.get_untracked().xor(Some(Align::Start));
        model.state.look_at(|focus| focus.below = align);
    };
    view! {
        <Show when=move || model.has_reference.get()>
            <button
                type="button"
                id="show-reference"
                title="Show the timeline of the reference below, on the same scale of time"
                aria-pressed=move || is_shown().to_string()
                on:click=turn
            >
                "Show reference below"
            </button>
        </Show>
    }
}

/// The choice of how the two traces are aligned.
pub(super) fn align_reference(model: Model) -> impl IntoView {
    let below = Memo::new(move |_| model.outline.with(|outline| outline.below.first().cloned()));
    let choose = move |event| {
        let align = Align::parse(&event_target_value(&event));
        model.state.look_at(|focus| focus.below = align);
    };
    move || {
        let below = below.get()?;
        let options = each(below.aligns, |align| {
            let text = format!("Aligned: {}", align.label());
            view! { <option value=align.word() selected=align == below.align>{text}</option> }
        });
        Some(view! {
            <select id="align-reference" class="go-to" aria-label="Align the reference" on:change=choose>{options}</select>
        })
    }
}

/// The headings above the lanes of the reference, and of the traces below it.
pub(super) fn heading(model: Model) -> impl IntoView {
    let below = Memo::new(move |_| model.outline.with(|outline| outline.below.clone()));
    let tops = Memo::new(move |_| model.layout.with(|layout| layout.below.clone()));
    move || {
        let below = below.get();
        each(tops.get(), |(side, top)| {
            let of_side = below.iter().find(|below| below.side == side);
            let relation = match side {
                TraceSide::Reference => "Reference ",
                _ => "Also ",
            };
            of_side.map(|below| {
                view! {
                    <p class="trace-head" data-testid="reference-below" style:top=format!("{top}px")>
                        {relation} <b>{below.name.clone()}</b> " "
                        <span class="soft">{below.note.clone()}</span>
                    </p>
                }
            })
        })
    }
}
