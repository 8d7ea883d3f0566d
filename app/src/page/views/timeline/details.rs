//! Details of the hovered span, of the selected one, and of the marked range.

use super::model::Model;
use super::tracks::trace_name;
use crate::page::prelude::*;
use crate::protocol::{RangeBelow, RangeCard, RangePart, SpanCard, TraceSide};

/// The tooltip at the pointer.
pub fn hint(model: Model) -> impl IntoView {
    let card = move || {
        let hover = model.hover.get()?;
        let fields = hover.glance.fields;
        Some(view! {
            <div
                class=model.canvas.hint_class(hover.x, hover.y)
                aria-hidden="true"
                style:left=format!("{}px", hover.x)
                style:top=format!("{}px", hover.y)
            >
                <p class="mono">{hover.glance.name} " " {trace_name(hover.glance.trace)}</p>
                {pairs("", fields)}
            </div>
        })
    };
    view! { {card} }
}

/// The panel below the lanes: the range, or else the selected span, or else a hint on what to do.
pub fn about(model: Model) -> impl IntoView {
    let shown = move || {
        match (model.totals.get(), model.selected.get()) {
        (Some(totals), _) => range(model, totals).into_any(),
        (None, Some(card)) => span(model, card).into_any(),
        (None, None) => view! {
            <p class="hint">
                "Click an event for details. Drag to pan, Shift+drag or drag the ruler to select a range. W and S zoom, A and D pan, Ctrl+wheel zooms."
            </p>
        }
        .into_any(),
    }
    };
    let is_some =
        move || model.totals.with(Option::is_some) || model.selected.with(Option::is_some);
    selection("The selection", Some("polite"), is_some, shown)
}

fn span(model: Model, card: SpanCard) -> impl IntoView {
    let uid = card.uid;
    // The other views show only the target.
    let is_of_target = card.side == TraceSide::Target;
    view! {
        <div class="long">
            <h3>
                {dot(&card.token)}
                {card.kind}
                {trace_name(card.trace)}
                <span class="soft">{format!("event {uid} of the trace")}</span>
                {copy_button(card.name.clone(), "Copy")}
                <button type="button" class="small" on:click=move |_| model.show_selected()>"Zoom to event"</button>
                {is_of_target.then(|| details_button(uid))}
                {(card.in_tree && is_of_target).then(|| view! { <ViewLink view="tree" focus=Focus::at_event(uid)>"Show in call tree"</ViewLink> })}
            </h3>
            <p class="mono">{card.name}</p>
        </div>
        {pairs("figures", card.fields)}
    }
}

/// A button to keep the marked range, with a note.
fn keep(model: Model) -> impl IntoView {
    let is_kept = move || {
        let range = model.range.get();
        let kept = model.kept.get();
        kept.iter().any(|kept| {
            range.is_some_and(|(from_ns, to_ns)| {
                (kept.from_ns - from_ns).abs() < 1.0 && (kept.to_ns - to_ns).abs() < 1.0
            })
        })
    };
    let keep = move || {
        if let Some(range) = model.range.get_untracked() {
            model.keep(range, &browser::input_value("range-note"), true);
        }
    };
    let pressed = move |event: KeyboardEvent| {
        if event.key() == "Enter" {
            keep();
        }
    };
    view! {
        <Show when=move || !is_kept() fallback=|| view! { <span class="soft">"Saved in the link"</span> }>
            <input id="range-note" class="note" placeholder="Note" aria-label="Note of the range" maxlength="120" on:keydown=pressed/>
            <button type="button" class="small" id="keep-range" on:click=move |_| keep()>"Save range"</button>
        </Show>
    }
}

/// How a range splits.
fn range_parts(parts: Vec<RangePart>) -> impl IntoView {
    each(parts, |part| {
        view! { <div><dt>{part.label}</dt><dd>{part.time} <span class="soft">{part.share}</span></dd></div> }
    })
}

/// The same range in a trace below.
fn range_below(below: RangeBelow) -> impl IntoView {
    view! {
        <p class="range-below" data-testid="range-below">
            {trace_name(below.trace)} " " <span class="soft">{below.n_work}</span>
        </p>
        <dl class="figures">{range_parts(below.parts)}</dl>
    }
}

fn range(model: Model, totals: RangeCard) -> impl IntoView {
    let more = (totals.more > 0).then(|| format!("and {} more", totals.more));
    let parts = range_parts(totals.parts);
    let below = each(totals.below, range_below);
    let work = totals.work.into_iter().map(|line| {
        let focus = Focus::at_event(line.uid);
        let name = format::middle_ellipsis(&line.name, 60);
        view! {
            <li>
                {dot(&line.token)}
                <ViewLink view="timeline" focus class="mono">{name}</ViewLink>
                <span class="soft">{format!("{} × ", line.count)}</span>
                <b>{line.time}</b>
            </li>
        }
    });
    let work = work.collect_view();
    view! {
           <div class="long">
               <h3>
                   {format!("Range of {}", totals.length)}
                   {trace_name(totals.trace)}
                   <span class="soft">{totals.n_work}</span>
                   {move || model.to_analyze().map(|(what, window)| view! {
                       <button type="button" class="small main" id="analyze-range" on:click=move |_| model.analyze(window)>{what}</button>
                   })}
    {keep(model)}
                   <button type="button" class="small" id="clear-range" on:click=move |_| model.clear()>"Clear"</button>
               </h3>
           </div>
           <dl class="figures">{parts}</dl>
           {below}
           <ul class="range-work">{work} {more.map(|more| view! { <li class="soft">{more}</li> })}</ul>
       }
}
