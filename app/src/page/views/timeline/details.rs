//! What is known of the span under the pointer, of the selected one, and of the marked range.

use leptos::prelude::*;

use super::model::Model;
use crate::page::components::{CopyButton, StoryButton};
use crate::page::url::Focus;
use crate::protocol::{RangeCard, SpanCard};

/// The card at the pointer.
#[component]
pub fn Hint(
    /// The timeline.
    model: Model,
) -> impl IntoView {
    let card = move || {
        let hover = model.hover.get()?;
        let fields = hover.glance.fields.into_iter();
        let lines =
            fields.map(|(label, value)| view! { <div><dt>{label}</dt><dd>{value}</dd></div> });
        Some(view! {
            <div
                class="hint-card"
                aria-hidden="true"
                style:left=format!("{}px", hover.x)
                style:top=format!("{}px", hover.y)
            >
                <p class="mono">{hover.glance.name}</p>
                <dl>{lines.collect_view()}</dl>
            </div>
        })
    };
    view! { {card} }
}

/// The panel below the lanes: the range, else the selected span, else what to do.
#[component]
pub fn About(
    /// The timeline.
    model: Model,
) -> impl IntoView {
    let shown = move || {
        match (model.totals.get(), model.selected.get()) {
        (Some(totals), _) => view! { <Range model totals/> }.into_any(),
        (None, Some(card)) => view! { <Span model card/> }.into_any(),
        (None, None) => view! {
            <p class="hint">
                "Click a span to read it. Drag moves, Shift and drag or the ruler marks a range; W and S zoom, A and D move, Ctrl and the wheel zoom."
            </p>
        }
        .into_any(),
    }
    };
    view! {
        <section
            class="details"
            class:some=move || model.totals.with(Option::is_some) || model.selected.with(Option::is_some)
            aria-label="The selection"
            aria-live="polite"
            data-testid="details"
        >
            {shown}
        </section>
    }
}

/// One span.
#[component]
fn Span(
    /// The timeline.
    model: Model,
    /// The span.
    card: SpanCard,
) -> impl IntoView {
    let uid = card.uid;
    let link = move || {
        let focus = Focus {
            event: Some(uid),
            ..Focus::default()
        };
        model.state.link_into("tree", focus)
    };
    let field =
        |(label, value): (String, String)| view! { <div><dt>{label}</dt><dd>{value}</dd></div> };
    view! {
        <div class="long">
            <h3>
                <i class=format!("dot c-{}", card.token) aria-hidden="true"></i>
                {card.kind}
                <span class="soft">{format!("event {uid} of the trace")}</span>
                <CopyButton text=card.name.clone()/>
                <button type="button" class="small" on:click=move |_| model.show_selected()>"Zoom to it"</button>
                <StoryButton uid/>
                {card.in_tree.then(|| view! { <a href=link data-testid="in-tree">"Show in tree"</a> })}
            </h3>
            <p class="mono">{card.name}</p>
        </div>
        <dl class="figures">{card.fields.into_iter().map(field).collect_view()}</dl>
    }
}

/// A range.
#[component]
fn Range(
    /// The timeline.
    model: Model,
    /// Its totals.
    totals: RangeCard,
) -> impl IntoView {
    let more = (totals.more > 0).then(|| format!("and {} more", totals.more));
    let parts = totals.parts.into_iter().map(|part| {
        view! { <div><dt>{part.label}</dt><dd>{part.time} <span class="soft">{part.share}</span></dd></div> }
    });
    let parts = parts.collect_view();
    let work = totals.work.into_iter().map(|line| {
        let focus = Focus {
            event: Some(line.uid),
            ..Focus::default()
        };
        let name = dormer_core::base::format::middle_ellipsis(&line.name, 60);
        view! {
            <li>
                <i class=format!("dot c-{}", line.token) aria-hidden="true"></i>
                <a class="mono" href=model.state.link_into("timeline", focus)>{name}</a>
                <span class="soft">{format!("{} × ", line.count)}</span>
                <b>{line.time}</b>
            </li>
        }
    });
    let work = work.collect_view();
    view! {
        <div class="long">
            <h3>
                {format!("A range of {}", totals.length)}
                <span class="soft">{totals.n_work}</span>
                {move || model.to_analyse().map(|(what, window)| view! {
                    <button type="button" class="small main" id="analyse-range" on:click=move |_| model.analyse(window)>{what}</button>
                })}
                <button type="button" class="small" id="clear-range" on:click=move |_| model.clear()>"Let go"</button>
            </h3>
        </div>
        <dl class="figures">{parts}</dl>
        <ul class="range-work">{work} {more.map(|more| view! { <li class="soft">{more}</li> })}</ul>
    }
}
